package exposition

import (
	"math"
	"strconv"
)

// number is a sample value. Integers and thousandths are kept as such: they
// are written without float formatting and add up exactly.
type number struct {
	kind numberKind
	i    int64
	f    float64
}

type numberKind uint8

const (
	integer numberKind = iota
	// thousandths: i milliseconds are i/1000 seconds.
	thousandths
	float
)

func (n number) float() float64 {
	switch n.kind {
	case integer:
		return float64(n.i)
	case thousandths:
		return float64(n.i) / 1000
	default:
		return n.f
	}
}

// appendText appends the number as the text formats want it.
func (n number) appendText(b []byte) []byte {
	switch n.kind {
	case integer:
		return strconv.AppendInt(b, n.i, 10)
	case thousandths:
		return appendThousandths(b, n.i)
	default:
		return strconv.AppendFloat(b, n.f, 'g', -1, 64)
	}
}

func appendThousandths(b []byte, i int64) []byte {
	whole, rest := i/1000, i%1000
	if rest == 0 {
		return strconv.AppendInt(b, whole, 10)
	}
	if i < 0 {
		b, whole, rest = append(b, '-'), -whole, -rest
	}
	b = strconv.AppendInt(b, whole, 10)
	b = append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
	for b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	return b
}

// fold merges b into a.
func fold(how Fold, a, b number) number {
	switch how {
	case Sum:
		return sum(a, b)
	case Max:
		if less(a, b) {
			return b
		}
	case Min:
		if less(b, a) {
			return b
		}
	}
	return a
}

func sum(a, b number) number {
	if a.kind == b.kind && a.kind != float {
		s := a.i + b.i
		// Overflow happened iff both operands have the sign that s has not.
		if (a.i^s)&(b.i^s) >= 0 {
			return number{kind: a.kind, i: s}
		}
	}
	return number{kind: float, f: a.float() + b.float()}
}

func less(a, b number) bool {
	if a.kind == b.kind && a.kind != float {
		return a.i < b.i
	}
	return a.float() < b.float()
}

// newFloat makes a number of a float; whole ones become integers, which are
// cheaper to write. Above 2^53 not every integer is a float.
func newFloat(f float64) number {
	if i := int64(f); float64(i) == f && math.Abs(f) <= 1<<53 {
		return number{kind: integer, i: i}
	}
	return number{kind: float, f: f}
}
