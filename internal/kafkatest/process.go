package kafkatest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// process is one child in its own process group.
type process struct {
	name string
	pid  int
	done chan struct{} // closed when the child has been reaped
	err  error         // how it ended; read after done
}

// command says what to run.
type command struct {
	name   string // for messages
	argv   []string
	dir    string
	output string // file that receives stdout and stderr, appended
}

// start runs the command as a child that dies with this process: the kernel
// (on Linux) and the reaper both see to it.
func (c command) start(r *reaper) (*process, error) {
	out, err := os.OpenFile(c.output, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Dir = c.dir
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = sysProcAttr()
	p := &process{name: c.name, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(cmd, out, r, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	return p, nil
}

// run starts the child and waits for it on one operating system thread: the
// parent-death signal is sent when that thread ends, not when the process does.
func (p *process) run(cmd *exec.Cmd, out *os.File, r *reaper, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	out.Close()
	if err != nil {
		started <- err
		return
	}
	p.pid = cmd.Process.Pid
	r.add(p.pid)
	started <- nil
	p.err = cmd.Wait()
	r.del(p.pid)
	close(p.done)
}

// alive reports whether the child has not been reaped yet.
func (p *process) alive() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// signal sends sig to the child's process group.
func (p *process) signal(sig syscall.Signal) error {
	if !p.alive() {
		return fmt.Errorf("signal %v to %s: it is not running", sig, p.name)
	}
	if err := syscall.Kill(-p.pid, sig); err != nil {
		return fmt.Errorf("signal %v to %s (pid %d): %w", sig, p.name, p.pid, err)
	}
	return nil
}

// kill ends the child at once and waits until it is gone.
func (p *process) kill() {
	if p.alive() {
		_ = p.signal(syscall.SIGKILL)
		<-p.done
	}
}

// terminate asks the child to end and waits for it until ctx ends.
func (p *process) terminate(ctx context.Context) error {
	if !p.alive() {
		return nil
	}
	// A stopped process would not see the request.
	_ = p.signal(syscall.SIGCONT)
	if err := p.signal(syscall.SIGTERM); err != nil && p.alive() {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s (pid %d) did not end after SIGTERM: %w", p.name, p.pid, context.Cause(ctx))
	}
}

// reaperScript keeps the list of process groups that it is told on its standard
// input. When the input ends without a "done" its parent has died in whatever
// way: it then kills the groups and removes the directory.
const reaperScript = `
trap '' INT TERM HUP QUIT
groups= dir=
while read -r verb arg; do
  case "$verb" in
  add) groups="$groups $arg" ;;
  del) left=; for g in $groups; do [ "$g" = "$arg" ] || left="$left $g"; done; groups=$left ;;
  dir) dir=$arg ;;
  done) exit 0 ;;
  esac
done
for g in $groups; do kill -s KILL -- "-$g"; done
for g in $groups; do
  n=0
  while kill -s 0 -- "-$g" && [ $n -lt 100 ]; do n=$((n+1)); sleep 0.1; done
done
[ -z "$dir" ] || rm -rf -- "$dir"
`

// reaper is a helper process that outlives this one just long enough to kill
// the children it left behind.
type reaper struct {
	mu  sync.Mutex
	in  io.WriteCloser
	cmd *exec.Cmd
}

// startReaper starts a reaper that removes dir, unless it is empty, when this
// process dies.
func startReaper(dir string) (*reaper, error) {
	if strings.ContainsAny(dir, "\n") {
		return nil, fmt.Errorf("directory %q has a line break in its name", dir)
	}
	cmd := exec.Command("sh", "-c", reaperScript)
	// A session of its own: neither the terminal's Ctrl-C nor a kill of this
	// process's group reaches it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Dir = "/"
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the reaper: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the reaper: %w", err)
	}
	r := &reaper{in: in, cmd: cmd}
	if dir != "" {
		r.tell("dir %s", dir)
	}
	return r, nil
}

func (r *reaper) tell(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.in != nil {
		fmt.Fprintf(r.in, format+"\n", args...)
	}
}

func (r *reaper) add(group int) { r.tell("add %d", group) }
func (r *reaper) del(group int) { r.tell("del %d", group) }

// dismiss ends the reaper without it killing or removing anything.
func (r *reaper) dismiss() {
	r.tell("done")
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.in != nil {
		r.in.Close()
		r.in = nil
		_ = r.cmd.Wait()
	}
}

// logReader looks for new lines of a log file that grows.
type logReader struct {
	path   string
	offset int64
}

// newLogReader returns a reader of what is written to path from now on.
func newLogReader(path string) *logReader {
	r := &logReader{path: path}
	if fi, err := os.Stat(path); err == nil {
		r.offset = fi.Size()
	}
	return r
}

// contains reports whether a line since the reader was made holds one of the
// texts, and returns that line.
func (r *logReader) contains(texts ...string) (string, bool) {
	f, err := os.Open(r.path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	if fi, err := f.Stat(); err == nil && fi.Size() < r.offset {
		r.offset = 0 // the file was rolled
	}
	if _, err := f.Seek(r.offset, io.SeekStart); err != nil {
		return "", false
	}
	br := bufio.NewReader(f)
	for {
		line, err := br.ReadString('\n')
		for _, t := range texts {
			if strings.Contains(line, t) {
				return strings.TrimSpace(line), true
			}
		}
		if err != nil {
			return "", false
		}
	}
}

// tail returns the first error and the last n lines of each of the files, for
// error messages.
func tail(n int, paths ...string) string {
	var b strings.Builder
	for _, p := range paths {
		out, err := os.ReadFile(p)
		if err != nil || len(out) == 0 {
			continue
		}
		if at := firstError.FindIndex(out); at != nil {
			lines := strings.SplitAfterN(string(out[at[0]:]), "\n", 9)
			fmt.Fprintf(&b, "--- first error in %s\n%s\n", p, strings.Join(lines[:min(8, len(lines))], ""))
		}
		fmt.Fprintf(&b, "--- last lines of %s\n%s\n", p, lastLines(out, n))
	}
	return b.String()
}

// firstError finds an error in a log of brokerLogging's form.
var firstError = regexp.MustCompile(`(?m)^\[[^]]*\] (ERROR|FATAL) .*$`)

// errBind marks a start that failed because somebody took a port in between.
var errBind = errors.New("a port was taken by somebody else")
