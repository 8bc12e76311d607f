package check

import "github.com/kafka-steward/kafka-steward/planner/model"

// fairShares are what every broker should carry, in the resource's unit, if the
// loads of c were spread evenly: see the package comment. 0 for a broker that
// takes no part.
func fairShares(c *model.Cluster, loads []model.Vector, receive []bool, countsFollowDisk bool) [][model.NumResources]float64 {
	shares := make([][model.NumResources]float64, len(c.Brokers))
	for g := model.None; g < int32(len(c.Groups)); g++ {
		for k := range model.NumResources {
			weights := groupWeights(c, g, k, receive, countsFollowDisk)
			var load int64
			sum := 0.0
			for b := range c.Brokers {
				if c.Brokers[b].Group == g {
					load += loads[b][k]
					sum += weights[b]
				}
			}
			for b, w := range weights {
				if w > 0 {
					shares[b][k] = float64(load) * w / sum
				}
			}
		}
	}
	return shares
}

// groupWeights are the parts of a group's brokers in a resource; 0 for a broker
// of another group and one that may not receive.
func groupWeights(c *model.Cluster, group int32, k model.Resource, receive []bool, countsFollowDisk bool) []float64 {
	weights := make([]float64, len(c.Brokers))
	known := knownFor(c, group, k, receive)
	if !known && countsFollowDisk && (k == model.Replicas || k == model.Leaders) {
		k = model.Disk
		known = knownFor(c, group, k, receive)
	}
	for b := range c.Brokers {
		if c.Brokers[b].Group != group || !receive[b] {
			continue
		}
		weights[b] = 1
		if known {
			weights[b] = float64(c.Brokers[b].Capacity[k])
		}
	}
	return weights
}

// knownFor tells whether all of a group's brokers have a capacity.
func knownFor(c *model.Cluster, group int32, k model.Resource, receive []bool) bool {
	for b := range c.Brokers {
		if v := c.Brokers[b].Capacity[k]; c.Brokers[b].Group == group && receive[b] && (v == model.Unlimited || v <= 0) {
			return false
		}
	}
	return true
}
