package connect

import (
	"fmt"
	"strings"
)

// The SASL mechanisms, by the names brokers know them.
const (
	MechanismPlain       = "PLAIN"
	MechanismScramSHA256 = "SCRAM-SHA-256"
	MechanismScramSHA512 = "SCRAM-SHA-512"
	MechanismOAuthBearer = "OAUTHBEARER"
	MechanismGSSAPI      = "GSSAPI"
)

var mechanisms = []string{MechanismPlain, MechanismScramSHA256, MechanismScramSHA512, MechanismOAuthBearer, MechanismGSSAPI}

// ParseMechanism returns the standard name of a SASL mechanism. Case does not
// matter, and dashes and underscores may be left out: scram-sha512 is
// SCRAM-SHA-512. An unknown name is an error that lists the accepted ones;
// there is no default.
func ParseMechanism(s string) (string, error) {
	for _, name := range mechanisms {
		if foldMechanism(s) == foldMechanism(name) {
			return name, nil
		}
	}
	if s == "" {
		return "", fmt.Errorf("no mechanism: use one of %s", strings.Join(mechanisms, ", "))
	}
	return "", fmt.Errorf("unknown mechanism %q: use one of %s", s, strings.Join(mechanisms, ", "))
}

func foldMechanism(s string) string {
	return strings.ToUpper(strings.NewReplacer("-", "", "_", "").Replace(strings.TrimSpace(s)))
}
