// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

const lifecyclePath = "PATCH " + releasesPath + "/web/lifecycle?fieldManager=kubectl-convoy"

func TestApprovals(t *testing.T) {
	gates := gated(
		corev1alpha1.GateStatus{Name: "qa", Revision: "v2", Render: digest}, corev1alpha1.GateStatus{Name: "ops", Revision: "v2", Render: digest},
		corev1alpha1.GateStatus{Name: "law", Revision: "v2", Render: digest, Approved: true},
	)
	idle := gated(corev1alpha1.GateStatus{Name: "qa"})
	gate := func(name, approved string) string {
		return `{"approved":` + approved + `,"name":"` + name + `","render":"` + digest + `"}`
	}
	for _, test := range []struct {
		name    string
		release *corev1alpha1.Release
		args    []string
		gates   string // "" when nothing is sent
		told    string
	}{
		{"all that wait", newRelease(gates), nil, gate("qa", "true") + "," + gate("ops", "true"), "approved at gate qa, ops: v2"},
		{"one", newRelease(gates), []string{"ops"}, gate("ops", "true"), "approved at gate ops: v2"},
		{"what was looked at", newRelease(gates), []string{"qa", "--render", "sha256:0123456789ab"}, gate("qa", "true"), "approved at gate qa: v2"},
		{"something else waits", newRelease(gates), []string{"--render", "sha256:ffff"}, "",
			"sha256:ffff is not what waits at gate qa of Release shop/web: that is sha256:0123456789ab of v2 by now; look at it first: kubectl convoy -n shop preview web"},
		{"withdrawn", newRelease(gates), []string{"--withdraw"}, gate("law", "false"), "not approved any more at gate law"},
		{"a gate that there is not", newRelease(gates), []string{"oops"}, "", `Release shop/web has no gate "oops", but qa, ops, law`},
		{"a gate at which nothing waits", newRelease(idle), []string{"qa"}, "", "nothing waits at gate qa of Release shop/web: an approval can be given once something does; see kubectl convoy -n shop why web"},
		{"nothing waits", newRelease(idle), nil, "", "nothing waits at the gates of Release shop/web; see kubectl convoy -n shop why web"},
		{"nothing is approved", newRelease(idle), []string{"--withdraw"}, "", "no gate of Release shop/web is approved"},
		{"no gates", newRelease(), nil, "", "Release shop/web has no gates; see kubectl convoy -n shop why web"},
		{"no gates, one named", newRelease(), []string{"qa"}, "", "Release shop/web has no gates"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			server := serving(test.release)
			code, out, errOut := server.change(t, append([]string{"approve", "web"}, test.args...)...)
			if test.gates == "" {
				g.Expect(code).To(Equal(1))
				g.Expect(errOut).To(Equal("error: " + test.told + "\n"))
				g.Expect(server.sent).To(BeEmpty())
				return
			}
			g.Expect(out).To(Equal("release.core.convoy.kumodo.io/web " + test.told + "\n"))
			g.Expect(server.sent).To(Equal([]sent{{lifecyclePath, `{"status":{"lifecycle":{"gates":[` + test.gates + `]}}}`}}))
		})
	}
}

// hooked gives a Release with hooks that failed, run and succeeded.
func hooked(r *corev1alpha1.Release) {
	hook := func(name string, phase corev1alpha1.HookPhase, message string) corev1alpha1.HookStatus {
		return corev1alpha1.HookStatus{Name: name, On: corev1alpha1.HookPreSync, Run: "1", Phase: phase, Message: message}
	}
	r.Status.Lifecycle = &corev1alpha1.LifecycleStatus{Hooks: []corev1alpha1.HookStatus{
		hook("backup", corev1alpha1.HookFailed, "exit 1"), hook("fine", corev1alpha1.HookSucceeded, ""),
		hook("long", corev1alpha1.HookRunning, ""), hook("migrate", corev1alpha1.HookFailed, ""),
	}}
}

func TestHooksAreRetriedAndSkipped(t *testing.T) {
	const (
		backup  = `{"message":"exit 1","name":"backup","on":"preSync","phase":"failed","run":"1"}`
		fine    = `{"name":"fine","on":"preSync","phase":"succeeded","run":"1"}`
		long    = `{"name":"long","on":"preSync","phase":"running","run":"1"}`
		migrate = `{"name":"migrate","on":"preSync","phase":"failed","run":"1"}`
	)
	for _, test := range []struct {
		name  string
		args  []string
		hooks string // "" when nothing is sent
		told  string
	}{
		{"all that failed", []string{"retry", "web"}, fine + "," + long, "hook backup, migrate run again"},
		{"one", []string{"retry", "web", "migrate"}, backup + "," + fine + "," + long, "hook migrate run again"},
		{
			"skipped", []string{"skip", "web", "backup", "migrate"},
			`{"message":"skipped by hand; it had failed: exit 1","name":"backup","on":"preSync","phase":"succeeded","run":"1"},` + fine + "," + long +
				`,{"message":"skipped by hand; it had failed","name":"migrate","on":"preSync","phase":"succeeded","run":"1"}`, "hook backup, migrate skipped",
		},
		{"one that runs", []string{"retry", "web", "long"}, "", "hook long of Release shop/web is running, and has not failed; see kubectl convoy -n shop why web"},
		{"one that succeeded", []string{"skip", "web", "migrate", "fine"}, "", "hook fine of Release shop/web is succeeded, and has not failed; see kubectl convoy -n shop why web"},
		{"one that there is not", []string{"skip", "web", "oops"}, "", "hook oops of Release shop/web has no run on record, and has not failed; see kubectl convoy -n shop why web"},
		{"nothing named to skip", []string{"skip", "web"}, "", "skip takes the name of a Release and those of hooks; see 'kubectl convoy skip --help'"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			server := serving(newRelease(hooked))
			code, out, errOut := server.change(t, test.args...)
			if test.hooks == "" {
				g.Expect(code).To(Equal(1))
				g.Expect(errOut).To(Equal("error: " + test.told + "\n"))
				g.Expect(server.sent).To(BeEmpty())
				return
			}
			g.Expect(errOut).To(BeEmpty())
			g.Expect(out).To(Equal("release.core.convoy.kumodo.io/web " + test.told + "\n"))
			g.Expect(server.sent).To(Equal([]sent{{lifecyclePath, `{"metadata":{"resourceVersion":"1"},"status":{"lifecycle":{"hooks":[` + test.hooks + `]}}}`}}))
		})
	}
}

func TestNoHookHasFailed(t *testing.T) {
	g := NewWithT(t)
	_, _, errOut := serving(newRelease()).change(t, "retry", "web")
	g.Expect(errOut).To(Equal("error: no hook of Release shop/web has failed; see kubectl convoy -n shop why web, and run all of them afresh with kubectl convoy -n shop sync web --force\n"))
}

func TestTheLastFailedHookLeavesAnEmptyList(t *testing.T) {
	g := NewWithT(t)
	server := serving(newRelease(hooked, func(r *corev1alpha1.Release) { r.Status.Lifecycle.Hooks = r.Status.Lifecycle.Hooks[:1] }))
	server.change(t, "retry", "web")
	g.Expect(server.sent).To(HaveLen(1))
	g.Expect(server.sent[0].body).To(ContainSubstring(`"lifecycle":{"hooks":[]}`))
}

func TestHooksAreWrittenAnewWhenSomebodyElseWrote(t *testing.T) {
	g := NewWithT(t)
	server := serving(newRelease(hooked))
	refusals := 2
	code, out, errOut := runAgainst(t, context.Background(), func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPatch && refusals > 0 {
			refusals--
			refuse(w, http.StatusConflict, metav1.StatusReasonConflict, "somebody else wrote")
			return
		}
		server.ServeHTTP(w, req)
	}, "retry", "web")
	g.Expect(errOut).To(BeEmpty())
	g.Expect(code).To(Equal(0))
	g.Expect(out).To(ContainSubstring("run again"))
	g.Expect(server.sent).To(HaveLen(1))
}
