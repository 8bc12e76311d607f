package live

import (
	"strings"
	"testing"
)

func TestCapacitiesAreStrict(t *testing.T) {
	for _, x := range []struct{ doc, want string }{
		{"default: {in: 10000}", "default: in: 10000 looks like a placeholder or another unit"},
		{"default: {disk: 100000}", "default: disk: 100000 looks like a placeholder"},
		{"default: {out: -1}", "default: out: -1 is a placeholder"},
		{"default: {out: 0}", "default: out: 0 is a placeholder"},
		{"default: {disk: 9223372036854775807}", "is a placeholder"},
		{"default: {in: 1e9}", ""}, // 1e9 is a float in YAML, but an exact one
		{"default: {in: fast}", "cannot unmarshal"},
		{"default: {nw_in: 1000000000}", "field nw_in not found"},
		{"default: {cpu_percent: 0}", "cpu_percent is 0"},
		{"default: {cpu_percent: .nan}", "cpu_percent is NaN"},
		{"brokers: [{in: 1000000000}]", "entry 1 of brokers has no ids"},
		{"brokers: [{ids: [1]}, {ids: [2, 1]}]", "broker 1 is named twice"},
		{"brokers: [{ids: [1], dirs: [{path: /a}, {path: /a}]}]", `"/a" is listed twice`},
		{"brokers: [{ids: [1], dirs: [{path: /a, capacity: 5}]}]", "brokers [1]: dir /a: 5 looks like a placeholder"},
		{"default: {}\n---\ndefault: {}", "a second document follows"},
		{"", "EOF"},
		{"allow_small: true\ndefault: {in: 10000}", ""},
		{`{"default": {"in": 1000000, "disk": 1000000000}}`, ""},
	} {
		c, err := ReadCapacities(strings.NewReader(x.doc))
		if x.want == "" {
			if err != nil {
				t.Errorf("%s: %v", x.doc, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), x.want) || c != nil {
			t.Errorf("%s: got %v, want %q", x.doc, err, x.want)
		}
	}
}

func TestGroupsAreStrict(t *testing.T) {
	for _, x := range []struct{ doc, want string }{
		{"resource_groups: {a: {brokers: [1]}, b: {brokers: [1]}}", "broker 1 is listed in group a and in group b"},
		{"resource_groups: {a: {brokers: [1, 1]}}", "broker 1 is listed in group a and in group a"},
		{"resource_groups: {a: {brokers: []}}", "group a has no brokers"},
		{"resource_groups: {a: {brokers: [1], topics: ['(']}}", "group a: topics:"},
		{"resource_groups: {'': {brokers: [1]}}", "a group has no name"},
		{"resource_groups: {a: {brokers: [1], topic: [x]}}", "field topic not found"},
		{"groups: {}", "field groups not found"},
	} {
		if g, err := ReadGroups(strings.NewReader(x.doc)); err == nil || !strings.Contains(err.Error(), x.want) || g != nil {
			t.Errorf("%s: got %v, want %q", x.doc, err, x.want)
		}
	}
}
