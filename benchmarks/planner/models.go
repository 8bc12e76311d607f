package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kafka-steward/kafka-steward/planner/bounds"
	"github.com/kafka-steward/kafka-steward/planner/model"
)

const band = 0.05

// peerPlan is a plan that another planner made; Seconds are CPU.
type peerPlan struct {
	Planner string  `json:"planner"`
	Seconds float64 `json:"plan_s"`
	Moves   []move  `json:"moves"`
}

// models plans every model of the directory and compares.
func models(ctx context.Context, _ string, v *verdicts) error {
	dir, err := benchDir()
	if errors.Is(err, errNoModels) {
		fmt.Printf("\nModels to compare with other planners: skipped, there is no folder %s beside the repository or in a folder beside it (set %s to one)\n", dirName, dirEnv)
		return nil
	}
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "models", "*.json.gz"))
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := compare(ctx, dir, f, v); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
	}
	return nil
}

// benchDir finds the directory with models.
func benchDir() (string, error) {
	if d := os.Getenv(dirEnv); d != "" {
		if _, err := os.Stat(filepath.Join(d, "models")); err != nil {
			return "", fmt.Errorf("%s: %w", dirEnv, err)
		}
		return d, nil
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	for _, pattern := range []string{"", "*"} {
		found, err := filepath.Glob(filepath.Join(root, "..", pattern, dirName, "models"))
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return filepath.Dir(found[0]), nil
		}
	}
	return "", errNoModels
}

func moduleRoot() (string, error) {
	d, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(d, "go.mod")); err == nil {
			return d, nil
		}
		up := filepath.Dir(d)
		if up == d {
			return "", errors.New("run it inside the repository: there is no go.mod above")
		}
		d = up
	}
}

func compare(ctx context.Context, dir, file string, v *verdicts) error {
	name := strings.TrimSuffix(filepath.Base(file), ".json.gz")
	o, err := planned(ctx, file)
	if err != nil {
		return err
	}
	snap, err := model.ReadFile(file)
	if err != nil {
		return err
	}
	s := newScorer(snap.Cluster)
	before, err := s.score(nil)
	if err != nil {
		return err
	}
	ours, err := s.score(o.Moves)
	if err != nil {
		return err
	}
	least := map[float64]int64{}
	for _, b := range []float64{band, .08} {
		least[b] = bounds.Bytes(snap.Cluster, b, bounds.Options{})
	}
	fmt.Printf("\n%s: %d brokers, %d partitions, %d replicas; at least %.0f GB to reach ±5 %%, %.0f GB to reach ±8 %%; search %.2f of %.2f CPU s, peak memory %.0f MB, %d limits reported\n", name, o.Brokers, o.Partitions,
		o.Replicas, float64(least[band])/1e9, float64(least[.08])/1e9, o.Search, o.CPU, float64(o.RSS)/1e6, o.Limits)
	head()
	row("before", before, nil, 0)
	row("ours", ours, least, o.CPU)
	peers, err := peersOf(dir, name)
	if err != nil {
		return err
	}
	var rivals []*scores
	for _, p := range peers {
		sc, err := s.score(p.plan.Moves)
		if err != nil {
			return fmt.Errorf("%s: %w", p.kind, err)
		}
		row(p.kind, sc, least, p.plan.Seconds)
		if p.kind == "cc" {
			rivals = append(rivals, sc)
		}
	}
	for _, cc := range rivals {
		versus(v, name, ours, cc, least[band])
	}
	v.judge(ours.duplicates == 0 && ours.rackViolations <= before.rackViolations, "%s: no broker twice, racks no worse (%d → %d)", name, before.rackViolations, ours.rackViolations)
	v.judge(float64(ours.bytes) <= 1.04*float64(least[band]), "%s: %.1f %% above the least for ±5 %%, at most 4", name, 100*(float64(ours.bytes)/float64(least[band])-1))
	v.judge(ours.topicOver < before.topicOver || before.topicOver == 0, "%s: replicas of topics above ceil(avg)+1: %d, before %d", name, ours.topicOver, before.topicOver)
	v.cost(o.Brokers, o.Replicas, o)
	return nil
}

// versus judges every dimension against Cruise Control.
func versus(v *verdicts, name string, ours, cc *scores, least int64) {
	const equal = 1e-9
	for k := range model.NumResources {
		better := ours.max[k] <= cc.max[k]+equal && ours.cv[k] <= cc.cv[k]+equal && ours.in10[k] >= cc.in10[k]-equal
		v.judge(better, "%s: %-9s worst %.3f, theirs %.3f; variation %.4f, theirs %.4f; in ±10 %% %.0f %%, theirs %.0f %%", name, k,
			ours.max[k], cc.max[k], ours.cv[k], cc.cv[k], 100*ours.in10[k], 100*cc.in10[k])
	}
	const share = .8
	text := fmt.Sprintf("%s: %.1f %% fewer bytes than theirs, at least 20", name, 100*(1-float64(ours.bytes)/float64(cc.bytes)))
	if most := share * float64(cc.bytes); float64(least) > most && float64(ours.bytes) > most {
		v.outOfReach("%s; no plan that reaches ±5 %% can: the least is %.1f %% fewer", text, 100*(1-float64(least)/float64(cc.bytes)))
		return
	}
	v.judge(float64(ours.bytes) <= share*float64(cc.bytes), "%s", text)
}

type peer struct {
	kind string
	plan peerPlan
}

// peersOf reads the plans that others made for a model: NAME.KIND.json.gz.
func peersOf(dir, name string) ([]peer, error) {
	files, err := filepath.Glob(filepath.Join(dir, "peer-plans", name+".*.json.gz"))
	if err != nil {
		return nil, err
	}
	var out []peer
	for _, path := range files {
		p, err := readPeer(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		kind := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), name+"."), ".json.gz")
		out = append(out, peer{kind, *p})
	}
	return out, nil
}

func readPeer(path string) (*peerPlan, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := model.MaybeGunzip(f)
	if err != nil {
		return nil, err
	}
	p := &peerPlan{}
	return p, json.NewDecoder(r).Decode(p)
}

func head() {
	fmt.Printf("%-18s %8s %8s %8s %9s %8s %8s %6s %6s |", "", "CPU s", "moves", "leaders", "bytes GB", "over 5%", "over 8%", "racks", "topics")
	for k := range model.NumResources {
		fmt.Printf(" %-20s", k)
	}
	fmt.Printf("\n%-18s %8s %8s %8s %9s %8s %8s %6s %6s |", "", "", "", "", "", "", "", "", "over")
	for range model.NumResources {
		fmt.Printf(" %-20s", "max min cv ±10%")
	}
	fmt.Println()
}

func row(name string, s *scores, least map[float64]int64, cpu float64) {
	over := func(b float64) string {
		if least[b] == 0 {
			return ""
		}
		return fmt.Sprintf("%.1f%%", 100*(float64(s.bytes)/float64(least[b])-1))
	}
	fmt.Printf("%-18s %8.2f %8d %8d %9.0f %8s %8s %6d %6d |", name, cpu, s.replicas, s.leads, float64(s.bytes)/1e9, over(band), over(.08), s.rackViolations, s.topicOver)
	for k := range model.NumResources {
		fmt.Printf(" %-20s", fmt.Sprintf("%.2f %.2f %.3f %3.0f%%", s.max[k], s.min[k], s.cv[k], 100*s.in10[k]))
	}
	fmt.Println()
}
