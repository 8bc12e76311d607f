package collector

func clusterSubject() Subject {
	return Subject{Title: "Cluster", Families: []family{
		gauge(topology, "kafka_cluster_info",
			"Always 1; says the cluster's id and whether its metadata is kept by KRaft or ZooKeeper (mode kraft, zookeeper, empty while unknown). From Metadata.",
			most, labels("cluster_id", "mode"), func(c *cluster, e *emitter) {
				if t := c.Topology; t != nil {
					e.Int(1, t.ClusterID, t.Mode)
				}
			}),
		gauge(topology, "kafka_cluster_brokers",
			"Brokers that the cluster lists as alive. From Metadata.",
			none, nil, func(c *cluster, e *emitter) {
				if c.Topology == nil {
					return
				}
				up := int64(0)
				for i := range c.Topology.Brokers {
					if c.Topology.Brokers[i].Up {
						up++
					}
				}
				e.Int(up)
			}),
		gauge(topology, "kafka_cluster_controller_broker",
			"Id of the node that is the active controller: in KRaft mode the leader of the metadata quorum (DescribeQuorum), with ZooKeeper the broker that Metadata names. Absent when there is none or it is not known.",
			none, nil, func(c *cluster, e *emitter) {
				switch {
				case c.Quorum != nil && c.Quorum.LeaderID >= 0:
					e.Int(int64(c.Quorum.LeaderID))
				case c.Quorum == nil && c.Topology != nil && c.Topology.Mode == zookeeper && c.Topology.ControllerID >= 0:
					e.Int(int64(c.Topology.ControllerID))
				}
			}),
		counter(topology, "kafka_cluster_controller_changes_total",
			"Changes of the active controller seen since the exporter started: in KRaft mode of the metadata quorum's leader or epoch (DescribeQuorum), with ZooKeeper of the controller that Metadata names.",
			nil, func(c *cluster, e *emitter) {
				switch {
				case c.Quorum != nil:
					e.Int(int64(c.Quorum.LeaderChanges))
				case c.Topology != nil && c.Topology.Mode == zookeeper:
					e.Int(int64(c.Topology.ControllerChanges))
				}
			}),
	}}
}

// zookeeper is Topology.Mode of a cluster whose brokers agree on a controller
// that Metadata names truly; in KRaft mode it names any broker.
const zookeeper = "zookeeper"
