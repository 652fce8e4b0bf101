// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
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

// forbiddenToEve runs the plugin as somebody without any rights, who is refused.
func forbiddenToEve(ctx context.Context, n *scenario.Namespace, args ...string) string {
	GinkgoHelper()
	return refused(ctx, n, append(args, "--as", "eve")...)
}

var _ = Describe("shards", func() {
	It("tells who works on which, and how much that is", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/cm.yaml": scenario.ConfigMap("cm", "v", "1")})
		n.Create(ctx, n.GitRelease("web", scenario.Edge, "a"))
		n.AwaitReady(ctx, "web")
		Eventually(ctx, func() string { return convoy(ctx, n, "shards") }).Should(And(
			MatchRegexp(`(?m)^SHARD +CONTROLLER-MANAGER +OBSERVER +CLUSTERS +RELEASES +HEAVIEST CLUSTER\n0 +[^< ]+ +[^< ]+ +\d+ +[1-9]\d* +\S+/\S+ \(\d+\)\n`),
			MatchRegexp(`(?m)^\S+ +convoy-controller-manager +0 +[1-9]\d* +100% +\d+s ago$`), Not(ContainSubstring("✗"))))
		Expect(convoy(ctx, n, "shards", "--convoy-namespace", n.Name)).To(ContainSubstring("✗ convoy-observer: no replica has been heard of for 1m0s"))
		Expect(forbiddenToEve(ctx, n, "shards")).To(And(HavePrefix("error: Leases of namespace convoy-system: "), ContainSubstring("forbidden")))
	}, NodeTimeout(limit))
})

var _ = Describe("check", func() {
	It("tells that all is well, and what is not", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, nil)
		Eventually(ctx, func() string {
			out, errOut, _ := n.Kubectl(ctx, "convoy", "check")
			return out + errOut
		}).Should(And(
			MatchRegexp(`✔ the host is Kubernetes v1\.`), ContainSubstring("✔ APIService v1alpha1.core.convoy.kumodo.io is available\n"),
			MatchRegexp(`✔ the caBundle of APIService \S+ is valid until 2`), ContainSubstring("✔ convoy-apiserver answers, and reads from its etcd\n"),
			ContainSubstring("✔ convoy-controller-manager: all of 1 shards are worked on, by 1 replicas\n"), MatchRegexp(`✔ \d+ Clusters answer`)))

		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "broken"}, Data: map[string][]byte{"kubeconfig": []byte("{}")}}
		_, err := n.HostClient.CoreV1().Secrets(n.Name).Create(ctx, secret, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		_, err = n.API.CoreV1alpha1().Clusters(n.Name).Create(ctx, &corev1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "broken"}, Spec: corev1alpha1.ClusterSpec{
			Agentless: &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{Type: corev1alpha1.ClusterAuthTypeKubeconfig,
				Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: "broken"}}}},
		}}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		var report struct {
			Failed int
			Checks []struct{ Section, Status, Message, Do string }
		}
		Eventually(ctx, func(g Gomega) {
			out, errOut, code := n.Kubectl(ctx, "convoy", "check", "-o", "json")
			g.Expect(code).To(Equal(1))
			g.Expect(errOut).To(MatchRegexp(`^error: \d+ of \d+ checks failed\n$`))
			g.Expect(json.Unmarshal([]byte(out), &report)).To(Succeed())
			g.Expect(report.Checks).To(ContainElement(And(HaveField("Section", "Clusters and sources"), HaveField("Status", "failed"),
				HaveField("Message", HavePrefix("Cluster "+n.Name+"/broken: InvalidConfiguration: ")), HaveField("Do", "kubectl convoy -n "+n.Name+" events cluster/broken"))))
		}).Should(Succeed())
		n.MustKubectl(ctx, "-n", n.Name, "delete", "cluster.core.convoy.kumodo.io", "broken")
	}, NodeTimeout(limit))

	It("tells before an installation whether it can be made", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, nil)
		Expect(convoy(ctx, n, "check", "--pre")).To(And(ContainSubstring("✔ the aggregation layer is configured\n"), ContainSubstring("✔ you may install\n")))
		out, errOut, code := n.Kubectl(ctx, "convoy", "check", "--pre", "--as", "eve", "--as-group", "system:authenticated")
		Expect(code).To(Equal(1))
		Expect(out).To(And(ContainSubstring("✗ you may not create namespaces, create apiservices.apiregistration.k8s.io, "), ContainSubstring("    → install as a cluster administrator\n")))
		Expect(errOut).To(MatchRegexp(`^error: 1 of \d checks failed\n$`))
	}, NodeTimeout(limit))
})

var _ = Describe("dump", func() {
	It("collects what others need, and no secrets", func(ctx SpecContext) {
		const secret = "hunter2hunter2"
		n := suite.NewNamespace(ctx, chart("1"))
		_, err := n.HostClient.CoreV1().Secrets(n.Name).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "shop-values"}, StringData: map[string]string{"values.yaml": "db: {password: " + secret + "}"},
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		release := n.GitRelease("web", scenario.Edge, "web")
		release.Annotations = map[string]string{"example.com/token": secret}
		release.Spec.Render = &corev1alpha1.RenderSpec{Type: corev1alpha1.RenderHelm, Helm: &corev1alpha1.HelmRender{
			Values:     &runtime.RawExtension{Raw: []byte(`{"v":"2","db":{"password":"` + secret + `","url":"postgres://app:` + secret + `@db"}}`)},
			ValuesFrom: []corev1alpha1.ValuesReference{{Kind: "Secret", Name: "shop-values"}},
		}}
		n.Create(ctx, release)
		n.AwaitReady(ctx, "web")

		file := filepath.Join(GinkgoT().TempDir(), "dump.tar.gz")
		Expect(convoy(ctx, n, "dump", "-f", file)).To(HavePrefix(file + " written: "))
		files := unpack(file)
		for name, content := range files {
			Expect(content).NotTo(ContainSubstring(secret), name)
		}
		Expect(files["objects/releases/"+n.Name+"/web.yaml"]).To(And(ContainSubstring("password: (masked)"), ContainSubstring("name: shop-values"), ContainSubstring(`v: "2"`)))
		Expect(files).To(And(HaveKey("objects/clusters/"+n.Name+"/edge.yaml"), HaveKey("system/leases.yaml"), HaveKey("check.txt"), HaveKey("shards.txt"), HaveKey("version.txt")))
		Expect(files["events/releases.yaml"]).To(ContainSubstring("name: web"))

		Expect(refused(ctx, n, "dump", "-f", file)).To(ContainSubstring("file exists"))
		_, errOut, code := n.Kubectl(ctx, "convoy", "-n", n.Name, "dump", "--as", "eve", "-f", filepath.Join(GinkgoT().TempDir(), "eve.tar.gz"))
		Expect(code).To(BeZero())
		Expect(errOut).To(MatchRegexp(`Warning: not collected: releases\.core\.convoy\.kumodo\.io: .* forbidden`))
	}, NodeTimeout(limit))
})

// unpack reads a bundle: contents by name, without the folder that all of them are in.
func unpack(file string) map[string]string {
	GinkgoHelper()
	opened, err := os.Open(file)
	Expect(err).NotTo(HaveOccurred())
	defer opened.Close()
	zip, err := gzip.NewReader(opened)
	Expect(err).NotTo(HaveOccurred())
	files := map[string]string{}
	for archive := tar.NewReader(zip); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		Expect(err).NotTo(HaveOccurred())
		content, err := io.ReadAll(archive)
		Expect(err).NotTo(HaveOccurred())
		_, name, _ := strings.Cut(header.Name, "/")
		files[name] = string(content)
	}
}
