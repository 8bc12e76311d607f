// Compose does what `docker compose config --format json` does, for machines
// without Docker: it reads a compose file, checks it against the specification
// and prints the services of the chosen profiles.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	file := flag.String("file", "docker-compose.yml", "The compose file.")
	profiles := flag.String("profiles", "", "Profiles, separated by commas.")
	flag.Parse()
	text, err := load(context.Background(), *file, strings.Split(*profiles, ","))
	if err != nil {
		fmt.Fprintln(os.Stderr, "compose:", err)
		os.Exit(1)
	}
	fmt.Println(string(text))
}

func load(ctx context.Context, file string, profiles []string) ([]byte, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	options, err := cli.NewProjectOptions([]string{file},
		cli.WithWorkingDirectory(filepath.Dir(file)), cli.WithProfiles(profiles), cli.WithOsEnv)
	if err != nil {
		return nil, err
	}
	project, err := options.LoadProject(ctx)
	if err != nil {
		return nil, err
	}
	return project.MarshalJSON()
}
