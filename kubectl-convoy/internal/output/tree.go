// SPDX-License-Identifier: Apache-2.0

package output

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/health"
	"kumodo.io/convoy/kubectl-convoy/internal/naming"
)

// Lines of a tree.
const (
	branch, lastBranch = "├─ ", "└─ "
	trunk, noTrunk     = "│  ", "   "
)

// Node is an object of a Release with its health, and what it owns.
type Node struct {
	corev1alpha1.ObjectHealthDetail
	Stage int32
	Hook  string
	// Pending is an object that is to be applied or pruned, so that its health says little.
	Pending bool
}

// Tree writes the objects of a Release as a tree, by their stages: what is applied first
// comes first. With wide, it says the stage and the rule that decided.
func Tree(w io.Writer, release *corev1alpha1.Release, nodes []Node, flags *TableFlags) error {
	nodes = slices.Clone(nodes)
	slices.SortStableFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Stage, b.Stage) })
	columns := []string{"OBJECT", "STATUS", "SINCE", "MESSAGE"}
	if flags.Wide() {
		columns = []string{"OBJECT", "STAGE", "STATUS", "SINCE", "RULE", "MESSAGE"}
	}
	table := NewTable(columns...)
	root := []any{fmt.Sprintf("Release %s/%s", release.Namespace, release.Name)}
	if flags.Wide() {
		root = append(root, "")
	}
	status := worst(nodes)
	root = append(root, Cell{string(status), healthColour(status)}, "")
	if flags.Wide() {
		root = append(root, "")
	}
	table.Add(append(root, revision(release))...)
	for i, node := range nodes {
		addNode(table, flags.Wide(), "", i == len(nodes)-1, node)
	}
	return table.Write(w, !flags.NoHeaders)
}

// worst is the worst health of the objects that count; unknown when none does.
func worst(nodes []Node) corev1alpha1.HealthStatus {
	var statuses []corev1alpha1.HealthStatus
	for _, node := range nodes {
		if node.Hook == "" && !node.Pending {
			statuses = append(statuses, node.Status)
		}
	}
	if len(statuses) == 0 {
		return corev1alpha1.HealthUnknown
	}
	return health.Worst(statuses...)
}

func addNode(table *Table, wide bool, indent string, last bool, node Node) {
	mark, below := branch, trunk
	if last {
		mark, below = lastBranch, noTrunk
	}
	name := naming.Object(node.ObjectKey)
	if node.Hook != "" {
		name += " (hook " + node.Hook + ")"
	}
	message := oneLine(node.Message)
	if message == string(node.Status) {
		message = ""
	}
	if node.Pending {
		message = strings.TrimSuffix("to be applied or pruned; "+message, "; ")
	}
	since := ""
	if node.Since != nil {
		since = ago(*node.Since)
	}
	status := Cell{string(node.Status), healthColour(node.Status)}
	if wide {
		table.Add(indent+mark+name, stageCell(indent, node), status, since, node.Rule, message)
	} else {
		table.Add(indent+mark+name, status, since, message)
	}
	for i, child := range node.Children {
		addNode(table, wide, indent+below, i == len(node.Children)-1, Node{ObjectHealthDetail: child})
	}
}

// stageCell is the stage of an object of the Release; what those own has none.
func stageCell(indent string, node Node) any {
	if indent != "" {
		return ""
	}
	return node.Stage
}
