// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// conditionOrder is the order in which a pass comes to them.
var conditionOrder = []string{
	corev1alpha1.ConditionReady, corev1alpha1.ConditionSourceReady, corev1alpha1.ConditionRendered,
	corev1alpha1.ConditionApplied, corev1alpha1.ConditionHealthy, corev1alpha1.ConditionInSync,
}

// Releases writes one line for each Release.
func Releases(w io.Writer, releases *corev1alpha1.ReleaseList, withNamespace bool) error {
	table := printers.GetNewTabWriter(w)
	header := "NAME\tCLUSTER\tREVISION\tREADY\tHEALTHY\tINSYNC\tMESSAGE\n"
	if withNamespace {
		header = "NAMESPACE\t" + header
	}
	fmt.Fprint(table, header)
	for i := range releases.Items {
		release := &releases.Items[i]
		if withNamespace {
			fmt.Fprintf(table, "%s\t", release.Namespace)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", release.Name, release.Spec.ClusterRef.Name, revision(release),
			condition(release, corev1alpha1.ConditionReady), condition(release, corev1alpha1.ConditionHealthy),
			condition(release, corev1alpha1.ConditionInSync), oneLine(message(release, corev1alpha1.ConditionReady)))
	}
	return table.Flush()
}

// Release writes the state of one Release, and of its objects as the pages of its inventory
// tell it, if there are any.
func Release(w io.Writer, release *corev1alpha1.Release, inventory []corev1alpha1.ReleaseInventory) error {
	table := printers.GetNewTabWriter(w)
	fmt.Fprintf(table, "Release:\t%s/%s\n", release.Namespace, release.Name)
	fmt.Fprintf(table, "Cluster:\t%s\n", release.Spec.ClusterRef.Name)
	fmt.Fprintf(table, "Revision:\t%s\n", revision(release))
	if applied := release.Status.Applied; applied != nil {
		fmt.Fprintf(table, "Applied:\t%s, %s, %s ago\n", ShortRevision(applied.Revision), Count(int(applied.Objects), "object"), ago(applied.At))
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
	health(table, inventory)
	return table.Flush()
}

// ObjectName is how an object is written for people: Kind.group namespace/name.
func ObjectName(key corev1alpha1.ObjectKey) string {
	kind, name := key.Kind, key.Name
	if key.Group != "" {
		kind += "." + key.Group
	}
	if key.Namespace != "" {
		name = key.Namespace + "/" + name
	}
	return kind + " " + name
}

func condition(release *corev1alpha1.Release, name string) string {
	if c := meta.FindStatusCondition(release.Status.Conditions, name); c != nil {
		return string(c.Status)
	}
	return string(metav1.ConditionUnknown)
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
	return ShortRevision(release.Status.Source.Revision)
}

// ShortRevision shortens the hash at the end of a revision to 12 digits.
func ShortRevision(revision string) string {
	at := strings.LastIndex(revision, ":")
	if at < 0 || len(revision)-at-1 <= 12 {
		return revision
	}
	return revision[:at+13]
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
