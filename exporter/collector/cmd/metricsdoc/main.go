// Command metricsdoc writes the reference of all metric families.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"

	"github.com/kafka-steward/kafka-steward/exporter/collector"
)

func main() {
	out := flag.String("o", "", "file to write; standard output if empty")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "metricsdoc:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	if out == "" {
		return collector.WriteDocs(os.Stdout)
	}
	var b bytes.Buffer
	if err := collector.WriteDocs(&b); err != nil {
		return err
	}
	return os.WriteFile(out, b.Bytes(), 0o644)
}
