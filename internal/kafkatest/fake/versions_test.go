package fake

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestEveryOfferedVersion answers each API in each offered version, and reads
// the answers back: Default panics when kmsg does not read what was encoded.
func TestEveryOfferedVersion(t *testing.T) {
	c := sample(t)
	for key, r := range kafka4 {
		if key == kmsg.SASLHandshake || key == kmsg.SASLAuthenticate {
			continue // answered by the connection, see TestSASLPlain
		}
		for v := r.Min; v <= r.Max; v++ {
			req := key.Request()
			if v > req.MaxVersion() {
				t.Fatalf("%s v%d is offered, kmsg knows up to %d", key.Name(), v, req.MaxVersion())
			}
			req.SetVersion(v)
			fillRequest(req)
			resp := c.Default(1, req)
			if resp == nil {
				t.Errorf("%s has no default handler", key.Name())
				continue
			}
			checkResponse(t, v, resp)
		}
	}
}

// fillRequest asks the sample for orders-0, which broker 1 leads.
func fillRequest(req kmsg.Request) {
	switch r := req.(type) {
	case *kmsg.MetadataRequest:
		r.Topics = append(r.Topics, kmsg.MetadataRequestTopic{Topic: ptr("orders")})
	case *kmsg.ListOffsetsRequest:
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Timestamp = tsLatest
		r.Topics = append(r.Topics, kmsg.ListOffsetsRequestTopic{Topic: "orders", Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}})
	case *kmsg.FetchRequest:
		p := kmsg.NewFetchRequestTopicPartition()
		p.FetchOffset = 7
		r.Topics = append(r.Topics, kmsg.FetchRequestTopic{Topic: "orders", TopicID: TopicID("orders"), Partitions: []kmsg.FetchRequestTopicPartition{p}})
	case *kmsg.DescribeConfigsRequest:
		r.Resources = append(r.Resources, kmsg.DescribeConfigsRequestResource{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "orders"})
	case *kmsg.DescribeGroupsRequest:
		r.Groups = []string{"classic"}
	}
}

func checkResponse(t *testing.T, v int16, resp kmsg.Response) {
	t.Helper()
	bad := false
	switch r := resp.(type) {
	case *kmsg.MetadataResponse:
		bad = len(r.Brokers) != 3 || len(r.Topics) != 1 || *r.Topics[0].Topic != "orders" || len(r.Topics[0].Partitions) != 3
	case *kmsg.ListOffsetsResponse:
		bad = r.Topics[0].Partitions[0].Offset != 100
	case *kmsg.FetchResponse:
		var batch kmsg.RecordBatch
		p := r.Topics[0].Partitions[0]
		bad = batch.ReadFrom(p.RecordBatches) != nil || batch.FirstOffset != 7 || p.HighWatermark != 100
	case *kmsg.DescribeConfigsResponse:
		bad = len(r.Resources[0].Configs) != len(topicDefaults)
	case *kmsg.DescribeLogDirsResponse:
		bad = len(r.Dirs) != 2 || (r.Dirs[0].TotalBytes > 0) != (v >= 4) || r.Dirs[1].ErrorCode != errStorage
	case *kmsg.ApiVersionsResponse:
		bad = len(r.ApiKeys) != len(kafka4)
	case *kmsg.DescribeGroupsResponse:
		bad = len(r.Groups) != 1
	case *kmsg.DescribeClientQuotasResponse:
		bad = len(r.Entries) != 2
	}
	if bad {
		t.Errorf("%s v%d: %+v", kmsg.NameForKey(resp.Key()), v, resp)
	}
}
