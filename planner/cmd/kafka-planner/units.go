package main

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

var quantity = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?(|[kKMGTP]i?)(?:B|b)?$`)

// parseBytes reads 500GiB, 1.5TB, 1000 and the like: the i says powers of 1024.
func parseBytes(s string) (int64, error) {
	m := quantity.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return 0, fmt.Errorf("%q is no number of bytes; write 500GiB, 1.5TB or 1000000", s)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number of bytes: %w", s, err)
	}
	base := 1000.0
	if strings.HasSuffix(m[2], "i") {
		base = 1024
	}
	if m[2] != "" {
		v *= math.Pow(base, float64(strings.Index("kMGTP", strings.ReplaceAll(m[2][:1], "K", "k"))+1))
	}
	if v >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is more bytes than can be counted", s)
	}
	return int64(math.Round(v)), nil
}

// bytesFlag is a flag in bytes, or in bytes per second where rate is set.
type bytesFlag struct {
	v    *int64
	rate bool
}

func (f bytesFlag) Set(s string) (err error) {
	if f.rate {
		s = strings.TrimSuffix(strings.TrimSpace(s), "/s")
	}
	*f.v, err = parseBytes(s)
	return err
}

func (f bytesFlag) Type() string {
	if f.rate {
		return "bytes/s"
	}
	return "bytes"
}

func (f bytesFlag) String() string {
	if f.v == nil || *f.v == 0 {
		return ""
	}
	return strconv.FormatInt(*f.v, 10)
}

// Of n, in powers of base, three digits at least.
func scaled(n float64, base float64, units []string) string {
	i := 0
	for ; math.Abs(n) >= base*0.9995 && i < len(units)-1; i++ {
		n /= base
	}
	switch {
	case i == 0:
		return fmt.Sprintf("%.0f %s", n, units[i])
	case math.Abs(n) < 99.95:
		return fmt.Sprintf("%.1f %s", n, units[i])
	}
	return fmt.Sprintf("%.0f %s", n, units[i])
}

var (
	sizeUnits = []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	rateUnits = []string{"B/s", "kB/s", "MB/s", "GB/s", "TB/s"}
)

func size(n int64) string { return scaled(float64(n), 1024, sizeUnits) }

func rate(n int64) string { return scaled(float64(n), 1000, rateUnits) }

// amount is a load or a capacity in its resource's unit.
func amount(k model.Resource, n int64) string {
	if n == model.Unlimited {
		return "unlimited"
	}
	switch k {
	case model.In, model.Out, model.LeaderIn:
		return rate(n)
	case model.Disk:
		return size(n)
	case model.CPU:
		return fmt.Sprintf("%.1f %%", float64(n)/1e6)
	}
	return strconv.FormatInt(n, 10)
}

func millis(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", ms)
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %02d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d d %02d h", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

func percent(x float64) string { return strconv.FormatFloat(math.Round(x*100), 'f', 0, 64) + " %" }

// plural is a count with its noun.
func plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ch"):
		noun += "e"
	case strings.HasSuffix(noun, "y"):
		noun = strings.TrimSuffix(noun, "y") + "ie"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
