package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

func (a *app) snapshotCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Save a running cluster with its loads to a file to plan on",
		Example: `  kafka-planner snapshot --config planner.yml --cluster orders --out orders.json.gz
  kafka-planner snapshot --config planner.yml --cluster orders --prometheus http://prometheus:9090 --out orders.json.gz`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p := newProgress(a.err, a.progress)
			defer p.stop()
			s, err := a.source.read(cmd.Context(), p)
			if err != nil {
				return err
			}
			for _, w := range s.Warnings {
				fmt.Fprintln(a.err, "warning:", w)
			}
			p.begin("writing the snapshot")
			if out == "" || out == "-" {
				return failed(exitFailure, model.WriteSnapshot(a.out, s))
			}
			return failed(exitFailure, model.WriteFile(out, s))
		},
	}
	a.source.add(cmd, true)
	cmd.Flags().StringVarP(&out, "out", "o", "", "file to write, compressed if its name ends in .gz; stdout without it")
	return cmd
}
