// Package kafka speaks to one cluster: connections per broker, reads that keep
// partial results, and errors that say what failed, where and what to do.
//
// It is the one place that knows sarama. What sarama lacks (ListOffsets by
// maximum timestamp, listing every reassignment, DescribeQuorum, share groups,
// ListTransactions of version 0) goes through franz-go's kmsg behind the same
// methods. sarama's Client and ClusterAdmin are not used for reading: they
// retry behind the caller's back, visit coordinators one after another and
// drop everything when one broker fails. Here every broker has its own
// connection and deadline, requests to different brokers run in parallel, and
// a broker that does not answer costs its own share only.
package kafka

import (
	"errors"
	"fmt"

	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
)

// api is one Kafka API as this package sends it through sarama.
type api struct {
	key  int16
	name string
	// min and max are the versions that this package can use.
	min, max int16
}

// The versions are sarama v1.61.1's newest, the minimum is where the fields
// that are read here begin.
var (
	apiFetch                 = api{1, "Fetch", 4, 12}
	apiListOffsets           = api{2, "ListOffsets", 1, 6}
	apiMetadata              = api{3, "Metadata", 4, 11}
	apiOffsetFetch           = api{9, "OffsetFetch", 2, 8}
	apiDescribeGroups        = api{15, "DescribeGroups", 0, 5}
	apiListGroups            = api{16, "ListGroups", 0, 5}
	apiAPIVersions           = api{18, "ApiVersions", 0, 3}
	apiDescribeACLs          = api{29, "DescribeAcls", 0, 2}
	apiDescribeConfigs       = api{32, "DescribeConfigs", 0, 4}
	apiDescribeLogDirs       = api{35, "DescribeLogDirs", 0, 4}
	apiDescribeClientQuotas  = api{48, "DescribeClientQuotas", 0, 1}
	apiDescribeProducers     = api{61, "DescribeProducers", 0, 0}
	apiConsumerGroupDescribe = api{69, "ConsumerGroupDescribe", 0, 1}
)

const keyDescribeQuorum int16 = 55

// versionRange is what a broker accepts of one API.
type versionRange struct{ min, max int16 }

// UnsupportedError says that a broker and this program share no version of an API.
type UnsupportedError struct {
	API string
	// Broker is the broker asked, -1 if it is a bootstrap server.
	Broker int32
	// Offered is false when the broker does not have the API at all.
	Offered                                    bool
	BrokerMin, BrokerMax, ClientMin, ClientMax int16
}

func (e *UnsupportedError) Error() string {
	if !e.Offered {
		return fmt.Sprintf("%s does not offer %s (we speak versions %d to %d)", brokerName(e.Broker), e.API, e.ClientMin, e.ClientMax)
	}
	return fmt.Sprintf("%s offers %s in versions %d to %d, we speak %d to %d: no common version", brokerName(e.Broker), e.API, e.BrokerMin, e.BrokerMax, e.ClientMin, e.ClientMax)
}

// Unsupported marks the error for connect.Classify.
func (e *UnsupportedError) Unsupported() bool { return true }

func (a api) check(broker int32, have map[int16]versionRange) error {
	r, ok := have[a.key]
	if !ok {
		return &UnsupportedError{API: a.name, Broker: broker, ClientMin: a.min, ClientMax: a.max}
	}
	if r.max < a.min || r.min > a.max {
		return &UnsupportedError{API: a.name, Broker: broker, Offered: true, BrokerMin: r.min, BrokerMax: r.max, ClientMin: a.min, ClientMax: a.max}
	}
	return nil
}

func brokerName(id int32) string {
	if id < 0 {
		return "a bootstrap server"
	}
	return fmt.Sprintf("broker %d", id)
}

// Classify gives the error's class: connect.Classify plus this package's own errors.
func Classify(err error) connect.Class {
	if err == nil {
		return ""
	}
	var u interface{ Unsupported() bool }
	if errors.As(err, &u) && u.Unsupported() {
		return connect.ClassUnsupported
	}
	return connect.Classify(err)
}
