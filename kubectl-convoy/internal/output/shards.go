// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"kumodo.io/convoy/kubectl-convoy/internal/sharding"
)

// Shards writes who works on which shard, how much each replica has, and what is wrong with it.
func Shards(w io.Writer, report *sharding.Report) error {
	columns := []string{"SHARD"}
	for _, component := range sharding.Components {
		columns = append(columns, strings.ToUpper(strings.TrimPrefix(component.Name, "convoy-")))
	}
	table := NewTable(append(columns, "CLUSTERS", "RELEASES", "HEAVIEST CLUSTER")...)
	for _, shard := range report.Shards {
		row := []any{shard.Shard}
		for _, component := range sharding.Components {
			if owner := shard.Owners[component.Name]; owner != "" {
				row = append(row, owner)
			} else {
				row = append(row, Cell{"<nobody>", Bad})
			}
		}
		heaviest := ""
		if shard.Heaviest != nil {
			heaviest = fmt.Sprintf("%s/%s (%d)", shard.Heaviest.Namespace, shard.Heaviest.Name, shard.Heaviest.Releases)
		}
		table.Add(append(row, shard.Clusters, shard.Releases, heaviest)...)
	}
	if err := table.Write(w, true); err != nil {
		return err
	}
	if err := replicas(w, report); err != nil {
		return err
	}
	lines := &lineWriter{w: w}
	colour := TakesColour(w)
	mark := paint("✗", Bad, colour)
	if len(report.Problems)+len(report.Heavy) > 0 {
		lines.print("")
	}
	for _, problem := range report.Problems {
		lines.print("%s %s: %s", mark, problem.Component, problem.Message)
	}
	for _, cluster := range report.Heavy {
		lines.print("%s Cluster %s/%s has %s, more than the share of a replica: neither more shards nor more replicas divide it",
			paint("!", Waiting, colour), cluster.Namespace, cluster.Name, Count(cluster.Releases, "Release"))
	}
	return lines.err
}

// replicas writes a line for each replica.
func replicas(w io.Writer, report *sharding.Report) error {
	if len(report.Replicas) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	table := NewTable("REPLICA", "COMPONENT", "SHARDS", "RELEASES", "OF MEAN", "RENEWED")
	for _, replica := range report.Replicas {
		shards := make([]string, len(replica.Shards))
		for i, shard := range replica.Shards {
			shards[i] = strconv.Itoa(shard)
		}
		if len(shards) == 0 {
			shards = []string{"<none>"}
		}
		table.Add(replica.Name, replica.Component, strings.Join(shards, ","), replica.Releases, strconv.Itoa(replica.OfMean)+"%", ago(replica.Renewed)+" ago")
	}
	return table.Write(w, true)
}
