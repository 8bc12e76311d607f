package config

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Regexp is a regular expression (RE2) that matches whole strings only. The
// zero value matches nothing.
type Regexp struct {
	source   string
	compiled *regexp.Regexp
}

// NewRegexp compiles an anchored expression.
func NewRegexp(source string) (Regexp, error) {
	// Compiled alone first: "a)(b" would only be valid inside our anchors.
	if _, err := regexp.Compile(source); err != nil {
		return Regexp{}, err
	}
	compiled, err := regexp.Compile(`^(?s:` + source + `)$`)
	if err != nil {
		return Regexp{}, err
	}
	return Regexp{source: source, compiled: compiled}, nil
}

// MustRegexp is NewRegexp for expressions known to be valid; it panics otherwise.
func MustRegexp(source string) Regexp {
	r, err := NewRegexp(source)
	if err != nil {
		panic(err)
	}
	return r
}

// MatchString tells whether the expression matches all of s.
func (r Regexp) MatchString(s string) bool {
	return r.compiled != nil && r.compiled.MatchString(s)
}

// String is the expression as it was written, without anchors.
func (r Regexp) String() string { return r.source }

// Equal tells whether both were written the same.
func (r Regexp) Equal(o Regexp) bool { return r.source == o.source }

// UnmarshalYAML compiles a scalar.
func (r *Regexp) UnmarshalYAML(n *yaml.Node) error {
	compiled, err := NewRegexp(n.Value)
	if bad := (*syntax.Error)(nil); errors.As(err, &bad) && bad.Code == syntax.ErrInvalidPerlOp {
		return fmt.Errorf("%w; RE2 has no lookahead: say what to leave out in exclude", err)
	}
	if err != nil {
		return err
	}
	*r = compiled
	return nil
}

// MarshalYAML gives the expression as it was written.
func (r Regexp) MarshalYAML() (any, error) { return r.source, nil }

// Filter chooses names: those that some Include matches (all, if there is
// none) and no Exclude does. Expressions match whole names.
type Filter struct {
	Include []Regexp `yaml:"include"`
	Exclude []Regexp `yaml:"exclude"`
}

// Match tells whether the filter chooses the name.
func (f *Filter) Match(name string) bool {
	return (len(f.Include) == 0 || anyMatch(f.Include, name)) && !anyMatch(f.Exclude, name)
}

func anyMatch(rs []Regexp, name string) bool {
	for i := range rs {
		if rs[i].MatchString(name) {
			return true
		}
	}
	return false
}

// Literals are the names that Include spells out, in the order written, so
// that a topic named explicitly can be asked for by name. An expression is a
// name if it has no characters but those of topic names; a dot, which topic
// names have too, is taken for itself, whether escaped or not.
func (f *Filter) Literals() []string {
	var names []string
	for _, r := range f.Include {
		name := strings.NewReplacer(`\.`, `.`, `\-`, `-`, `\_`, `_`).Replace(r.source)
		if name != "" && strings.Trim(name, ".") != "" && isTopicName(name) && f.Match(name) {
			names = append(names, name)
		}
	}
	return names
}

func isTopicName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// Owns tells whether the topic is in this shard. The hash, FNV-1a (64 bit)
// followed by MurmurHash3's finaliser (FNV's low bits alone are poor: the
// lowest is a parity), is part of the contract between processes: all shards
// of a cluster must run versions that agree on it.
func (s Shard) Owns(topic string) bool {
	if s.Of <= 1 {
		return true
	}
	return topicHash(topic)%uint64(s.Of) == uint64(s.Index)
}

func topicHash(topic string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(topic) {
		h = (h ^ uint64(topic[i])) * 0x100000001b3
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
