package kafkatest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// State describes a running cluster; "testbed up --state FILE" writes it as
// JSON.
type State struct {
	Mode       Mode              `json:"mode"`
	Version    string            `json:"kafka_version"`
	PID        int               `json:"pid"` // of the process that owns the cluster: SIGTERM to it ends the cluster
	ClusterID  string            `json:"cluster_id"`
	Dir        string            `json:"dir"`       // data directory of all processes
	Bootstrap  map[string]string `json:"bootstrap"` // by listener name: "host:port,host:port"
	Brokers    []BrokerState     `json:"brokers"`
	ZooKeepers []ZooKeeperState  `json:"zookeepers,omitempty"`
	Users      map[string]string `json:"sasl_plain_users"` // user to password
	TLS        *TLSFiles         `json:"tls,omitempty"`
}

// BrokerState describes one broker.
type BrokerState struct {
	ID         int               `json:"id"`
	Rack       string            `json:"rack"`
	PID        int               `json:"pid"`
	Dir        string            `json:"dir"`
	Listeners  map[string]string `json:"listeners"` // by listener name: "host:port"
	LogDirs    []string          `json:"log_dirs"`  // where the partitions are kept
	ServerLog  string            `json:"server_log"`
	RequestLog string            `json:"request_log"`
}

// ZooKeeperState describes one server of the ensemble.
type ZooKeeperState struct {
	ID    int    `json:"id"`
	PID   int    `json:"pid"`
	Dir   string `json:"dir"`
	Addr  string `json:"addr"`      // client port, "host:port"
	Admin string `json:"admin_url"` // base URL of the AdminServer commands
	Log   string `json:"log"`
}

// TLSFiles are the PEM files for clients of the TLS listeners.
type TLSFiles struct {
	CA   string `json:"ca"`
	Cert string `json:"cert"` // client certificate
	Key  string `json:"key"`  // client key
}

// layout is the planned shape of a cluster: the state plus what only the
// configuration files need.
type layout struct {
	State
	opts        Options
	pem         brokerPEM      // with Options.TLS
	controllers map[int]string // KRaft controller address by node id
	zkPeers     map[int][2]int // quorum and election port by ZooKeeper id
	zkAdmin     map[int]int    // AdminServer port by ZooKeeper id
}

// plan assigns ports and paths for the options; dir is the data directory.
func plan(o Options, dir string) (*layout, error) {
	perBroker, perZK := len(o.listeners()), 0
	if o.Mode.KRaft() {
		perBroker++
	} else {
		perZK = 4
	}
	ports, err := freePorts(o.Brokers*perBroker + o.ZooKeepers*perZK)
	if err != nil {
		return nil, err
	}
	next := func() int {
		p := ports[0]
		ports = ports[1:]
		return p
	}
	l := &layout{
		State: State{Mode: o.Mode, Version: o.Mode.Version(), PID: os.Getpid(), Dir: dir, Users: map[string]string{}},
		opts:  o, controllers: map[int]string{}, zkPeers: map[int][2]int{}, zkAdmin: map[int]int{},
	}
	for _, u := range Users {
		l.Users[u] = Password(u)
	}
	for id := 1; id <= o.Brokers; id++ {
		l.Brokers = append(l.Brokers, l.planBroker(id, next))
	}
	if !o.Mode.KRaft() {
		for id := 1; id <= o.ZooKeepers; id++ {
			l.ZooKeepers = append(l.ZooKeepers, l.planZooKeeper(id, next))
		}
	}
	l.Bootstrap = map[string]string{}
	for _, name := range o.listeners() {
		var addrs []string
		for _, b := range l.Brokers {
			addrs = append(addrs, b.Listeners[name])
		}
		l.Bootstrap[name] = strings.Join(addrs, ",")
	}
	if o.TLS {
		l.TLS = &TLSFiles{CA: l.tlsFile("ca.pem"), Cert: l.tlsFile("client.pem"), Key: l.tlsFile("client-key.pem")}
	}
	return l, nil
}

func (l *layout) planBroker(id int, port func() int) BrokerState {
	dir := filepath.Join(l.Dir, fmt.Sprintf("broker-%d", id))
	b := BrokerState{
		ID: id, Rack: rack(id), Dir: dir, Listeners: map[string]string{},
		ServerLog:  filepath.Join(dir, "logs", "server.log"),
		RequestLog: filepath.Join(dir, "logs", "request.log"),
	}
	for i := range l.opts.LogDirs {
		b.LogDirs = append(b.LogDirs, filepath.Join(dir, fmt.Sprintf("data-%d", i+1)))
	}
	for _, name := range l.opts.listeners() {
		if name == ListenerIPv6 {
			b.Listeners[name] = loopback6(port())
		} else {
			b.Listeners[name] = loopback(port())
		}
	}
	if l.Mode.KRaft() {
		l.controllers[id] = loopback(port())
	}
	return b
}

func (l *layout) planZooKeeper(id int, port func() int) ZooKeeperState {
	dir := filepath.Join(l.Dir, fmt.Sprintf("zookeeper-%d", id))
	client := loopback(port())
	l.zkPeers[id] = [2]int{port(), port()}
	l.zkAdmin[id] = port()
	return ZooKeeperState{
		ID: id, Dir: dir, Addr: client, Log: filepath.Join(dir, "logs", "zookeeper.log"),
		Admin: "http://" + loopback(l.zkAdmin[id]) + "/commands",
	}
}

func (l *layout) tlsFile(name string) string { return filepath.Join(l.Dir, "tls", name) }

// WriteFile writes the state as JSON to path, whole or not at all.
func (s State) WriteFile(path string) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the cluster state: %w", err)
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the cluster state: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("write the cluster state: %w", err)
	}
	return nil
}
