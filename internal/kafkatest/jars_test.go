package kafkatest

import (
	"context"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

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
