// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

const releasesPath = "/apis/core.convoy.kumodo.io/v1alpha1/namespaces/shop/releases"

// run executes a command line against a server that answers with the given objects by
// "METHOD path?query", and with a 404 Status otherwise.
func run(t *testing.T, answers map[string]runtime.Object, args ...string) (code int, out, errOut string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[req.Method+" "+req.URL.RequestURI()]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = &metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
				Status:   metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound,
				Message: `releases.core.convoy.kumodo.io "web" not found`,
			}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	streams, _, outBuffer, errBuffer := genericiooptions.NewTestIOStreams()
	code = Run(context.Background(), streams, append([]string{"--kubeconfig", emptyKubeconfig(t), "--server", server.URL, "-n", "shop"}, args...))
	return code, outBuffer.String(), errBuffer.String()
}

func emptyKubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte("apiVersion: v1\nkind: Config\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: corev1alpha1.SchemeGroupVersion.String(), Kind: kind}
}

func diffOf(actions ...corev1alpha1.ObjectAction) *corev1alpha1.ReleaseDiff {
	diff := &corev1alpha1.ReleaseDiff{TypeMeta: typeMeta("ReleaseDiff"), From: "live", To: "desired", Objects: []corev1alpha1.ObjectDiff{}}
	for _, action := range actions {
		diff.Changed = true
		diff.Objects = append(diff.Objects, corev1alpha1.ObjectDiff{
			ObjectKey: corev1alpha1.ObjectKey{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "cm"},
			Action:    action,
			Changes:   []corev1alpha1.FieldChange{{Path: "/data/a", From: `"1"`, To: `"2"`}},
		})
	}
	return diff
}

func TestDiffExitStatus(t *testing.T) {
	cases := []struct {
		name string
		diff *corev1alpha1.ReleaseDiff
		args []string
		want int
	}{
		{"no difference", diffOf(), []string{"diff", "web"}, 0},
		{"a difference", diffOf(corev1alpha1.ActionUpdate), []string{"diff", "web"}, 1},
		{"a difference that is not asked for", diffOf(corev1alpha1.ActionUpdate), []string{"diff", "web", "--only", "delete"}, 0},
		{"an object that could not be compared", diffOf(corev1alpha1.ActionError, corev1alpha1.ActionUpdate), []string{"diff", "web"}, 2},
		{"one that could not be compared, and is not asked for", diffOf(corev1alpha1.ActionError), []string{"diff", "web", "--only", "delete"}, 2},
		{"unknown release", nil, []string{"diff", "web"}, 2},
		{"no name", diffOf(), []string{"diff"}, 2},
		{"unknown flag", diffOf(), []string{"diff", "web", "--nonsense"}, 2},
		{"unknown format", diffOf(), []string{"diff", "web", "-o", "xml"}, 2},
		{"unknown action", diffOf(), []string{"diff", "web", "--only", "explode"}, 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			answers := map[string]runtime.Object{}
			if c.diff != nil {
				answers["GET "+releasesPath+"/web/diff"] = c.diff
			}
			code, _, _ := run(t, answers, c.args...)
			g.Expect(code).To(Equal(c.want))
		})
	}
}

func TestDiffUnreachableIsNoDifference(t *testing.T) {
	g := NewWithT(t)
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	code := Run(context.Background(), streams, []string{"--kubeconfig", emptyKubeconfig(t), "--server", "http://127.0.0.1:1", "diff", "web"})
	g.Expect(code).To(Equal(2))
	g.Expect(out.String()).To(BeEmpty())
	g.Expect(errOut.String()).To(ContainSubstring("connection refused"))
}

func TestDiffPrints(t *testing.T) {
	g := NewWithT(t)
	answers := map[string]runtime.Object{"GET " + releasesPath + "/web/diff?from=3&to=4": diffOf(corev1alpha1.ActionUpdate)}
	_, out, errOut := run(t, answers, "diff", "web", "--from", "3", "--to", "4")
	g.Expect(out).To(Equal("~ update ConfigMap shop/cm\n    /data/a: \"1\" -> \"2\"\n"))
	g.Expect(errOut).To(BeEmpty())

	_, out, _ = run(t, answers, "diff", "web", "--from", "3", "--to", "4", "-o", "json")
	decoded := &corev1alpha1.ReleaseDiff{}
	g.Expect(json.Unmarshal([]byte(out), decoded)).To(Succeed())
	g.Expect(decoded).To(Equal(diffOf(corev1alpha1.ActionUpdate)))
}

func TestPreviewCountsActions(t *testing.T) {
	g := NewWithT(t)
	key := corev1alpha1.ObjectKey{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	preview := &corev1alpha1.ReleasePreview{
		TypeMeta: typeMeta("ReleasePreview"), Revision: "main@sha1:0123456789abcdef0123456789abcdef01234567",
		Objects: []corev1alpha1.ObjectPreview{
			{ObjectKey: key, Action: corev1alpha1.ActionCreate},
			{ObjectKey: key, Action: corev1alpha1.ActionUnchanged},
			{ObjectKey: key, Action: corev1alpha1.ActionDelete, Message: "left the render"},
		},
	}
	code, out, _ := run(t, map[string]runtime.Object{"GET " + releasesPath + "/web/preview": preview}, "preview", "web")
	g.Expect(code).To(Equal(1))
	g.Expect(out).To(Equal("+ create Deployment.apps shop/web\n- delete Deployment.apps shop/web\n    left the render\n" +
		"main@sha1:0123456789ab: 1 create, 1 delete, 1 unchanged\n"))
}

func TestSyncRequests(t *testing.T) {
	g := NewWithT(t)
	release := &corev1alpha1.Release{TypeMeta: typeMeta("Release"), ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}
	code, out, _ := run(t, map[string]runtime.Object{"POST " + releasesPath + "/web/sync": release}, "sync", "web")
	g.Expect(code).To(Equal(0))
	g.Expect(out).To(ContainSubstring("web sync requested"))

	code, _, errOut := run(t, map[string]runtime.Object{"POST " + releasesPath + "/web/sync": release}, "sync", "web", "--force")
	g.Expect(code).To(Equal(1), "the forced request has a query of its own")
	g.Expect(errOut).To(ContainSubstring(`"web" not found`))

	suspended := release.DeepCopy()
	suspended.Spec.Suspend = true
	code, _, errOut = run(t, map[string]runtime.Object{"POST " + releasesPath + "/web/sync?force=true": suspended}, "sync", "web", "--force")
	g.Expect(code).To(Equal(0))
	g.Expect(errOut).To(ContainSubstring("suspended"))
}

func TestSyncProgress(t *testing.T) {
	requested := &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{
		Generation: 2, Annotations: map[string]string{corev1alpha1.AnnotationSyncRequestedAt: "2026-01-02T03:04:05.1Z"},
	}}
	state := func(handled string, ready metav1.ConditionStatus, observed int64) *corev1alpha1.Release {
		release := requested.DeepCopy()
		release.Status.Sync = &corev1alpha1.SyncStatus{LastHandledAt: handled}
		release.Status.Conditions = []metav1.Condition{{
			Type: corev1alpha1.ConditionReady, Status: ready, Reason: "Why", Message: "because", ObservedGeneration: observed,
		}}
		return release
	}
	cases := []struct {
		name string
		now  *corev1alpha1.Release
		want bool
	}{
		{"no pass yet", requested, false},
		{"an earlier request handled", state("2026-01-02T03:04:05Z", metav1.ConditionTrue, 2), false},
		{"handled, not ready", state("2026-01-02T03:04:05.1Z", metav1.ConditionFalse, 2), false},
		{"handled, ready for an older spec", state("2026-01-02T03:04:05.1Z", metav1.ConditionTrue, 1), false},
		{"handled and ready", state("2026-01-02T03:04:05.1Z", metav1.ConditionTrue, 2), true},
		{"a later request handled", state("2026-01-02T03:04:05.11Z", metav1.ConditionTrue, 2), true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			done, _ := syncProgress(requested, c.now)
			NewWithT(t).Expect(done).To(Equal(c.want))
		})
	}
}

func TestStatusShowsUnhealthyObjects(t *testing.T) {
	g := NewWithT(t)
	release := &corev1alpha1.Release{
		TypeMeta: typeMeta("Release"), ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"},
		Spec: corev1alpha1.ReleaseSpec{ClusterRef: corev1alpha1.LocalReference{Name: "prod"}},
		Status: corev1alpha1.ReleaseStatus{Conditions: []metav1.Condition{
			{Type: corev1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Degraded", Message: "1 of 2\nobjects"},
		}},
	}
	inventory := &corev1alpha1.ReleaseInventory{
		TypeMeta: typeMeta("ReleaseInventory"), ObjectMeta: release.ObjectMeta,
		Status: corev1alpha1.ReleaseInventoryStatus{
			Summary: &corev1alpha1.HealthSummary{Healthy: 1, Degraded: 1},
			Health: []corev1alpha1.ObjectHealth{
				{ObjectKey: corev1alpha1.ObjectKey{Version: "v1", Kind: "Service", Namespace: "shop", Name: "fine"}, Status: corev1alpha1.HealthHealthy},
				{ObjectKey: corev1alpha1.ObjectKey{Version: "v1", Kind: "Pod", Namespace: "shop", Name: "bad"}, Status: corev1alpha1.HealthDegraded, Message: "crash loop"},
			},
		},
	}
	_, out, _ := run(t, map[string]runtime.Object{
		"GET " + releasesPath + "/web": release,
		"GET /apis/core.convoy.kumodo.io/v1alpha1/namespaces/shop/releaseinventories/web": inventory,
	}, "status", "web")
	g.Expect(out).To(MatchRegexp(`Ready +False +Degraded .*1 of 2 objects`))
	g.Expect(out).To(MatchRegexp(`Pod shop/bad +degraded +crash loop`))
	g.Expect(out).NotTo(ContainSubstring("shop/fine"))
}

func TestHelpOfEveryCommand(t *testing.T) {
	root := newRoot(genericiooptions.NewTestIOStreamsDiscard())
	for _, cmd := range root.Commands() {
		t.Run(cmd.Name(), func(t *testing.T) {
			g := NewWithT(t)
			var out bytes.Buffer
			cmd.SetOut(&out)
			g.Expect(cmd.Help()).To(Succeed())
			g.Expect(out.String()).To(ContainSubstring("kubectl convoy " + cmd.Name()))
		})
	}
}
