package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/kafka-steward/kafka-steward/planner"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// show prints a result as tables of at most so many rows; 0 is all.
func show(w io.Writer, r *planner.Result, rows int) {
	v := &view{w: w, r: r, p: r.Plan, rows: rows}
	v.heading()
	v.summary()
	v.resources()
	v.brokers()
	v.disks()
	v.changes()
	v.batches()
	v.limits()
	v.refusals()
	v.warnings()
	for i := range r.Explanations {
		showExplanation(w, &r.Explanations[i], rows)
	}
}

type view struct {
	w    io.Writer
	r    *planner.Result
	p    *plan.Plan
	rows int
}

func (v *view) title(format string, args ...any) {
	fmt.Fprintf(v.w, "\n"+format+"\n", args...)
}

// shown is how many of n rows to print.
func (v *view) shown(n int) int {
	if v.rows == 0 {
		return n
	}
	return min(n, v.rows)
}

func (v *view) heading() {
	fmt.Fprintf(v.w, "Plan to %s cluster %s", asked(&v.r.Request), v.p.Cluster)
	if s := v.r.Source.ReadAt; !s.IsZero() {
		fmt.Fprintf(v.w, ", read %s", s.UTC().Format(time.RFC3339))
	}
	fmt.Fprintf(v.w, "\n  snapshot  %s\n", v.p.SnapshotHash)
	l := &v.r.Source.Load
	switch {
	case l.Source == "":
		fmt.Fprintln(v.w, "  loads     none: planned by sizes and counts")
	case l.From.IsZero():
		fmt.Fprintf(v.w, "  loads     %s\n", l.Source)
	default:
		fmt.Fprintf(v.w, "  loads     %s, %s to %s, %s of partitions measured, %d filled in\n",
			l.Source, l.From.UTC().Format(time.RFC3339), l.To.UTC().Format(time.RFC3339), percent(l.Coverage), l.Filled)
	}
	for _, n := range append(l.Methods, l.Notes...) {
		bullet(v.w, n)
	}
}

// asked says what an operation is about, to go behind "Plan to".
func asked(r *planner.Request) string {
	switch r.Operation {
	case plan.Decommission, plan.Expand:
		ids := make([]string, len(r.Brokers))
		for i, id := range r.Brokers {
			ids[i] = strconv.Itoa(int(id))
		}
		noun := "broker "
		if len(ids) > 1 {
			noun = "brokers "
		}
		if r.Operation == plan.Expand {
			return "expand onto " + noun + strings.Join(ids, ", ") + " of"
		}
		return "decommission " + noun + strings.Join(ids, ", ") + " of"
	case plan.Replace:
		pairs := make([]string, len(r.Pairs))
		for i, p := range r.Pairs {
			pairs[i] = fmt.Sprintf("broker %d by %d", p.Old, p.New)
		}
		return "replace " + strings.Join(pairs, ", ") + " on"
	case plan.Place:
		return fmt.Sprintf("place topic %s (%d partitions, replication factor %d) on", strings.Join(r.Topics, ", "), r.Partitions, r.ReplicationFactor)
	case plan.AddParts:
		return fmt.Sprintf("add %s to topic %s of", plural(r.Partitions, "partition"), strings.Join(r.Topics, ", "))
	case plan.ChangeRF:
		return fmt.Sprintf("change the replication factor of %s to %d on", plural(len(r.Topics), "topic"), r.ReplicationFactor)
	case plan.Elect:
		return "elect preferred leaders on"
	case planner.Import:
		return "carry out a reassignment document on"
	}
	return string(r.Operation)
}

func (v *view) summary() {
	s := &v.p.Summary
	v.title("Summary")
	line := func(name, format string, args ...any) {
		for _, text := range wrap(fmt.Sprintf(format, args...), width-25) {
			fmt.Fprintf(v.w, "  %-22s %s\n", name, text)
			name = ""
		}
	}
	if v.p.Empty() {
		line("changes", "none")
	} else {
		line("changes", "%s: %s, %s, %s", plural(len(v.p.Changes), "partition"), plural(s.ReplicaMoves, "replica move"),
			plural(s.LeaderChanges, "leader change"), plural(s.DirMoves, "log-dir move"))
	}
	line("to copy", "%s between brokers%s", size(s.Bytes), v.overBound())
	if s.DirBytes > 0 {
		line("", "%s between log dirs", size(s.DirBytes))
	}
	line("rack violations", "%d → %d", s.RackViolationsBefore, s.RackViolationsAfter)
	line("topics too dense", "%d → %d replicas above ceil(average)+1 on a broker", s.TopicExcessBefore, s.TopicExcessAfter)
	if sch := v.r.Schedule; sch != nil && !v.p.Empty() {
		line("time", "%s without a throttle; %s batch by batch", millis(sch.Unthrottled.Millis), millis(sch.Unthrottled.BatchedMillis))
		v.throttle(line)
	}
	if n := len(v.p.Refusals); n > 0 {
		line("refused", "%s, see below", plural(n, "item"))
	}
}

// overBound tells how far from the least the plan is.
func (v *view) overBound() string {
	s := &v.p.Summary
	goal := "it"
	if v.p.Operation == plan.Rebalance || v.p.Operation == plan.Expand {
		goal = "reaching the band everywhere"
	}
	switch {
	case s.BytesBound <= 0:
		return ""
	case s.Bytes < s.BytesBound:
		return fmt.Sprintf("; %s takes %s at least", goal, size(s.BytesBound))
	}
	return fmt.Sprintf("; %s takes %s at least (%.1f %% less)", goal, size(s.BytesBound), 100*(1-float64(s.BytesBound)/float64(s.Bytes)))
}

func (v *view) throttle(line func(string, string, ...any)) {
	sch := v.r.Schedule
	given := v.r.Request.Options.Schedule.Throttle
	switch {
	case given > 0:
		line("", "%s with a throttle of %s", millis(sch.Throttled.Millis), rate(given))
	case sch.Throttle.BytesPerSecond > 0:
		line("", "%s with the suggested throttle of %s", millis(sch.Throttled.Millis), rate(sch.Throttle.BytesPerSecond))
	}
	if n := sch.Throttle.Note; n != "" {
		line("", "%s", n)
	}
	if e := sch.Throttled.Endless; e > 0 && len(sch.Throttled.Examples) > 0 {
		line("", "with that throttle %s would never catch up, such as that of %s", plural(e, "copy"), sch.Throttled.Examples[0])
	}
}

func (v *view) resources() {
	if len(v.p.Summary.Resources) == 0 {
		return
	}
	v.title("Balance: load in fair shares, before → after; band ±%.3g %%", 100*v.band())
	t := newTable("resource", ">most loaded", ">no plan below", ">least loaded", ">variation", ">brokers in band")
	for _, f := range v.p.Summary.Resources {
		b, a := f.Before, f.After
		bound := "–"
		if f.Bound > 0 {
			bound = fmt.Sprintf("%.3f", f.Bound)
		}
		t.add(f.Resource, fmt.Sprintf("%.3f → %.3f", b.Max, a.Max), bound, fmt.Sprintf("%.3f → %.3f", b.Min, a.Min),
			fmt.Sprintf("%.3f → %.3f", b.CV, a.CV), percent(b.InBand)+" → "+percent(a.InBand))
	}
	t.print(v.w)
}

func (v *view) band() float64 {
	if v.p.Operation == plan.ChangeRF || v.p.Operation == plan.Elect {
		return 0.05
	}
	return v.r.Request.Options.Band
}

// brokers prints what brokers carry, in percent of their fair shares.
func (v *view) brokers() {
	list := v.p.Summary.Brokers
	if len(list) == 0 {
		return
	}
	v.title("Brokers: %% of the fair share, before → after")
	t := newTable(">broker", "rack", ">in", ">out", ">disk", ">leaders", ">replicas", ">copy in", ">copy out")
	n := v.shown(len(list))
	for i := range list[:n] {
		b := &list[i]
		cells := []any{b.Broker, short(b.Rack, 10)}
		if b.Dead {
			cells[0] = fmt.Sprintf("%d (dead)", b.Broker)
		}
		for _, k := range []model.Resource{model.In, model.Out, model.Disk} {
			cells = append(cells, ofShare(b, k))
		}
		t.add(append(cells, arrow(b.Before[model.Leaders], b.After[model.Leaders]), arrow(b.Before[model.Replicas], b.After[model.Replicas]),
			size(b.BytesIn), size(b.BytesOut))...)
	}
	t.more = len(list) - n
	t.print(v.w)
}

// ofShare is a load in percent of the fair share, or in its unit for brokers
// that have none.
func ofShare(b *plan.BrokerFigures, k model.Resource) string {
	switch {
	case b.Share[k] == 0 && b.After[k] == 0:
		return amount(k, b.Before[k]) + " → 0"
	case b.Share[k] == 0:
		return amount(k, b.Before[k]) + " → " + amount(k, b.After[k])
	}
	pc := func(n int64) int64 { return int64(100*float64(n)/float64(b.Share[k]) + 0.5) }
	return arrow(pc(b.Before[k]), pc(b.After[k]))
}

func arrow(before, after int64) string { return fmt.Sprintf("%d → %d", before, after) }

func (v *view) disks() {
	t := newTable(">broker", "log dir", ">capacity", ">size", ">full", ">in")
	total := 0
	for i := range v.p.Summary.Brokers {
		b := &v.p.Summary.Brokers[i]
		for _, d := range b.Dirs {
			if total++; v.rows > 0 && total > v.rows {
				continue
			}
			full := "–"
			if d.Capacity > 0 && d.Capacity != model.Unlimited {
				full = percent(float64(d.SizeBefore)/float64(d.Capacity)) + " → " + percent(float64(d.SizeAfter)/float64(d.Capacity))
			}
			t.add(b.Broker, short(d.Path, 24), amount(model.Disk, d.Capacity), size(d.SizeBefore)+" → "+size(d.SizeAfter), full,
				rate(d.InBefore)+" → "+rate(d.InAfter))
		}
	}
	if total == 0 {
		return
	}
	v.title("Log dirs, before → after")
	t.more = total - len(t.rows)
	t.print(v.w)
}

// changes prints what moves and why; * marks leaders.
func (v *view) changes() {
	if v.p.Empty() {
		return
	}
	v.title("Changes, best first; * leads")
	t := newTable("partition", "replicas", ">to copy", "why")
	n := v.shown(len(v.p.Changes))
	for i := range v.p.Changes[:n] {
		ch := &v.p.Changes[i]
		copied := size(ch.Bytes + ch.DirBytes)
		if ch.Bytes+ch.DirBytes == 0 {
			copied = "–"
		}
		why := ch.Why
		if d := dirChanges(ch); d != "" {
			why += " (" + d + ")"
		}
		t.add(short(fmt.Sprintf("%s-%d", ch.Topic, ch.Partition), 34), replicas(ch.From, ch.OldLeader)+" → "+replicas(ch.To, ch.NewLeader), copied, why)
	}
	t.more = len(v.p.Changes) - n
	t.print(v.w)
}

func replicas(list []plan.Replica, leader int32) string {
	if len(list) == 0 {
		return "new"
	}
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = strconv.Itoa(int(r.Broker))
		if r.Broker == leader {
			out[i] += "*"
		}
	}
	return strings.Join(out, ",")
}

// dirChanges names log dirs that replicas go to.
func dirChanges(ch *plan.Change) string {
	var out []string
	for _, to := range ch.To {
		if to.Dir == "" {
			continue
		}
		from := ""
		for _, r := range ch.From {
			if r.Broker == to.Broker {
				from = r.Dir
			}
		}
		if from != to.Dir {
			out = append(out, fmt.Sprintf("broker %d: %s", to.Broker, strings.TrimPrefix(from+" → "+to.Dir, " → ")))
		}
	}
	return strings.Join(out, ", ")
}

func (v *view) batches() {
	s := v.r.Schedule
	if s == nil || len(s.Batches) == 0 {
		return
	}
	v.title("Batches: what may run at once")
	t := newTable(">batch", ">moves", ">log-dir moves", ">elections", ">to copy", ">smallest", ">largest", ">time")
	n := v.shown(len(s.Batches))
	for i := range s.Batches[:n] {
		b := &s.Batches[i]
		t.add(i+1, b.Moves, b.DirMoves, b.Elections, size(b.Bytes+b.DirBytes), size(b.Smallest), size(b.Largest), millis(b.Millis))
	}
	t.more = len(s.Batches) - n
	t.print(v.w)
}
