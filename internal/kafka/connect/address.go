package connect

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// DefaultPort is the port of an address that names none.
const DefaultPort = 9092

// Address is where a broker listens. Two equal addresses compare equal with ==
// as long as their host names are spelled alike.
type Address struct {
	// Host is a name, an IPv4 address, or an IPv6 address without brackets,
	// in its canonical spelling, with its zone if it had one.
	Host string
	// Port is 1 to 65535.
	Port int32
}

// String returns the one form used everywhere: k1:9092 or [::1]:9092.
func (a Address) String() string { return FormatHostPort(a.Host, a.Port) }

// FormatHostPort joins a host, as Kafka's metadata or a user gives it, and a
// port into the one form used in labels, logs and dials. IPv6 addresses are
// put into brackets once and into their canonical spelling.
func FormatHostPort(host string, port int32) string {
	bare := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if ip, err := netip.ParseAddr(bare); err == nil {
		bare = ip.String()
	}
	return net.JoinHostPort(bare, strconv.Itoa(int(port)))
}

// listenerScheme says what a listener scheme in an address promises.
type listenerScheme struct{ tls, sasl bool }

var listenerSchemes = map[string]listenerScheme{
	"PLAINTEXT":      {},
	"SSL":            {tls: true},
	"SASL_PLAINTEXT": {sasl: true},
	"SASL_SSL":       {tls: true, sasl: true},
}

// ParseAddress parses one bootstrap address. The default port is 9092; a Kafka
// listener scheme in front (PLAINTEXT://, SSL://, SASL_PLAINTEXT://,
// SASL_SSL://, any case) is accepted and dropped. Bare IPv6 addresses are
// accepted unless their last group could be a port. Errors name the item and
// the form to write.
func ParseAddress(s string) (Address, error) {
	a, _, err := parseAddress(s)
	return a, err
}

// ParseAddresses parses a list of bootstrap addresses. An item may itself be a
// comma-separated list, as in Kafka's bootstrap.servers; spaces around items
// are ignored. Empty items and duplicates are errors. All errors are returned,
// joined.
func ParseAddresses(items []string) ([]Address, error) {
	var (
		addresses []Address
		errs      []error
	)
	seen := map[string]bool{}
	for _, item := range splitItems(items) {
		a, err := ParseAddress(item)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		key := strings.ToLower(a.String())
		if seen[key] {
			errs = append(errs, fmt.Errorf("address %s is listed twice: remove one", a))
			continue
		}
		seen[key] = true
		addresses = append(addresses, a)
	}
	if len(addresses) == 0 && len(errs) == 0 {
		errs = append(errs, errors.New("no address: give at least one broker as host:port"))
	}
	return addresses, errors.Join(errs...)
}

func splitItems(items []string) []string {
	var out []string
	for _, item := range items {
		out = append(out, strings.Split(item, ",")...)
	}
	return out
}

func parseAddress(s string) (Address, string, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return Address{}, "", errors.New("empty address: write host:port, or remove the item")
	}
	if strings.Contains(s, "@") {
		// The item is not repeated: what stands before the @ may be a password.
		return Address{}, "", errors.New("an address contains '@': credentials do not belong in addresses, use the sasl section")
	}
	scheme, rest, found := strings.Cut(s, "://")
	if !found {
		scheme, rest = "", s
	}
	scheme = strings.ToUpper(scheme)
	if _, known := listenerSchemes[scheme]; found && !known {
		return Address{}, "", fmt.Errorf("address %q: unknown scheme %q: use PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL or no scheme", s, scheme)
	}
	a, err := parseHostPort(rest)
	if err != nil {
		return Address{}, "", fmt.Errorf("address %q: %w", s, err)
	}
	return a, scheme, nil
}

func parseHostPort(s string) (Address, error) {
	switch {
	case strings.HasPrefix(s, "["):
		return parseBracketed(s)
	case strings.Count(s, ":") > 1:
		return parseBareIPv6(s)
	}
	host, port, hasPort := strings.Cut(s, ":")
	if err := checkHost(host); err != nil {
		return Address{}, err
	}
	if !hasPort {
		return Address{Host: host, Port: DefaultPort}, nil
	}
	p, err := parsePort(port)
	return Address{Host: host, Port: p}, err
}

func parseBracketed(s string) (Address, error) {
	inner, rest, closed := strings.Cut(s[1:], "]")
	if !closed {
		return Address{}, errors.New("'[' without ']': write [IPv6 address]:port")
	}
	host, err := canonicalIPv6(inner)
	if err != nil {
		return Address{}, err
	}
	if rest == "" {
		return Address{Host: host, Port: DefaultPort}, nil
	}
	port, ok := strings.CutPrefix(rest, ":")
	if !ok {
		return Address{}, fmt.Errorf("unexpected %q after ']': write [%s]:port", rest, host)
	}
	p, err := parsePort(port)
	return Address{Host: host, Port: p}, err
}

// parseBareIPv6 parses a text with several colons and no brackets.
func parseBareIPv6(s string) (Address, error) {
	cut := strings.LastIndexByte(s, ':')
	head, last := s[:cut], s[cut+1:]
	host, err := canonicalIPv6(s)
	if err != nil {
		if h, headErr := canonicalIPv6(head); headErr == nil && last != "" {
			return Address{}, fmt.Errorf("an IPv6 address with a port needs brackets: write [%s]:%s", h, last)
		}
		return Address{}, errors.New("neither host:port nor an IPv6 address: write IPv6 addresses as [address]:port")
	}
	if port, err := parsePort(last); err == nil && len(last) == 4 && port >= 1024 {
		// A reader who wrote 2001:db8::9092 may have meant the host 2001:db8::.
		for _, h := range []string{head, head + ":"} {
			if other, err := canonicalIPv6(h); err == nil {
				return Address{}, fmt.Errorf("ambiguous: write [%s]:%d if all of it is the address, or [%s]:%d if the last group is the port", host, DefaultPort, other, port)
			}
		}
	}
	return Address{Host: host, Port: DefaultPort}, nil
}

var (
	zoneForm = regexp.MustCompile(`^[A-Za-z0-9._~-]+$`)
	hostForm = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?$`)
)

// canonicalIPv6 returns the canonical spelling of an IPv6 address without brackets.
func canonicalIPv6(s string) (string, error) {
	ip, err := netip.ParseAddr(s)
	if err != nil || !ip.Is6() || (ip.Zone() != "" && !zoneForm.MatchString(ip.Zone())) {
		return "", fmt.Errorf("%q is not an IPv6 address: only IPv6 addresses go into brackets", s)
	}
	return ip.String(), nil
}

func checkHost(host string) error {
	switch {
	case host == "":
		return errors.New("no host: write host:port")
	case len(host) > 253:
		return errors.New("host name longer than 253 characters")
	case !hostForm.MatchString(host):
		return fmt.Errorf("host %q has characters that a host name cannot have", host)
	}
	return nil
}

func parsePort(s string) (int32, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || s[0] == '0' {
		return 0, fmt.Errorf("port %q is not a number from 1 to 65535", s)
	}
	return int32(n), nil
}
