package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// Defaults of a cluster.
const (
	DefaultInterval      = 15 * time.Second
	DefaultMaxAge        = time.Minute
	DefaultLagWindow     = 10 * time.Minute
	DefaultHistoryPoints = 64
)

// KnownFamilies maps the metric families that can be configured to their
// labels, kafka_cluster left out or not. Nil accepts any family and label.
type KnownFamilies map[string][]string

// Load reads and checks a configuration file. The error is [Errors] unless the
// file cannot be read.
func Load(file string, known KnownFamilies) (*Config, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	c, err := Parse(data, known)
	if errs := Errors(nil); errors.As(err, &errs) {
		for _, e := range errs {
			e.File = file
		}
	}
	return c, err
}

// Parse reads and checks a configuration. The error is [Errors], all mistakes
// together.
func Parse(data []byte, known KnownFamilies) (*Config, error) {
	root, syntaxErr := parseYAML(data)
	if syntaxErr != nil {
		return nil, Errors{syntaxErr}
	}
	d := newDecoder()
	c := &Config{}
	if root != nil {
		d.value(root, reflect.ValueOf(c).Elem(), nil)
	}
	(&checker{decoder: d, known: known}).config(c)
	if len(d.errs) > 0 {
		d.errs.nameClusters(c)
		d.errs.sort()
		return nil, d.errs
	}
	return c, nil
}

// parseYAML reads the only document; nil if there is none.
func parseYAML(data []byte) (*yaml.Node, *Error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, syntaxError(err)
	}
	if err := dec.Decode(&second); err == nil {
		return nil, &Error{Line: second.Line, Msg: "a second YAML document begins here; write everything into one"}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxError(err)
	}
	return doc.Content[0], nil
}

var yamlLine = regexp.MustCompile(`^(?:line (\d+): )?(.*)`)

func syntaxError(err error) *Error {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	if strings.Contains(msg, "unknown anchor") {
		// The message quotes the name, which may be a password that begins with *.
		return &Error{Msg: "is not valid YAML: a value begins with * and refers to an anchor that does not exist; put the value in quotes if the * is part of it"}
	}
	m := yamlLine.FindStringSubmatch(msg)
	line, _ := strconv.Atoi(m[1]) // 0, unknown, if there is no number
	return &Error{Line: line, Msg: "is not valid YAML: " + m[2]}
}

var clusterPath = regexp.MustCompile(`^clusters\[(\d+)\]\.?(.*)$`)

// nameClusters says clusters by name rather than by index where they have one.
func (es Errors) nameClusters(c *Config) {
	for _, e := range es {
		m := clusterPath.FindStringSubmatch(e.Path)
		if m == nil {
			continue
		}
		if i, err := strconv.Atoi(m[1]); err == nil && i < len(c.Clusters) && c.Clusters[i].Name != "" {
			e.Cluster, e.Path = c.Clusters[i].Name, m[2]
		}
	}
}

// SetDefaults fills in what was left empty, the connection's settings included.
func (c *Cluster) SetDefaults() {
	c.Config.SetDefaults()
	c.preset()
}

// preset makes an explicit zero in the file different from no value.
func (c *Cluster) preset() {
	setDefault(&c.Interval, model.Duration(DefaultInterval))
	setDefault(&c.MaxAge, model.Duration(DefaultMaxAge))
	setDefault(&c.Shard, Shard{Index: 0, Of: 1})
	setDefault(&c.Lag.Uncommitted, UncommittedSkip)
	setDefault(&c.Lag.Window, model.Duration(DefaultLagWindow))
	setDefault(&c.Lag.HistoryPoints, DefaultHistoryPoints)
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
