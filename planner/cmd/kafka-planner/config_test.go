package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const goodConfig = `
clusters:
  - name: orders
    bootstrap_servers: [b1:9092, "[::1]:9093"]
    sasl: {mechanism: SCRAM-SHA-512, username: alice, password_file: /run/secrets/kafka}
    tls: {ca_file: ca.pem}
    request_timeout: 7s
    replication_factor: {audit: 3}
    capacities:
      default: {in: 400000000, out: 900000000}
      brokers:
        - {ids: [7], in: 800000000, dirs: [{path: /d1, capacity: 4000000000000, volume: v}]}
    resource_groups:
      fast: {brokers: [1, 2], topics: ['pay-.*']}
    prometheus:
      url: https://prometheus.example:9090
      http_config:
        basic_auth: {username: bob, password_file: pw}
      window: 3d
      step: 30m
      percentile: 0.9
      queries: {records_in: 'sum by (topic, partition) (x{$SELECTOR})', bytes_in: ''}
  - name: other
    bootstrap_servers: [o1]
`

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "planner.yml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfig(t *testing.T) {
	path := writeConfig(t, goodConfig)
	c, err := readConfig(path, "orders")
	if err != nil {
		t.Fatal(err)
	}
	if c.SASL.Username != "alice" || len(c.BootstrapServers) != 2 || time.Duration(c.RequestTimeout) != 7*time.Second || c.ReplicationFactor["audit"] != 3 {
		t.Errorf("%+v", c)
	}
	if *c.capacities.Default.In != 400_000_000 || len(c.capacities.Brokers) != 1 || len(c.groups.Groups["fast"].Brokers) != 2 {
		t.Errorf("%+v %+v", c.capacities, c.groups)
	}
	if got := c.Prometheus.HTTP.BasicAuth.PasswordFile; got != filepath.Join(filepath.Dir(path), "pw") {
		t.Errorf("password_file is %s", got)
	}
	o, err := c.Prometheus.options("orders", time.Unix(0, 0))
	if err != nil || o.Window != 72*time.Hour || o.Step != 30*time.Minute || o.Stats.Percentile != .9 || o.Queries.BytesIn != "" || !strings.Contains(o.Queries.RecordsIn, "x{") || o.Queries.Records == "" {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestBadConfigs(t *testing.T) {
	for want, text := range map[string]string{
		"it lists no clusters":                  "",
		"field colour not found":                "clusters: [{name: a, bootstrap_servers: [x], colour: red}]",
		"entry 1 of clusters has no name":       "clusters: [{bootstrap_servers: [x]}]",
		"cluster a is listed twice":             "clusters: [{name: a}, {name: a}]",
		"it lists several clusters":             "clusters: [{name: a}, {name: b}]",
		"a second document follows":             "clusters: [{name: a}]\n---\nclusters: []",
		"looks like a placeholder":              "clusters: [{name: a, capacities: {default: {in: 100}}}]",
		"group g has no brokers":                "clusters: [{name: a, resource_groups: {g: {}}}]",
		"field speed not found":                 "clusters: [{name: a, capacities: {default: {speed: 100}}}]",
		"http_config holds a secret":            "clusters: [{name: a, prometheus: {url: http://x, http_config: {basic_auth: {username: u, password: hunter2}}}}]",
		"percentile is 95":                      "clusters: [{name: a, prometheus: {url: http://x, percentile: 95}}]",
		`queries: "bytes" is none of bytes_in,`: "clusters: [{name: a, prometheus: {url: http://x, queries: {bytes: x}}}]",
	} {
		_, err := readConfig(writeConfig(t, text), "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error tells the secret: %v", err)
		}
	}
}
