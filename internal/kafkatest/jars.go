package kafkatest

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"
)

// CacheEnv names the environment variable that says where the jars are kept.
const CacheEnv = "KAFKA_STEWARD_CACHE"

// copyPlugin is pinned so that two machines resolve the same plugin.
const copyPlugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

//go:embed pom.xml.tmpl
var pomSource string

var pomTemplate = template.Must(template.New("pom").Parse(pomSource))

// pom returns the Maven project file that resolves the set.
func (s jarSet) pom() []byte {
	type dependency struct{ Group, Artifact, Version string }
	data := struct {
		Name         string
		Dependencies []dependency
	}{Name: s.name()}
	for _, d := range s.deps {
		f := strings.SplitN(d, ":", 3)
		data.Dependencies = append(data.Dependencies, dependency{f[0], f[1], f[2]})
	}
	var b bytes.Buffer
	if err := pomTemplate.Execute(&b, data); err != nil {
		panic(err) // the template and the table are compiled in
	}
	return b.Bytes()
}

// dirName returns the set's name in the cache; its hash makes a changed set a
// new directory.
func (s jarSet) dirName() string {
	sum := sha256.Sum256(s.pom())
	return s.name() + "-" + hex.EncodeToString(sum[:4])
}

// CacheDir returns the directory in which the jars are kept.
func CacheDir() (string, error) {
	if d := os.Getenv(CacheEnv); d != "" {
		return filepath.Abs(d)
	}
	d, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no user cache directory (set %s to a writable directory): %w", CacheEnv, err)
	}
	return filepath.Join(d, "kafka-steward"), nil
}

// Fetch makes sure that the jars of the modes are in the cache. Concurrent
// processes wait for each other. log may be nil.
func Fetch(ctx context.Context, log *slog.Logger, modes ...Mode) error {
	for _, m := range modes {
		for _, s := range m.jarSets() {
			if _, err := s.fetch(ctx, orDiscard(log)); err != nil {
				return err
			}
		}
	}
	return nil
}

// fetch returns the directory that holds the set's jars, resolving it first if
// need be.
func (s jarSet) fetch(ctx context.Context, log *slog.Logger) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "jars", s.dirName())
	if isDir(dir) {
		return dir, nil
	}
	mvn, err := findTool("mvn", "", "install Apache Maven 3.6 or newer and put mvn on the PATH; it is needed once, to fetch the "+s.title+" jars")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("create the jar cache (set %s to a writable directory): %w", CacheEnv, err)
	}
	// One lock for all sets: Maven's own repository does not bear two
	// processes writing to it.
	unlock, err := lockFile(ctx, filepath.Join(cache, "jars", "fetch.lock"), func() {
		log.Info("waiting for another process that is fetching jars", "directory", cache)
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if isDir(dir) {
		return dir, nil
	}
	log.Info(fmt.Sprintf("fetching %s %s jars with Maven (%d MB), once, into %s", s.title, s.version, s.megabyte, dir))
	if err := s.resolve(ctx, mvn, dir); err != nil {
		return "", fmt.Errorf("fetch %s %s jars with Maven: %w", s.title, s.version, err)
	}
	return dir, nil
}

// resolve runs Maven in a temporary directory beside dir and renames the
// result to dir, so that dir is either whole or absent.
func (s jarSet) resolve(ctx context.Context, mvn, dir string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	pom := filepath.Join(tmp, "pom.xml")
	if err := os.WriteFile(pom, s.pom(), 0o644); err != nil {
		return err
	}
	libs := filepath.Join(tmp, "libs")
	cmd := exec.CommandContext(ctx, mvn, "-B", "-q", "-f", pom, copyPlugin,
		"-DoutputDirectory="+libs, "-DincludeScope=runtime")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w (is a Maven repository reachable, or a mirror set in ~/.m2/settings.xml?)\n%s", err, lastLines(out, 12))
	}
	if jars, _ := filepath.Glob(filepath.Join(libs, "*.jar")); len(jars) < 2 {
		return fmt.Errorf("mvn ended well but left %d jars in %s\n%s", len(jars), libs, lastLines(out, 12))
	}
	return os.Rename(libs, dir)
}

// classpath returns the jars of dir in a fixed order, as one -cp argument.
func classpath(dir string) (string, error) {
	jars, err := filepath.Glob(filepath.Join(dir, "*.jar")) // sorted
	if err != nil {
		return "", err
	}
	if len(jars) == 0 {
		return "", fmt.Errorf("no jars in %s: remove that directory so that they are fetched again", dir)
	}
	return strings.Join(jars, string(os.PathListSeparator)), nil
}

// findTool returns the path of an executable: $home/bin/name when the
// environment variable home is set, else from the PATH.
func findTool(name, home, remedy string) (string, error) {
	if home != "" {
		if d := os.Getenv(home); d != "" {
			if p, err := exec.LookPath(filepath.Join(d, "bin", name)); err == nil {
				return p, nil
			}
		}
	}
	p, err := exec.LookPath(name)
	if err != nil {
		return "", &MissingToolError{Tool: name, Remedy: remedy, Err: err}
	}
	return p, nil
}

// findJava returns the java program to run brokers with.
func findJava() (string, error) {
	return findTool("java", "JAVA_HOME", "install a Java 17 runtime (a JRE is enough) and put java on the PATH, or set JAVA_HOME")
}

// MissingToolError says that a program that the test bed needs is not
// installed, and what to do about it.
type MissingToolError struct {
	Tool   string // "java" or "mvn"
	Remedy string
	Err    error
}

// Error says what is missing and what to do.
func (e *MissingToolError) Error() string {
	return fmt.Sprintf("the Kafka test bed needs %s: %s (%v)", e.Tool, e.Remedy, e.Err)
}

// Unwrap returns the underlying error.
func (e *MissingToolError) Unwrap() error { return e.Err }

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// lastLines returns the last n lines of out.
func lastLines(out []byte, n int) string {
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func orDiscard(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return log
}
