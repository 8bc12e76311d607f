package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	promconfig "github.com/prometheus/common/config"
	prommodel "github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
	"github.com/kafka-steward/kafka-steward/planner/live"
	"github.com/kafka-steward/kafka-steward/planner/load"
)

// fileConfig is the planner's configuration file. Connections are written as in
// the exporter's.
type fileConfig struct {
	Clusters []clusterConfig `yaml:"clusters"`
}

type clusterConfig struct {
	Name           string `yaml:"name"`
	connect.Config `yaml:",inline"`
	// Capacities and ResourceGroups are read by package live.
	Capacities     yaml.Node `yaml:"capacities"`
	ResourceGroups yaml.Node `yaml:"resource_groups"`
	// ReplicationFactor is what topics are meant to have, where that is not what
	// most of their partitions have.
	ReplicationFactor map[string]int    `yaml:"replication_factor"`
	Prometheus        *prometheusConfig `yaml:"prometheus"`

	capacities *live.Capacities
	groups     *live.Groups
}

// prometheusConfig says where loads come from. What is left out has the
// defaults of package load.
type prometheusConfig struct {
	URL string `yaml:"url"`
	// HTTP is Prometheus' own http_config. Secrets have to be in files.
	HTTP        *promconfig.HTTPClientConfig `yaml:"http_config"`
	Window      prommodel.Duration           `yaml:"window"`
	Step        prommodel.Duration           `yaml:"step"`
	Percentile  float64                      `yaml:"percentile"`
	Selector    string                       `yaml:"selector"`
	JMXSelector string                       `yaml:"jmx_selector"`
	Queries     map[string]string            `yaml:"queries"`
}

// readConfig returns the named cluster of a configuration file; a file with one
// cluster needs no name.
func readConfig(path, name string) (*clusterConfig, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	var f fileConfig
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: a second document follows; it must hold one", path)
	}
	c, err := f.cluster(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := c.complete(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("%s: cluster %s: %w", path, c.Name, err)
	}
	return c, nil
}

func (f *fileConfig) cluster(name string) (*clusterConfig, error) {
	seen := map[string]bool{}
	var names []string
	var found *clusterConfig
	for i := range f.Clusters {
		c := &f.Clusters[i]
		if c.Name == "" {
			return nil, fmt.Errorf("entry %d of clusters has no name", i+1)
		}
		if seen[c.Name] {
			return nil, fmt.Errorf("cluster %s is listed twice", c.Name)
		}
		seen[c.Name], names = true, append(names, c.Name)
		if c.Name == name || name == "" && len(f.Clusters) == 1 {
			found = c
		}
	}
	switch {
	case len(names) == 0:
		return nil, errors.New("it lists no clusters")
	case found == nil && name == "":
		return nil, fmt.Errorf("it lists several clusters: choose one with --cluster (%s)", strings.Join(names, ", "))
	case found == nil:
		return nil, fmt.Errorf("cluster %s is not in it; there are %s", name, strings.Join(names, ", "))
	}
	return found, nil
}

// complete checks and sets defaults. Files that Prometheus' http_config names
// are relative to the configuration's own directory.
func (c *clusterConfig) complete(dir string) error {
	c.SetDefaults()
	if c.Capacities.Kind != 0 {
		b, err := yaml.Marshal(&c.Capacities)
		if err != nil {
			return err
		}
		if c.capacities, err = live.ReadCapacities(bytes.NewReader(b)); err != nil {
			return err
		}
	}
	if c.ResourceGroups.Kind != 0 {
		b, err := yaml.Marshal(map[string]*yaml.Node{"resource_groups": &c.ResourceGroups})
		if err != nil {
			return err
		}
		if c.groups, err = live.ReadGroups(bytes.NewReader(b)); err != nil {
			return err
		}
	}
	if c.Prometheus != nil {
		return c.Prometheus.complete(dir)
	}
	return nil
}

func (p *prometheusConfig) complete(dir string) error {
	if h := p.HTTP; h != nil && (h.BearerToken != "" || h.BasicAuth != nil && h.BasicAuth.Password != "" ||
		h.Authorization != nil && h.Authorization.Credentials != "" || h.OAuth2 != nil && h.OAuth2.ClientSecret != "") {
		return errors.New("prometheus: http_config holds a secret: name a file instead (password_file, credentials_file, client_secret_file)")
	}
	if p.HTTP != nil {
		p.HTTP.SetDirectory(dir)
	}
	if p.Percentile < 0 || p.Percentile >= 1 {
		return fmt.Errorf("prometheus: percentile is %g; it is between 0 and 1, as 0.95", p.Percentile)
	}
	var q load.Queries
	return p.queries(&q)
}

// options are those of package load for a cluster.
func (p *prometheusConfig) options(cluster string, end time.Time) (load.Options, error) {
	o := load.DefaultOptions(cluster, end)
	if p.Window > 0 {
		o.Window = time.Duration(p.Window)
	}
	if p.Step > 0 {
		o.Step = time.Duration(p.Step)
	}
	if p.Percentile > 0 {
		o.Stats.Percentile = p.Percentile
	}
	if p.Selector != "" {
		o.Selector = p.Selector
	}
	if p.JMXSelector != "" {
		o.JMXSelector = p.JMXSelector
	}
	return o, p.queries(&o.Queries)
}

// queries replaces queries; an empty one leaves a query out.
func (p *prometheusConfig) queries(q *load.Queries) error {
	fields := map[string]*string{
		"bytes_in": &q.BytesIn, "topic_bytes_in": &q.TopicBytesIn, "records_in": &q.RecordsIn,
		"records": &q.Records, "records_read": &q.RecordsRead,
	}
	for name, expr := range p.Queries {
		to, ok := fields[name]
		if !ok {
			return fmt.Errorf("prometheus: queries: %q is none of bytes_in, topic_bytes_in, records_in, records, records_read", name)
		}
		*to = expr
	}
	return nil
}
