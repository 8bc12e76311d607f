//go:build !unix

package fake

import "time"

// ProcessCPU is not known on this system.
func ProcessCPU() time.Duration { return 0 }
