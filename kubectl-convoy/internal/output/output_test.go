// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func key(kind, name string) corev1alpha1.ObjectKey {
	return corev1alpha1.ObjectKey{Version: "v1", Kind: kind, Namespace: "shop", Name: name}
}

func TestDiffHeadersTellTheSides(t *testing.T) {
	const body = "@@ -1,2 +1,2 @@\n data:\n-  a: \"1\"\n+  a: \"2\""
	for _, test := range []struct {
		name, from, to string
		unified, want  string
	}{
		{"live", "live", "desired", "--- from\n+++ to\n" + body + "\n", "--- ConfigMap shop/cm (live)\n+++ ConfigMap shop/cm (desired)\n" + body},
		{"history", "3", "4", "--- from\n+++ to\n" + body + "\n", "--- ConfigMap shop/cm (history id 3)\n+++ ConfigMap shop/cm (history id 4)\n" + body},
		{"a render", "desired", digest, "--- from\n+++ to\n" + body, "--- ConfigMap shop/cm (desired)\n+++ ConfigMap shop/cm (render sha256:0123456789ab)\n" + body},
		{"no header", "live", "desired", body + "\n", body},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			var out bytes.Buffer
			g.Expect(Diff(&out, &corev1alpha1.ReleaseDiff{From: test.from, To: test.to, Objects: []corev1alpha1.ObjectDiff{
				{ObjectKey: key("ConfigMap", "cm"), Action: corev1alpha1.ActionUpdate, Unified: test.unified},
			}})).To(Succeed())
			g.Expect(out.String()).To(Equal("~ update ConfigMap shop/cm\n" + test.want + "\n"))
		})
	}
}

func TestHealthCountsObjectsAsTheConditionDoes(t *testing.T) {
	entry := func(name, digest, hook string) corev1alpha1.InventoryEntry {
		return corev1alpha1.InventoryEntry{ObjectKey: key("Job", name), Digest: digest, Hook: hook}
	}
	judged := func(name string, status corev1alpha1.HealthStatus, message string) corev1alpha1.ObjectHealth {
		k := key("Job", name)
		k.Version = "v1beta1" // the version is no identity
		return corev1alpha1.ObjectHealth{ObjectKey: k, Status: status, Message: message}
	}
	for _, test := range []struct {
		name    string
		entries []corev1alpha1.InventoryEntry
		health  []corev1alpha1.ObjectHealth
		want    string
	}{
		{"nothing", nil, nil, "Objects: none\n"},
		{
			"a hook is no object",
			[]corev1alpha1.InventoryEntry{entry("a", "d", ""), entry("b", "d", "migrate")},
			[]corev1alpha1.ObjectHealth{judged("a", corev1alpha1.HealthHealthy, ""), judged("b", corev1alpha1.HealthHealthy, "")},
			"Objects: 1 healthy\n",
		},
		{
			"a hook that is not healthy is named as one",
			[]corev1alpha1.InventoryEntry{entry("a", "d", ""), entry("b", "d", "migrate")},
			[]corev1alpha1.ObjectHealth{judged("a", corev1alpha1.HealthHealthy, ""), judged("b", corev1alpha1.HealthDegraded, "failed")},
			"Objects: 1 healthy\nJob shop/b (hook migrate) degraded failed\n",
		},
		{
			"a message that says no more than the status",
			[]corev1alpha1.InventoryEntry{entry("b", "d", "")}, []corev1alpha1.ObjectHealth{judged("b", corev1alpha1.HealthSuspended, "suspended")},
			"Objects: 1 suspended\nJob shop/b suspended\n",
		},
		{
			"what is under way, gone, or not judged",
			[]corev1alpha1.InventoryEntry{entry("a", "", ""), entry("b", "d", ""), entry("c", "d", "")},
			[]corev1alpha1.ObjectHealth{judged("a", corev1alpha1.HealthMissing, ""), judged("b", corev1alpha1.HealthProgressing, "0 of\n1"), judged("x", corev1alpha1.HealthHealthy, "")},
			"Objects: 1 progressing, 1 unknown, 1 to be applied or pruned\nJob shop/b progressing 0 of 1\nJob shop/c unknown\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			for divided := range test.entries { // whatever is on which page
				inventory := []corev1alpha1.ReleaseInventory{{
					Spec:   corev1alpha1.ReleaseInventorySpec{Entries: test.entries[:divided]},
					Status: corev1alpha1.ReleaseInventoryStatus{Summary: &corev1alpha1.HealthSummary{Healthy: 2}, Health: test.health},
				}, {
					Spec: corev1alpha1.ReleaseInventorySpec{Entries: test.entries[divided:]},
				}}
				g.Expect(after(g, release(), inventory, "MESSAGE\n\n")).To(Equal(test.want))
			}
		})
	}
}

func release() *corev1alpha1.Release {
	return &corev1alpha1.Release{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"},
		Spec:       corev1alpha1.ReleaseSpec{ClusterRef: corev1alpha1.LocalReference{Name: "edge"}},
	}
}

// after gives what is printed of a Release after a text, with single spaces.
func after(g Gomega, release *corev1alpha1.Release, inventory []corev1alpha1.ReleaseInventory, start string) string {
	var out bytes.Buffer
	g.Expect(Release(&out, release, inventory)).To(Succeed())
	var lines bytes.Buffer
	for line := range bytes.Lines(out.Bytes()) {
		lines.Write(bytes.Join(bytes.Fields(line), []byte(" ")))
		lines.WriteByte('\n')
	}
	_, rest, found := bytes.Cut(lines.Bytes(), []byte(start))
	g.Expect(found).To(BeTrue(), out.String())
	return string(rest)
}

func TestReleaseTellsTheWayOut(t *testing.T) {
	waiting := func(r *corev1alpha1.Release) {
		r.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Gates: []corev1alpha1.Gate{{Name: "go"}}}
		r.Status.Conditions = []metav1.Condition{{Type: corev1alpha1.ConditionApplied, Reason: corev1alpha1.ReasonWaitingForGate}}
		r.Status.Sync = &corev1alpha1.SyncStatus{BlockedBy: []string{"gate go"}}
	}
	for _, test := range []struct {
		name   string
		change func(*corev1alpha1.Release)
		want   string
	}{
		{"nothing is waited for", func(*corev1alpha1.Release) {}, "\nCONDITION"},
		{
			"suspended", func(r *corev1alpha1.Release) { r.Spec.Suspend = true },
			"Resume with: kubectl convoy -n shop resume web\n\nCONDITION",
		},
		{
			"a gate", waiting,
			"Blocked by: gate go\nApprove with: kubectl convoy -n shop approve web\n\nCONDITION",
		},
		{
			"a gate in the spec that nothing waits at", func(r *corev1alpha1.Release) {
				waiting(r)
				r.Status.Conditions[0].Reason, r.Status.Sync = corev1alpha1.ReasonApplied, nil
			}, "\nCONDITION",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			r := release()
			test.change(r)
			g.Expect(after(g, r, nil, "Revision: <none>\n")).To(HavePrefix(test.want))
		})
	}
}

func TestReleaseCountsAndShortens(t *testing.T) {
	g := NewWithT(t)
	r := release()
	r.Status.Applied = &corev1alpha1.AppliedStatus{Revision: "main@sha1:0123456789abcdef0123456789abcdef01234567", Objects: 1, At: metav1.NewTime(time.Now().Add(time.Hour))}
	r.Status.Sync = &corev1alpha1.SyncStatus{Attempts: 1, NextRetryAt: &metav1.Time{Time: time.Now().Add(-time.Hour)}}
	g.Expect(after(g, r, nil, "Revision: <none>\n")).To(HavePrefix(
		"Applied: main@sha1:0123456789ab, 1 object, 0s ago\nNext retry: in 0s, after 1 failed attempt\n"))
}

func TestHistoryNamesApprovers(t *testing.T) {
	g := NewWithT(t)
	out := &bytes.Buffer{}
	g.Expect(History(&corev1alpha1.ReleaseHistory{Entries: []corev1alpha1.HistoryEntry{
		{ID: 2, Revision: "main@2", Render: digest, Outcome: corev1alpha1.OutcomeHealthy, Approvals: []corev1alpha1.Approval{
			{Gate: "qa", By: "eve"}, {Gate: "ops", By: "bob"}, {Gate: "last", By: "eve"},
		}},
		{ID: 1, Revision: "main@1", Render: digest, Outcome: corev1alpha1.OutcomeFailed, Message: "no", Reason: corev1alpha1.HistoryReasonSpec,
			Objects: 12, RequestedBy: "ada", Duration: &metav1.Duration{Duration: 90 * time.Second}},
	}}).Write(out, true)).To(Succeed())
	g.Expect(out.String()).To(MatchRegexp(`(?m)^2 .* eve, bob *$`))
	g.Expect(out.String()).To(MatchRegexp(`(?m)^1 .*failed +Spec +12 +90s +[0-9]+y +ada +no$`), "nobody approved it")
}
