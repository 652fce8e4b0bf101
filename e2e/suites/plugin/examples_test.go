// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// stage is what examples of help are played on: a namespace that has what they name.
type stage struct {
	*scenario.Namespace
	kubeconfig string
	// replace has words of examples that are different here, and those that take their place.
	replace []string
}

func newStage(ctx context.Context, files map[string]string) *stage {
	GinkgoHelper()
	s := &stage{Namespace: suite.NewNamespace(ctx, files)}
	s.kubeconfig = kubeconfigOfTwo(s.Namespace)
	values := filepath.Join(GinkgoT().TempDir(), "values.yaml")
	Expect(os.WriteFile(values, []byte("replicas: 3\n"), 0o600)).To(Succeed())
	patch := filepath.Join(GinkgoT().TempDir(), "patch.yaml")
	Expect(os.WriteFile(patch, []byte("metadata: {labels: {team: shop}}\n"), 0o600)).To(Succeed())
	s.replace = []string{"--values values.yaml", "--values " + values, "--patch-file patch.yaml", "--patch-file " + patch, "--namespaces shop,shop-db", "--namespaces " + s.Name, "--namespaces shop", "--namespaces " + s.Name, "lab-admin", "edge-admin"}
	return s
}

// examples reads those of a command from its help.
func (s *stage) examples(ctx context.Context, command string) []string {
	GinkgoHelper()
	help := s.MustKubectl(ctx, append(append([]string{"convoy"}, strings.Fields(command)...), "--help")...)
	_, help, found := strings.Cut(help, "\nExamples:\n")
	Expect(found).To(BeTrue(), "%s has no examples", command)
	help, _, _ = strings.Cut(help, "\n\n")
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(help, "\\\n", " ")) {
		line, _, _ = strings.Cut(line, " #")
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// play runs the examples of commands, one after the other; before is called before each. One
// that compares may find that something differs.
func (s *stage) play(ctx context.Context, before func(example string), commands ...string) {
	GinkgoHelper()
	for _, command := range commands {
		for _, example := range s.examples(ctx, command) {
			if before != nil {
				before(example)
			}
			line := strings.NewReplacer(s.replace...).Replace(example)
			args, ok := strings.CutPrefix(line, "kubectl ")
			Expect(ok).To(BeTrue(), line)
			out, errOut, code := s.KubectlWith(ctx, "", []string{"KUBECONFIG=" + s.kubeconfig}, shellWords(args)...)
			if verb := strings.Fields(args)[1]; verb == "diff" || verb == "preview" {
				Expect(code).To(BeElementOf(0, 1), "%s\n%s%s", line, out, errOut)
				continue
			}
			Expect(code).To(BeZero(), "%s\n%s%s", line, out, errOut)
			Expect(out).NotTo(BeEmpty(), line)
		}
	}
}

// shellWords takes a line apart as a shell does whose only quotes are single ones.
func shellWords(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}

// web creates the Release that examples are about, with labels, and waits until it is Ready.
func (s *stage) web(ctx context.Context, change func(*corev1alpha1.Release)) {
	GinkgoHelper()
	release := s.GitRelease("web", scenario.Edge, "web")
	release.Labels = map[string]string{"team": "shop"}
	if change != nil {
		change(release)
	}
	s.Create(ctx, release)
	if release.Spec.Lifecycle == nil {
		s.AwaitReady(ctx, "web")
	}
}

// eventOfCluster makes an event of the Cluster, which has none as long as it is well.
func (s *stage) eventOfCluster(ctx context.Context) {
	GinkgoHelper()
	_, err := s.HostClient.CoreV1().Events(s.Name).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: "edge-"},
		InvolvedObject: corev1.ObjectReference{APIVersion: corev1alpha1.SchemeGroupVersion.String(), Kind: "Cluster", Namespace: s.Name, Name: scenario.Edge},
		Type:           corev1.EventTypeNormal, Reason: corev1alpha1.ReasonReachable, LastTimestamp: metav1.Now(),
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// chart gives the files of a chart in the folder web.
func chart(value string) map[string]string {
	return map[string]string{
		"web/Chart.yaml":         "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"web/values.yaml":        "v: '" + value + "'\n",
		"web/templates/all.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\ndata: {v: '{{ .Values.v }}'}\n",
	}
}

var _ = Describe("The examples of help", func() {
	It("of what shows and compares, and of pins", func(ctx SpecContext) {
		s := newStage(ctx, chart("1"))
		head, err := s.Repo.Head(ctx, "main")
		Expect(err).NotTo(HaveOccurred())
		Expect(s.Repo.Tag(ctx, "v1.2.0", head)).To(Succeed())
		s.web(ctx, func(r *corev1alpha1.Release) {
			r.Spec.Render = &corev1alpha1.RenderSpec{Type: corev1alpha1.RenderHelm, Helm: &corev1alpha1.HelmRender{Values: &runtime.RawExtension{Raw: []byte(`{"replicas":3}`)}}}
		})
		for _, value := range []string{"2", "3", "4"} {
			s.Commit(ctx, chart(value))
			convoy(ctx, s.Namespace, "sync", "web", "--wait")
		}
		Eventually(ctx, func() string { return convoy(ctx, s.Namespace, "events", "web") }).ShouldNot(BeEmpty())
		s.eventOfCluster(ctx)
		s.play(ctx, func(example string) {
			if strings.Contains(example, "-l site=north") {
				s.MustKubectl(ctx, "-n", s.Name, "label", "cluster.core.convoy.kumodo.io", "edge", "site=north")
			}
			if strings.Contains(example, "events -A --warnings") {
				s.Create(ctx, s.GitRelease("wrong", scenario.Edge, "nowhere"))
				Eventually(ctx, func() string { return convoy(ctx, s.Namespace, "events", "wrong", "--warnings") }).ShouldNot(BeEmpty())
			}
		}, "status", "why", "tree", "health", "events", "history", "preview", "diff", "render", "values", "version", "cluster list", "cluster", "shards")
		s.replace = append(s.replace, "sha256:1f0c…", s.Release(ctx, "web").Status.History[1].Render)
		s.play(ctx, nil, "mutate", "pin", "unpin", "rollback")
	}, NodeTimeout(limit))

	It("of syncs and suspensions", func(ctx SpecContext) {
		s := newStage(ctx, map[string]string{"web/cm.yaml": scenario.ConfigMap("cm", "v", "1")})
		s.web(ctx, nil)
		convoy(ctx, s.Namespace, "create", "source", "git", "apps", "--url", s.Git.RepositoryURL(s.Name))
		s.play(ctx, nil, "sync", "suspend", "resume")
	}, NodeTimeout(limit))

	It("of approvals", func(ctx SpecContext) {
		s := newStage(ctx, map[string]string{"web/cm.yaml": scenario.ConfigMap("cm", "v", "1")})
		s.web(ctx, func(r *corev1alpha1.Release) {
			r.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Gates: []corev1alpha1.Gate{{Name: "qa", Before: "sync"}}}
		})
		Eventually(ctx, func() *corev1alpha1.LifecycleStatus { return s.Release(ctx, "web").Status.Lifecycle }).ShouldNot(BeNil())
		s.replace = append(s.replace, "sha256:1f0c2ab90e57", s.Release(ctx, "web").Status.Lifecycle.Gates[0].Render)
		s.play(ctx, nil, "approve")
	}, NodeTimeout(limit))

	It("of hooks", func(ctx SpecContext) {
		s := newStage(ctx, map[string]string{"web/cm.yaml": scenario.ConfigMap("cm", "v", "1")})
		s.web(ctx, func(r *corev1alpha1.Release) {
			r.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Hooks: []corev1alpha1.Hook{failingHook("migrate")}}
		})
		s.play(ctx, func(string) {
			Eventually(ctx, func(g Gomega) {
				lifecycle := s.Release(ctx, "web").Status.Lifecycle
				g.Expect(lifecycle).NotTo(BeNil())
				g.Expect(lifecycle.Hooks).To(HaveExactElements(HaveField("Phase", corev1alpha1.HookFailed)))
			}).Should(Succeed())
		}, "retry", "skip")
		s.AwaitReady(ctx, "web")
	}, NodeTimeout(limit))

	It("of what looks after the installation", func(ctx SpecContext) {
		s := newStage(ctx, nil)
		dir := GinkgoT().TempDir()
		s.replace = append(s.replace, "convoy dump -f convoy.tar.gz", "convoy dump -f "+filepath.Join(dir, "convoy.tar.gz"), "convoy dump --logs", "convoy dump --logs", "convoy dump", "convoy dump -f "+filepath.Join(dir, "dump.tar.gz"))
		Eventually(ctx, func() int {
			_, _, code := s.Kubectl(ctx, "convoy", "check")
			return code
		}).Should(BeZero())
		s.play(ctx, nil, "check", "dump")
	}, NodeTimeout(limit))

	It("of what sets up", func(ctx SpecContext) {
		s := newStage(ctx, nil)
		s.play(ctx, func(example string) {
			if strings.Contains(example, "create release web") { // each makes the same one
				s.MustKubectl(ctx, "-n", s.Name, "delete", "release", "web", "--ignore-not-found", "--timeout=60s")
			}
		}, "create", "create source", "create source git", "create source helm", "create source oci", "create release")
		s.MustKubectl(ctx, "-n", s.Name, "delete", "release", "web", "--ignore-not-found", "--timeout=60s")
		s.MustKubectl(ctx, "-n", s.Name, "delete", "clusters.core.convoy.kumodo.io/edge", "secret/edge-kubeconfig") // which no command has made
		s.play(ctx, nil, "cluster add", "cluster remove")
		Expect(s.API.CoreV1alpha1().Clusters(s.Name).List(ctx, metav1.ListOptions{})).To(HaveField("Items",
			ConsistOf(HaveField("Name", "here"), HaveField("Name", "lab"))))
	}, NodeTimeout(limit))
})
