package main

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kafka-steward/kafka-steward/planner"
	"github.com/kafka-steward/kafka-steward/planner/model"
)

// planFlags shape plans.
type planFlags struct {
	opts    planner.Options
	exclude []string
	cordon  string
	weights map[string]string
	idle    bool
	even    bool
}

// addPlace adds what every plan has, addBalance what those of package balance
// have besides, addSchedule what shapes the batches.
func (f *planFlags) addPlace(cmd *cobra.Command) {
	f.opts = planner.Defaults()
	s := cmd.Flags()
	s.StringArrayVar(&f.exclude, "exclude", nil, "leave these topics as they are: a glob, or /a regular expression/; repeatable")
	s.StringVar(&f.cordon, "cordon", "", "brokers that must not receive anything: 1,4,7-9")
	s.BoolVar(&f.opts.StrictRacks, "strict-racks", false, "refuse what cannot have every copy in a rack of its own")
}

func (f *planFlags) addBalance(cmd *cobra.Command) {
	s := cmd.Flags()
	s.Float64Var(&f.opts.Band, "band", f.opts.Band, "how far from its fair share a broker may be: 0.05 is ±5 %")
	s.Float64Var(&f.opts.DirBand, "dir-band", f.opts.DirBand, "the same for the log dirs of a broker; 0 leaves them alone")
	s.Var(bytesFlag{v: &f.opts.MaxBytes}, "max-bytes", "copy no more than this: 500GiB")
	s.IntVar(&f.opts.MaxMoves, "max-moves", 0, "move no more replicas than this")
	s.BoolVar(&f.opts.Light, "light", false, "relieve only brokers outside the band")
	s.StringToStringVar(&f.weights, "weights", nil, "how much resources count: in=1,out=1,disk=1,cpu=0.5 …; 0 leaves one out")
	s.BoolVar(&f.idle, "move-idle", false, "move topics without traffic too")
	s.BoolVar(&f.even, "move-even", false, "move topics too that lie evenly already")
	s.BoolVar(&f.opts.CountsFollowDisk, "counts-follow-disk", false, "give brokers with more disk more replicas and leaders")
	s.Uint64Var(&f.opts.Seed, "seed", f.opts.Seed, "start of the pseudo-random choices; the same seed gives the same plan")
}

func (f *planFlags) addSchedule(cmd *cobra.Command) {
	s, o := cmd.Flags(), &f.opts.Schedule
	s.Var(bytesFlag{&o.Throttle, true}, "throttle", "replication throttle to reckon with: 50MB/s")
	s.Var(bytesFlag{&o.DirThrottle, true}, "dir-throttle", "throttle between log dirs to reckon with")
	s.Var(bytesFlag{&o.Bandwidth, true}, "bandwidth", "what a broker's network carries where the cluster's capacity is not known (default 125MB/s)")
	s.Var(bytesFlag{&o.DiskBandwidth, true}, "disk-bandwidth", "what a disk reads or writes (default 150MB/s)")
	s.Var(bytesFlag{&o.Budget, true}, "copy-budget", "what all copying together may take")
	s.IntVar(&o.BrokerIn, "broker-in", 0, "replicas copied to a broker at once (default 5)")
	s.IntVar(&o.BrokerOut, "broker-out", 0, "replicas copied from a broker at once (default 5)")
	s.IntVar(&o.PerDisk, "per-disk", 0, "copies on a disk at once (default 5)")
	s.IntVar(&o.Elections, "elections", 0, "leaderships that a broker gains at once (default 50)")
	s.BoolVar(&o.JoinDirMoves, "join-dir-moves", false, "let one step move between brokers and between log dirs; not with brokers of 2.8 or older")
}

// options are the flags resolved against a cluster.
func (f *planFlags) options(c *model.Cluster) (planner.Options, error) {
	o := f.opts
	o.LeaveIdle, o.LeaveEven = !f.idle, !f.even
	var err error
	if o.Cordon, err = parseBrokers(f.cordon); err != nil {
		return o, fmt.Errorf("--cordon: %w", err)
	}
	for name, text := range f.weights {
		k := slices.Index(model.ResourceNames[:], name)
		w, err := strconv.ParseFloat(text, 64)
		switch {
		case k < 0:
			return o, fmt.Errorf("--weights: %q is no resource; they are %s", name, strings.Join(model.ResourceNames[:], ", "))
		case err != nil || !(w >= 0 && w <= 1e6):
			return o, fmt.Errorf("--weights: the weight %q of %s is no number of 0 or more", text, name)
		}
		o.Weights[k] = w
	}
	if o.MaxBytes < 0 || o.MaxMoves < 0 {
		return o, errors.New("--max-bytes and --max-moves cannot be negative")
	}
	o.Exclude, err = topics(c, f.exclude, "--exclude")
	return o, err
}

// parseBrokers reads lists such as 1,4,7-9.
func parseBrokers(s string) ([]int32, error) {
	var out []int32
	if s == "" {
		return nil, nil
	}
	for _, part := range strings.Split(s, ",") {
		lo, hi, ranged := strings.Cut(strings.TrimSpace(part), "-")
		if !ranged {
			hi = lo
		}
		from, err1 := strconv.ParseInt(lo, 10, 32)
		to, err2 := strconv.ParseInt(hi, 10, 32)
		if err1 != nil || err2 != nil || to < from || to-from > 100_000 {
			return nil, fmt.Errorf("%q is no broker and no range of brokers; write 1,4,7-9", part)
		}
		for id := from; id <= to; id++ {
			out = append(out, int32(id))
		}
	}
	return out, nil
}

// topics resolves patterns to names. A pattern that matches nothing is an error:
// a misspelt exclusion would let the topic move.
func topics(c *model.Cluster, patterns []string, flag string) ([]string, error) {
	var out []string
	for _, p := range patterns {
		match := func(name string) bool { ok, _ := path.Match(p, name); return ok }
		if len(p) > 1 && strings.HasPrefix(p, "/") && strings.HasSuffix(p, "/") {
			re, err := regexp.Compile(p[1 : len(p)-1])
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", flag, p, err)
			}
			match = re.MatchString
		} else if _, err := path.Match(p, ""); err != nil {
			return nil, fmt.Errorf("%s %s: it is no glob: %w", flag, p, err)
		}
		found := false
		for i := range c.Topics {
			if match(c.Topics[i].Name) {
				out, found = append(out, c.Topics[i].Name), true
			}
		}
		if !found {
			return nil, fmt.Errorf("%s %s: no topic of cluster %s matches", flag, p, c.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// parsePartition splits topic-partition at its last dash.
func parsePartition(s string) (string, int32, error) {
	i := strings.LastIndexByte(s, '-')
	if i > 0 {
		if id, err := strconv.ParseInt(s[i+1:], 10, 32); err == nil && id >= 0 {
			return s[:i], int32(id), nil
		}
	}
	return "", 0, fmt.Errorf("%q is no topic-partition; write orders-7", s)
}
