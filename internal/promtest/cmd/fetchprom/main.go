// Fetchprom makes sure that prometheus and promtool are there, and prints their
// paths. Run it from the root of the source tree.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/kafka-steward/kafka-steward/internal/promtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	tools, err := promtest.Fetch(ctx, ".", os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fetchprom:", err)
		os.Exit(1)
	}
	fmt.Printf("%s\n%s\n(%s)\n", tools.Prometheus, tools.Promtool, tools.Source)
}
