package kafkatest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
)

// SharedDirEnv names the environment variable that tells test processes where
// the supervisor of "testbed run" listens.
const SharedDirEnv = "KAFKATEST_SHARED_DIR"

// socketName is the supervisor's socket in the shared directory.
const socketName = "sock"

// A test process keeps one connection for its whole life; each line is one
// request, answered by one line. The end of the connection, however it comes,
// gives all its leases back.
type (
	leaseRequest struct {
		Mode Mode `json:"mode"`
	}
	leaseAnswer struct {
		State *State `json:"state,omitempty"`
		Error string `json:"error,omitempty"`
	}
)

// leaseClient is a test process's end of the connection.
type leaseClient struct {
	conn net.Conn
	enc  *json.Encoder
	dec  *json.Decoder
}

func dialSupervisor(dir string) (*leaseClient, error) {
	conn, err := net.Dial("unix", filepath.Join(dir, socketName))
	if err != nil {
		return nil, fmt.Errorf("reach the test bed's supervisor (is %s=%s left over from an ended \"testbed run\"? unset it): %w", SharedDirEnv, dir, err)
	}
	return &leaseClient{conn: conn, enc: json.NewEncoder(conn), dec: json.NewDecoder(conn)}, nil
}

// acquire leases the cluster of a mode until this process ends.
func (l *leaseClient) acquire(mode Mode) (*State, error) {
	if err := l.enc.Encode(leaseRequest{Mode: mode}); err != nil {
		return nil, fmt.Errorf("ask the test bed's supervisor for a %s cluster: %w", mode, err)
	}
	var a leaseAnswer
	if err := l.dec.Decode(&a); err != nil {
		return nil, fmt.Errorf("the test bed's supervisor ended before it answered (see its output): %w", err)
	}
	if a.State == nil {
		return nil, fmt.Errorf("the test bed's supervisor: %s", a.Error)
	}
	return a.State, nil
}

// SharedDir makes a directory for Listen and returns the function that removes
// it; it is removed as well when this process is killed.
func SharedDir() (dir string, cleanup func(), err error) {
	// Not under TMPDIR's possibly long path: the name of a socket must be short.
	if dir, err = os.MkdirTemp("/tmp", "kafkatest-shared-"); err != nil {
		return "", nil, fmt.Errorf("make the shared directory: %w", err)
	}
	r, err := startReaper(dir)
	if err != nil {
		os.RemoveAll(dir)
		return "", nil, err
	}
	return dir, func() {
		r.dismiss()
		os.RemoveAll(dir)
	}, nil
}

// Listen lends clusters to the test processes that have SharedDirEnv=dir in
// their environment, until ctx ends; done is closed then. The state of each
// cluster that was lent is also written to dir, as "<mode>.json".
func (s *Supervisor) Listen(ctx context.Context, dir string) (done <-chan struct{}, err error) {
	l, err := net.Listen("unix", filepath.Join(dir, socketName))
	if err != nil {
		return nil, fmt.Errorf("listen for test processes: %w", err)
	}
	context.AfterFunc(ctx, func() { l.Close() })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var wg sync.WaitGroup
		defer wg.Wait()
		for {
			conn, err := l.Accept()
			if err != nil {
				if ctx.Err() == nil {
					s.opts.Log.Error("cannot accept test processes any more", "error", err)
				}
				return
			}
			wg.Go(func() { s.serveProcess(ctx, dir, conn) })
		}
	}()
	return ended, nil
}

// serveProcess answers one test process until its connection ends.
func (s *Supervisor) serveProcess(ctx context.Context, dir string, conn net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { conn.Close() })

	// Read apart from the answering, so that the end of a process that waits
	// for a cluster is seen at once.
	requests := make(chan leaseRequest)
	go func() {
		defer cancel()
		defer close(requests)
		lines := bufio.NewScanner(conn)
		for lines.Scan() {
			var r leaseRequest
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				return
			}
			select {
			case requests <- r:
			case <-ctx.Done():
				return
			}
		}
	}()

	var held []Mode
	defer func() {
		for _, m := range held {
			s.Release(m)
		}
	}()
	enc := json.NewEncoder(conn)
	for r := range requests {
		var a leaseAnswer
		state, err := s.Acquire(ctx, r.Mode, len(held) > 0)
		if err == nil {
			held = append(held, r.Mode)
			a.State = &state
			err = state.WriteFile(filepath.Join(dir, string(r.Mode)+".json"))
		}
		if err != nil {
			a = leaseAnswer{Error: err.Error()}
		}
		if enc.Encode(a) != nil {
			return
		}
	}
}
