// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

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

	code, out, _ := run(t, answers, "diff", "web", "--from", "3", "--to", "4", "-o", "patch")
	g.Expect(code).To(Equal(1))
	g.Expect(out).To(MatchJSON(`[{"version": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "cm", "action": "update",
		"patch": [{"op": "replace", "path": "/data/a", "value": "2"}]}]`))
	code, _, errOut = run(t, answers, "diff", "web", "--from", "3", "--to", "4", "-o", "xml")
	g.Expect(code).To(Equal(2))
	g.Expect(errOut).To(ContainSubstring(`unknown format "xml"`))
}

func TestForcedPreviewIsAskedFor(t *testing.T) {
	g := NewWithT(t)
	preview := &corev1alpha1.ReleasePreview{
		TypeMeta: typeMeta("ReleasePreview"), Revision: "v1", Plan: "sha256:0123456789abcdef0123456789abcdef",
		Objects: []corev1alpha1.ObjectPreview{{
			ObjectKey: corev1alpha1.ObjectKey{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "cm"},
			Action:    corev1alpha1.ActionError, Reason: corev1alpha1.ReasonDenied, Message: "no",
		}},
	}
	code, out, _ := run(t, map[string]runtime.Object{"GET " + releasesPath + "/web/preview?force=true": preview}, "preview", "web", "--force")
	g.Expect(out).To(Equal("! error ConfigMap shop/cm\n    Denied: no\nv1: 1 error\nplan sha256:0123456789ab\n"))
	g.Expect(code).To(Equal(2))
}

func TestComparisonThatFailsCountsWhatFailed(t *testing.T) {
	g := NewWithT(t)
	diff := diffOf(corev1alpha1.ActionUpdate, corev1alpha1.ActionError)
	code, out, errOut := run(t, map[string]runtime.Object{"GET " + releasesPath + "/web/diff": diff}, "diff", "web", "--only", "delete")
	g.Expect(code).To(Equal(2))
	g.Expect(out).To(HavePrefix("! error ConfigMap shop/cm\n"))
	g.Expect(errOut).To(Equal("error: 1 object could not be compared\n"))
}

func TestPreviewPrints(t *testing.T) {
	key := corev1alpha1.ObjectKey{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	job := corev1alpha1.ObjectKey{Group: "batch", Version: "v1", Kind: "Job", Namespace: "shop", Name: "migrate"}
	preview := &corev1alpha1.ReleasePreview{
		TypeMeta: typeMeta("ReleasePreview"), Revision: "main@sha1:0123456789abcdef0123456789abcdef01234567",
		Objects: []corev1alpha1.ObjectPreview{
			{ObjectKey: job, Action: corev1alpha1.ActionUnchanged, Hook: "migrate", Message: "runs with the sync"},
			{ObjectKey: key, Action: corev1alpha1.ActionCreate},
			{ObjectKey: key, Action: corev1alpha1.ActionUnchanged},
			{ObjectKey: key, Action: corev1alpha1.ActionDelete, Message: "left the render"},
		},
	}
	hook := "  Job.batch shop/migrate (hook migrate) runs with the sync\n"
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"everything", nil, 1, hook + "+ create Deployment.apps shop/web\n- delete Deployment.apps shop/web\n    left the render\n" +
			"main@sha1:0123456789ab: 1 create, 1 delete, 1 unchanged, 1 hook\n"},
		{"one action", []string{"--only", "delete"}, 1, "- delete Deployment.apps shop/web\n    left the render\nmain@sha1:0123456789ab: 1 delete\n"},
		{"what does not change", []string{"--only", "unchanged"}, 0, hook + "  unchanged Deployment.apps shop/web\nmain@sha1:0123456789ab: 1 unchanged, 1 hook\n"},
		{"an action of no object", []string{"--only", "recreate,update"}, 0, "main@sha1:0123456789ab: no object with the action recreate, update\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			code, out, errOut := run(t, map[string]runtime.Object{"GET " + releasesPath + "/web/preview": preview}, append([]string{"preview", "web"}, c.args...)...)
			g.Expect(out).To(Equal(c.want))
			g.Expect(code).To(Equal(c.code))
			g.Expect(errOut).To(BeEmpty())
		})
	}
}
