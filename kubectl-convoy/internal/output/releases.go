// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/naming"
	"kumodo.io/convoy/kubectl-convoy/internal/wayout"
)

// conditionOrder is the order in which a pass comes to them.
var conditionOrder = []string{
	corev1alpha1.ConditionReady, corev1alpha1.ConditionSourceReady, corev1alpha1.ConditionRendered,
	corev1alpha1.ConditionApplied, corev1alpha1.ConditionHealthy, corev1alpha1.ConditionInSync,
}

func releaseColumns(withNamespace, wide bool) []string {
	columns := []string{"NAME", "CLUSTER", "REVISION", "READY", "HEALTHY", "INSYNC", "MESSAGE"}
	if wide {
		columns = []string{"NAME", "CLUSTER", "WAVE", "SOURCE", "REVISION", "RENDER", "READY", "HEALTHY", "INSYNC", "AGE", "MESSAGE"}
	}
	if withNamespace {
		columns = append([]string{"NAMESPACE"}, columns...)
	}
	return columns
}

// Releases gives a line for each Release.
func Releases(releases *corev1alpha1.ReleaseList, withNamespace, wide bool) *Table {
	table := NewTable(releaseColumns(withNamespace, wide)...)
	for i := range releases.Items {
		release := &releases.Items[i]
		var row []any
		if withNamespace {
			row = append(row, release.Namespace)
		}
		row = append(row, release.Name, release.Spec.ClusterRef.Name)
		if wide {
			row = append(row, release.Spec.Wave, SourceName(release))
		}
		row = append(row, revision(release))
		if wide {
			row = append(row, render(release))
		}
		row = append(row, condition(release, corev1alpha1.ConditionReady), condition(release, corev1alpha1.ConditionHealthy),
			condition(release, corev1alpha1.ConditionInSync))
		if wide {
			row = append(row, ago(release.CreationTimestamp))
		}
		table.Add(append(row, oneLine(message(release, corev1alpha1.ConditionReady)))...)
	}
	return table
}

// SourceName names the source object of a Release: Kind/name.
func SourceName(release *corev1alpha1.Release) string {
	switch source := release.Spec.Source; {
	case source.Git != nil:
		return "GitRepository/" + source.Git.RepositoryRef.Name
	case source.Helm != nil:
		return "HelmRegistry/" + source.Helm.RegistryRef.Name
	case source.OCI != nil:
		return "OCIRegistry/" + source.OCI.RegistryRef.Name
	}
	return "<none>"
}

// Release writes the state of one Release, and of its objects as the pages of its inventory
// tell it, if there are any.
func Release(w io.Writer, release *corev1alpha1.Release, inventory []corev1alpha1.ReleaseInventory) error {
	table := printers.GetNewTabWriter(w)
	fmt.Fprintf(table, "Release:\t%s/%s\n", release.Namespace, release.Name)
	fmt.Fprintf(table, "Cluster:\t%s\n", release.Spec.ClusterRef.Name)
	fmt.Fprintf(table, "Revision:\t%s\n", revision(release))
	if applied := release.Status.Applied; applied != nil {
		fmt.Fprintf(table, "Applied:\t%s, %s, %s ago\n", naming.Short(applied.Revision), Count(int(applied.Objects), "object"), ago(applied.At))
	}
	if sync := release.Status.Sync; sync != nil {
		for _, blocker := range sync.BlockedBy {
			fmt.Fprintf(table, "Blocked by:\t%s\n", blocker)
		}
		if sync.NextRetryAt != nil {
			fmt.Fprintf(table, "Next retry:\tin %s, after %s\n", human(time.Until(sync.NextRetryAt.Time)), Count(int(sync.Attempts), "failed attempt"))
		}
	}
	wayOut(table, release)
	fmt.Fprint(table, "\nCONDITION\tSTATUS\tREASON\tSINCE\tMESSAGE\n")
	for _, name := range conditionOrder {
		if c := meta.FindStatusCondition(release.Status.Conditions, name); c != nil {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", c.Type, c.Status, c.Reason, ago(c.LastTransitionTime), oneLine(c.Message))
		}
	}
	writeHealth(table, inventory)
	return table.Flush()
}

// wayOut writes the command by which a person ends what a Release waits for, if there is one.
func wayOut(w io.Writer, release *corev1alpha1.Release) {
	if release.Spec.Suspend {
		fmt.Fprintf(w, "Resume with:\t%s\n", wayout.Resume(release, "Release"))
	}
	if !release.DeletionTimestamp.IsZero() && slices.ContainsFunc(wayout.FailedHooks(release), ofDeletion) {
		fmt.Fprintf(w, "Run hooks again with:\t%s\n", wayout.RetryHooks(release))
	}
	applied := meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionApplied)
	if applied == nil || applied.Reason != corev1alpha1.ReasonWaitingForGate {
		return
	}
	if command := wayout.Approve(release); command != "" {
		fmt.Fprintf(w, "Approve with:\t%s\n", command)
	}
}

func ofDeletion(hook corev1alpha1.HookStatus) bool { return wayout.OfDeletion(hook.On) }

func condition(release *corev1alpha1.Release, name string) Cell {
	return conditionCell(meta.FindStatusCondition(release.Status.Conditions, name))
}

func conditionCell(c *metav1.Condition) Cell {
	status := metav1.ConditionUnknown
	if c != nil {
		status = c.Status
	}
	return Cell{string(status), conditionColour(status)}
}

func message(release *corev1alpha1.Release, name string) string {
	if c := meta.FindStatusCondition(release.Status.Conditions, name); c != nil {
		return c.Message
	}
	return ""
}

func revision(release *corev1alpha1.Release) string {
	if release.Status.Source == nil {
		return "<none>"
	}
	return naming.Short(release.Status.Source.Revision)
}

func render(release *corev1alpha1.Release) string {
	if release.Status.Render == nil {
		return "<none>"
	}
	return naming.Short(release.Status.Render.Digest)
}

func ago(t metav1.Time) string { return human(time.Since(t.Time)) }

// human gives a duration for people; one that is over already, or not begun by a clock that
// is a little ahead of this one's, is none.
func human(d time.Duration) string { return duration.HumanDuration(max(d, 0)) }

// Count gives "1 object", "2 objects".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
