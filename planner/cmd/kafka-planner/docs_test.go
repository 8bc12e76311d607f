package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestDocs: docs/planner.md tells of every command and exit code.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile("../../../docs/planner.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	root := newRoot(&app{out: &bytes.Buffer{}, err: &bytes.Buffer{}})
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c != root && !strings.Contains(doc, c.CommandPath()) {
			t.Errorf("docs/planner.md does not mention %q", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	for _, line := range strings.Split(exitHelp, "\n")[1:] {
		code, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.Contains(doc, "| "+code+" | ") {
			t.Errorf("docs/planner.md does not mention exit code %s", code)
		}
	}
}
