package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
)

func parse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	c, err := Load("testdata/good/minimal.yml", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{Clusters: []Cluster{{
		Name: "prod",
		Config: connect.Config{
			BootstrapServers: []string{"kafka-1.example.com:9092"},
			ClientID:         connect.DefaultClientID,
			DialTimeout:      model.Duration(10 * time.Second),
			RequestTimeout:   model.Duration(10 * time.Second),
		},
		Interval: model.Duration(15 * time.Second),
		MaxAge:   model.Duration(time.Minute),
		Shard:    Shard{Index: 0, Of: 1},
		Lag:      Lag{Uncommitted: "skip", Window: model.Duration(10 * time.Minute), HistoryPoints: 64},
	}}}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("minimal.yml (-want +got):\n%s", diff)
	}
	built := Cluster{Name: "prod", Config: connect.Config{BootstrapServers: []string{"kafka-1.example.com:9092"}}}
	built.SetDefaults()
	if diff := cmp.Diff(want.Clusters[0], built); diff != "" {
		t.Errorf("SetDefaults (-want +got):\n%s", diff)
	}
}

// The reference shows defaults where there are some: with everything that it
// marks as an example taken away it must mean the same as a minimal file.
func TestReferenceShowsDefaults(t *testing.T) {
	c, err := Load("testdata/good/reference.yml", testFamilies)
	if err != nil {
		t.Fatal(err)
	}
	got := c.Clusters[0]
	want := Cluster{Name: got.Name, Config: connect.Config{BootstrapServers: got.BootstrapServers, TLS: &connect.TLS{}, SASL: got.SASL}}
	want.SetDefaults()
	got.TLS.CAFile, got.TLS.CertFile, got.TLS.KeyFile, got.TLS.ServerName = "", "", "", ""
	got.Topics, got.Groups, got.Lag.ExactGroups = Filter{}, Filter{}, nil
	got.ResourceGroups, got.Collectors, got.Metrics = nil, nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +reference):\n%s", diff)
	}
}

func TestAnchorsAndMerge(t *testing.T) {
	c, err := Load("testdata/good/multi-cluster.yml", nil)
	if err != nil {
		t.Fatal(err)
	}
	eu, us, test := c.Clusters[0], c.Clusters[1], c.Clusters[2]
	if us.SASL.Username != "steward-us" || us.SASL.PasswordFile != eu.SASL.PasswordFile || us.SASL.Mechanism != eu.SASL.Mechanism {
		t.Errorf("sasl of prod-us is %+v", *us.SASL)
	}
	if us.TLS.CAFile != eu.TLS.CAFile || us.Collector("groups").Granularity != "topic" || !us.Collector("last_record").Enabled {
		t.Errorf("prod-us did not take over tls or collectors: %+v", us)
	}
	if us.Shard != (Shard{1, 2}) || eu.Shard != (Shard{0, 1}) {
		t.Errorf("shards are %v and %v", eu.Shard, us.Shard)
	}
	if time.Duration(test.Interval) != time.Minute || test.SASL != nil {
		t.Errorf("test is %+v", test)
	}
}

func TestCollector(t *testing.T) {
	c := parse(t, `
clusters:
  - name: c
    bootstrap_servers: [k]
    interval: 5s
    collectors:
      groups: {granularity: group, interval: 2m}
      acls: {enabled: false}
      logdirs: {timeout: 50s}
      last_record: {enabled: true}
`).Clusters[0]
	tests := map[string]ResolvedCollector{
		"topology":    {Enabled: true, Interval: 5 * time.Second, Timeout: 5 * time.Second},
		"offsets":     {Enabled: true, Interval: 5 * time.Second, Timeout: 5 * time.Second, Granularity: "partition"},
		"groups":      {Enabled: true, Interval: 2 * time.Minute, Timeout: 10 * time.Second, Granularity: "group"},
		"acls":        {Enabled: false, Interval: 5 * time.Minute, Timeout: 10 * time.Second},
		"logdirs":     {Enabled: true, Interval: time.Minute, Timeout: 50 * time.Second, Granularity: "topic"},
		"last_record": {Enabled: true, Interval: time.Minute, Timeout: 10 * time.Second},
		"no such":     {},
	}
	for name, want := range tests {
		if diff := cmp.Diff(want, c.Collector(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := (&Cluster{}).Collector("last_record").Enabled; got {
		t.Error("last_record is on by default")
	}
	for _, info := range CollectorInfos() {
		if info.Help == "" || info.ACLs == "" {
			t.Errorf("%s has no help or ACLs", info.Name)
		}
	}
	if got := c.Limit(5 * time.Second); got != time.Minute {
		t.Errorf("limit of 5s is %s, want max_age", got)
	}
	if got := c.Limit(5 * time.Minute); got != 15*time.Minute {
		t.Errorf("limit of 5m is %s, want three intervals", got)
	}
}

func TestMetricKeepLabels(t *testing.T) {
	c := parse(t, `
clusters:
  - name: c
    bootstrap_servers: [k]
    metrics:
      all: {}
      none: {keep_labels: []}
      some: {keep_labels: [group], include: {group: a.*}}
`).Clusters[0]
	if c.Metrics["all"].KeepLabels != nil {
		t.Error("absent keep_labels must be nil: all labels are kept")
	}
	if k := c.Metrics["none"].KeepLabels; k == nil || len(k) != 0 {
		t.Errorf("empty keep_labels is %#v, want empty and not nil: no label is kept", k)
	}
	if in := c.Metrics["some"].Include["group"]; !in.MatchString("ab") || in.MatchString("ba") {
		t.Errorf("include of group matches wrongly: %v", in)
	}
}

// No field of the configuration can hold a secret: what has a secret's name is
// a reference to a file or a variable.
func TestNoFieldHoldsASecret(t *testing.T) {
	seen := 0
	for _, f := range allKeys(reflect.TypeFor[Config](), nil) {
		last := f[strings.LastIndex(f, ".")+1:]
		reference := strings.HasSuffix(last, "_file") || strings.HasSuffix(last, "_env") || last == "token_url"
		if isSecretName(strings.TrimSuffix(last, "s")) && !reference {
			t.Errorf("%s could hold a secret", f)
		}
		seen++
	}
	if seen < 40 {
		t.Errorf("looked at %d keys only", seen)
	}
}

// Reading a configuration does not read the secrets it refers to.
func TestSecretsStayOutside(t *testing.T) {
	const secret = "S3cr3t-π"
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("STEWARD_TEST_PASSWORD", secret)
	c := parse(t, `
clusters:
  - name: a
    bootstrap_servers: [k]
    sasl: {mechanism: PLAIN, username: u, password_env: STEWARD_TEST_PASSWORD}
  - name: b
    bootstrap_servers: [k]
    sasl: {mechanism: PLAIN, username: u, password_file: `+file+`}
`)
	asYAML, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for form, text := range map[string]string{"%+v": fmt.Sprintf("%+v %+v", c, *c.Clusters[0].SASL), "YAML": string(asYAML), "JSON": string(asJSON)} {
		if strings.Contains(text, "S3cr3t") {
			t.Errorf("the configuration as %s holds the secret:\n%s", form, text)
		}
		if !strings.Contains(text, "prod") && !strings.Contains(text, "STEWARD_TEST_PASSWORD") {
			t.Errorf("the configuration as %s does not name the variable: nothing was tested", form)
		}
	}
}

// allKeys lists the paths of all keys of a type, for example clusters.tls.ca_file.
func allKeys(typ reflect.Type, at []string) []string {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[Regexp]() {
		return nil
	}
	var keys []string
	for _, f := range fieldsOf(typ) {
		here := append(at[:len(at):len(at)], f.name)
		keys = append(keys, strings.Join(here, "."))
		keys = append(keys, allKeys(typ.FieldByIndex(f.index).Type, here)...)
	}
	return keys
}

func TestReferenceHasEveryKey(t *testing.T) {
	var doc any
	data, err := os.ReadFile("testdata/good/reference.yml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	noteKeys(doc, "", used)
	for _, key := range allKeys(reflect.TypeFor[Config](), nil) {
		// The two of a pair exclude each other; comments name the other one.
		if strings.Contains(key, "oauthbearer.tls.") || strings.HasSuffix(key, "_env") && strings.Contains(string(data), key[strings.LastIndex(key, ".")+1:]) ||
			key == "clusters.sasl.gssapi.password_file" {
			continue
		}
		if !used[key] {
			t.Errorf("reference.yml does not show %s", key)
		}
	}
}

// noteKeys collects the paths of all keys in a document. Keys chosen by the
// user (resource groups, collectors, metrics) are left out of the path.
func noteKeys(node any, at string, used map[string]bool) {
	switch n := node.(type) {
	case []any:
		for _, e := range n {
			noteKeys(e, at, used)
		}
	case map[string]any:
		for k, v := range n {
			here := strings.TrimPrefix(at+"."+k, ".")
			used[here] = true
			switch here {
			case "clusters.resource_groups", "clusters.collectors", "clusters.metrics":
				for _, inner := range v.(map[string]any) {
					noteKeys(inner, here, used)
				}
			default:
				noteKeys(v, here, used)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, dir := range []string{"good", "bad"} {
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*.yml"))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data, testFamilies)
		if (c == nil) == (err == nil) {
			t.Errorf("Parse gives %v and %v", c, err)
		}
		if err != nil && err.Error() == "" {
			t.Error("an error without a message")
		}
	})
}
