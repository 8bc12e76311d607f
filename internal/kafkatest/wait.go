package kafkatest

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// pollEvery is the time between two looks at a condition.
const pollEvery = 50 * time.Millisecond

// Condition reports whether something has come about; detail says what was
// seen, for the message when it does not come about in time.
type Condition func(ctx context.Context) (ok bool, detail string)

// Wait polls cond until it holds, at most for the time within. The error of a
// wait in vain names what and the last detail.
func Wait(ctx context.Context, what string, within time.Duration, cond Condition) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("not within %v", within))
	defer cancel()
	return wait(ctx, what, cond, nil)
}

// WaitFor is Wait for tests: it fails the test when cond does not hold in time.
func WaitFor(t testing.TB, what string, within time.Duration, cond Condition) {
	t.Helper()
	if err := Wait(t.Context(), what, within, cond); err != nil {
		t.Fatal(err)
	}
}

// wait polls cond until it holds, ctx ends, or p (if not nil) ends.
func wait(ctx context.Context, what string, cond Condition, p *process) error {
	detail := "nothing was seen"
	for {
		ok, d := cond(ctx)
		if p != nil && !p.alive() {
			return fmt.Errorf("wait for %s: %s has ended: %v", what, p.name, p.err)
		}
		if ok {
			return nil
		}
		if d != "" && ctx.Err() == nil {
			detail = d // a look that the end of ctx cut short tells nothing
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w; last seen: %s", what, context.Cause(ctx), detail)
		case <-time.After(pollEvery):
		}
	}
}
