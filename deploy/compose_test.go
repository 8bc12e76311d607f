package deploy

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// project is the part of `docker compose config --format json` that is looked
// at.
type project struct {
	Services map[string]struct {
		Image       string
		Build       *struct{ Context, Dockerfile string }
		Healthcheck *struct{ Test []string }
		Environment map[string]string
		Command     []string
		Privileged  bool
		Ports       []struct {
			HostIP    string `json:"host_ip"`
			Published string
		}
		Volumes []struct{ Type, Source, Target string }
		Network map[string]struct{ Aliases []string } `json:"networks"`
	}
}

// composeConfig validates docker-compose.yml with one profile: with docker
// compose where it is installed, else with the library that it is made of.
func composeConfig(t *testing.T, profile string) project {
	t.Helper()
	argv := []string{"go", "-C", "../tools/compose", "run", ".", "-file", "../../docker-compose.yml", "-profiles", profile}
	if exec.CommandContext(t.Context(), "docker", "compose", "version").Run() == nil {
		argv = []string{"docker", "compose", "-f", "../docker-compose.yml", "--profile", profile, "config", "--format", "json"}
	}
	t.Log(strings.Join(argv, " "))
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var p project
	if err := json.Unmarshal(out, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCompose(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: the check is a module of its own that has to be built")
	}
	for profile, want := range map[string][]string{
		"kraft":     {"exporter", "kraft-1", "kraft-2", "kraft-3", "prometheus"},
		"zookeeper": {"exporter", "prometheus", "zk-broker-1", "zk-broker-2", "zk-broker-3", "zookeeper"},
	} {
		t.Run(profile, func(t *testing.T) {
			p := composeConfig(t, profile)
			if got := slices.Sorted(maps.Keys(p.Services)); !slices.Equal(got, want) {
				t.Fatalf("services %v, want %v", got, want)
			}
			checkServices(t, p)
			checkBrokers(t, p)
		})
	}
}

var (
	pinned = regexp.MustCompile(`^[a-z0-9./-]+:v?\d+\.\d+\.\d+$`)
	secret = regexp.MustCompile(`(?i)passw|secret|token`)
)

// checkServices checks what holds for every service.
func checkServices(t *testing.T, p project) {
	t.Helper()
	published := map[string]string{}
	for name, s := range p.Services {
		if s.Build == nil && !pinned.MatchString(s.Image) {
			t.Errorf("%s: image %q is not pinned to a version", name, s.Image)
		}
		if s.Healthcheck == nil || len(s.Healthcheck.Test) < 2 {
			t.Errorf("%s has no health check", name)
		}
		if s.Privileged {
			t.Errorf("%s is privileged", name)
		}
		for key := range s.Environment {
			if secret.MatchString(key) {
				t.Errorf("%s: %s looks like a secret", name, key)
			}
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is open to other machines", name, port.Published)
			}
			if other, taken := published[port.Published]; taken {
				t.Errorf("%s and %s both publish port %s", name, other, port.Published)
			}
			published[port.Published] = name
		}
		for _, v := range s.Volumes {
			if _, err := os.Stat(v.Source); v.Type == "bind" && err != nil {
				t.Errorf("%s mounts what is not there: %v", name, err)
			}
		}
	}
	if b := p.Services["exporter"].Build; b == nil {
		t.Error("the exporter is not built")
	} else if _, err := os.Stat(b.Context + "/" + b.Dockerfile); err != nil {
		t.Error(err)
	}
}

// checkBrokers checks that there are three that can be told apart, and that the
// exporter and the machine find each by the name it gives itself.
func checkBrokers(t *testing.T, p project) {
	t.Helper()
	config, err := os.ReadFile("compose/steward.yml")
	if err != nil {
		t.Fatal(err)
	}
	ids, racks := map[string]bool{}, map[string]bool{}
	for name, s := range p.Services {
		advertised := s.Environment["KAFKA_ADVERTISED_LISTENERS"]
		if advertised == "" {
			continue
		}
		ids[s.Environment["KAFKA_NODE_ID"]+s.Environment["KAFKA_BROKER_ID"]] = true
		racks[s.Environment["KAFKA_BROKER_RACK"]] = true
		client := regexp.MustCompile(`CLIENT://([^:,]+):9092`).FindStringSubmatch(advertised)
		if client == nil || !slices.Contains(s.Network["default"].Aliases, client[1]) {
			t.Errorf("%s: the other containers cannot find %s", name, advertised)
			continue
		}
		if !strings.Contains(string(config), `"`+client[1]+`:9092"`) {
			t.Errorf("%s: the exporter is not told of it", name)
		}
		host := regexp.MustCompile(`HOST://localhost:(\d+)`).FindStringSubmatch(advertised)
		if host == nil || len(s.Ports) != 1 || s.Ports[0].Published != host[1] {
			t.Errorf("%s: %s is not the port that is published: %v", name, advertised, s.Ports)
		}
	}
	if len(ids) != 3 || len(racks) != 3 {
		t.Errorf("broker ids %v, racks %v: three of each are wanted", ids, racks)
	}
}
