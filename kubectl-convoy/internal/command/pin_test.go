// SPDX-License-Identifier: Apache-2.0

package command

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// past gives a Release that has applied the third of its four renders.
func past(r *corev1alpha1.Release) {
	entry := func(id int64, revision, render string, outcome corev1alpha1.HistoryOutcome) corev1alpha1.HistoryEntry {
		return corev1alpha1.HistoryEntry{ID: id, Revision: revision, Render: render, Outcome: outcome}
	}
	r.Status.Applied = &corev1alpha1.AppliedStatus{Revision: "v3", Render: "sha256:33"}
	r.Status.History = []corev1alpha1.HistoryEntry{
		entry(4, "v4", "sha256:44", corev1alpha1.OutcomeFailed), entry(3, "v3", "sha256:33", corev1alpha1.OutcomeHealthy),
		entry(2, "v3", "sha256:22", corev1alpha1.OutcomeApplied), entry(1, "v1", "sha256:11", corev1alpha1.OutcomeHealthy),
	}
}

func pinned(r *corev1alpha1.Release) { r.Spec.Pin = &corev1alpha1.Pin{Revision: "v1"} }

func manual(r *corev1alpha1.Release) { r.Spec.Sync.Mode = corev1alpha1.SyncModeManual }

func serving(release *corev1alpha1.Release) *recorder {
	return &recorder{answers: map[string]runtime.Object{"GET " + releasesPath + "/web": release}}
}

func TestPins(t *testing.T) {
	for _, test := range []struct {
		name    string
		release *corev1alpha1.Release
		args    []string
		body    string // "" when nothing is sent
		out     string
		errOut  string
	}{
		{
			"what is applied", newRelease(past), []string{"pin", "web", "--reason", "frozen"},
			`{"spec":{"pin":{"reason":"frozen","render":null,"revision":"v3"}}}`, "pinned to revision v3\n", "",
		},
		{
			"a render", newRelease(past), []string{"pin", "web", "--render", digest},
			`{"spec":{"pin":{"reason":null,"render":"` + digest + `","revision":null}}}`, "pinned to render sha256:0123456789ab\n", "",
		},
		{"nothing applied", newRelease(), []string{"pin", "web"}, "", "", "error: nothing of Release shop/web is applied yet: say what to pin it to with --revision\n"},
		{"two at once", newRelease(past), []string{"pin", "web", "--render", "a", "--revision", "b"}, "", "", "error: --revision and --render exclude each other\n"},
		{
			"of a Release that is synced by hand", newRelease(past, manual), []string{"pin", "web"},
			`{"spec":{"pin":{"reason":null,"render":null,"revision":"v3"}}}`, "pinned to revision v3\n",
			"The Release is synced by hand; this is applied with: kubectl convoy -n shop sync web\n",
		},
		{
			"of a Release that is suspended", newRelease(past, manual, suspended), []string{"pin", "web"},
			`{"spec":{"pin":{"reason":null,"render":null,"revision":"v3"}}}`, "pinned to revision v3\n",
			"The Release is suspended; this is applied once it is resumed: kubectl convoy -n shop resume web\n",
		},
		{"off", newRelease(pinned), []string{"unpin", "web"}, `{"spec":{"pin":null}}`, "unpinned\n", ""},
		{"off, and not on", newRelease(), []string{"unpin", "web"}, "", "unchanged: it is not pinned\n", ""},
		{
			"back to what was healthy", newRelease(past), []string{"rollback", "web"},
			`{"spec":{"pin":{"reason":"rollback to history id 1","render":null,"revision":"v1"}}}`, "pinned to revision v1\n", "",
		},
		{
			"back to what was the same revision", newRelease(past), []string{"rollback", "web", "2", "--reason", "why not"},
			`{"spec":{"pin":{"reason":"why not","render":"sha256:22","revision":null}}}`, "pinned to render sha256:22\n", "",
		},
		{
			"back exactly", newRelease(past), []string{"rollback", "web", "--exact"},
			`{"spec":{"pin":{"reason":"rollback to history id 1","render":"sha256:11","revision":null}}}`, "pinned to render sha256:11\n", "",
		},
		{
			"back to what is applied", newRelease(past), []string{"rollback", "web", "3"},
			`{"spec":{"pin":{"reason":"rollback to history id 3","render":null,"revision":"v3"}}}`, "pinned to revision v3\n", "",
		},
		{"back to nothing", newRelease(), []string{"rollback", "web"}, "", "",
			"error: the history of Release shop/web has nothing that was healthy but what is applied; name an id, see kubectl convoy -n shop history web\n"},
		{"back to what is no more", newRelease(past), []string{"rollback", "web", "7"}, "", "", "error: the history of Release shop/web has no id 7; see kubectl convoy -n shop history web\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			server := serving(test.release)
			_, out, errOut := server.change(t, test.args...)
			g.Expect(errOut).To(Equal(test.errOut))
			if test.out != "" {
				test.out = "release.core.convoy.kumodo.io/web " + test.out
			}
			g.Expect(out).To(Equal(test.out))
			if test.body == "" {
				g.Expect(server.sent).To(BeEmpty())
				return
			}
			g.Expect(server.sent).To(Equal([]sent{{"PATCH " + releasesPath + "/web/pin?fieldManager=kubectl-convoy", test.body}}))
		})
	}
}

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
