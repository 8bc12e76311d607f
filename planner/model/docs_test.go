package model

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestFormatIsDocumented looks every JSON key up in the document.
func TestFormatIsDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/snapshot-format.md")
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{FormatSnapshot: true, "brokers": true, "topics": true}
	for _, n := range ResourceNames {
		keys[n] = true
	}
	for _, v := range []any{jsonHeader{}, jsonLoad{}, jsonBroker{}, jsonDir{}, jsonTopic{}, jsonPartition{}, jsonReplica{}, TopicPartitions{}} {
		rt := reflect.TypeOf(v)
		for i := range rt.NumField() {
			key, _, _ := strings.Cut(rt.Field(i).Tag.Get("json"), ",")
			if key == "" {
				t.Errorf("%v.%s has no key", rt, rt.Field(i).Name)
			}
			keys[key] = true
		}
	}
	for k := range keys {
		if !strings.Contains(string(b), "`"+k+"`") {
			t.Errorf("docs/snapshot-format.md does not mention %q", k)
		}
	}
	// The example is a good document.
	_, example, _ := strings.Cut(string(b), "```json\n")
	example, _, _ = strings.Cut(example, "```")
	s, err := ReadAny(strings.NewReader(example), "")
	if err != nil {
		t.Fatal(err)
	}
	if s.Cluster.Name != "prod" || s.Cluster.NumReplicas() != 2 || !s.Cluster.Brokers[1].Dead {
		t.Errorf("the example was read as %+v", s.Cluster)
	}
}
