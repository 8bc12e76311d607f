package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// field is a struct field as the file names it.
type field struct {
	name  string
	index []int
}

type fieldList []field

// fieldsOf lists the fields of a struct type, inline structs flattened, by the
// rules of the yaml package.
func fieldsOf(t reflect.Type) fieldList {
	var fields fieldList
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case options == "inline":
			for _, inner := range fieldsOf(f.Type) {
				fields = append(fields, field{inner.name, append([]int{i}, inner.index...)})
			}
		case name == "":
			fields = append(fields, field{strings.ToLower(f.Name), []int{i}})
		default:
			fields = append(fields, field{name, []int{i}})
		}
	}
	return fields
}

func (fs fieldList) find(name string) (field, bool) {
	i := slices.IndexFunc(fs, func(f field) bool { return f.name == name })
	if i < 0 {
		return field{}, false
	}
	return fs[i], true
}

func (fs fieldList) names() []string {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.name
	}
	return names
}

// entry is one key of a mapping.
type entry struct {
	name       string
	key, value *yaml.Node
}

// maxMerges bounds chains of "<<": an anchor may well contain itself.
const maxMerges = 8

// entries lists a mapping's keys, those of "<<" included unless overridden,
// and reports keys given twice.
func (d *decoder) entries(n *yaml.Node, p path, merges int) []entry {
	var own, merged []entry
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.ShortTag() == "!!merge" {
			merged = append(merged, d.merged(v, p, merges+1)...)
			continue
		}
		if resolve(k).Kind != yaml.ScalarNode {
			d.errorf(k, p, "keys must be plain names")
			continue
		}
		name := resolve(k).Value
		if first := seen[name]; first != nil {
			d.errorf(k, p.key(name), "is given twice, first on line %d", first.Line)
			continue
		}
		seen[name] = k
		own = append(own, entry{name, k, v})
	}
	for _, e := range merged {
		if seen[e.name] == nil {
			seen[e.name] = e.key
			own = append(own, e)
		}
	}
	return own
}

func (d *decoder) merged(n *yaml.Node, p path, merges int) []entry {
	at := n
	n = resolve(n)
	switch {
	case merges > maxMerges:
		d.errorf(at, p, "<< is nested too deep or contains itself")
	case n.Kind == yaml.MappingNode:
		return d.entries(n, p, merges)
	case n.Kind == yaml.SequenceNode:
		var all []entry
		for _, c := range n.Content {
			all = append(all, d.merged(c, p, merges+1)...)
		}
		return all
	default:
		d.errorf(at, p, "<< must refer to a mapping, is %s", kindNames[n.Kind])
	}
	return nil
}

var secretWords = []string{"password", "passwd", "passphrase", "secret", "token", "credential", "jaas", "private_key", "api_key"}

// isSecretName tells whether a key's value would be, or hold, a secret.
func isSecretName(name string) bool {
	name = strings.ToLower(name)
	return name == "key" || name == "pass" || name == "pwd" ||
		slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
}

// unknown says what is wrong with a key that the place does not have. The
// place itself was read: the key is not noted as bad.
func (d *decoder) unknown(e entry, p path, known []string) {
	err := &Error{Line: e.key.Line, Path: p.String()}
	d.errs = append(d.errs, err)
	switch use := references(e.name, known); {
	case isSecretName(e.name) && len(use) > 0:
		err.Path = p.key(e.name).String()
		err.Msg = "secrets cannot be written in this file; use " + strings.Join(use, " or ")
		for _, name := range use {
			d.bad[p.key(name).String()] = true // it is missing, and that was said
		}
	case isSecretName(e.name):
		err.Msg = fmt.Sprintf("unknown key %q; and secrets cannot be written in this file: they are read from fields named *_file or *_env", e.name)
	case nearest(e.name, known) != "":
		err.Msg = fmt.Sprintf("unknown key %q; did you mean %q?", e.name, nearest(e.name, known))
	default:
		err.Msg = fmt.Sprintf("unknown key %q; known are %s", e.name, strings.Join(known, ", "))
	}
}

// references lists the *_file and *_env fields that stand for a secret: those
// of the same name (private_key has key_file), else all of the place.
func references(name string, known []string) []string {
	var same, all []string
	for _, k := range known {
		base, isRef := strings.CutSuffix(k, "_file")
		if !isRef {
			base, isRef = strings.CutSuffix(k, "_env")
		}
		if !isRef {
			continue
		}
		all = append(all, k)
		if strings.HasSuffix(strings.ToLower(name), base) {
			same = append(same, k)
		}
	}
	if len(same) > 0 {
		return same
	}
	return all
}

// nearest finds the known name that was probably meant, "" if none is close.
func nearest(name string, known []string) string {
	best, limit := "", max(1, len(name)/4)
	for _, k := range known {
		if dist := distance(strings.ToLower(name), k); dist <= limit {
			best, limit = k, dist-1
		}
	}
	return best
}

// distance is the number of letters to insert, delete or replace (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
