package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// width is what tables keep to.
const width = 100

// table is printed with aligned columns. The last column is wrapped.
type table struct {
	head  []string
	right []bool // by column: figures stand to the right
	rows  [][]string
	// more counts rows that were left out.
	more int
}

// newTable takes heads; one that starts with > is of figures.
func newTable(heads ...string) *table {
	t := &table{}
	for _, h := range heads {
		t.right = append(t.right, strings.HasPrefix(h, ">"))
		t.head = append(t.head, strings.TrimPrefix(h, ">"))
	}
	return t
}

func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	t.rows = append(t.rows, row)
}

func (t *table) print(w io.Writer) {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	last := len(t.head) - 1
	used := 2
	for _, n := range widths[:last] {
		used += n + 2
	}
	widths[last] = min(widths[last], max(width-used, 24))
	t.row(w, t.head, widths)
	for _, row := range t.rows {
		t.row(w, row, widths)
	}
	if t.more > 0 {
		fmt.Fprintf(w, "  … %d more; --rows 0 shows all\n", t.more)
	}
}

func (t *table) row(w io.Writer, cells []string, widths []int) {
	var b strings.Builder
	b.WriteString(" ")
	last := len(cells) - 1
	for i, c := range cells[:last] {
		b.WriteString(" " + pad(c, widths[i], t.right[i]) + " ")
	}
	indent := utf8.RuneCountInString(b.String()) + 1
	for i, line := range wrap(cells[last], widths[last]) {
		if i > 0 {
			b.WriteString("\n" + strings.Repeat(" ", indent-1))
		}
		b.WriteString(" " + pad(line, widths[last], t.right[last]))
	}
	for _, line := range strings.Split(b.String(), "\n") {
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

func pad(s string, n int, right bool) string {
	fill := strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s)))
	if right {
		return fill + s
	}
	return s + fill
}

// wrap breaks text between words; a word that is too long has a line of its own.
func wrap(s string, n int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= n:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// bullet prints text as an item of a list, wrapped.
func bullet(w io.Writer, s string) {
	for i, line := range wrap(s, width-4) {
		mark := "  - "
		if i > 0 {
			mark = "    "
		}
		fmt.Fprintln(w, mark+line)
	}
}

// short keeps long names within n runes; their ends tell most.
func short(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	tail := n * 2 / 3
	return string(r[:n-tail-1]) + "…" + string(r[len(r)-tail:])
}
