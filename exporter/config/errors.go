package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one mistake in a configuration.
type Error struct {
	// File is the file's path, "" if it was not read from a file.
	File string
	// Line is where the mistake is, or the nearest key around it; 0 if unknown.
	Line int
	// Cluster is the name of the cluster concerned, "" if none or unnamed.
	Cluster string
	// Path names the field: clusters[0].interval, or, if Cluster is set,
	// within the cluster: interval. "" for the file as a whole.
	Path string
	// Msg says what is wrong and what to do.
	Msg string
}

// Error is the mistake on one line: file:line: cluster "c", field: message.
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.File != "" && e.Line > 0:
		fmt.Fprintf(&b, "%s:%d: ", e.File, e.Line)
	case e.File != "":
		fmt.Fprintf(&b, "%s: ", e.File)
	case e.Line > 0:
		fmt.Fprintf(&b, "line %d: ", e.Line)
	}
	switch {
	case e.Cluster != "" && e.Path != "":
		fmt.Fprintf(&b, "cluster %q, %s: ", e.Cluster, e.Path)
	case e.Cluster != "":
		fmt.Fprintf(&b, "cluster %q: ", e.Cluster)
	case e.Path != "":
		fmt.Fprintf(&b, "%s: ", e.Path)
	}
	b.WriteString(e.Msg)
	return b.String()
}

// Errors are all mistakes of a configuration, in the order of the file.
type Errors []*Error

// Error gives one mistake a line.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

func (es Errors) sort() {
	slices.SortFunc(es, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Msg, b.Msg))
	})
}

// path is a field's place; each element carries its own separator, so that
// the place reads clusters[0].topics.include[1] when joined.
type path []string

func (p path) key(name string) path {
	if !isTopicName(name) || name == "" {
		name = fmt.Sprintf("%q", name)
	}
	if len(p) > 0 {
		name = "." + name
	}
	return append(slices.Clip(p), name)
}

func (p path) index(i int) path { return append(slices.Clip(p), fmt.Sprintf("[%d]", i)) }

func (p path) String() string { return strings.Join(p, "") }

// last is the innermost key, without its separator.
func (p path) last() string {
	for i := len(p) - 1; i >= 0; i-- {
		if !strings.HasPrefix(p[i], "[") {
			return strings.TrimPrefix(p[i], ".")
		}
	}
	return ""
}
