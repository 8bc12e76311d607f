// Package fake is a scripted Kafka cluster on loopback sockets, for tests and
// benchmarks.
//
// It exists for two things that a real broker cannot give on request: faults
// (a broker that accepts a connection and never answers, half of a frame, an
// offline log directory, an API range that no client speaks, an offset commit
// for a topic that is gone) and size (a hundred brokers with fifty thousand
// partitions on a laptop). Whatever a real broker can show, is tested against
// a real broker.
//
// A [Cluster] has N brokers, each with its own listener. Default handlers
// answer from a [State], which a test changes with [Cluster.Update];
// [Cluster.OnKey] and [Cluster.Intercept] take single requests out of the
// default's hands; [Cluster.BlackHole], [Cluster.StopBroker] and
// [Cluster.SetVersions] act on whole brokers. Every request is recorded, so
// that a test can assert what was asked as well as what came out.
// [Large] builds the state of a simulated big cluster and [Cluster.Freeze]
// makes serving it cheap.
//
// Requests and responses are encoded by franz-go's kmsg, the frames around
// them here. The kfake package of franz-go was not used, since it hides the
// frame: it cannot answer with garbage or half a frame, leave one request of
// a connection unanswered, advertise versions that it does not implement, or
// serve cached bytes.
//
// Known differences from a real cluster: nothing elects leaders or rebalances
// groups by itself ([State.KillBroker] does the former on demand); produced
// records are counted, not kept; there is no authorizer (put error codes into
// the state or intercept); group membership APIs (JoinGroup and so on) are
// not served.
package fake
