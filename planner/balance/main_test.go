package balance_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain draws fewer random cases with -short, which goes with the race
// detector: a search takes ten times as long there.
func TestMain(m *testing.M) {
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); testing.Short() && checks.Value.String() == checks.DefValue {
		if err := flag.Set("rapid.checks", "20"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
