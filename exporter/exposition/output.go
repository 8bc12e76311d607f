package exposition

import (
	"encoding/binary"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// format is an exposition format.
type format uint8

const (
	text format = iota
	openMetrics
	protobuf
)

// chunk is how much is gathered before it is written.
const chunk = 64 << 10

// output gathers bytes of one scrape and writes them in chunks. The first
// error of the writer ends the scrape; later calls do nothing.
type output struct {
	w      io.Writer
	format format
	buf    []byte
	err    error
	// headed: the family's HELP and TYPE are written.
	headed bool
	// sizing: protobuf wants a family's size before it. Rows only add to size.
	sizing bool
	size   int
}

// row writes one series: its line and value.
func (o *output) row(f *Family, line []byte, n number) {
	if o.format == protobuf {
		o.protoRow(f, line, n)
		return
	}
	if !o.headed {
		o.header(f)
	}
	b := append(o.buf, line...)
	b = append(n.appendText(b), '\n')
	o.buf = b
	if len(b) >= chunk {
		o.flush()
	}
}

// header writes a text family's HELP and TYPE.
func (o *output) header(f *Family) {
	name := f.Name
	if o.format == openMetrics && f.Type == Counter {
		// There the family's name lacks the suffix that its samples have.
		name = strings.TrimSuffix(name, "_total")
	}
	b := append(o.buf, "# HELP "...)
	b = append(b, name...)
	b = append(b, ' ')
	b = appendHelp(b, f.Help, o.format == openMetrics)
	b = append(b, "\n# TYPE "...)
	b = append(b, name...)
	b = append(b, ' ')
	b = append(b, f.Type.String()...)
	o.buf = append(b, '\n')
	o.headed = true
}

func (o *output) protoRow(f *Family, line []byte, n number) {
	size := len(line) + valueSize
	if o.sizing {
		o.size += 1 + uvarintSize(size) + size
		return
	}
	b := append(o.buf, tagMetric)
	b = binary.AppendUvarint(b, uint64(size))
	b = append(b, line...)
	tag := byte(tagGauge)
	if f.Type == Counter {
		tag = tagCounter
	}
	b = append(b, tag, valueSize-2, tagValue)
	o.buf = binary.LittleEndian.AppendUint64(b, math.Float64bits(n.float()))
	if len(o.buf) >= chunk {
		o.flush()
	}
}

// protoHeader starts a family whose series take o.size bytes.
func (o *output) protoHeader(f *Family) {
	head := fieldSize(f.Name) + fieldSize(f.Help) + 2
	b := binary.AppendUvarint(o.buf, uint64(head+o.size))
	b = appendField(b, tagName, f.Name)
	b = appendField(b, tagHelp, f.Help)
	// MetricType: COUNTER is 0, GAUGE is 1.
	kind := byte(1)
	if f.Type == Counter {
		kind = 0
	}
	o.buf = append(b, tagType, kind)
}

// flush hands the buffer to the writer.
func (o *output) flush() {
	if o.err == nil && len(o.buf) > 0 {
		_, o.err = o.w.Write(o.buf)
	}
	o.buf = o.buf[:0]
}

func validUTF8(s string) string {
	if !utf8.ValidString(s) {
		s, _ = Label(s)
	}
	return s
}
