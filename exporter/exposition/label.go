package exposition

import (
	"hash/fnv"
	"strconv"
	"strings"
	"unicode/utf8"
)

// smallInts holds the decimal text of 0 … 16383 in one string: partition and
// broker labels then cost no allocation.
var smallInts = func() (t [1 << 14]string) {
	var b []byte
	for i := range t {
		b = strconv.AppendInt(b, int64(i), 10)
	}
	all, at := string(b), 0
	for i := range t {
		n := len(strconv.Itoa(i))
		t[i] = all[at : at+n]
		at += n
	}
	return t
}()

// Itoa is the decimal text of n, without allocation for ids as they occur.
func Itoa(n int32) string {
	if n >= 0 && int(n) < len(smallInts) {
		return smallInts[n]
	}
	return strconv.Itoa(int(n))
}

// rewriteMark and eight hex digits end every rewritten name.
const rewriteMark = "~invalid-utf8:"

// Label makes a name from Kafka fit for a label value. Valid UTF-8 passes byte
// for byte: quotes, newlines, backslashes, NUL and the empty string included
// (Prometheus reads all of them back). Anything else is made visible, bytes
// that are not UTF-8 as \xNN and a backslash as \\, and ends in a mark with a
// hash of the raw bytes, so that different names stay different. A valid name
// that ends in such a mark is rewritten too, or it could pass for another.
//
// Label is for whoever reads names from Kafka, once per name.
func Label(raw string) (clean string, rewritten bool) {
	if utf8.ValidString(raw) && !hasMark(raw) {
		return raw, false
	}
	var b strings.Builder
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRuneInString(raw[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(`\x`)
			b.WriteString(hex(uint64(raw[i]), 2))
		case r == '\\':
			b.WriteString(`\\`)
		default:
			b.WriteString(raw[i : i+n])
		}
		i += n
	}
	h := fnv.New32a()
	h.Write([]byte(raw))
	b.WriteString(rewriteMark)
	b.WriteString(hex(uint64(h.Sum32()), 8))
	return b.String(), true
}

func hex(n uint64, width int) string {
	s := strconv.FormatUint(n, 16)
	return strings.Repeat("0", width-len(s)) + s
}

func hasMark(s string) bool {
	at := len(s) - len(rewriteMark) - 8
	return at >= 0 && s[at:at+len(rewriteMark)] == rewriteMark
}

// plain tells which bytes need neither escaping nor a look at UTF-8.
var plain = func() (t [256]bool) {
	for c := range 128 {
		t[c] = c != '\\' && c != '"' && c != '\n'
	}
	return t
}()

// appendEscaped appends a label value as the text formats want it between
// quotes. What is not UTF-8 goes through [Label]: such a line would cost the
// whole scrape.
func appendEscaped(b []byte, s string) []byte {
	for i := range len(s) {
		if !plain[s[i]] {
			return appendEscapedSlow(b, s)
		}
	}
	return append(b, s...)
}

func appendEscapedSlow(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s, _ = Label(s)
	}
	for i := range len(s) {
		switch c := s[i]; c {
		case '\\':
			b = append(b, `\\`...)
		case '"':
			b = append(b, `\"`...)
		case '\n':
			b = append(b, `\n`...)
		default:
			b = append(b, c)
		}
	}
	return b
}

// appendHelp appends a HELP text; only OpenMetrics escapes quotes in it.
func appendHelp(b []byte, s string, quotes bool) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\\':
			b = append(b, `\\`...)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '"' && quotes:
			b = append(b, `\"`...)
		default:
			b = append(b, c)
		}
	}
	return b
}
