package main

import (
	"fmt"
	"strings"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

func (v *view) limits() {
	if len(v.p.Limits) == 0 {
		return
	}
	v.title("Limits: what no plan can mend")
	t := newTable("resource", "item", ">fair shares", "advice")
	n := v.shown(len(v.p.Limits))
	for _, l := range v.p.Limits[:n] {
		t.add(l.Resource, short(l.Item, 34), fmt.Sprintf("%.2f", l.Share), l.Advice)
	}
	t.more = len(v.p.Limits) - n
	t.print(v.w)
}

func (v *view) refusals() {
	list := v.p.Refusals
	if v.r.Schedule != nil {
		list = append(list[:len(list):len(list)], v.r.Schedule.Refusals...)
	}
	if len(list) == 0 {
		return
	}
	v.title("Refused: asked for and not in the plan")
	t := newTable("partition", "reason", "detail")
	n := v.shown(len(list))
	for i := range list[:n] {
		f := &list[i]
		t.add(short(fmt.Sprintf("%s-%d", f.Topic, f.Partition), 34), f.Reason, f.Detail+rejections(f))
	}
	t.more = len(list) - n
	t.print(v.w)
}

// rejections tell what brokers lacked.
func rejections(f *plan.Refusal) string {
	const shown = 6
	var out []string
	for i, r := range f.Rejected {
		if i == shown {
			out = append(out, fmt.Sprintf("and %d more", len(f.Rejected)-shown))
			break
		}
		s := fmt.Sprintf("broker %d: %s", r.Broker, r.Reason)
		for k, name := range model.ResourceNames {
			if name == r.Reason && r.Need > 0 {
				s += fmt.Sprintf(" (needs %s, free %s)", amount(model.Resource(k), r.Need), amount(model.Resource(k), r.Free))
			}
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return ""
	}
	return "; " + strings.Join(out, ", ")
}

func (v *view) warnings() {
	list := append(v.r.Source.Warnings[:len(v.r.Source.Warnings):len(v.r.Source.Warnings)], v.p.Warnings...)
	if v.r.Schedule != nil {
		list = append(list, v.r.Schedule.Warnings...)
	}
	if len(list) == 0 {
		return
	}
	v.title("Warnings")
	for _, s := range list {
		bullet(v.w, s)
	}
}
