package fake

import "github.com/twmb/franz-go/pkg/kmsg"

// VersionRange is an inclusive range of API versions.
type VersionRange struct{ Min, Max int16 }

// kafka4 are the ranges that Kafka 4.4 advertises for the APIs that have a
// default handler; the minimums follow KIP-896. There are two deviations:
// Produce 0 to 2, which brokers advertise for the sake of old librdkafka and
// then refuse, and SaslHandshake 0, which is followed by unframed tokens.
var kafka4 = map[kmsg.Key]VersionRange{
	kmsg.Produce: {3, 13}, kmsg.Fetch: {4, 18}, kmsg.ListOffsets: {1, 11}, kmsg.Metadata: {0, 13},
	kmsg.OffsetCommit: {2, 10}, kmsg.OffsetFetch: {1, 10}, kmsg.FindCoordinator: {0, 6},
	kmsg.DescribeGroups: {0, 6}, kmsg.ListGroups: {0, 5}, kmsg.SASLHandshake: {1, 1}, kmsg.ApiVersions: {0, 5},
	kmsg.InitProducerID: {0, 5}, kmsg.OffsetForLeaderEpoch: {2, 4}, kmsg.DescribeACLs: {1, 3},
	kmsg.DescribeConfigs: {1, 4}, kmsg.DescribeLogDirs: {1, 5}, kmsg.SASLAuthenticate: {0, 2},
	kmsg.ListPartitionReassignments: {0, 0}, kmsg.DescribeClientQuotas: {0, 1}, kmsg.DescribeQuorum: {0, 2},
	kmsg.DescribeCluster: {0, 2}, kmsg.DescribeProducers: {0, 0}, kmsg.DescribeTransactions: {0, 0},
	kmsg.ListTransactions: {0, 2}, kmsg.ConsumerGroupDescribe: {0, 1}, kmsg.ShareGroupDescribe: {1, 1},
	kmsg.StreamsGroupDescribe: {0, 1}, kmsg.DescribeShareGroupOffsets: {0, 1},
}

// versionTable holds the ranges of one cluster: a common layer and overrides
// per broker. A nil range means "not offered".
type versionTable struct {
	common    map[int16]*VersionRange
	perBroker map[int32]map[int16]*VersionRange
}

func newVersionTable() versionTable {
	t := versionTable{common: map[int16]*VersionRange{}, perBroker: map[int32]map[int16]*VersionRange{}}
	for k, r := range kafka4 {
		t.common[k.Int16()] = &r
	}
	return t
}

func (t *versionTable) get(broker int32, key int16) *VersionRange {
	if r, ok := t.perBroker[broker][key]; ok {
		return r
	}
	return t.common[key]
}

func (t *versionTable) set(broker int32, key int16, r *VersionRange) {
	if t.perBroker[broker] == nil {
		t.perBroker[broker] = map[int16]*VersionRange{}
	}
	t.perBroker[broker][key] = r
}

// SetVersions makes all brokers offer versions lo to hi of an API. Versions
// that kmsg does not know may be offered, not served.
func (c *Cluster) SetVersions(key kmsg.Key, lo, hi int16) {
	c.setVersions(func(t *versionTable) { t.common[key.Int16()] = &VersionRange{lo, hi} })
}

// RemoveAPI makes all brokers stop offering an API; a request for it closes
// the connection.
func (c *Cluster) RemoveAPI(key kmsg.Key) {
	c.setVersions(func(t *versionTable) { delete(t.common, key.Int16()) })
}

// RemoveBrokerAPI is RemoveAPI for one broker.
func (c *Cluster) RemoveBrokerAPI(broker int32, key kmsg.Key) {
	c.setVersions(func(t *versionTable) { t.set(broker, key.Int16(), nil) })
}

func (c *Cluster) setVersions(change func(*versionTable)) {
	c.ctlMu.Lock()
	change(&c.versions)
	c.ctlMu.Unlock()
	c.cache.clear()
}

// offered returns the range of an API at a broker, and false when it is not
// offered there.
func (c *Cluster) offered(broker int32, key int16) (VersionRange, bool) {
	c.ctlMu.RLock()
	defer c.ctlMu.RUnlock()
	if r := c.versions.get(broker, key); r != nil {
		return *r, true
	}
	return VersionRange{}, false
}

// apiVersions answers ApiVersions for one broker.
func (c *Cluster) apiVersions(broker int32, resp *kmsg.ApiVersionsResponse) {
	c.ctlMu.RLock()
	defer c.ctlMu.RUnlock()
	for key := range int16(kmsg.MaxKey + 1) {
		if r := c.versions.get(broker, key); r != nil {
			k := kmsg.NewApiVersionsResponseApiKey()
			k.ApiKey, k.MinVersion, k.MaxVersion = key, r.Min, r.Max
			resp.ApiKeys = append(resp.ApiKeys, k)
		}
	}
	resp.FinalizedFeaturesEpoch = 1
	for _, f := range []struct {
		name   string
		lo, hi int16
	}{{"group.version", 0, 1}, {"share.version", 0, 2}, {"streams.version", 0, 1}, {"transaction.version", 0, 2}, {"metadata.version", 7, 33}} {
		s := kmsg.NewApiVersionsResponseSupportedFeature()
		s.Name, s.MinVersion, s.MaxVersion = f.name, f.lo, f.hi
		resp.SupportedFeatures = append(resp.SupportedFeatures, s)
		fin := kmsg.NewApiVersionsResponseFinalizedFeature()
		fin.Name, fin.MinVersionLevel, fin.MaxVersionLevel = f.name, f.hi, f.hi
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, fin)
	}
}

// unsupportedApiVersions is the answer to an ApiVersions request of an
// unknown version (KIP-511): version 0, error 35, with ApiVersions' own range.
func (c *Cluster) unsupportedApiVersions(broker int32) *kmsg.ApiVersionsResponse {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = errUnsupportedVersion
	r, _ := c.offered(broker, kmsg.ApiVersions.Int16())
	k := kmsg.NewApiVersionsResponseApiKey()
	k.ApiKey, k.MinVersion, k.MaxVersion = kmsg.ApiVersions.Int16(), r.Min, r.Max
	resp.ApiKeys = append(resp.ApiKeys, k)
	return resp
}
