package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

func TestParseBytes(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "17": 17, "500GiB": 500 << 30, "1.5TB": 1_500_000_000_000, "2 MiB": 2 << 20, "3k": 3000, "3K": 3000, "1PiB": 1 << 50, "7B": 7,
	} {
		if got, err := parseBytes(in); err != nil || got != want {
			t.Errorf("%s: %d, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "x", "-1", "1XiB", "99999999PiB", "1e9", "1 GiB/s"} {
		if got, err := parseBytes(in); err == nil {
			t.Errorf("%q: %d", in, got)
		}
	}
	var v int64
	if err := (bytesFlag{&v, true}).Set("50MB/s"); err != nil || v != 50_000_000 {
		t.Errorf("%d, %v", v, err)
	}
}

func TestUnits(t *testing.T) {
	for _, x := range [][2]string{
		{size(0), "0 B"},
		{size(1023), "1023 B"},
		{size(1024), "1.0 KiB"},
		{size(500 << 30), "500 GiB"},
		{size(1<<40 - 1), "1.0 TiB"},
		{size(99 << 20), "99.0 MiB"},
		{rate(999), "999 B/s"},
		{rate(12_345_678), "12.3 MB/s"},
		{rate(0), "0 B/s"},
		{amount(model.CPU, 123_400_000), "123.4 %"},
		{amount(model.Disk, model.Unlimited), "unlimited"},
		{amount(model.Leaders, 3), "3"},
		{millis(12), "12 ms"},
		{millis(12_340), "12.3 s"},
		{millis(61_000), "1 min 01 s"},
		{millis(3_700_000), "1 h 01 min"},
		{millis(3 * 86_400_000), "3 d 00 h"},
		{percent(.955), "96 %"},
		{plural(1, "batch"), "1 batch"},
		{plural(2, "batch"), "2 batches"},
		{plural(0, "copy"), "0 copies"},
		{plural(3, "item"), "3 items"},
		{short("abcdefghij", 10), "abcdefghij"},
		{short("abcdefghijk", 10), "abc…fghijk"},
	} {
		if x[0] != x[1] {
			t.Errorf("%q, want %q", x[0], x[1])
		}
	}
}

func TestParseBrokersAndPartitions(t *testing.T) {
	if got, err := parseBrokers("1,4, 7-9"); err != nil || !slices.Equal(got, []int32{1, 4, 7, 8, 9}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, in := range []string{",", "1-", "-1", "a", "1-99999999", "99999999999"} {
		if got, err := parseBrokers(in); err == nil {
			t.Errorf("%q: %v", in, got)
		}
	}
	if topic, id, err := parsePartition("a-b-12"); err != nil || topic != "a-b" || id != 12 {
		t.Errorf("%s %d %v", topic, id, err)
	}
	for _, in := range []string{"a", "-1", "a-", "a-x", "a--1"} {
		if topic, id, err := parsePartition(in); err == nil && !(in == "a--1" && topic == "a-" && id == 1) {
			t.Errorf("%q: %s %d", in, topic, id)
		}
	}
}

func TestTableWraps(t *testing.T) {
	tab := newTable("name", ">n", "why")
	tab.add("a", 5, strings.Repeat("word ", 30))
	var b strings.Builder
	tab.print(&b)
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[2], "           word") {
		t.Errorf("%q", lines)
	}
}
