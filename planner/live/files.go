package live

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// Capacities is the user's file of what brokers can carry (YAML or JSON).
type Capacities struct {
	// Default holds for brokers that no entry of Brokers names.
	Default Capacity `yaml:"default"`
	// Brokers name brokers; what an entry leaves out comes from Default.
	Brokers []BrokerCapacity `yaml:"brokers"`
	// AllowSmall accepts values that look like placeholders or other units.
	AllowSmall bool `yaml:"allow_small"`
}

// Capacity is what a broker can carry; what is absent is not known. Disk is
// taken from the log directories where it is absent.
type Capacity struct {
	// In and Out are bytes per second written and sent.
	In  *int64 `yaml:"in"`
	Out *int64 `yaml:"out"`
	// Disk is bytes in all directories together.
	Disk *int64 `yaml:"disk"`
	// CPUPercent is 100 for a core.
	CPUPercent *float64 `yaml:"cpu_percent"`
}

// BrokerCapacity is the capacity of some brokers.
type BrokerCapacity struct {
	IDs      []int32 `yaml:"ids"`
	Capacity `yaml:",inline"`
	// Dirs override what is found out about log directories.
	Dirs []DirCapacity `yaml:"dirs"`
}

// DirCapacity describes a log directory.
type DirCapacity struct {
	Path string `yaml:"path"`
	// Capacity in bytes; absent to take what the broker says.
	Capacity *int64 `yaml:"capacity"`
	// Volume names the file system: directories of a broker with one name share
	// it. Absent to find out.
	Volume string `yaml:"volume"`
}

// The least that is believed: below are placeholders and values in MB or kB/s.
const (
	leastRate = 1_000_000
	leastDisk = 1_000_000_000
	// mostDisk is more than a volume can be: network file systems without a
	// limit report such sizes.
	mostDisk = 1 << 60
)

// ReadCapacities reads a capacity file. Unknown keys, brokers named twice and
// values that look like placeholders are errors.
func ReadCapacities(r io.Reader) (*Capacities, error) {
	c := &Capacities{}
	if err := decode(r, c); err != nil {
		return nil, fmt.Errorf("reading capacities: %w", err)
	}
	errs := []error{c.check("default", &c.Default)}
	var seen []int32
	for i := range c.Brokers {
		b := &c.Brokers[i]
		where := fmt.Sprintf("brokers %v", b.IDs)
		if len(b.IDs) == 0 {
			errs = append(errs, fmt.Errorf("entry %d of brokers has no ids", i+1))
		}
		for _, id := range b.IDs {
			if slices.Contains(seen, id) {
				errs = append(errs, fmt.Errorf("broker %d is named twice", id))
			}
			seen = append(seen, id)
		}
		errs = append(errs, c.check(where, &b.Capacity))
		var paths []string
		for _, d := range b.Dirs {
			if d.Path == "" || slices.Contains(paths, d.Path) {
				errs = append(errs, fmt.Errorf("%s: a dir has no path or %q is listed twice", where, d.Path))
			}
			paths = append(paths, d.Path)
			errs = append(errs, c.believable(where+": dir "+d.Path, d.Capacity, leastDisk))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("the capacities cannot be used: %w", err)
	}
	return c, nil
}

func (c *Capacities) check(where string, x *Capacity) error {
	var cpu error
	if x.CPUPercent != nil && (!(*x.CPUPercent > 0) || *x.CPUPercent > 1e6) {
		cpu = fmt.Errorf("%s: cpu_percent is %g; a core is 100", where, *x.CPUPercent)
	}
	return errors.Join(c.believable(where+": in", x.In, leastRate), c.believable(where+": out", x.Out, leastRate),
		c.believable(where+": disk", x.Disk, leastDisk), cpu)
}

func (c *Capacities) believable(where string, v *int64, least int64) error {
	switch {
	case v == nil:
		return nil
	case *v <= 0 || *v >= mostDisk:
		return fmt.Errorf("%s: %d is a placeholder, not a capacity: leave it out if it is not known", where, *v)
	case *v < least && !c.AllowSmall:
		return fmt.Errorf("%s: %d looks like a placeholder or another unit than bytes; set allow_small if it is right", where, *v)
	}
	return nil
}

// of returns the entry for a broker; Default where there is none.
func (c *Capacities) of(id int32) BrokerCapacity {
	if c == nil {
		return BrokerCapacity{}
	}
	out := BrokerCapacity{Capacity: c.Default}
	for i := range c.Brokers {
		b := &c.Brokers[i]
		if !slices.Contains(b.IDs, id) {
			continue
		}
		out.Dirs = b.Dirs
		for _, x := range []struct{ to, from **int64 }{{&out.In, &b.In}, {&out.Out, &b.Out}, {&out.Disk, &b.Disk}} {
			if *x.from != nil {
				*x.to = *x.from
			}
		}
		if b.CPUPercent != nil {
			out.CPUPercent = b.CPUPercent
		}
	}
	return out
}

func (x *Capacity) vector() model.Vector {
	var v model.Vector
	for k := range v {
		v[k] = model.Unlimited
	}
	set := func(k model.Resource, p *int64) {
		if p != nil {
			v[k] = *p
		}
	}
	set(model.In, x.In)
	set(model.LeaderIn, x.In)
	set(model.Out, x.Out)
	set(model.Disk, x.Disk)
	if x.CPUPercent != nil {
		v[model.CPU] = int64(math.Round(*x.CPUPercent * 1e6))
	}
	return v
}

// Groups is the user's file of resource groups (YAML or JSON), in the shape that
// the exporter's configuration has too.
type Groups struct {
	Groups map[string]Group `yaml:"resource_groups"`

	names []string // sorted
	match map[string][]*regexp.Regexp
}

// Group is a set of brokers that some topics live on.
type Group struct {
	Brokers []int32 `yaml:"brokers"`
	// Topics are regular expressions that match whole names.
	Topics []string `yaml:"topics"`
}

// ReadGroups reads a resource-group file. Unknown keys, a broker in two groups
// and expressions that do not compile are errors.
func ReadGroups(r io.Reader) (*Groups, error) {
	g := &Groups{match: map[string][]*regexp.Regexp{}}
	if err := decode(r, g); err != nil {
		return nil, fmt.Errorf("reading resource groups: %w", err)
	}
	g.names = slices.Sorted(maps.Keys(g.Groups))
	var errs []error
	in := map[int32]string{}
	for _, name := range g.names {
		x := g.Groups[name]
		if name == "" {
			errs = append(errs, errors.New("a group has no name"))
		}
		if len(x.Brokers) == 0 {
			errs = append(errs, fmt.Errorf("group %s has no brokers", name))
		}
		for _, b := range x.Brokers {
			if other, ok := in[b]; ok {
				errs = append(errs, fmt.Errorf("broker %d is listed in group %s and in group %s", b, other, name))
			}
			in[b] = name
		}
		for _, t := range x.Topics {
			re, err := regexp.Compile(`^(?:` + t + `)$`)
			if err != nil {
				errs = append(errs, fmt.Errorf("group %s: topics: %w", name, err))
			}
			g.match[name] = append(g.match[name], re)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("the resource groups cannot be used: %w", err)
	}
	return g, nil
}

func (g *Groups) ofBroker(id int32) string {
	if g != nil {
		for _, name := range g.names {
			if slices.Contains(g.Groups[name].Brokers, id) {
				return name
			}
		}
	}
	return ""
}

// ofTopic returns the group whose expressions match a topic, "" for none.
func (g *Groups) ofTopic(topic string) (string, error) {
	found := ""
	if g != nil {
		for _, name := range g.names {
			if !slices.ContainsFunc(g.match[name], func(re *regexp.Regexp) bool { return re.MatchString(topic) }) {
				continue
			}
			if found != "" {
				return "", fmt.Errorf("topic %s matches the expressions of resource groups %s and %s", topic, found, name)
			}
			found = name
		}
	}
	return found, nil
}

// decode reads one YAML (or JSON) document and nothing else.
func decode(r io.Reader, v any) error {
	d := yaml.NewDecoder(r)
	d.KnownFields(true)
	if err := d.Decode(v); err != nil {
		return err
	}
	var more any
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return errors.New("a second document follows")
	}
	return nil
}
