package balance_test

import (
	"github.com/kafka-steward/kafka-steward/planner/balance"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
	"pgregory.net/rapid"
)

// prefixes carries a plan out change by change: after each, no broker is above
// its capacity, or higher above it than before the plan, no volume above the
// share of it that may be filled, and racks are no worse.
func prefixes(t rapid.TB, c *model.Cluster, p *plan.Plan, o balance.Options, a asked) {
	t.Helper()
	before := c.BrokerLoads()
	volumes := volumeUse(c)
	for n := 1; n <= len(p.Changes); n++ {
		now := apply(t, c, p.Changes[:n])
		if ps := now.Validate(); len(ps) > 0 {
			t.Fatalf("after %d changes: %v", n, ps)
		}
		for b, load := range now.BrokerLoads() {
			for k := range load {
				limit := c.Brokers[b].Capacity[k]
				if limit != model.Unlimited && load[k] > before[b][k] && float64(load[k]) > float64(limit)*o.CapacityShare[k] {
					t.Fatalf("after %d of %d changes broker %d carries %d of %s, before %d, capacity %d: %+v", n, len(p.Changes), c.Brokers[b].ID, load[k], model.Resource(k), before[b][k], limit, p.Changes[:n])
				}
			}
		}
		for v, used := range volumeUse(now) {
			if limit := v.capacity(c); limit != model.Unlimited && used > volumes[v] && float64(used) > float64(limit)*o.DirShare {
				t.Fatalf("after %d of %d changes volume %d of broker %d holds %d, before %d, capacity %d: %+v", n, len(p.Changes), v.volume, c.Brokers[v.broker].ID, used, volumes[v], limit, p.Changes[:n])
			}
		}
		racksNoWorse(t, c, now, a.drain)
	}
}

type volumeOf struct{ broker, volume int32 }

func (v volumeOf) capacity(c *model.Cluster) int64 {
	for _, d := range c.Brokers[v.broker].Dirs {
		if d.Volume == v.volume {
			return d.Capacity
		}
	}
	return model.Unlimited
}

func volumeUse(c *model.Cluster) map[volumeOf]int64 {
	m := map[volumeOf]int64{}
	for s, b := range c.Broker {
		if d := c.Dir[s]; d != model.None {
			m[volumeOf{b, c.Brokers[b].Dirs[d].Volume}] += c.Size[s]
		}
	}
	return m
}
