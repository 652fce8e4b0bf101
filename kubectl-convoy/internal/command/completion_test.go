// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func TestCompletion(t *testing.T) {
	const sources = "GET /apis/source.convoy.kumodo.io/v1alpha1/namespaces/shop/"
	cluster := corev1alpha1.Cluster{}
	cluster.Name = "edge"
	release := newRelease(past, hooked, mutated, func(r *corev1alpha1.Release) {
		r.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Gates: []corev1alpha1.Gate{{Name: "qa"}, {Name: "ops"}}}
		r.Status.Lifecycle.Gates = []corev1alpha1.GateStatus{{Name: "qa", Render: digest}, {Name: "ops", Render: digest}}
	})
	answers := map[string]runtime.Object{
		"GET " + releasesPath + "?limit=500":  releaseList("", newRelease(), newRelease(named("worker"))),
		"GET " + releasesPath + "/web":        release,
		"GET " + clustersPath + "?limit=500":  &corev1alpha1.ClusterList{TypeMeta: typeMeta("ClusterList"), Items: []corev1alpha1.Cluster{cluster}},
		sources + "gitrepositories?limit=500": releaseList("", newRelease(named("apps"))),
		sources + "helmregistries?limit=500":  releaseList(""),
		sources + "ociregistries?limit=500":   releaseList(""),
		"GET /api/v1/namespaces?limit=500":    releaseList("", newRelease(named("shop"))),
	}
	for _, test := range []struct {
		line string // words, the last is completed
		want string // words and their descriptions, without what is for the shell
	}{
		{"status ", "web worker"},
		{"status web ", ""},
		{"sync web ", "worker"},
		{"suspend w", "web worker cluster/ gitrepository/ helmregistry/ ociregistry/"},
		{"suspend ccl/", "ccl/edge"},
		{"suspend pod/", ""},
		{"suspend --all ", "releases clusters gitrepositories helmregistries ociregistries"},
		{"cluster remove ", "edge"},
		{"approve web ", "qa ops"},
		{"approve web qa ", "ops"},
		{"skip web ", "backup migrate"},
		{"mutate web ", "a b"},
		{"mutate web a ", ""},
		{"mutate web a --before ", "b"},
		{"mutate web a --type ", "strategic merge json"},
		{"rollback web ", "4\tv4, failed 3\tv3, healthy 2\tv3, applied 1\tv1, healthy"},
		{"rollback web 3 ", ""},
		{"history web --id ", "4\tv4, failed 3\tv3, healthy 2\tv3, applied 1\tv1, healthy"},
		{"pin web --render ", "sha256:44\tfailed v4 sha256:33\thealthy v3 sha256:22\tapplied v3 sha256:11\thealthy v1"},
		{"create release x --to-cluster ", "edge"},
		{"create release x --source ", "gitrepository/apps"},
		{"status -o ", "wide name json yaml"},
		{"suspend web --dry-run=", "none client server"},
		{"status -n ", "shop"},
	} {
		t.Run(test.line, func(t *testing.T) {
			_, out, _ := run(t, answers, append([]string{"__complete"}, strings.Split(test.line, " ")...)...)
			lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
			NewWithT(t).Expect(strings.Join(lines[:len(lines)-1], " ")).To(Equal(test.want))
		})
	}
}

func TestCompletionOfWhatCannotBeAsked(t *testing.T) {
	g := NewWithT(t)
	code, out, _ := run(t, nil, "__complete", "status", "")
	g.Expect(code).To(Equal(0))
	g.Expect(out).To(Equal(":1\n"), "a shell shows nothing")
}

// Nothing stands behind these, no files either.
func TestCommandsWithoutArgumentsOfferNoFiles(t *testing.T) {
	for _, command := range []string{"check", "shards", "dump", "version", "cluster list"} {
		t.Run(command, func(t *testing.T) {
			g := NewWithT(t)
			_, out, _ := run(t, nil, append(append([]string{"__complete"}, strings.Fields(command)...), "")...)
			g.Expect(out).To(Equal(":4\n"))
		})
	}
}

func TestTheNamespaceOfConvoyIsCompleted(t *testing.T) {
	g := NewWithT(t)
	namespaces := &corev1.NamespaceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}, Items: []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "convoy-system"}}}}
	_, out, _ := run(t, map[string]runtime.Object{"GET /api/v1/namespaces?limit=500": namespaces}, "__complete", "check", "--convoy-namespace", "")
	g.Expect(out).To(Equal("convoy-system\n:4\n"))
}
