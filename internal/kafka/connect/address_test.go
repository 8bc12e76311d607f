package connect

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseAddress(t *testing.T) {
	for _, test := range []struct {
		in, want string // want is the one printed form
	}{
		{"[::1]:9092", "[::1]:9092"},
		{"[::1]", "[::1]:9092"},
		{"2001:db8::5", "[2001:db8::5]:9092"},
		{"2001:DB8:0:0:0:0:0:5", "[2001:db8::5]:9092"},
		{"::1", "[::1]:9092"},
		{"::ffff:10.0.0.1", "[::ffff:10.0.0.1]:9092"},
		{"fe80::1%eth0", "[fe80::1%eth0]:9092"},
		{"[fe80::1%eth0]:9092", "[fe80::1%eth0]:9092"},
		{"1:2:3:4:5:6:7:9092", "[1:2:3:4:5:6:7:9092]:9092"}, // no reading with a port: seven groups are no address
		{"2001:db8::0092", "[2001:db8::92]:9092"},
		{"k1:9092", "k1:9092"},
		{"k1", "k1:9092"},
		{" k1:9093 ", "k1:9093"},
		{"kafka_1.svc.cluster.local.:19092", "kafka_1.svc.cluster.local.:19092"},
		{"10.0.0.1:1", "10.0.0.1:1"},
		{"k1:65535", "k1:65535"},
		{"PLAINTEXT://[::1]:9092", "[::1]:9092"},
		{"sasl_ssl://k1:9093", "k1:9093"},
		{"SSL://2001:db8::5", "[2001:db8::5]:9092"},
	} {
		got, err := ParseAddress(test.in)
		if err != nil || got.String() != test.want {
			t.Errorf("ParseAddress(%q) = %v, %v; want %s", test.in, got, err, test.want)
		}
	}
	if got, _ := ParseAddress("[::1]:9092"); got != (Address{Host: "::1", Port: 9092}) {
		t.Errorf("host has brackets or port is wrong: %+v", got)
	}
}

func TestParseAddressErrors(t *testing.T) {
	for in, want := range map[string][]string{
		"2001:db8::5:9092":       {`"2001:db8::5:9092"`, "[2001:db8::5:9092]:9092", "[2001:db8::5]:9092", "ambiguous"},
		"2001:db8::9092":         {"ambiguous", "[2001:db8::9092]:9092", "[2001:db8::]:9092"},
		"2001:db8::5:19092":      {"write [2001:db8::5]:19092"},
		"fe80::1%eth0:9092":      {"write [fe80::1%eth0]:9092"},
		"k1:":                    {`"k1:"`, "port"},
		"k1:99999":               {`"99999"`, "1 to 65535"},
		"k1:0":                   {`"0"`},
		"k1:-1":                  {`"-1"`},
		"k1:+9092":               {`"+9092"`},
		"k1:09092":               {`"09092"`},
		":9092":                  {"no host"},
		"":                       {"empty"},
		"  ":                     {"empty"},
		"[::1":                   {"without ']'"},
		"[::1]9092":              {"write [::1]:port"},
		"[k1]:9092":              {"not an IPv6"},
		"[10.0.0.1]:9092":        {"not an IPv6"},
		"[]:9092":                {"not an IPv6"},
		"a:b:c":                  {"neither"},
		"HTTP://k1:9092":         {`unknown scheme "HTTP"`, "SASL_SSL"},
		"://k1":                  {"unknown scheme"},
		"k1/path":                {"characters"},
		"k 1:9092":               {"characters"},
		"k1\n:9092":              {"characters"},
		"-k1:9092":               {"characters"},
		"[fe80::1%a b]:9092":     {"not an IPv6"},
		"PLAINTEXT://":           {"no host"},
		"SSL://PLAINTEXT://k1":   {"SSL://PLAINTEXT://k1"},
		strings.Repeat("a", 254): {"253"},
	} {
		got, err := ParseAddress(in)
		if err == nil {
			t.Errorf("ParseAddress(%q) = %v; want an error", in, got)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("ParseAddress(%q): error %q lacks %q", in, err, w)
			}
		}
	}
	if _, err := ParseAddress("user:S3cr3t@k1:9092"); err == nil || strings.Contains(err.Error(), "S3cr3t") {
		t.Errorf("credentials in an address: error %v", err)
	}
}

func TestParseAddresses(t *testing.T) {
	got, err := ParseAddresses([]string{" k1:9092, k2 ", "[::1]"})
	want := []Address{{"k1", 9092}, {"k2", 9092}, {"::1", 9092}}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	for _, test := range []struct {
		in   []string
		want string
	}{
		{[]string{"k1", "K1:9092"}, "K1:9092 is listed twice"},
		{[]string{"::1", "[0::1]:9092"}, "[::1]:9092 is listed twice"},
		{[]string{"k1,,k2"}, "empty"},
		{[]string{"k1", ""}, "empty"},
		{[]string{"k1,"}, "empty"},
		{nil, "no address"},
		{[]string{"k1:x", "k2:y"}, `"y"`},
	} {
		if _, err := ParseAddresses(test.in); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("ParseAddresses(%q): error %v lacks %q", test.in, err, test.want)
		}
	}
}

func TestFormatHostPort(t *testing.T) {
	for _, test := range []struct {
		host string
		port int32
		want string
	}{
		{"::1", 9092, "[::1]:9092"},
		{"[::1]", 9092, "[::1]:9092"},
		{"2001:DB8:0::5", 1, "[2001:db8::5]:1"},
		{"fe80::1%eth0", 9092, "[fe80::1%eth0]:9092"},
		{"k1", 9092, "k1:9092"},
		{"10.0.0.1", 9092, "10.0.0.1:9092"},
		{"", 9092, ":9092"},
	} {
		if got := FormatHostPort(test.host, test.port); got != test.want {
			t.Errorf("FormatHostPort(%q, %d) = %s; want %s", test.host, test.port, got, test.want)
		}
	}
}

func TestAddressRoundTrip(t *testing.T) {
	host := rapid.OneOf(
		rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?(\.[a-z0-9]{1,10}){0,3}`),
		rapid.Custom(func(t *rapid.T) string {
			var b [16]byte
			copy(b[:], rapid.SliceOfN(rapid.SampledFrom([]byte{0, 0, 0, 1, 0x20, 0x90, 0x92, 0xff}), 16, 16).Draw(t, "bytes"))
			return netip.AddrFrom16(b).String()
		}),
	)
	rapid.Check(t, func(t *rapid.T) {
		a := Address{Host: host.Draw(t, "host"), Port: rapid.Int32Range(1, 65535).Draw(t, "port")}
		got, err := ParseAddress(a.String())
		if err != nil || got != a {
			t.Fatalf("%+v prints as %q, which parses as %+v, %v", a, a, got, err)
		}
	})
}

func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"[::1]:9092", "2001:db8::5:9092", "k1", "SSL://k1:1", "[fe80::1%e]:2", "a:b:c", "::ffff:1.2.3.4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAddress(s)
		if err != nil {
			return
		}
		if a.Host == "" || a.Port < 1 || a.Port > 65535 || strings.ContainsAny(a.Host, "[]/ \t\n@") {
			t.Fatalf("ParseAddress(%q) = %+v", s, a)
		}
		again, err := ParseAddress(a.String())
		if err != nil || again != a {
			t.Fatalf("ParseAddress(%q) = %+v, which prints as %q and parses as %+v, %v", s, a, a, again, err)
		}
		if FormatHostPort(a.Host, a.Port) != a.String() {
			t.Fatalf("two printed forms of %+v", a)
		}
	})
}
