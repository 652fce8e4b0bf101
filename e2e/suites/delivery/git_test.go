// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/suites/scenario"
)

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:1"}]}
`

var _ = Describe("A Release from Git", func() {
	It("follows its branch: change, prune, rollback by ref", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{
			"app/a.yaml": scenario.ConfigMap("a", "v", "1"), "app/b.yaml": scenario.ConfigMap("b", "v", "1"), "app/web.yaml": deployment,
		})
		first, err := n.Repo.Head(ctx, "main")
		Expect(err).NotTo(HaveOccurred())
		n.Create(ctx, n.GitRelease("app", scenario.Edge, "app"))
		n.AwaitReady(ctx, "app")
		status := n.Release(ctx, "app").Status
		Expect(status.Applied.Revision).To(Equal("main@sha1:" + first))
		Expect(status.Applied.Objects).To(BeEquivalentTo(3))

		n.Commit(ctx, map[string]string{"app/a.yaml": scenario.ConfigMap("a", "v", "2")}, "app/b.yaml")
		n.Sync(ctx, "app")
		Eventually(ctx, n.Data(ctx, "a")).Should(HaveKeyWithValue("v", "2"))
		Eventually(ctx, n.Data(ctx, "b")).Should(BeNil())
		n.AwaitReady(ctx, "app")

		n.Update(ctx, "app", func(r *corev1alpha1.Release) { r.Spec.Source.Git.Ref = corev1alpha1.GitRef{Commit: first} })
		Eventually(ctx, n.Data(ctx, "a")).Should(HaveKeyWithValue("v", "1"))
		Eventually(ctx, n.Data(ctx, "b")).Should(HaveKeyWithValue("v", "1"))
		n.AwaitReady(ctx, "app")
		Eventually(ctx, func() int { return len(n.Release(ctx, "app").Status.History) }).Should(BeNumerically(">=", 3))
	}, NodeTimeout(5*time.Minute))

	It("sees a new commit by itself", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a.yaml": scenario.ConfigMap("a", "v", "1")})
		release := n.GitRelease("app", scenario.Edge, "")
		release.Spec.Sync.Interval = &metav1.Duration{Duration: 5 * time.Second}
		n.Create(ctx, release)
		n.AwaitReady(ctx, "app")
		n.Commit(ctx, map[string]string{"a.yaml": scenario.ConfigMap("a", "v", "2")})
		Eventually(ctx, n.Data(ctx, "a")).Should(HaveKeyWithValue("v", "2"))
	}, NodeTimeout(3*time.Minute))

	It("corrects drift in automatic mode and only reports it in manual mode", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"app/a.yaml": scenario.ConfigMap("a", "v", "1"), "man/m.yaml": scenario.ConfigMap("m", "v", "1")})
		n.Create(ctx, n.GitRelease("app", scenario.Edge, "app"))
		manual := n.GitRelease("man", scenario.Edge, "man")
		manual.Spec.Sync.Mode = corev1alpha1.SyncModeManual
		n.Create(ctx, manual)
		n.AwaitReady(ctx, "app")
		Consistently(ctx, n.Data(ctx, "m"), time.Second).Should(BeNil(), "a manual Release waits for a sync")
		n.Sync(ctx, "man")
		n.AwaitReady(ctx, "man")
		for _, name := range []string{"app", "man"} {
			n.AwaitCondition(ctx, name, corev1alpha1.ConditionInSync, metav1.ConditionTrue)
		}

		edit := func(name string) {
			_, err := n.TargetClient.CoreV1().ConfigMaps(n.Name).Patch(ctx, name, types.MergePatchType,
				[]byte(`{"data":{"v":"by hand"}}`), metav1.PatchOptions{FieldManager: "somebody"})
			Expect(err).NotTo(HaveOccurred())
		}
		edit("a")
		edit("m")
		Eventually(ctx, n.Data(ctx, "a")).Should(HaveKeyWithValue("v", "1"))
		n.AwaitCondition(ctx, "app", corev1alpha1.ConditionInSync, metav1.ConditionTrue)
		condition := n.AwaitCondition(ctx, "man", corev1alpha1.ConditionInSync, metav1.ConditionFalse)
		Expect(condition.Message).To(ContainSubstring("ConfigMap " + n.Name + "/m differs in /data/v"))
		Expect(n.Data(ctx, "m")()).To(HaveKeyWithValue("v", "by hand"))

		Expect(n.TargetClient.CoreV1().ConfigMaps(n.Name).Delete(ctx, "a", metav1.DeleteOptions{})).To(Succeed())
		Eventually(ctx, n.Data(ctx, "a")).Should(HaveKeyWithValue("v", "1"), "a missing object is drift")
	}, NodeTimeout(5*time.Minute))

	It("takes what it applied away when its namespace is deleted, inventory, Cluster and all", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/a.yaml": scenario.ConfigMap("a", "v", "1"), "b/b.yaml": scenario.ConfigMap("b", "v", "1"),
			"c/c.yaml": scenario.ConfigMap("c", "v", "1")})
		for _, name := range []string{"a", "b", "c"} {
			n.Create(ctx, n.GitRelease(name, scenario.Edge, name))
		}
		for _, name := range []string{"a", "b", "c"} {
			n.AwaitReady(ctx, name)
		}
		n.MustKubectl(ctx, "delete", "namespace", n.Name, "--timeout=120s")
		for _, name := range []string{"a", "b", "c"} {
			Expect(n.Data(ctx, name)()).To(BeNil(), "nothing is left in the target")
		}
	}, NodeTimeout(5*time.Minute))

	It("takes what it applied away when it is deleted, or leaves it without marks", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/a.yaml": scenario.ConfigMap("a", "v", "1"), "o/o.yaml": scenario.ConfigMap("o", "v", "1")})
		n.Create(ctx, n.GitRelease("gone", scenario.Edge, "a"))
		orphan := n.GitRelease("orphan", scenario.Edge, "o")
		orphan.Spec.DeletionPolicy = corev1alpha1.DeletionPolicyOrphan
		n.Create(ctx, orphan)
		for _, name := range []string{"gone", "orphan"} {
			n.AwaitReady(ctx, name)
			n.MustKubectl(ctx, "-n", n.Name, "delete", "release", name, "--timeout=60s")
		}
		Expect(n.Data(ctx, "a")()).To(BeNil())
		left, err := n.TargetClient.CoreV1().ConfigMaps(n.Name).Get(ctx, "o", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(left.Labels).NotTo(HaveKey(corev1alpha1.LabelOwner))
		Expect(left.Annotations).NotTo(HaveKey(corev1alpha1.AnnotationRelease))
	}, NodeTimeout(3*time.Minute))

	It("is deleted at once although its source does not answer", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a.yaml": scenario.ConfigMap("a", "v", "1")})
		n.Create(ctx, n.GitRelease("app", scenario.Edge, ""))
		n.AwaitReady(ctx, "app")
		n.MustKubectl(ctx, "-n", n.Name, "patch", "gitrepository", scenario.Repository, "--type=merge", "-p", `{"spec":{"url":"http://127.0.0.1:1/x.git"}}`)
		n.MustKubectl(ctx, "-n", n.Name, "delete", "release", "app", "--timeout=60s")
		Expect(n.Data(ctx, "a")()).To(BeNil())
	}, NodeTimeout(3*time.Minute))

	It("waits for lower waves on its cluster", func(ctx SpecContext) {
		broken := "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {kwok.convoy.test/behaviour: never-ready}}\nspec: {containers: [{name: c, image: i}]}\n"
		n := suite.NewNamespace(ctx, map[string]string{"one/p.yaml": broken, "two/b.yaml": scenario.ConfigMap("b", "v", "1")})
		second := n.GitRelease("second", scenario.Edge, "two")
		second.Spec.Wave = 1
		n.Create(ctx, n.GitRelease("first", scenario.Edge, "one"))
		n.AwaitCondition(ctx, "first", corev1alpha1.ConditionApplied, metav1.ConditionTrue)
		n.Create(ctx, second)
		Eventually(ctx, func() []string {
			if sync := n.Release(ctx, "second").Status.Sync; sync != nil {
				return sync.BlockedBy
			}
			return nil
		}).Should(ContainElement(ContainSubstring("first")))
		Expect(n.Data(ctx, "b")()).To(BeNil())

		n.Commit(ctx, map[string]string{"one/a.yaml": scenario.ConfigMap("a", "v", "1")}, "one/p.yaml")
		n.Sync(ctx, "first")
		n.AwaitReady(ctx, "second")
		Expect(n.Data(ctx, "b")()).To(HaveKey("v"))
	}, NodeTimeout(4*time.Minute))
})

var _ = Describe("A Helm chart", func() {
	chart := func(templates map[string]string) map[string]string {
		files := map[string]string{
			"chart/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n", "chart/values.yaml": "who: default\n",
			"chart/values-edge.yaml": "who: edge\n",
		}
		for name, text := range templates {
			files["chart/templates/"+name] = text
		}
		return files
	}
	greeting := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: greeting}\ndata: {who: {{ .Values.who | quote }}, kube: {{ .Capabilities.KubeVersion.Version }}, hook: \"{{ .Release.IsInstall }}\"}\n"
	job := func(hook, behaviour string) string {
		return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {helm.sh/hook: %s}}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {kwok.convoy.test/behaviour: %q}}
    spec: {restartPolicy: Never, containers: [{name: c, image: i}]}
`, hook, behaviour)
	}

	It("is rendered with its values and the target's capabilities, with a hook before", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, chart(map[string]string{"cm.yaml": greeting, "job.yaml": job("pre-install,pre-upgrade", "")}))
		release := n.GitRelease("app", scenario.Edge, "chart")
		release.Spec.Render = &corev1alpha1.RenderSpec{Type: corev1alpha1.RenderHelm, Helm: &corev1alpha1.HelmRender{ValuesFiles: []string{"values-edge.yaml"}}}
		n.Create(ctx, release)
		n.AwaitReady(ctx, "app")
		data, err := n.Data(ctx, "greeting")()
		Expect(err).NotTo(HaveOccurred())
		version, err := n.TargetClient.Discovery().ServerVersion()
		Expect(err).NotTo(HaveOccurred())
		Expect(data).To(And(HaveKeyWithValue("who", "edge"), HaveKeyWithValue("kube", version.GitVersion)))
		finished, err := n.TargetClient.BatchV1().Jobs(n.Name).Get(ctx, "migrate", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(finished.Status.Succeeded).To(BeEquivalentTo(1))
		hooks := n.Release(ctx, "app").Status.Lifecycle.Hooks
		Expect(hooks).To(HaveLen(1))
		Expect(hooks[0].Phase).To(Equal(corev1alpha1.HookSucceeded))
	}, NodeTimeout(3*time.Minute))

	It("is not applied when its hook fails, until a new commit mends it", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, chart(map[string]string{"cm.yaml": greeting, "job.yaml": job("pre-install,pre-upgrade", "fail")}))
		n.Create(ctx, n.GitRelease("app", scenario.Edge, "chart"))
		condition := n.AwaitCondition(ctx, "app", corev1alpha1.ConditionApplied, metav1.ConditionFalse)
		Eventually(ctx, func() string {
			condition = n.AwaitCondition(ctx, "app", corev1alpha1.ConditionApplied, metav1.ConditionFalse)
			return condition.Reason
		}).Should(Equal(corev1alpha1.ReasonHookFailed))
		Expect(condition.Message).To(ContainSubstring("migrate"))
		Expect(n.Data(ctx, "greeting")()).To(BeNil())

		n.Commit(ctx, chart(map[string]string{"job.yaml": job("pre-install,pre-upgrade", "")}))
		n.Sync(ctx, "app")
		n.AwaitReady(ctx, "app")
		Expect(n.Data(ctx, "greeting")()).To(HaveKey("who"))
	}, NodeTimeout(4*time.Minute))

	It("brings a CustomResourceDefinition and its custom resource in one Release", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, nil)
		group := n.Name + ".example"
		files := chart(map[string]string{"w.yaml": "apiVersion: " + group + "/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 9007199254740993}\n"})
		files["chart/crds/widgets.yaml"] = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.` + group + `}
spec:
  group: ` + group + `
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
`
		n.Commit(ctx, files)
		n.Create(ctx, n.GitRelease("app", scenario.Edge, "chart"))
		n.AwaitReady(ctx, "app")
		Expect(n.Inventory(ctx, "app").Spec.Entries).To(HaveLen(2))
	}, NodeTimeout(3*time.Minute))
})
