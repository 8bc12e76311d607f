package child

import (
	"fmt"
	"os"
	"strings"
)

// Tail returns the last lines of what the child wrote, for messages.
func (p *Process) Tail(lines int) string {
	text, err := os.ReadFile(p.spec.Output)
	if err != nil {
		return fmt.Sprintf("(its output cannot be read: %v)", err)
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	last := all[max(0, len(all)-lines):]
	return fmt.Sprintf("--- last lines of %s\n%s", p.spec.Output, strings.Join(last, "\n"))
}
