package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the expected messages of testdata/bad anew")

// testFamilies stands for what the exporter's collectors know.
var testFamilies = KnownFamilies{
	"kafka_group_lag_records": {"kafka_cluster", "group", "topic", "partition"},
	"kafka_topic_partitions":  {"kafka_cluster", "topic"},
}

func TestGood(t *testing.T) {
	files, err := filepath.Glob("testdata/good/*.yml")
	if err != nil || len(files) < 3 {
		t.Fatalf("found %d good files, want at least 3 (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c, err := Load(file, testFamilies)
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Clusters) == 0 {
				t.Error("no cluster was read")
			}
		})
	}
}

func TestBad(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yml")
	if err != nil || len(files) < 24 {
		t.Fatalf("found %d bad files, want at least 24 (%v)", len(files), err)
	}
	nameOf := map[string]string{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yml")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Parse(data, testFamilies)
			if err == nil {
				t.Fatal("accepted")
			}
			if errs := Errors(nil); !errors.As(err, &errs) {
				t.Errorf("error is %T, want Errors", err)
			}
			got, expectation := err.Error()+"\n", strings.TrimSuffix(file, ".yml")+".err"
			if *update {
				if err := os.WriteFile(expectation, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(expectation)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			if strings.Contains(got, "S3cr3t") {
				t.Errorf("the message repeats a secret:\n%s", got)
			}
			if other := nameOf[got]; other != "" {
				t.Errorf("same message as %s:\n%s", other, got)
			}
			nameOf[got] = name
		})
	}
}
