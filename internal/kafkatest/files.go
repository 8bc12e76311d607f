package kafkatest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// write creates the directories and configuration files of every process.
func (l *layout) write() error {
	w := fileWriter{}
	if l.opts.TLS {
		// First, since the brokers' configuration holds the result.
		w.err = l.writeCertificates()
	}
	for _, b := range l.Brokers {
		for _, d := range append(b.LogDirs, filepath.Join(b.Dir, "tmp"), filepath.Dir(b.ServerLog)) {
			w.dir(d)
		}
		w.file(l.brokerConfigFile(b), renderProperties(l.brokerProperties(b)))
		name, text := l.brokerLogging(b)
		w.file(filepath.Join(b.Dir, name), text)
	}
	for _, z := range l.ZooKeepers {
		w.dir(filepath.Join(z.Dir, "data"))
		w.dir(filepath.Join(z.Dir, "tmp"))
		w.dir(filepath.Dir(z.Log))
		w.file(filepath.Join(z.Dir, "data", "myid"), strconv.Itoa(z.ID)+"\n")
		w.file(filepath.Join(z.Dir, "zoo.cfg"), renderProperties(l.zooKeeperProperties(z)))
		w.file(filepath.Join(z.Dir, "logback.xml"), fmt.Sprintf(logbackConfig, z.Log))
	}
	if w.err != nil {
		return fmt.Errorf("write the configuration of the Kafka test bed: %w", w.err)
	}
	return nil
}

func (l *layout) brokerConfigFile(b BrokerState) string {
	return filepath.Join(b.Dir, "server.properties")
}

// fileWriter keeps the first error.
type fileWriter struct{ err error }

func (w *fileWriter) dir(path string) {
	if w.err == nil {
		w.err = os.MkdirAll(path, 0o755)
	}
}

func (w *fileWriter) file(path, text string) {
	if w.err == nil {
		w.err = os.WriteFile(path, []byte(text), 0o600)
	}
}

// javaRuntime is what the commands of a cluster need to know.
type javaRuntime struct {
	java      string
	kafkaCP   string
	zookeeper string
}

// defaultJVM are flags for a short life on a small machine: the first compiler
// tier and the simple collector start three times as fast as the defaults.
func defaultJVM(heap, dir string) []string {
	return []string{
		"-Xmx" + heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-XX:-UsePerfData",
		// Native libraries are unpacked there; a killed JVM leaves them behind.
		"-Djava.io.tmpdir=" + filepath.Join(dir, "tmp"),
		"-Djava.awt.headless=true",
	}
}

// brokerCommand returns the command line that runs a broker.
func (l *layout) brokerCommand(rt javaRuntime, b BrokerState) command {
	argv := append([]string{rt.java}, defaultJVM(l.opts.BrokerHeap, b.Dir)...)
	argv = append(argv, l.brokerLoggingFlag(b))
	if l.opts.OAuth != nil && l.opts.OAuth.JWKSURL != "" {
		argv = append(argv, "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls="+l.opts.OAuth.JWKSURL)
	}
	argv = append(argv, l.opts.BrokerJVM...)
	argv = append(argv, "-cp", rt.kafkaCP, "kafka.Kafka", l.brokerConfigFile(b))
	return command{
		name: fmt.Sprintf("broker %d", b.ID), argv: argv, dir: b.Dir,
		output: filepath.Join(b.Dir, "logs", "stdout.log"),
	}
}

// formatCommand returns the command line that formats a KRaft broker's storage.
func (l *layout) formatCommand(rt javaRuntime, b BrokerState) command {
	argv := append([]string{rt.java}, defaultJVM("96m", b.Dir)...)
	argv = append(argv, l.brokerLoggingFlag(b), "-cp", rt.kafkaCP, "kafka.tools.StorageTool",
		"format", "-t", l.ClusterID, "-c", l.brokerConfigFile(b))
	return command{
		name: fmt.Sprintf("format of broker %d", b.ID), argv: argv, dir: b.Dir,
		output: filepath.Join(b.Dir, "logs", "format.log"),
	}
}

// zooKeeperCommand returns the command line that runs a ZooKeeper server.
func (l *layout) zooKeeperCommand(rt javaRuntime, z ZooKeeperState) command {
	argv := append([]string{rt.java}, defaultJVM(l.opts.ZooKeeperHeap, z.Dir)...)
	argv = append(argv, "-Dlogback.configurationFile="+filepath.Join(z.Dir, "logback.xml"))
	argv = append(argv, l.opts.ZooKeeperJVM...)
	argv = append(argv, "-cp", rt.zookeeper, "org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(z.Dir, "zoo.cfg"))
	return command{
		name: fmt.Sprintf("ZooKeeper %d", z.ID), argv: argv, dir: z.Dir,
		output: filepath.Join(z.Dir, "logs", "stdout.log"),
	}
}
