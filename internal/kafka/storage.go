package kafka

import (
	"context"
	"slices"
	"strconv"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// LogDir is a broker's data directory. Total and Usable describe the volume in
// bytes and are -1 on brokers before 3.3 (KIP-827) and for failed directories.
type LogDir struct {
	Broker        int32
	Path          string
	Err           error
	Total, Usable int64
	Replicas      []LogDirReplica
}

// LogDirReplica is a replica on disk.
type LogDirReplica struct {
	Topic     string
	Partition int32
	// Size in bytes; OffsetLag in records.
	Size, OffsetLag int64
	// Future marks a replica that is being moved here from another directory.
	Future bool
}

// LogDirs reads the data directories of the given brokers in parallel, one
// request for each.
func (c *Client) LogDirs(ctx context.Context, brokers []int32) ([]LogDir, map[int32]error) {
	out := make(chan []LogDir, len(brokers))
	failed := each(brokers, func(id int32) error {
		res, err := on(ctx, c, id, apiDescribeLogDirs, func(b *sarama.Broker) (*sarama.DescribeLogDirsResponse, error) {
			res, err := b.DescribeLogDirs(&sarama.DescribeLogDirsRequest{Version: apiDescribeLogDirs.max})
			if err == nil && res.ErrorCode != sarama.ErrNoError {
				err = res.ErrorCode
			}
			return res, err
		})
		if err != nil {
			return err
		}
		dirs := make([]LogDir, 0, len(res.LogDirs))
		for _, d := range res.LogDirs {
			// Brokers before 3.0 answer a principal without rights with no error
			// and an entry without a path, or with nothing at all.
			if d.ErrorCode == sarama.ErrClusterAuthorizationFailed {
				return d.ErrorCode
			}
			dirs = append(dirs, convertDir(id, res.Version, d))
		}
		out <- dirs
		return nil
	})
	close(out)
	var all []LogDir
	for ds := range out {
		all = append(all, ds...)
	}
	return all, failed
}

func convertDir(broker int32, version int16, d sarama.DescribeLogDirsResponseDirMetadata) LogDir {
	dir := LogDir{Broker: broker, Path: d.Path, Total: -1, Usable: -1}
	if d.ErrorCode != sarama.ErrNoError {
		dir.Err = d.ErrorCode
	}
	if version >= 4 && dir.Err == nil && d.TotalBytes >= 0 {
		dir.Total, dir.Usable = d.TotalBytes, d.UsableBytes
	}
	for _, t := range d.Topics {
		for _, p := range t.Partitions {
			dir.Replicas = append(dir.Replicas, LogDirReplica{Topic: t.Topic, Partition: p.PartitionID, Size: p.Size, OffsetLag: p.OffsetLag, Future: p.IsTemporary})
		}
	}
	return dir
}

// Reassignment is a partition reassignment in flight.
type Reassignment struct {
	Topic                      string
	Partition                  int32
	Replicas, Adding, Removing []int32
}

// Reassignments lists every reassignment in flight. One request, through
// franz-go: sarama cannot send the null list that asks for all.
func (c *Client) Reassignments(ctx context.Context) ([]Reassignment, error) {
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	req.Topics = nil
	req.TimeoutMillis = int32(c.requestTimeout.Milliseconds())
	res, err := rawController[*kmsg.ListPartitionReassignmentsResponse](ctx, c, req)
	if err != nil {
		return nil, err
	}
	if err := kerr.ErrorForCode(res.ErrorCode); err != nil {
		return nil, err
	}
	var out []Reassignment
	for _, t := range res.Topics {
		for _, p := range t.Partitions {
			out = append(out, Reassignment{Topic: t.Topic, Partition: p.Partition, Replicas: p.Replicas, Adding: p.AddingReplicas, Removing: p.RemovingReplicas})
		}
	}
	return out, nil
}

// ConfigValue is one configuration entry.
type ConfigValue struct {
	Value string
	// Default is true where nothing set it explicitly for this resource.
	Default bool
}

// ConfigResult is the configuration of one topic or broker.
type ConfigResult struct {
	Name    string
	Configs map[string]ConfigValue
	Err     error
}

// topicsPerConfigRequest bounds one DescribeConfigs: brokers build the whole
// answer in memory.
const topicsPerConfigRequest = 1000

// TopicConfigs reads the named entries of the topics' effective configuration.
// Requests grow with topics/1000.
func (c *Client) TopicConfigs(ctx context.Context, topics, entries []string) ([]ConfigResult, error) {
	var out []ConfigResult
	for part := range slices.Chunk(topics, topicsPerConfigRequest) {
		resources := make([]*sarama.ConfigResource, 0, len(part))
		for _, t := range part {
			resources = append(resources, &sarama.ConfigResource{Type: sarama.TopicResource, Name: t, ConfigNames: entries})
		}
		rs, err := whoever(ctx, c, apiDescribeConfigs, func(b *sarama.Broker) ([]ConfigResult, error) {
			return describeConfigs(b, resources)
		})
		if err != nil {
			return out, err
		}
		out = append(out, rs...)
	}
	return out, nil
}

// BrokerConfigs reads the named entries of each broker's configuration, at that
// broker itself (no other can tell), in parallel.
func (c *Client) BrokerConfigs(ctx context.Context, brokers []int32, entries []string) (map[int32]ConfigResult, map[int32]error) {
	type answer struct {
		id  int32
		res ConfigResult
	}
	out := make(chan answer, len(brokers))
	failed := each(brokers, func(id int32) error {
		rs, err := on(ctx, c, id, apiDescribeConfigs, func(b *sarama.Broker) ([]ConfigResult, error) {
			return describeConfigs(b, []*sarama.ConfigResource{{Type: sarama.BrokerResource, Name: strconv.Itoa(int(id)), ConfigNames: entries}})
		})
		if err != nil {
			return err
		}
		for _, r := range rs {
			if r.Err != nil {
				return r.Err
			}
			out <- answer{id, r}
		}
		return nil
	})
	close(out)
	all := map[int32]ConfigResult{}
	for a := range out {
		all[a.id] = a.res
	}
	return all, failed
}

func describeConfigs(b *sarama.Broker, resources []*sarama.ConfigResource) ([]ConfigResult, error) {
	res, err := b.DescribeConfigs(&sarama.DescribeConfigsRequest{Version: apiDescribeConfigs.max, Resources: resources})
	if err != nil {
		return nil, err
	}
	out := make([]ConfigResult, 0, len(res.Resources))
	for _, r := range res.Resources {
		cr := ConfigResult{Name: r.Name, Configs: make(map[string]ConfigValue, len(r.Configs))}
		if r.ErrorCode != 0 {
			cr.Err = sarama.KError(r.ErrorCode)
		}
		for _, e := range r.Configs {
			explicit := e.Source == sarama.SourceTopic || e.Source == sarama.SourceDynamicBroker || e.Source == sarama.SourceDynamicDefaultBroker
			cr.Configs[e.Name] = ConfigValue{Value: e.Value, Default: !explicit}
		}
		out = append(out, cr)
	}
	return out, nil
}
