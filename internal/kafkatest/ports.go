package kafkatest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
)

// lowestPort is where the search for ports starts when the kernel's range for
// outgoing connections leaves room below it.
const lowestPort = 18000

// freePorts returns n ports that nobody listens on at 127.0.0.1.
//
// The ports are taken from below the kernel's range for outgoing connections
// where possible: a port of that range can be taken by any client while its
// broker is stopped, which would make a restart on the same port fail.
func freePorts(n int) ([]int, error) {
	var held []net.Listener
	defer func() {
		for _, l := range held {
			l.Close()
		}
	}()
	// All are held until the last one is chosen, so that they differ.
	ports := make([]int, 0, n)
	low, high := lowestPort, firstEphemeralPort()
	for range n {
		l, err := listenBetween(low, high)
		if err != nil {
			return nil, fmt.Errorf("find %d free ports on loopback: %w", n, err)
		}
		held = append(held, l)
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// listenBetween listens on a random free port in [low, high), or on one of the
// kernel's choice when none is found.
func listenBetween(low, high int) (net.Listener, error) {
	if high-low >= 1000 {
		for range 50 {
			l, err := net.Listen("tcp", loopback(low+rand.IntN(high-low)))
			if err == nil {
				return l, nil
			}
		}
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// firstEphemeralPort returns the start of the kernel's range for outgoing
// connections, or 0 when it is not known.
func firstEphemeralPort() int {
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0
	}
	var low, high int
	if _, err := fmt.Sscan(string(b), &low, &high); err != nil {
		return 0
	}
	return low
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func loopback6(port int) string { return net.JoinHostPort("::1", strconv.Itoa(port)) }

// HasIPv6 reports whether this machine has the IPv6 loopback address.
func HasIPv6() bool {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return false
	}
	l.Close()
	return true
}
