// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/e2e/framework/chart"
	"kumodo.io/convoy/e2e/framework/helmrepo"
	"kumodo.io/convoy/e2e/suites/scenario"
)

func packaged(version string) *chart.Archive {
	GinkgoHelper()
	archive, err := chart.Pack(fstest.MapFS{
		"Chart.yaml":             {Data: []byte("apiVersion: v2\nname: app\nversion: " + version + "\n")},
		"templates/version.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: version}\ndata: {v: {{ .Chart.Version | quote }}}\n")},
	})
	Expect(err).NotTo(HaveOccurred())
	return archive
}

var _ = Describe("Content of every kind of source", func() {
	It("comes from a Helm index repository, by range, with credentials", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, nil)
		Expect(helmrepo.Add(suite.HelmRoot(), n.Name, packaged("1.0.0"), packaged("1.2.0"), packaged("2.0.0"))).To(Succeed())
		Expect(helmrepo.Protect(suite.HelmRoot(), n.Name, "user", "password-canary")).To(Succeed())
		registry := &sourcev1alpha1.HelmRegistry{
			ObjectMeta: metav1.ObjectMeta{Name: "charts"},
			Spec:       sourcev1alpha1.HelmRegistrySpec{URL: suite.Helm.RepositoryURL(n.Name), Interval: &metav1.Duration{Duration: 5 * time.Second}},
		}
		_, err := n.API.SourceV1alpha1().HelmRegistries(n.Name).Create(ctx, registry, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, func() string {
			return n.MustKubectl(ctx, "-n", n.Name, "get", "helmregistry", "charts", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].reason}`)
		}).Should(Equal(corev1alpha1.ReasonAuthenticationFailed))

		_, err = n.HostClient.CoreV1().Secrets(n.Name).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "login"}, StringData: map[string]string{"username": "user", "password": "password-canary"},
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		n.MustKubectl(ctx, "-n", n.Name, "patch", "helmregistry", "charts", "--type=merge", "-p", `{"spec":{"secretRef":{"name":"login"}}}`)
		n.MustKubectl(ctx, "-n", n.Name, "wait", "helmregistry/charts", "--for=condition=Ready", "--timeout=60s")

		release := n.GitRelease("app", scenario.Edge, "")
		release.Spec.Source = corev1alpha1.ReleaseSource{Helm: &corev1alpha1.HelmSource{
			RegistryRef: corev1alpha1.LocalReference{Name: "charts"}, Chart: "app", Version: "1.x",
		}}
		n.Create(ctx, release)
		n.AwaitReady(ctx, "app")
		Expect(n.Data(ctx, "version")()).To(HaveKeyWithValue("v", "1.2.0"))
		Expect(n.Release(ctx, "app").Status.Source.Revision).To(MatchRegexp(`^1\.2\.0@sha256:[0-9a-f]{64}$`))
	}, NodeTimeout(4*time.Minute))

	It("comes as a chart and as an artifact from an OCI registry", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, nil)
		client := suite.OCI.Client()
		_, err := client.PushChart(ctx, n.Name+"/charts", packaged("1.0.0"))
		Expect(err).NotTo(HaveOccurred())
		_, err = client.PushArtifact(ctx, n.Name+"/manifests", "v1", fstest.MapFS{"app/a.yaml": {Data: []byte(scenario.ConfigMap("a", "v", "1"))}})
		Expect(err).NotTo(HaveOccurred())
		_, err = n.API.SourceV1alpha1().OCIRegistries(n.Name).Create(ctx, &sourcev1alpha1.OCIRegistry{
			ObjectMeta: metav1.ObjectMeta{Name: "oci"}, Spec: sourcev1alpha1.OCIRegistrySpec{URL: suite.OCI.RepositoryURL(""), Insecure: true},
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		_, err = n.API.SourceV1alpha1().HelmRegistries(n.Name).Create(ctx, &sourcev1alpha1.HelmRegistry{
			ObjectMeta: metav1.ObjectMeta{Name: "charts"}, Spec: sourcev1alpha1.HelmRegistrySpec{URL: suite.OCI.RepositoryURL(n.Name + "/charts"), Insecure: true},
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())

		fromChart := n.GitRelease("chart", scenario.Edge, "")
		fromChart.Spec.Source = corev1alpha1.ReleaseSource{Helm: &corev1alpha1.HelmSource{
			RegistryRef: corev1alpha1.LocalReference{Name: "charts"}, Chart: "app", Version: "1.0.0",
		}}
		n.Create(ctx, fromChart)
		fromArtifact := n.GitRelease("artifact", scenario.Edge, "")
		fromArtifact.Spec.Source = corev1alpha1.ReleaseSource{OCI: &corev1alpha1.OCISource{
			RegistryRef: corev1alpha1.LocalReference{Name: "oci"}, Repository: n.Name + "/manifests", Ref: corev1alpha1.OCIRef{Tag: "v1"}, Path: "app",
		}}
		n.Create(ctx, fromArtifact)
		for _, name := range []string{"chart", "artifact"} {
			n.AwaitReady(ctx, name)
		}
		Expect(n.Data(ctx, "version")()).To(HaveKeyWithValue("v", "1.0.0"))
		Expect(n.Data(ctx, "a")()).To(HaveKeyWithValue("v", "1"))
	}, NodeTimeout(3*time.Minute))

	It("is a kustomization with an overlay", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{
			"base/kustomization.yaml":    "resources: [cm.yaml]\n",
			"base/cm.yaml":               scenario.ConfigMap("a", "v", "base"),
			"overlay/kustomization.yaml": "resources: [../base]\nnamePrefix: my-\npatches:\n- target: {kind: ConfigMap}\n  patch: |-\n    - {op: replace, path: /data/v, value: overlay}\n",
		})
		n.Create(ctx, n.GitRelease("app", scenario.Edge, "overlay"))
		n.AwaitReady(ctx, "app")
		Expect(n.Data(ctx, "my-a")()).To(HaveKeyWithValue("v", "overlay"))
	}, NodeTimeout(3*time.Minute))
})
