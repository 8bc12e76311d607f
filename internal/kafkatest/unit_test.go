package kafkatest

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseMode(t *testing.T) {
	for in, want := range map[string]Mode{"kraft": KRaft4, "zk": ZK39, "ZK28": ZK28, "kraft39": KRaft39} {
		if got, err := ParseMode(in); err != nil || got != want {
			t.Errorf("ParseMode(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	if _, err := ParseMode("redpanda"); err == nil || !strings.Contains(err.Error(), "kraft39") {
		t.Errorf("unknown mode: error %v does not list the modes", err)
	}
}

func TestOptionsDefaults(t *testing.T) {
	o, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if o.Mode != KRaft4 || o.Brokers != 3 || o.ZooKeepers != 3 || o.LogDirs != 2 || o.BrokerHeap != "256m" {
		t.Errorf("defaults: %+v", o)
	}
	for name, bad := range map[string]Options{
		"mode":              {Mode: "nope"},
		"brokers":           {Brokers: -1},
		"broker properties": {Brokers: 1, BrokerProperties: map[int]map[string]string{2: nil}},
		"JWKS before 3.1":   {Mode: ZK28, OAuth: &OAuth{JWKSURL: "http://127.0.0.1/"}},
	} {
		if _, err := bad.withDefaults(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// testPlan plans a cluster without starting anything.
func testPlan(t *testing.T, o Options) *layout {
	t.Helper()
	o, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	l, err := plan(o, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l.ClusterID = newClusterID()
	return l
}

func TestBrokerProperties(t *testing.T) {
	for _, mode := range Modes {
		t.Run(string(mode), func(t *testing.T) {
			l := testPlan(t, Options{
				Mode: mode, Brokers: 2, IPv6: true, TLS: true, SuperUsers: []string{"User:CN=client"},
				Properties:       map[string]string{"num.io.threads": "7", "log.retention.ms": "5"},
				BrokerProperties: map[int]map[string]string{2: {"log.retention.ms": "6"}},
			})
			if err := l.write(); err != nil {
				t.Fatal(err)
			}
			b := l.Brokers[1]
			got := l.brokerProperties(b)
			want := map[string]string{
				"broker.rack":                      "rack-b",
				"log.dirs":                         b.Dir + "/data-1," + b.Dir + "/data-2",
				"num.io.threads":                   "7",
				"log.retention.ms":                 "6",
				"offsets.topic.num.partitions":     "6",
				"offsets.topic.replication.factor": "2",
				"auto.create.topics.enable":        "true",
				"allow.everyone.if.no.acl.found":   "false",
				"group.initial.rebalance.delay.ms": "0",
				"super.users":                      "User:admin;User:ANONYMOUS;User:CN=client",
				"listener.name.sasl_plaintext.sasl.enabled.mechanisms":      "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
				"listener.name.ssl.ssl.client.auth":                         "required",
				"listener.name.sasl_ssl.ssl.truststore.certificates":        l.pem.ca,
				"listener.name.sasl_plaintext.plain.sasl.jaas.config":       `org.apache.kafka.common.security.plain.PlainLoginModule required user_admin="admin-secret" user_alice="alice-secret" user_bob="bob-secret";`,
				"advertised.listeners":                                      advertised(b),
				"listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": "",
			}
			if mode.KRaft() {
				want["process.roles"], want["node.id"] = "broker,controller", "2"
				want["authorizer.class.name"] = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
				want["controller.quorum.voters"] = fmt.Sprintf("1@%s,2@%s", l.controllers[1], l.controllers[2])
			} else {
				want["broker.id"], want["zookeeper.connect"] = "2", l.zkConnect()
				want["authorizer.class.name"] = "kafka.security.authorizer.AclAuthorizer"
			}
			for k, v := range want {
				if got[k] != v {
					t.Errorf("%s = %q, want %q", k, got[k], v)
				}
			}
		})
	}
}

func advertised(b BrokerState) string {
	var l []string
	for _, name := range []string{"PLAINTEXT", "SASL_PLAINTEXT", "SSL", "SASL_SSL", "IPV6"} {
		l = append(l, name+"://"+b.Listeners[name])
	}
	return strings.Join(l, ",")
}

func TestOAuthProperties(t *testing.T) {
	o := &OAuth{JWKSURL: "http://127.0.0.1:1/jwks", Audience: "kafka", Issuer: "me"}
	got := o.properties("p.")
	for k, v := range map[string]string{
		"p.sasl.oauthbearer.jwks.endpoint.url": o.JWKSURL,
		"p.sasl.oauthbearer.expected.audience": "kafka",
		"p.sasl.oauthbearer.expected.issuer":   "me",
	} {
		if got[k] != v {
			t.Errorf("%s = %q, want %q", k, got[k], v)
		}
	}
	if u := (&OAuth{}).properties("p."); !strings.Contains(u["p.sasl.jaas.config"], "unsecured") || len(u) != 1 {
		t.Errorf("unsecured: %v", u)
	}
}

func TestRenderProperties(t *testing.T) {
	got := renderProperties(map[string]string{"b": "x\ny", "a": `c:\d`})
	if want := "a=c:\\\\d\nb=x\\ny\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLoggingConfig(t *testing.T) {
	for _, mode := range Modes {
		l := testPlan(t, Options{Mode: mode, Brokers: 1})
		b := l.Brokers[0]
		_, text := l.brokerLogging(b)
		for _, want := range []string{b.ServerLog, b.RequestLog, "kafka.request.logger", "WARN"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", mode, want, text)
			}
		}
		if strings.Contains(text, "%!") || strings.Contains(text, "%%") {
			t.Errorf("%s: badly formatted:\n%s", mode, text)
		}
	}
}

func TestZooKeeperProperties(t *testing.T) {
	l := testPlan(t, Options{Mode: ZK39, ZooKeeperProperties: map[string]string{"tickTime": "500"}})
	p := l.zooKeeperProperties(l.ZooKeepers[2])
	if p["tickTime"] != "500" || p["standaloneEnabled"] != "false" || p["server.1"] == "" || p["server.3"] == "" || p["server.4"] != "" {
		t.Errorf("ensemble of three: %v", p)
	}
	l = testPlan(t, Options{Mode: ZK39, ZooKeepers: 1})
	if p := l.zooKeeperProperties(l.ZooKeepers[0]); p["standaloneEnabled"] != "true" || p["server.1"] != "" {
		t.Errorf("single server: %v", p)
	}
}

func TestPlanPortsDiffer(t *testing.T) {
	l := testPlan(t, Options{Mode: KRaft4, Brokers: 5, TLS: true, IPv6: true})
	seen := map[string]bool{}
	for _, b := range l.Brokers {
		for _, addr := range append([]string{l.controllers[b.ID]}, values(b.Listeners)...) {
			_, port, err := net.SplitHostPort(addr)
			if err != nil || seen[port] {
				t.Errorf("broker %d: port of %q is used twice (%v)", b.ID, addr, err)
			}
			seen[port] = true
		}
	}
	if len(seen) != 5*6 {
		t.Errorf("%d ports, want 30", len(seen))
	}
}

func values(m map[string]string) []string {
	var v []string
	for _, s := range m {
		v = append(v, s)
	}
	return v
}

func TestFreePortsAreFree(t *testing.T) {
	ports, err := freePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ports)
	if n := len(slices.Compact(slices.Clone(ports))); n != 20 {
		t.Errorf("%d different ports, want 20", n)
	}
	first := firstEphemeralPort()
	for _, p := range ports {
		if first > 20000 && p >= first {
			t.Errorf("port %d is in the range of outgoing connections, which starts at %d", p, first)
		}
		l, err := net.Listen("tcp", loopback(p))
		if err != nil {
			t.Errorf("port %d: %v", p, err)
			continue
		}
		l.Close()
	}
}

func TestLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan struct{})
	got := make(chan error, 1)
	go func() {
		second, err := lockFile(context.Background(), path, func() { close(waiting) })
		if err == nil {
			second()
		}
		got <- err
	}()
	<-waiting
	select {
	case err := <-got:
		t.Fatalf("the second holder did not wait (error %v)", err)
	default:
	}
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	if _, err := lockFile(ctx, path, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a wait that is broken off: error %v", err)
	}
	unlock()
	if err := <-got; err != nil {
		t.Errorf("second holder: %v", err)
	}
}

func TestPom(t *testing.T) {
	for _, s := range []jarSet{kafkaSets[KRaft4], kafkaSets[ZK39], kafkaSets[ZK28], zooKeeperSet} {
		var pom struct {
			Dependencies []struct {
				Group    string `xml:"groupId"`
				Artifact string `xml:"artifactId"`
				Version  string `xml:"version"`
			} `xml:"dependencies>dependency"`
		}
		if err := xml.Unmarshal(s.pom(), &pom); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range pom.Dependencies {
			got = append(got, d.Group+":"+d.Artifact+":"+d.Version)
		}
		if diff := cmp.Diff(s.deps, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.name(), diff)
		}
	}
}

// toolDir makes a directory with a fake program for the PATH.
func toolDir(t *testing.T, name, script string) string {
	t.Helper()
	dir := t.TempDir()
	if name != "" {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestMissingTools(t *testing.T) {
	t.Setenv("JAVA_HOME", "")
	t.Setenv("PATH", toolDir(t, "", ""))
	t.Setenv(CacheEnv, t.TempDir())
	var missing *MissingToolError
	if _, err := Start(t.Context(), Options{}); !errors.As(err, &missing) || missing.Tool != "java" {
		t.Errorf("without java: %v", err)
	} else if !strings.Contains(err.Error(), "JAVA_HOME") {
		t.Errorf("without java: %q names no remedy", err)
	}
	t.Setenv("PATH", toolDir(t, "java", "exit 1"))
	if _, err := Start(t.Context(), Options{}); !errors.As(err, &missing) || missing.Tool != "mvn" {
		t.Errorf("without mvn: %v", err)
	} else if !strings.Contains(err.Error(), "install Apache Maven") {
		t.Errorf("without mvn: %q names no remedy", err)
	}
}

func TestFetch(t *testing.T) {
	cache := t.TempDir()
	t.Setenv(CacheEnv, cache)
	// Stands for Maven: it counts its runs and makes the jars, or fails.
	count := filepath.Join(t.TempDir(), "count")
	t.Setenv("FAKE_MVN_COUNT", count)
	dir := toolDir(t, "mvn", `
echo run >> "$FAKE_MVN_COUNT"
[ -z "$FAKE_MVN_FAIL" ] || { echo "no route to the repository"; exit 1; }
for a; do case "$a" in -DoutputDirectory=*) out=${a#*=} ;; esac; done
mkdir -p "$out" && touch "$out/b.jar" "$out/a.jar"
`)
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))

	t.Setenv("FAKE_MVN_FAIL", "1")
	err := Fetch(t.Context(), nil, KRaft4)
	if err == nil || !strings.Contains(err.Error(), "no route to the repository") || !strings.Contains(err.Error(), "Kafka 4") {
		t.Errorf("failing mvn: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "jars", "*4.*")); len(left) > 0 {
		t.Errorf("a failed fetch left %v", left)
	}

	t.Setenv("FAKE_MVN_FAIL", "")
	// At once, as concurrent test processes do.
	errs := make(chan error, 4)
	for range cap(errs) {
		go func() { errs <- Fetch(context.Background(), nil, KRaft4) }()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	runs, err := os.ReadFile(count)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(runs), "run"); n != 2 {
		t.Errorf("mvn ran %d times, want 2: the failure and one fetch for all", n)
	}
	jars, err := kafkaSets[KRaft4].fetch(t.Context(), orDiscard(nil))
	if err != nil {
		t.Fatal(err)
	}
	cp, err := classpath(jars)
	if want := filepath.Join(jars, "a.jar") + ":" + filepath.Join(jars, "b.jar"); err != nil || cp != want {
		t.Errorf("class path %q (%v), want %q", cp, err, want)
	}
}

func TestBindFailureIsRetried(t *testing.T) {
	// Stands for java: every start but the last fails as a taken port does.
	count := filepath.Join(t.TempDir(), "count")
	t.Setenv("FAKE_JAVA_COUNT", count)
	t.Setenv("JAVA_HOME", "")
	dir := toolDir(t, "java", `
case "$*" in *StorageTool*) exit 0 ;; esac
echo run >> "$FAKE_JAVA_COUNT"
echo "[now] ERROR Address already in use (x)" >> "$PWD/logs/server.log"
exit 1
`)
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv(CacheEnv, t.TempDir())
	set := kafkaSets[KRaft4]
	jars := filepath.Join(os.Getenv(CacheEnv), "jars", set.dirName())
	if err := os.MkdirAll(jars, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(jars, "a.jar"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	_, err := Start(t.Context(), Options{Brokers: 1, Dir: data})
	if !errors.Is(err, errBind) {
		t.Errorf("error %v, want one about the port", err)
	}
	runs, _ := os.ReadFile(count)
	if n := strings.Count(string(runs), "run"); n != startAttempts {
		t.Errorf("started %d times, want %d", n, startAttempts)
	}
	if left, _ := os.ReadDir(data); len(left) > 0 {
		t.Errorf("failed starts left %v", left)
	}
}

func TestWait(t *testing.T) {
	looks := 0
	err := Wait(t.Context(), "the third look", 5*time.Second, func(context.Context) (bool, string) {
		looks++
		return looks == 3, ""
	})
	if err != nil || looks != 3 {
		t.Errorf("%d looks, error %v", looks, err)
	}
	err = Wait(t.Context(), "doomsday", 120*time.Millisecond, func(context.Context) (bool, string) { return false, "all quiet" })
	if err == nil || !strings.Contains(err.Error(), "doomsday") || !strings.Contains(err.Error(), "all quiet") {
		t.Errorf("error %v does not say what was waited for and seen", err)
	}
}

// TestReaper checks the reaper without the kernel's help: it must kill a
// stopped child that ignores signals, and remove the directory.
func TestReaper(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "with a space")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := startReaper(dir)
	if err != nil {
		t.Fatal(err)
	}
	children := make([]*exec.Cmd, 2)
	for i := range children {
		c := exec.Command("sleep", "60")
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		r.add(c.Process.Pid)
		children[i] = c
	}
	if err := syscall.Kill(children[0].Process.Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// The second one has been waited for in the reaper's eyes: its number may
	// belong to somebody else now, so it must be left alone.
	r.del(children[1].Process.Pid)
	r.in.Close() // what the death of this process does

	err = children[0].Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the child ended by %v, want SIGKILL", err)
	}
	WaitFor(t, "the directory to go", 15*time.Second, func(context.Context) (bool, string) { return !exists(dir), dir })
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("reaper: %v", err)
	}
	if !running(children[1].Process.Pid) {
		t.Error("the reaper killed a process that it had been told to forget")
	}
	_ = children[1].Process.Kill()
	_ = children[1].Wait()
}

func TestProcess(t *testing.T) {
	r, err := startReaper("")
	if err != nil {
		t.Fatal(err)
	}
	defer r.dismiss()
	out := filepath.Join(t.TempDir(), "out")
	cmd := command{name: "sleeper", argv: []string{"sh", "-c", "echo hello; trap '' TERM; sleep 60 & wait; sleep 60"}, dir: "/", output: out}
	p, err := cmd.start(r)
	if err != nil {
		t.Fatal(err)
	}
	WaitFor(t, "the child's output", 5*time.Second, func(context.Context) (bool, string) {
		b, _ := os.ReadFile(out)
		return string(b) == "hello\n", string(b)
	})
	if pgid, err := syscall.Getpgid(p.pid); err != nil || pgid != p.pid {
		t.Errorf("process group %d (%v), want its own, %d", pgid, err, p.pid)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.terminate(ctx); err == nil || !p.alive() {
		t.Errorf("a child that ignores SIGTERM: error %v, alive %v", err, p.alive())
	}
	p.kill()
	if p.alive() {
		t.Error("alive after kill")
	}
	if err := p.signal(syscall.SIGSTOP); err == nil {
		t.Error("no error from a signal to a dead process")
	}
}
