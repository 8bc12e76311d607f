// Testbed starts real Kafka clusters on loopback for people, demonstrations and
// test runs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	code, err := run(os.Args[1:], log)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testbed:", err)
	}
	os.Exit(code)
}

// run executes the command line and returns the exit code.
func run(args []string, log *slog.Logger) (int, error) {
	app := kingpin.New("testbed", "Starts real Kafka clusters on loopback, from their published Maven jars.")
	app.HelpFlag.Short('h')
	up := newUp(app)
	wrap := newRun(app)
	fetch := newFetch(app)
	command, err := app.Parse(args)
	if err != nil {
		return 2, fmt.Errorf("%w (see testbed --help)", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch command {
	case up.name:
		err = up.run(ctx, log)
	case wrap.name:
		return wrap.run(log)
	case fetch.name:
		err = fetch.run(ctx, log)
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}

// upCommand keeps one cluster until Ctrl-C.
type upCommand struct {
	name      string
	mode      string
	state     string
	opts      kafkatest.Options
	props     map[string]string
	oauth     bool
	oauthJWKS string
}

func newUp(app *kingpin.Application) *upCommand {
	c := &upCommand{props: map[string]string{}}
	cmd := app.Command("up", "Start a cluster and keep it until Ctrl-C.")
	c.name = cmd.FullCommand()
	cmd.Flag("mode", "kraft4 (or kraft), kraft39, zk39 (or zk), zk28.").Default("kraft4").StringVar(&c.mode)
	cmd.Flag("brokers", "Number of brokers.").Default("3").IntVar(&c.opts.Brokers)
	cmd.Flag("zookeepers", "Number of ZooKeeper servers, in the ZooKeeper modes.").Default("3").IntVar(&c.opts.ZooKeepers)
	cmd.Flag("log-dirs", "Log directories of each broker.").Default("2").IntVar(&c.opts.LogDirs)
	cmd.Flag("state", "File that receives the cluster's description as JSON, once it is ready.").StringVar(&c.state)
	cmd.Flag("property", "Broker property, key=value; repeatable.").StringMapVar(&c.props)
	cmd.Flag("tls", "Add the listeners SSL and SASL_SSL.").BoolVar(&c.opts.TLS)
	cmd.Flag("ipv6", "Add a plaintext listener on [::1].").BoolVar(&c.opts.IPv6)
	cmd.Flag("oauth", "Enable OAUTHBEARER with Kafka's validator of unsecured tokens.").BoolVar(&c.oauth)
	cmd.Flag("oauth-jwks-url", "Enable OAUTHBEARER with the signing keys at this URL.").StringVar(&c.oauthJWKS)
	cmd.Flag("allow-everyone", "Set allow.everyone.if.no.acl.found.").BoolVar(&c.opts.AllowEveryone)
	cmd.Flag("heap", "Heap of each broker.").Default("256m").StringVar(&c.opts.BrokerHeap)
	cmd.Flag("jvm", "JVM flag of the brokers; repeatable.").StringsVar(&c.opts.BrokerJVM)
	cmd.Flag("dir", "Where to make the data directory.").StringVar(&c.opts.Dir)
	cmd.Flag("keep", "Keep the data directory at the end.").BoolVar(&c.opts.Keep)
	return c
}

func (c *upCommand) run(ctx context.Context, log *slog.Logger) error {
	opts := c.opts
	opts.Mode, opts.Properties, opts.Log = kafkatest.Mode(c.mode), c.props, log
	if c.oauth || c.oauthJWKS != "" {
		opts.OAuth = &kafkatest.OAuth{JWKSURL: c.oauthJWKS}
	}
	cluster, err := kafkatest.Start(ctx, opts)
	if err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		return err
	}
	defer cluster.Stop()
	describe(os.Stdout, cluster.State())
	if c.state != "" {
		if err := cluster.State().WriteFile(c.state); err != nil {
			return err
		}
		defer os.Remove(c.state)
	}
	fmt.Println("\nPress Ctrl-C, or kill process", os.Getpid(), "to stop.")
	<-ctx.Done()
	log.Info("stopping Kafka")
	return nil
}

// describe prints what a person needs to use the cluster.
func describe(w io.Writer, s kafkatest.State) {
	fmt.Fprintf(w, "\nKafka %s (%s), cluster id %s\nbootstrap: %s\n", s.Version, s.Mode, s.ClusterID, s.Bootstrap[kafkatest.ListenerPlaintext])
	for _, name := range []string{kafkatest.ListenerSASLPlaintext, kafkatest.ListenerSSL, kafkatest.ListenerSASLSSL, kafkatest.ListenerIPv6} {
		if addr := s.Bootstrap[name]; addr != "" {
			fmt.Fprintf(w, "%s: %s\n", name, addr)
		}
	}
	for _, u := range kafkatest.Users {
		fmt.Fprintf(w, "SASL/PLAIN user %s, password %s\n", u, s.Users[u])
	}
	if s.TLS != nil {
		fmt.Fprintf(w, "TLS: CA %s, client certificate %s, key %s\n", s.TLS.CA, s.TLS.Cert, s.TLS.Key)
	}
	for _, b := range s.Brokers {
		fmt.Fprintf(w, "broker %d: pid %d, rack %s, log dirs %s\n  server log %s\n  request log %s\n",
			b.ID, b.PID, b.Rack, strings.Join(b.LogDirs, " "), b.ServerLog, b.RequestLog)
	}
	for _, z := range s.ZooKeepers {
		fmt.Fprintf(w, "ZooKeeper %d: %s, pid %d, AdminServer %s, log %s\n", z.ID, z.Addr, z.PID, z.Admin, z.Log)
	}
}

// fetchCommand fills the jar cache.
type fetchCommand struct {
	name  string
	modes []string
}

func newFetch(app *kingpin.Application) *fetchCommand {
	c := &fetchCommand{}
	cmd := app.Command("fetch", "Download the jars of the modes (default: all) into the cache, and no more.")
	c.name = cmd.FullCommand()
	cmd.Arg("modes", "Modes.").StringsVar(&c.modes)
	return c
}

func (c *fetchCommand) run(ctx context.Context, log *slog.Logger) error {
	modes := kafkatest.Modes
	if len(c.modes) > 0 {
		var err error
		if modes, err = parseModes(c.modes); err != nil {
			return err
		}
	}
	if err := kafkatest.Fetch(ctx, log, modes...); err != nil {
		return err
	}
	dir, err := kafkatest.CacheDir()
	if err != nil {
		return err
	}
	fmt.Println("the jars are in", dir)
	return nil
}

// parseModes accepts modes as separate words or separated by commas.
func parseModes(words []string) ([]kafkatest.Mode, error) {
	var modes []kafkatest.Mode
	for _, w := range words {
		for _, s := range strings.FieldsFunc(w, func(r rune) bool { return r == ',' || r == ' ' }) {
			m, err := kafkatest.ParseMode(s)
			if err != nil {
				return nil, err
			}
			modes = append(modes, m)
		}
	}
	return modes, nil
}
