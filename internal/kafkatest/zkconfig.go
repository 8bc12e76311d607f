package kafkatest

import (
	"fmt"
	"maps"
	"net"
	"strconv"
)

// zooKeeperProperties returns the zoo.cfg of one server.
func (l *layout) zooKeeperProperties(z ZooKeeperState) map[string]string {
	_, port, _ := net.SplitHostPort(z.Addr)
	p := map[string]string{
		"tickTime":               "1000",
		"initLimit":              "30",
		"syncLimit":              "10",
		"dataDir":                z.Dir + "/data",
		"clientPort":             port,
		"clientPortAddress":      "127.0.0.1",
		"maxClientCnxns":         "0",
		"4lw.commands.whitelist": "*",
		"admin.enableServer":     "true",
		"admin.serverAddress":    "127.0.0.1",
		"admin.serverPort":       strconv.Itoa(l.zkAdmin[z.ID]),
		"standaloneEnabled":      strconv.FormatBool(len(l.ZooKeepers) == 1),
	}
	if len(l.ZooKeepers) > 1 {
		for id, peer := range l.zkPeers {
			p[fmt.Sprintf("server.%d", id)] = fmt.Sprintf("127.0.0.1:%d:%d", peer[0], peer[1])
		}
	}
	maps.Copy(p, l.opts.ZooKeeperProperties)
	return p
}
