package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// run is the demo from start to end. An interrupted start or run is no error.
func run(ctx context.Context, o options) (err error) {
	root, err := findRoot()
	if err != nil {
		return err
	}
	s := &stack{options: o, root: root, began: time.Now()}
	defer s.stop()
	interrupted := func(err error) error {
		if ctx.Err() != nil {
			s.say("interrupted: stopping")
			return nil
		}
		return err
	}
	if err := s.start(ctx); err != nil {
		return interrupted(err)
	}
	s.printAddresses(os.Stdout)
	if err := s.awaitSeries(ctx); err != nil {
		return interrupted(err)
	}
	s.printQueries(ctx, os.Stdout)
	if o.check {
		return interrupted(s.check(ctx))
	}
	return interrupted(s.watch(ctx))
}

// watch waits until ctx or the wanted duration ends, or a part of the stack
// does, which is an error.
func (s *stack) watch(ctx context.Context) error {
	var over <-chan time.Time
	if s.options.duration > 0 {
		over = time.After(s.options.duration)
	}
	select {
	case <-ctx.Done():
		s.say("stopping")
		return nil
	case <-over:
		s.say("the time is over: stopping")
		return nil
	case <-s.exporter.Done():
		return s.exporter.Err()
	case <-s.prometheus.Done():
		return s.prometheus.Err()
	}
}

// say prints one line of progress.
func (s *stack) say(format string, args ...any) {
	fmt.Printf("[%5.1fs] %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}
