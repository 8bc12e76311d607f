package kafkatest

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// startZooKeeper launches server i of the ensemble and waits until it serves.
func (c *Cluster) startZooKeeper(ctx context.Context, i int) error {
	z := c.plan.ZooKeepers[i]
	cmd := c.plan.zooKeeperCommand(c.rt, z)
	log := newLogReader(z.Log)
	p, err := cmd.start(c.reaper)
	if err != nil {
		return err
	}
	c.zkMu.Lock()
	c.zk = append(c.zk, p)
	c.plan.ZooKeepers[i].PID = p.pid
	c.zkMu.Unlock()

	what := fmt.Sprintf("ZooKeeper %d to serve", z.ID)
	err = wait(ctx, what, func(ctx context.Context) (bool, string) {
		if _, taken := log.contains(bindFailures...); taken {
			return true, ""
		}
		answer, err := fourLetterWord(ctx, z.Addr, "srvr")
		if err != nil {
			return false, err.Error()
		}
		return strings.Contains(answer, "Mode:"), strings.TrimSpace(answer)
	}, p)
	if line, taken := log.contains(bindFailures...); taken {
		return fmt.Errorf("ZooKeeper %d: %w: %s", z.ID, errBind, line)
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, tail(10, z.Log, cmd.output))
	}
	return nil
}

// fourLetterWord asks a ZooKeeper server one of its four-letter commands.
func fourLetterWord(ctx context.Context, addr, word string) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	b, err := io.ReadAll(conn)
	return string(b), err
}
