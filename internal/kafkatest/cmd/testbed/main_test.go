package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
)

func testRun(t *testing.T, args ...string) (int, error) {
	t.Helper()
	return run(args, slog.New(slog.NewTextHandler(t.Output(), nil)))
}

func TestRunGivesTheCommandItsSupervisor(t *testing.T) {
	out := filepath.Join(t.TempDir(), "dir")
	code, err := testRun(t, "run", "--", "sh", "-c", `test -S "$KAFKATEST_SHARED_DIR/sock" && echo "$KAFKATEST_SHARED_DIR" > "$0"; exit 7`, out)
	if err != nil || code != 7 {
		t.Errorf("exit code %d, error %v; want the command's 7", code, err)
	}
	dir, err := os.ReadFile(out)
	if err != nil {
		t.Fatal("the command found no supervisor: ", err)
	}
	if _, err := os.Stat(strings.TrimSpace(string(dir))); !os.IsNotExist(err) {
		t.Errorf("shared directory after the run: %v, want none", err)
	}
}

func TestRunExitCodes(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		code int
		text string // in the error
	}{
		"success":        {[]string{"run", "--", "true"}, 0, ""},
		"killed":         {[]string{"run", "--", "sh", "-c", "kill -9 $$"}, 137, ""},
		"no such":        {[]string{"run", "--", "/no/such/program"}, 1, "/no/such/program"},
		"no command":     {[]string{"run"}, 2, "command"},
		"bad mode":       {[]string{"run", "--modes", "kraft4,foo", "--", "true"}, 2, `"foo"`},
		"bad up mode":    {[]string{"up", "--mode", "foo"}, 1, `"foo"`},
		"bad fetch mode": {[]string{"fetch", "foo"}, 1, `"foo"`},
	} {
		t.Run(name, func(t *testing.T) {
			code, err := testRun(t, tt.args...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if (tt.text == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), tt.text)) {
				t.Errorf("error %v, want one with %q", err, tt.text)
			}
		})
	}
}

func TestParseModes(t *testing.T) {
	got, err := parseModes([]string{"kraft,zk28", "zk"})
	if want := []kafkatest.Mode{kafkatest.KRaft4, kafkatest.ZK28, kafkatest.ZK39}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestDescribe(t *testing.T) {
	var b bytes.Buffer
	describe(&b, kafkatest.State{
		Version: "4.4.0", Mode: kafkatest.KRaft4, Bootstrap: map[string]string{"PLAINTEXT": "127.0.0.1:1", "SSL": "127.0.0.1:2"},
		Brokers:    []kafkatest.BrokerState{{ID: 1, PID: 42, Rack: "rack-a", LogDirs: []string{"/d1", "/d2"}, RequestLog: "/r"}},
		ZooKeepers: []kafkatest.ZooKeeperState{{ID: 1, Addr: "127.0.0.1:3", Admin: "http://127.0.0.1:4/commands"}},
	})
	for _, want := range []string{"bootstrap: 127.0.0.1:1\n", "SSL: 127.0.0.1:2", "pid 42", "/d1 /d2", "/r", "127.0.0.1:3", "127.0.0.1:4"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
