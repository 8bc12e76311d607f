package loadgen

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func (c consumerSpec) options(clientID string) []kgo.Opt {
	opts := []kgo.Opt{
		kgo.ConsumeTopics(c.topics...),
		kgo.FetchMaxWait(time.Second),
		// A slow member must not hoard what it cannot handle.
		kgo.FetchMaxBytes(1 << 20), kgo.FetchMaxPartitionBytes(64 << 10),
	}
	if c.kind == share {
		return append(opts, kgo.ShareGroup(c.group))
	}
	opts = append(opts,
		kgo.ConsumerGroup(c.group), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(10*time.Second), kgo.HeartbeatInterval(2*time.Second),
	)
	if c.kind == next {
		opts = append(opts, kgo.ServerSideBalancer())
	}
	if c.committed {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	if c.static {
		opts = append(opts, kgo.InstanceID(clientID))
	}
	return opts
}

// commitEvery is how often consumers commit.
const commitEvery = 2 * time.Second

// consume is one member of a group, until ctx ends or it stops by itself.
func (l *Load) consume(ctx context.Context, client *kgo.Client, c consumerSpec) {
	began := time.Now()
	pace := pacer{rate: c.share * l.opts.Rate}
	commit := time.NewTicker(commitEvery)
	defer commit.Stop()
	for ctx.Err() == nil {
		well := c.behaviour == follows || time.Since(began) < goodTime
		switch {
		case well:
			l.read(ctx, client, c, &pace)
		case c.behaviour == stops:
			l.commit(ctx, client, c)
			return
		}
		select {
		case <-ctx.Done():
		case <-commit.C:
			l.commit(ctx, client, c)
		case <-time.After(tick):
		}
	}
	// A member that is still joining has nothing to commit, and would wait for
	// its group to settle.
	if c.kind == share || len(client.UncommittedOffsets()) > 0 {
		l.commit(context.WithoutCancel(ctx), client, c)
	}
}

// read takes what the member can handle now.
func (l *Load) read(ctx context.Context, client *kgo.Client, c consumerSpec, pace *pacer) {
	records := 1000
	if c.share > 0 {
		if records = pace.due(time.Now()); records == 0 {
			return
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	fetches := client.PollRecords(ctx, records)
	l.counts.consumed.Add(int64(fetches.NumRecords()))
	for _, e := range fetches.Errors() {
		if !errors.Is(e.Err, context.DeadlineExceeded) {
			l.failed(ctx, "read "+e.Topic+" as "+c.group, e.Err)
		}
	}
}

// commit commits what was read. One that commits the same again says so to the
// brokers too; the client itself would leave that out.
func (l *Load) commit(ctx context.Context, client *kgo.Client, c consumerSpec) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if c.kind == share {
		l.failed(ctx, "acknowledge as "+c.group, client.FlushAcks(ctx))
		return
	}
	if c.behaviour == stalls {
		if same := client.CommittedOffsets(); len(same) > 0 && len(client.UncommittedOffsets()) == 0 {
			client.CommitOffsetsSync(ctx, same, nil)
			return
		}
	}
	l.failed(ctx, "commit as "+c.group, client.CommitUncommittedOffsets(ctx))
}
