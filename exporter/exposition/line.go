package exposition

import (
	"encoding/binary"
	"slices"
)

// line is the part of a series before its value: name and labels. Neighbours
// share most labels, so only what follows the first different one is written
// anew.
type line struct {
	format format
	names  []string
	// text is the line; cut[i] is where label i's value starts (text formats)
	// or where label i starts (protobuf).
	text  []byte
	cut   []int
	last  []string
	rows  int
	other []string
}

// begin starts a family with the given labels besides the cluster's.
func (l *line) begin(f format, fam *Family, cluster string, names []string) {
	l.format, l.names, l.rows = f, names, 0
	l.text, l.cut = l.text[:0], l.cut[:0]
	l.last = l.last[:0]
	for range names {
		l.last = append(l.last, "")
		l.cut = append(l.cut, 0)
	}
	l.cut = append(l.cut, 0)
	if f == protobuf {
		l.text = appendLabelPair(l.text, ClusterLabel, cluster)
	} else {
		l.text = append(l.text, fam.Name...)
		l.text = append(l.text, '{')
		l.text = append(l.text, ClusterLabel...)
		l.text = append(l.text, `="`...)
		l.text = appendEscaped(l.text, cluster)
		l.text = l.appendBetween(l.text, 0)
	}
	l.cut[0] = len(l.text)
}

// appendBetween appends what stands between label i-1's value and label i's
// (i = 0: after the cluster's).
func (l *line) appendBetween(b []byte, i int) []byte {
	if i == len(l.names) {
		return append(b, `"} `...)
	}
	b = append(b, `",`...)
	b = append(b, l.names[i]...)
	return append(b, `="`...)
}

// set makes the line that of the given labels. It is false if they are those
// of the line before: that series has been written.
func (l *line) set(labels []string) bool {
	k := 0
	if l.rows > 0 {
		for k < len(labels) && labels[k] == l.last[k] {
			k++
		}
		if k == len(labels) {
			return false
		}
	}
	l.rows++
	text := l.text[:l.cut[k]]
	for ; k < len(labels); k++ {
		if l.format == protobuf {
			text = appendLabelPair(text, l.names[k], labels[k])
		} else {
			text = appendEscaped(text, labels[k])
			text = l.appendBetween(text, k+1)
		}
		l.cut[k+1] = len(text)
		l.last[k] = labels[k]
	}
	l.text = text
	return true
}

// others are the label values of the folded series.
func (l *line) others() []string {
	for len(l.other) < len(l.names) {
		l.other = append(l.other, OtherValue)
	}
	return l.other[:len(l.names)]
}

// Protobuf: field numbers and wire types of io.prometheus.client.
const (
	tagLabel     = 1<<3 | 2 // Metric.label
	tagPairName  = 1<<3 | 2 // LabelPair.name
	tagPairValue = 2<<3 | 2 // LabelPair.value
	tagGauge     = 2<<3 | 2 // Metric.gauge
	tagCounter   = 3<<3 | 2 // Metric.counter
	tagValue     = 1<<3 | 1 // Gauge.value, Counter.value
	tagName      = 1<<3 | 2 // MetricFamily.name
	tagHelp      = 2<<3 | 2 // MetricFamily.help
	tagType      = 3 << 3   // MetricFamily.type, a varint
	tagMetric    = 4<<3 | 2 // MetricFamily.metric

	// valueSize is a Gauge or Counter as a field of Metric.
	valueSize = 1 + 1 + 1 + 8
)

func appendLabelPair(b []byte, name, value string) []byte {
	value = validUTF8(value)
	b = append(b, tagLabel)
	b = binary.AppendUvarint(b, uint64(fieldSize(name)+fieldSize(value)))
	b = appendField(b, tagPairName, name)
	return appendField(b, tagPairValue, value)
}

func appendField(b []byte, tag byte, s string) []byte {
	b = append(b, tag)
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// fieldSize is the size of s as a field.
func fieldSize(s string) int { return 1 + uvarintSize(len(s)) + len(s) }

func uvarintSize(n int) int {
	size := 1
	for n >= 0x80 {
		n >>= 7
		size++
	}
	return size
}

// indexes tells where each of the names is in all; unknown ones are left out.
func indexes(dst []int, all, names []string) []int {
	for i, n := range all {
		if slices.Contains(names, n) {
			dst = append(dst, i)
		}
	}
	return dst
}
