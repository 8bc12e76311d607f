package main

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestServesAndObeys(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(t.Context(), []string{"--brokers", "4", "--topics", "5", "--partitions", "20", "--groups", "3", "--commits", "30"}, inR, outW)
	}()
	out := bufio.NewReader(outR)
	var r ready
	line, err := out.ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &r) != nil {
		t.Fatalf("first line %q: %v", line, err)
	}
	if r.Brokers != 4 || r.Partitions != 20 || r.Groups != 3 || r.Commits != 30 || len(strings.Split(r.Bootstrap, ",")) != 3 {
		t.Errorf("ready = %+v", r)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(r.Bootstrap, ",")...))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ends, err := kadm.NewClient(cl).ListEndOffsets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ends.Each(func(kadm.ListedOffset) { n++ })
	if n != 20 {
		t.Errorf("%d end offsets, want 20", n)
	}
	if _, err := io.WriteString(inW, "stats\n"); err != nil {
		t.Fatal(err)
	}
	var s stats
	line, err = out.ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &s) != nil || s.Requests["Metadata"] == 0 || s.Requests["ListOffsets"] == 0 {
		t.Errorf("stats %q: %v", line, err)
	}
	inW.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestRefusesNonsense(t *testing.T) {
	if err := run(t.Context(), []string{"--brokers", "1", "--topics", "1", "--partitions", "1", "--groups", "1", "--commits", "9"}, strings.NewReader(""), io.Discard); err == nil {
		t.Error("9 commits in 1 group × 1 partition: want an error")
	}
	small := []string{"--brokers", "1", "--topics", "1", "--partitions", "1", "--groups", "0", "--commits", "0"}
	if err := run(t.Context(), small, strings.NewReader("dance\n"), io.Discard); err == nil || !strings.Contains(err.Error(), "dance") {
		t.Errorf("unknown command: %v", err)
	}
}
