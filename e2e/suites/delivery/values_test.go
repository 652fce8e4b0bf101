// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"maps"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/e2e/framework/helmrepo"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// valuesChart shows its values.
var valuesChart = map[string]string{
	"app/Chart.yaml":  "apiVersion: v2\nname: app\nversion: 1.0.0\n",
	"app/values.yaml": "plain: none\nextra: none\npassword: none\n",
	"app/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n" +
		"data: {plain: {{ .Values.plain | quote }}, extra: {{ .Values.extra | quote }}, password: {{ .Values.password | quote }}}\n",
}

// never is long enough that what happens after it does not happen in a spec.
var never = &metav1.Duration{Duration: time.Hour}

// withValues gives a Release nothing but changes of values as a reason to be looked at.
func withValues(release *corev1alpha1.Release, from ...corev1alpha1.ValuesReference) *corev1alpha1.Release {
	release.Spec.Sync.Interval, release.Spec.Sync.Retry = never, &corev1alpha1.RetrySpec{InitialBackoff: never, MaxBackoff: never}
	release.Spec.Render = &corev1alpha1.RenderSpec{Helm: &corev1alpha1.HelmRender{ValuesFrom: from}}
	return release
}

// putConfigMap and putSecret create an object of the host, or replace its data.
func putConfigMap(ctx context.Context, n *scenario.Namespace, name, values string) {
	GinkgoHelper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"values.yaml": values}}
	client := n.HostClient.CoreV1().ConfigMaps(n.Name)
	if _, err := client.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
		_, err = client.Create(ctx, object, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
}

func putSecret(ctx context.Context, n *scenario.Namespace, name string, data map[string]string) {
	GinkgoHelper()
	object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
	client := n.HostClient.CoreV1().Secrets(n.Name)
	if _, err := client.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
		_, err = client.Create(ctx, object, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
}

var _ = Describe("What a Release refers to", func() {
	It("is applied as soon as it changes, appears or goes", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, valuesChart)
		putConfigMap(ctx, n, "settings", "plain: one")
		putSecret(ctx, n, "login", map[string]string{"password": "s1"})
		n.Create(ctx, withValues(n.GitRelease("app", scenario.Edge, "app"),
			corev1alpha1.ValuesReference{Kind: "ConfigMap", Name: "settings"},
			corev1alpha1.ValuesReference{Kind: "Secret", Name: "login", Key: "password", TargetPath: "password"},
			corev1alpha1.ValuesReference{Kind: "ConfigMap", Name: "extra", Optional: true},
		))
		n.AwaitReady(ctx, "app")
		shown := func(plain, extra, password string) {
			GinkgoHelper()
			Eventually(ctx, n.Data(ctx, "app")).Should(Equal(map[string]string{"plain": plain, "extra": extra, "password": password}))
		}
		shown("one", "none", "s1")

		putConfigMap(ctx, n, "settings", "plain: two")
		shown("two", "none", "s1")
		putSecret(ctx, n, "login", map[string]string{"password": "s2"})
		shown("two", "none", "s2")
		putConfigMap(ctx, n, "extra", "extra: some")
		shown("two", "some", "s2")
		Expect(n.HostClient.CoreV1().ConfigMaps(n.Name).Delete(ctx, "extra", metav1.DeleteOptions{})).To(Succeed())
		shown("two", "none", "s2")
		n.AwaitReady(ctx, "app")
		n.AwaitCondition(ctx, "app", corev1alpha1.ConditionInSync, metav1.ConditionTrue)
	}, NodeTimeout(4*time.Minute))

	It("may come later: a failure is not waited out", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, valuesChart)
		n.Create(ctx, withValues(n.GitRelease("app", scenario.Edge, "app"), corev1alpha1.ValuesReference{Kind: "Secret", Name: "later"}))
		Expect(n.AwaitCondition(ctx, "app", corev1alpha1.ConditionRendered, metav1.ConditionFalse).Reason).To(Equal(corev1alpha1.ReasonSecretNotFound))
		putSecret(ctx, n, "later", map[string]string{"values.yaml": "password: s"})
		n.AwaitReady(ctx, "app")
	}, NodeTimeout(4*time.Minute))

	It("waits for a sync in manual mode", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, valuesChart)
		putConfigMap(ctx, n, "settings", "plain: one")
		release := withValues(n.GitRelease("app", scenario.Edge, "app"), corev1alpha1.ValuesReference{Kind: "ConfigMap", Name: "settings"})
		release.Spec.Sync.Mode = corev1alpha1.SyncModeManual
		n.Create(ctx, release)
		n.Sync(ctx, "app")
		n.AwaitReady(ctx, "app")
		putConfigMap(ctx, n, "settings", "plain: two")
		Eventually(ctx, func() string {
			return n.AwaitCondition(ctx, "app", corev1alpha1.ConditionApplied, metav1.ConditionTrue).Reason
		}).Should(Equal(corev1alpha1.ReasonWaitingForSync))
		Expect(n.Data(ctx, "app")()).To(HaveKeyWithValue("plain", "one"))
		n.Sync(ctx, "app")
		Eventually(ctx, n.Data(ctx, "app")).Should(HaveKeyWithValue("plain", "two"))
	}, NodeTimeout(4*time.Minute))

	It("is the Secret of a source, too, which is checked at once", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, nil)
		Expect(helmrepo.Add(suite.HelmRoot(), n.Name, packaged("1.0.0"))).To(Succeed())
		Expect(helmrepo.Protect(suite.HelmRoot(), n.Name, "user", "right")).To(Succeed())
		putSecret(ctx, n, "login", map[string]string{"username": "user", "password": "right"})
		_, err := n.API.SourceV1alpha1().HelmRegistries(n.Name).Create(ctx, &sourcev1alpha1.HelmRegistry{
			ObjectMeta: metav1.ObjectMeta{Name: "charts"},
			Spec: sourcev1alpha1.HelmRegistrySpec{
				URL: suite.Helm.RepositoryURL(n.Name), SecretRef: &sourcev1alpha1.SecretReference{Name: "login"}, Interval: never,
			},
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		reason := func() string {
			return n.MustKubectl(ctx, "-n", n.Name, "get", "helmregistry", "charts", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].reason}`)
		}
		Eventually(ctx, reason).Should(Equal(corev1alpha1.ReasonReachable))
		putSecret(ctx, n, "login", map[string]string{"username": "user", "password": "wrong"})
		Eventually(ctx, reason).Should(Equal(corev1alpha1.ReasonAuthenticationFailed))
		putSecret(ctx, n, "login", map[string]string{"username": "user", "password": "right"})
		Eventually(ctx, reason).Should(Equal(corev1alpha1.ReasonReachable))
	}, NodeTimeout(4*time.Minute))
})

var _ = Describe("The values of a Release", func() {
	It("are shown with where each comes from, and secrets are not", func(ctx SpecContext) {
		files := maps.Clone(valuesChart)
		files["app/values.yaml"] += "kept: default\n"
		files["app/production.yaml"] = "plain: file\nextra: file\n"
		n := suite.NewNamespace(ctx, files)
		putConfigMap(ctx, n, "settings", "extra: config\nlist: [1, two]\n")
		putSecret(ctx, n, "login", map[string]string{"password": "canary", "values.yaml": "more: {token: canary, list: [canary]}"})
		release := withValues(n.GitRelease("app", scenario.Edge, "app"),
			corev1alpha1.ValuesReference{Kind: "ConfigMap", Name: "settings"},
			corev1alpha1.ValuesReference{Kind: "Secret", Name: "login"},
			corev1alpha1.ValuesReference{Kind: "Secret", Name: "login", Key: "password", TargetPath: "password"},
		)
		release.Spec.Render.Helm.ValuesFiles = []string{"production.yaml"}
		release.Spec.Render.Helm.Values = &runtime.RawExtension{Raw: []byte(`{"more": {"size": 3}}`)}
		n.Create(ctx, release)
		n.AwaitReady(ctx, "app")
		Expect(n.Data(ctx, "app")()).To(Equal(map[string]string{"plain": "file", "extra": "config", "password": "canary"}))

		values := func(args ...string) string {
			GinkgoHelper()
			out := n.MustKubectl(ctx, append([]string{"convoy", "-n", n.Name, "values", "app"}, args...)...)
			Expect(out).NotTo(Or(ContainSubstring("canary"), ContainSubstring("Y2FuYXJ5")))
			return out
		}
		Expect(values("--show-origin")).To(Equal(`extra: config  # ConfigMap settings, values.yaml
# ConfigMap settings, values.yaml
list:
- 1
- two
more:
  list: (masked)  # Secret login, values.yaml
  size: 3  # spec.render.helm.values
  token: (masked)  # Secret login, values.yaml
password: (masked)  # Secret login, password
plain: file  # production.yaml
`))
		Expect(values("--all", "--show-origin")).To(ContainSubstring("kept: default  # chart default, app/values.yaml\n"))
		Expect(values()).NotTo(Or(ContainSubstring("kept"), ContainSubstring("#")))
		Expect(values("-o", "json")).To(ContainSubstring(`"kind": "ReleaseValues"`))
		answer, err := n.API.CoreV1alpha1().Releases(n.Name).Values(ctx, "app", corev1alpha1.ReleaseValuesOptions{})
		Expect(err).NotTo(HaveOccurred())
		applied := n.Release(ctx, "app").Status.Source.Revision
		Expect(answer.Revision).To(Equal(applied))
		Expect(answer.Origins).To(ContainElement(corev1alpha1.ValueOrigin{Path: "kept", Kind: corev1alpha1.ValueOriginChart, Name: "app/values.yaml"}))
		Expect(n.MustKubectl(ctx, "convoy", "-n", n.Name, "__complete", "values", "")).To(ContainSubstring("app\n"))

		n.Commit(ctx, map[string]string{"app/production.yaml": "plain: later\n"})
		Eventually(ctx, func() string { return values() }).Should(ContainSubstring("plain: later\n"), "as a sync would take it now")
		Expect(values("--revision", applied)).To(ContainSubstring("plain: file\n"))
	}, NodeTimeout(4*time.Minute))

	It("are those of charts: others have none", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a.yaml": scenario.ConfigMap("a", "k", "v")})
		n.Create(ctx, n.GitRelease("app", scenario.Edge, ""))
		n.AwaitReady(ctx, "app")
		out, errOut, code := n.Kubectl(ctx, "convoy", "-n", n.Name, "values", "app")
		Expect(code).To(Equal(1))
		Expect(out).To(BeEmpty())
		Expect(errOut).To(ContainSubstring("error: values of Release " + n.Name + "/app: there are no values: only charts have any, and there is no Chart.yaml at the path"))
	}, NodeTimeout(2*time.Minute))
})
