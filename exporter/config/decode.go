package config

import (
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// decoder fills Go values from YAML nodes. The yaml package's own decoder stops
// at the first error of a custom type and names Go types instead of fields;
// people want all mistakes at once, in their own words, each with its line.
type decoder struct {
	errs Errors
	// lines holds the line of every field that the file sets.
	lines map[string]int
	// bad holds the fields that could not be read.
	bad map[string]bool
}

func newDecoder() *decoder {
	return &decoder{lines: map[string]int{}, bad: map[string]bool{}}
}

// presetter has defaults that must be there before decoding, so that an
// explicit zero can be told from a field that is not set.
type presetter interface{ preset() }

// errorf says that a field could not be read.
func (d *decoder) errorf(n *yaml.Node, p path, format string, args ...any) {
	d.bad[p.String()] = true
	d.errs = append(d.errs, &Error{Line: n.Line, Path: p.String(), Msg: fmt.Sprintf(format, args...)})
}

// line finds the line of a field, or of the nearest one around it.
func (d *decoder) line(p path) int {
	for ; len(p) > 0; p = p[:len(p)-1] {
		if l := d.lines[p.String()]; l > 0 {
			return l
		}
	}
	return 0
}

// isSet tells whether the file sets the field.
func (d *decoder) isSet(p path) bool { return d.lines[p.String()] > 0 }

func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

var (
	durationType      = reflect.TypeFor[model.Duration]()
	stdDurationType   = reflect.TypeFor[time.Duration]()
	nodeUnmarshalType = reflect.TypeFor[yaml.Unmarshaler]()
	textUnmarshalType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// value decodes a node into v, which is addressable.
func (d *decoder) value(n *yaml.Node, v reflect.Value, p path) {
	n = resolve(n)
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return // a key without a value keeps its default
	}
	d.lines[p.String()] = n.Line
	if x, ok := v.Addr().Interface().(presetter); ok {
		x.preset()
	}
	switch t := v.Type(); {
	case t == durationType || t == stdDurationType:
		d.duration(n, v, p)
	case reflect.PointerTo(t).Implements(nodeUnmarshalType):
		if d.want(n, yaml.ScalarNode, p) {
			if err := v.Addr().Interface().(yaml.Unmarshaler).UnmarshalYAML(n); err != nil {
				d.errorf(n, p, "%v", err)
			}
		}
	case reflect.PointerTo(t).Implements(textUnmarshalType):
		if d.want(n, yaml.ScalarNode, p) {
			if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.Value)); err != nil {
				d.errorf(n, p, "%v", err)
			}
		}
	case t.Kind() == reflect.Pointer:
		elem := reflect.New(t.Elem())
		d.value(n, elem.Elem(), p)
		v.Set(elem)
	case t.Kind() == reflect.Struct:
		d.structure(n, v, p)
	case t.Kind() == reflect.Map:
		d.mapping(n, v, p)
	case t.Kind() == reflect.Slice:
		d.sequence(n, v, p)
	default:
		d.scalar(n, v, p)
	}
}

var kindNames = map[yaml.Kind]string{
	yaml.ScalarNode:   "a single value",
	yaml.MappingNode:  "a mapping (key: value)",
	yaml.SequenceNode: "a list",
}

func (d *decoder) want(n *yaml.Node, kind yaml.Kind, p path) bool {
	if n.Kind != kind {
		d.errorf(n, p, "must be %s, is %s", kindNames[kind], kindNames[n.Kind])
		return false
	}
	return true
}

func (d *decoder) sequence(n *yaml.Node, v reflect.Value, p path) {
	if !d.want(n, yaml.SequenceNode, p) {
		return
	}
	errs := len(d.errs)
	s := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, c := range n.Content {
		if r := resolve(c); r.Kind == yaml.ScalarNode && r.ShortTag() == "!!null" {
			d.errorf(c, p.index(i), "is empty")
			continue
		}
		d.value(c, s.Index(i), p.index(i))
	}
	if len(d.errs) > errs && v.Type().Elem().Kind() == reflect.String {
		d.bad[p.String()] = true // judging the rest of the list would mislead
	}
	v.Set(s)
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, p path) {
	if !d.want(n, yaml.MappingNode, p) {
		return
	}
	m := reflect.MakeMap(v.Type())
	for _, e := range d.entries(n, p, 0) {
		elem := reflect.New(v.Type().Elem()).Elem()
		d.lines[p.key(e.name).String()] = e.key.Line
		d.value(e.value, elem, p.key(e.name))
		m.SetMapIndex(reflect.ValueOf(e.name).Convert(v.Type().Key()), elem)
	}
	v.Set(m)
}

func (d *decoder) structure(n *yaml.Node, v reflect.Value, p path) {
	if !d.want(n, yaml.MappingNode, p) {
		return
	}
	fields := fieldsOf(v.Type())
	for _, e := range d.entries(n, p, 0) {
		f, ok := fields.find(e.name)
		if !ok {
			d.unknown(e, p, fields.names())
			continue
		}
		d.value(e.value, v.FieldByIndex(f.index), p.key(e.name))
	}
}

// unexpanded finds what people write who expect expansion.
var unexpanded = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*[^}]*\}|^\$[A-Z_][A-Z0-9_]*$`)

var environmentName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// textProblem says why a text cannot be what the key asks for, "" if it can. It
// does not repeat the text: somebody may have written the secret itself.
func textProblem(key, text string) string {
	switch {
	case unexpanded.MatchString(text):
		return "environment variables are not expanded here; only *_env fields read the environment, and they take a variable's name without $"
	case strings.HasSuffix(key, "_env") && !environmentName.MatchString(text):
		return "must be the name of an environment variable, not its value"
	case strings.HasSuffix(key, "_file") && strings.ContainsAny(text, "\n\r\x00"):
		return "must be the path of a file, not its content"
	}
	return ""
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, p path) {
	if !d.want(n, yaml.ScalarNode, p) {
		return
	}
	tag := n.ShortTag()
	switch v.Kind() {
	case reflect.String:
		if problem := textProblem(p.last(), n.Value); problem != "" {
			d.errorf(n, p, "%s", problem)
			if base, ok := strings.CutSuffix(p.String(), "_env"); ok {
				d.bad[base+"_file"] = true // its alternative is not missing
			}
			return
		}
		v.SetString(n.Value)
	case reflect.Bool:
		if tag != "!!bool" {
			d.errorf(n, p, "must be true or false%s", is(n, p))
			return
		}
		v.SetBool(strings.EqualFold(n.Value, "true"))
	case reflect.Int, reflect.Int32, reflect.Int64:
		var i int64
		if tag != "!!int" || n.Decode(&i) != nil || v.OverflowInt(i) {
			d.errorf(n, p, "must be a whole number%s", is(n, p))
			return
		}
		v.SetInt(i)
	default:
		if err := n.Decode(v.Addr().Interface()); err != nil {
			d.errorf(n, p, "cannot be read as %s", v.Kind())
		}
	}
}

func (d *decoder) duration(n *yaml.Node, v reflect.Value, p path) {
	if !d.want(n, yaml.ScalarNode, p) {
		return
	}
	x, err := model.ParseDuration(n.Value)
	if err != nil {
		d.errorf(n, p, "must be a duration such as 500ms, 15s, 1m or 2h%s", is(n, p))
		return
	}
	v.SetInt(int64(x))
}

// is tells what a field has instead, unless that might be a secret.
func is(n *yaml.Node, p path) string {
	if isSecretName(p.last()) || len(n.Value) > 80 {
		return ""
	}
	return fmt.Sprintf(", is %q", n.Value)
}
