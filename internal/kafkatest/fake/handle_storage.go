package fake

import (
	"cmp"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func describeLogDirs(s *State, broker int32, req *kmsg.DescribeLogDirsRequest, resp *kmsg.DescribeLogDirsResponse) {
	b := s.Brokers[broker]
	if b == nil {
		return
	}
	want := wantedPartitions(req.Topics)
	for _, d := range b.LogDirs {
		rd := kmsg.NewDescribeLogDirsResponseDir()
		rd.Dir, rd.ErrorCode, rd.TotalBytes, rd.UsableBytes, rd.IsCordoned = d.Path, d.Err, -1, -1, d.Cordoned
		if d.Err == 0 {
			rd.TotalBytes, rd.UsableBytes = d.Total, d.Usable
			rd.Topics = dirTopics(d, want)
		}
		resp.Dirs = append(resp.Dirs, rd)
	}
}

// wantedPartitions indexes a request's partitions; nil = all.
func wantedPartitions(topics []kmsg.DescribeLogDirsRequestTopic) map[string][]int32 {
	if topics == nil {
		return nil
	}
	want := make(map[string][]int32, len(topics))
	for _, t := range topics {
		want[t.Topic] = append(want[t.Topic], t.Partitions...)
	}
	return want
}

// dirTopics groups a directory's replicas by topic, in order of first
// appearance.
func dirTopics(d *LogDir, want map[string][]int32) []kmsg.DescribeLogDirsResponseDirTopic {
	var out []kmsg.DescribeLogDirsResponseDirTopic
	at := map[string]int{}
	for i := range d.Replicas {
		r := &d.Replicas[i]
		if want != nil && !slices.Contains(want[r.Topic], r.Partition) {
			continue
		}
		n := len(out) - 1
		if n < 0 || out[n].Topic != r.Topic {
			var ok bool
			if n, ok = at[r.Topic]; !ok {
				t := kmsg.NewDescribeLogDirsResponseDirTopic()
				t.Topic = r.Topic
				n = len(out)
				out, at[r.Topic] = append(out, t), n
			}
		}
		p := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		p.Partition, p.Size, p.OffsetLag, p.IsFuture = r.Partition, r.Size, r.Lag, r.Future
		out[n].Partitions = append(out[n].Partitions, p)
	}
	return out
}

func listPartitionReassignments(s *State, _ int32, req *kmsg.ListPartitionReassignmentsRequest, resp *kmsg.ListPartitionReassignmentsResponse) {
	if req.Topics == nil {
		for _, name := range s.index.topics {
			all := make([]int32, len(s.Topics[name].Partitions))
			for i := range all {
				all[i] = int32(i)
			}
			s.reassigning(name, all, resp)
		}
		return
	}
	for _, t := range req.Topics {
		s.reassigning(t.Topic, t.Partitions, resp)
	}
}

// reassigning appends those of a topic's partitions that are being reassigned.
func (s *State) reassigning(topic string, partitions []int32, resp *kmsg.ListPartitionReassignmentsResponse) {
	rt := kmsg.NewListPartitionReassignmentsResponseTopic()
	rt.Topic = topic
	for _, n := range partitions {
		p := s.Partition(topic, n)
		if p == nil || len(p.Adding)+len(p.Removing) == 0 {
			continue
		}
		rp := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
		rp.Partition, rp.Replicas, rp.AddingReplicas, rp.RemovingReplicas = n, p.Replicas, p.Adding, p.Removing
		rt.Partitions = append(rt.Partitions, rp)
	}
	if len(rt.Partitions) > 0 {
		resp.Topics = append(resp.Topics, rt)
	}
}

// topicDefaults are Kafka's defaults of the topic configs that monitoring
// looks at.
var topicDefaults = map[string]string{
	"cleanup.policy": "delete", "compression.type": "producer", "follower.replication.throttled.replicas": "",
	"leader.replication.throttled.replicas": "", "max.message.bytes": "1048588", "message.timestamp.type": "CreateTime",
	"min.insync.replicas": "1", "retention.bytes": "-1", "retention.ms": "604800000", "segment.bytes": "1073741824",
	"segment.ms": "604800000", "unclean.leader.election.enable": "false",
}

func describeConfigs(s *State, broker int32, req *kmsg.DescribeConfigsRequest, resp *kmsg.DescribeConfigsResponse) {
	for i := range req.Resources {
		rr := &req.Resources[i]
		or := kmsg.NewDescribeConfigsResponseResource()
		or.ResourceType, or.ResourceName = rr.ResourceType, rr.ResourceName
		s.resourceConfigs(broker, rr, &or)
		if or.ErrorCode != 0 {
			or.Configs = nil
		}
		for j := range or.Configs {
			finishConfig(&or.Configs[j], req)
		}
		resp.Resources = append(resp.Resources, or)
	}
}

func (s *State) resourceConfigs(broker int32, rr *kmsg.DescribeConfigsRequestResource, or *kmsg.DescribeConfigsResponseResource) {
	switch rr.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		t := s.Topics[rr.ResourceName]
		switch {
		case t == nil:
			or.ErrorCode = errUnknownTopicOrPartition
		case t.Err != 0:
			or.ErrorCode = t.Err
		default:
			addConfigs(or, rr, t.Configs, kmsg.ConfigSourceDynamicTopicConfig)
			addDefaults(or, rr, t.Configs)
		}
	case kmsg.ConfigResourceTypeBroker:
		if rr.ResourceName == "" {
			addConfigs(or, rr, s.DefaultBrokerConfigs, kmsg.ConfigSourceDynamicDefaultBrokerConfig)
			break
		}
		b := s.Brokers[broker]
		if b == nil || rr.ResourceName != itoa(broker) {
			or.ErrorCode = errInvalidRequest
			or.ErrorMessage = kmsg.StringPtr("Unexpected broker id, expected " + itoa(broker) + " or empty string, but received " + rr.ResourceName)
			break
		}
		addConfigs(or, rr, b.Configs, kmsg.ConfigSourceDynamicBrokerConfig)
		addConfigs(or, rr, without(s.DefaultBrokerConfigs, b.Configs), kmsg.ConfigSourceDynamicDefaultBrokerConfig)
	default:
		or.ErrorCode = errInvalidRequest
		or.ErrorMessage = kmsg.StringPtr("The fake serves configs of topics and brokers only.")
	}
	slices.SortFunc(or.Configs, func(a, b kmsg.DescribeConfigsResponseResourceConfig) int { return cmp.Compare(a.Name, b.Name) })
}

func addConfigs(or *kmsg.DescribeConfigsResponseResource, rr *kmsg.DescribeConfigsRequestResource, configs map[string]Config, source kmsg.ConfigSource) {
	for name, cfg := range configs {
		if rr.ConfigNames != nil && !slices.Contains(rr.ConfigNames, name) {
			continue
		}
		c := kmsg.NewDescribeConfigsResponseResourceConfig()
		c.Name, c.Value, c.IsSensitive, c.ReadOnly, c.Source = name, cfg.Value, cfg.Sensitive, cfg.ReadOnly, source
		if cfg.Sensitive {
			c.Value = nil
		}
		if cfg.Source != 0 {
			c.Source = cfg.Source
		}
		or.Configs = append(or.Configs, c)
	}
}

func addDefaults(or *kmsg.DescribeConfigsResponseResource, rr *kmsg.DescribeConfigsRequestResource, set map[string]Config) {
	for name, v := range topicDefaults {
		if _, ok := set[name]; !ok {
			addConfigs(or, rr, map[string]Config{name: Value(v)}, kmsg.ConfigSourceDefaultConfig)
		}
	}
}

func without(configs, set map[string]Config) map[string]Config {
	out := maps.Clone(configs)
	maps.DeleteFunc(out, func(name string, _ Config) bool { _, ok := set[name]; return ok })
	return out
}

func finishConfig(c *kmsg.DescribeConfigsResponseResourceConfig, req *kmsg.DescribeConfigsRequest) {
	c.ConfigType = kmsg.ConfigTypeString
	c.IsDefault = c.Source == kmsg.ConfigSourceDefaultConfig
	if req.IncludeSynonyms {
		syn := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
		syn.Name, syn.Value, syn.Source = c.Name, c.Value, c.Source
		c.ConfigSynonyms = append(c.ConfigSynonyms, syn)
	}
}
