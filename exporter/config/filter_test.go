package config

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func regexps(sources ...string) []Regexp {
	var rs []Regexp
	for _, s := range sources {
		rs = append(rs, MustRegexp(s))
	}
	return rs
}

func TestFilterMatch(t *testing.T) {
	tests := []struct {
		name             string
		include, exclude []string
		yes, no          []string
	}{
		{"empty", nil, nil, []string{"a", "", "a\nb"}, nil},
		{"whole names", []string{"orders"}, nil, []string{"orders"}, []string{"orders2", "my-orders", "orders\n", "Orders"}},
		{"alternatives are anchored too", []string{"a|b"}, nil, []string{"a", "b"}, []string{"ax", "xb", "ab"}},
		{"any include", []string{"a.*", "b.*"}, nil, []string{"a", "bc"}, []string{"c"}},
		{"exclude wins", []string{"a.*"}, []string{"ab"}, []string{"a", "abc"}, []string{"ab", "b"}},
		{"only exclude", nil, []string{"__.*"}, []string{"a"}, []string{"__consumer_offsets"}},
		{"user's anchors", []string{"^a$"}, nil, []string{"a"}, []string{"ab"}},
		{"newline is a character", []string{"a.b"}, nil, []string{"a\nb", "a.b"}, nil},
		{"multi-line flag does not loosen", []string{"(?m)a$"}, nil, []string{"a"}, []string{"a\nb"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := Filter{Include: regexps(test.include...), Exclude: regexps(test.exclude...)}
			for _, s := range test.yes {
				if !f.Match(s) {
					t.Errorf("%q does not match", s)
				}
			}
			for _, s := range test.no {
				if f.Match(s) {
					t.Errorf("%q matches", s)
				}
			}
		})
	}
}

func TestNewRegexpRefusesWhatOnlyAnchorsWouldMakeValid(t *testing.T) {
	for _, source := range []string{"a)(b", "(", "(?!a)"} {
		if _, err := NewRegexp(source); err == nil {
			t.Errorf("%q is accepted", source)
		}
	}
	if (Regexp{}).MatchString("") {
		t.Error("the zero Regexp matches")
	}
}

func TestFilterLiterals(t *testing.T) {
	f := Filter{
		Include: regexps("orders", "orders.v1", `pay\.v1`, "a.*", "x|y", "[ab]", "(?i)z", "...", "excluded", "with space"),
		Exclude: regexps("excluded"),
	}
	want := []string{"orders", "orders.v1", "pay.v1"}
	if diff := cmp.Diff(want, f.Literals()); diff != "" {
		t.Errorf("literals (-want +got):\n%s", diff)
	}
}

func TestExactGroups(t *testing.T) {
	var l Lag
	if l.Exact("g") {
		t.Error("without exact_groups a group is exact")
	}
	l.ExactGroups = &Filter{Include: regexps("g.*")}
	if !l.Exact("g1") || l.Exact("h") {
		t.Error("exact_groups chooses wrongly")
	}
}

// Every topic is in exactly one shard, and shards are about equally large.
func TestShardOwns(t *testing.T) {
	const topics = 30_000
	for _, of := range []int{1, 2, 3, 7, 16} {
		counts := make([]int, of)
		for i := range topics {
			topic, owners := fmt.Sprintf("team-%d.events-%d", i%97, i), 0
			for index := range of {
				if (Shard{Index: index, Of: of}).Owns(topic) {
					owners++
					counts[index]++
				}
			}
			if owners != 1 {
				t.Fatalf("%s has %d owners of %d", topic, owners, of)
			}
		}
		for index, n := range counts {
			if mean := topics / of; n < mean*9/10 || n > mean*11/10 {
				t.Errorf("shard %d of %d has %d topics, mean is %d", index, of, n, mean)
			}
		}
	}
}

// The hash is a contract between processes of different versions.
func TestShardHashStaysTheSame(t *testing.T) {
	for topic, want := range map[string]uint64{"": 0xefd01f60ba992926, "orders": 0x32520fbdb4dad5b9, "payments": 0x13cb0d5344dcc47a} {
		if got := topicHash(topic); got != want {
			t.Errorf("hash of %q is %#x, want %#x", topic, got, want)
		}
	}
}
