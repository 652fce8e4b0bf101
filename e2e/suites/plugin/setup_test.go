// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kumodo.io/convoy/e2e/suites/scenario"
)

var _ = Describe("create", func() {
	It("makes what is delivered, or its manifest", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"web/cm.yaml": scenario.ConfigMap("cm", "v", "1")})
		source := []string{"create", "source", "git", "apps", "--url", n.Git.RepositoryURL(n.Name)}
		manifest, _, code := n.Kubectl(ctx, append([]string{"convoy"}, append(source, "--export")...)...)
		Expect(code).To(BeZero())
		Expect(manifest).To(Equal("apiVersion: source.convoy.kumodo.io/v1alpha1\nkind: GitRepository\nmetadata:\n  name: apps\nspec:\n  url: " + n.Git.RepositoryURL(n.Name) + "\n"))
		out, errOut, code := n.KubectlWith(ctx, manifest, nil, "-n", n.Name, "apply", "-f", "-")
		Expect(code).To(BeZero(), out+errOut)
		Expect(refused(ctx, n, source...)).To(ContainSubstring(`"apps" already exists`))

		release := []string{"create", "release", "web", "--to-cluster", "edge", "--source", "gitrepository/apps", "--branch", "main", "--path", "web"}
		Expect(convoy(ctx, n, append(release, "--dry-run=server")...)).To(Equal("release.core.convoy.kumodo.io/web created (server dry run)\n"))
		Expect(convoy(ctx, n, release...)).To(Equal("release.core.convoy.kumodo.io/web created\n"))
		n.AwaitReady(ctx, "web")
		Expect(n.Data(ctx, "cm")()).To(HaveKeyWithValue("v", "1"))

		Expect(refused(ctx, n, "create", "release", "x", "--to-cluster", "edge", "--source", "helmregistry/charts")).To(ContainSubstring("with a HelmRegistry, --chart has to be given"))
		Expect(refused(ctx, n, "create", "source", "git", "bad", "--url", "https://user:secret@git.example.com/x.git")).To(And(ContainSubstring("spec.url"), Not(ContainSubstring("secret@"))))
	}, NodeTimeout(limit))
})

// kubeconfigOfTwo writes a kubeconfig with a context for each cluster, and the namespace as
// that of the host.
func kubeconfigOfTwo(n *scenario.Namespace) string {
	GinkgoHelper()
	config, err := clientcmd.LoadFromFile(n.Host.AdminKubeconfig())
	Expect(err).NotTo(HaveOccurred())
	config.Contexts[config.CurrentContext].Namespace = n.Name
	target, err := clientcmd.LoadFromFile(n.Target.AdminKubeconfig())
	Expect(err).NotTo(HaveOccurred())
	context := target.Contexts[target.CurrentContext]
	config.Clusters["edge-admin"], config.AuthInfos["edge-admin"] = target.Clusters[context.Cluster], target.AuthInfos[context.AuthInfo]
	config.Contexts["edge-admin"] = &clientcmdapi.Context{Cluster: "edge-admin", AuthInfo: "edge-admin"}
	path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(*config, path)).To(Succeed())
	return path
}

var _ = Describe("cluster", func() {
	It("adds a target with the rights that it is given, and takes them back", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/cm.yaml": scenario.ConfigMap("cm", "v", "1")})
		env := []string{"KUBECONFIG=" + kubeconfigOfTwo(n)}
		kubectl := func(args ...string) (string, string, int) {
			return n.KubectlWith(ctx, "", env, append([]string{"convoy"}, args...)...)
		}
		add := []string{"cluster", "add", "north", "--target-context", "edge-admin", "--namespaces", n.Name}
		out, errOut, code := kubectl(append(add, "--dry-run=client", "-o", "yaml")...)
		Expect(code).To(BeZero(), errOut)
		Expect(strings.Count(out, "\n---\n")).To(BeNumerically(">=", 6))
		Expect(out).To(And(ContainSubstring("# applied on edge-admin\n"), ContainSubstring("kind: RoleBinding\n"), ContainSubstring("kind: Cluster\n")))
		_, err := n.API.CoreV1alpha1().Clusters(n.Name).Get(ctx, "north", metav1.GetOptions{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue())

		_, errOut, code = kubectl(add[:5]...)
		Expect(code).To(Equal(1))
		Expect(errOut).To(ContainSubstring("say what convoy may do on the target"))
		_, errOut, code = kubectl("cluster", "add", "north", "--target-context", "nowhere", "--namespaces", "x")
		Expect(code).To(Equal(1))
		Expect(errOut).To(ContainSubstring(`context "nowhere" does not exist`))

		out, errOut, code = kubectl(add...)
		Expect(code).To(BeZero(), errOut)
		Expect(out).To(HaveSuffix("secret/north-kubeconfig applied\ncluster.core.convoy.kumodo.io/north applied\n"))
		Expect(errOut).To(And(ContainSubstring("Warning: https://127.0.0.1:"), ContainSubstring("Cluster "+n.Name+"/north is Ready: Kubernetes v1.")))
		_, errOut, code = kubectl(add...)
		Expect(code).To(Equal(1))
		Expect(errOut).To(ContainSubstring("there is a Cluster " + n.Name + "/north already"))
		Expect(bindings(ctx, n)).To(HaveLen(1))
		// Rights that are not given any more go, and a binding whose role changes is made anew.
		other := suite.NewNamespace(ctx, nil)
		overwrite := append(add[:len(add)-1:len(add)-1], n.Name+","+other.Name, "--overwrite")
		_, errOut, code = kubectl(overwrite...)
		Expect(code).To(BeZero(), errOut)
		Expect(bindings(ctx, other)).To(HaveLen(1))
		out, errOut, code = kubectl(append(add, "--overwrite", "--role", "edit")...)
		Expect(code).To(BeZero(), errOut)
		Expect(out).To(MatchRegexp(`\nrolebinding\.rbac\.authorization\.k8s\.io/convoy-\S+ removed from namespace %s on edge-admin\n`, other.Name))
		Expect(bindings(ctx, other)).To(BeEmpty())
		Expect(bindings(ctx, n)).To(HaveExactElements(HaveField("RoleRef.Name", "edit")))
		_, errOut, code = kubectl(append(add, "--overwrite")...)
		Expect(code).To(BeZero(), errOut)

		n.Create(ctx, n.GitRelease("web", "north", "a"))
		n.AwaitReady(ctx, "web")
		Eventually(ctx, func() string { return convoy(ctx, n, "cluster", "list", "-o", "wide", "--no-headers") }).Should(MatchRegexp(`(?m)^north +agentless +True +v1\.\S+ +\d/1 +https://127`))
		Expect(convoy(ctx, n, "cluster", "list", "-o", "name")).To(Equal("cluster.core.convoy.kumodo.io/edge\ncluster.core.convoy.kumodo.io/here\ncluster.core.convoy.kumodo.io/north\n"))

		Expect(refused(ctx, n, "cluster", "remove", "north")).To(ContainSubstring("has 1 Release: web; delete them first"))
		n.MustKubectl(ctx, "-n", n.Name, "delete", "release", "web", "--timeout=60s")
		out, errOut, code = kubectl("cluster", "remove", "north", "--target-context", "edge-admin")
		Expect(code).To(BeZero(), errOut)
		Expect(out).To(HaveSuffix("\ncluster.core.convoy.kumodo.io/north removed\nsecret/north-kubeconfig removed\n"))
		Expect(bindings(ctx, n)).To(BeEmpty())
		Expect(refused(ctx, n, "cluster", "remove", "north")).To(ContainSubstring(`"north" not found`))
	}, NodeTimeout(limit))
})

// bindings are those on the target that adding a Cluster made.
func bindings(ctx context.Context, n *scenario.Namespace) []rbacv1.RoleBinding {
	GinkgoHelper()
	list, err := n.TargetClient.RbacV1().RoleBindings(n.Name).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=kubectl-convoy"})
	Expect(err).NotTo(HaveOccurred())
	return list.Items
}

var _ = Describe("Completion", func() {
	It("gives names, for kubectl too", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, nil)
		n.Create(ctx, held(n, "web", "a"))
		n.Create(ctx, held(n, "worker", "a"))
		link := filepath.Join(GinkgoT().TempDir(), "kubectl_complete-convoy")
		Expect(os.Symlink(filepath.Join(n.Bin, "kubectl-convoy"), link)).To(Succeed())
		complete := func(words ...string) []string {
			cmd := exec.CommandContext(ctx, link, words...)
			cmd.Env = append(os.Environ(), "KUBECONFIG="+n.Host.AdminKubeconfig())
			out, err := cmd.Output()
			Expect(err).NotTo(HaveOccurred())
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			return lines[:len(lines)-1] // the last is for the shell
		}
		Expect(complete("-n", n.Name, "status", "w")).To(ConsistOf("web", "worker"))
		Expect(complete("-n", n.Name, "suspend", "cluster/")).To(ConsistOf("cluster/edge", "cluster/here"))
		Expect(complete("-n", n.Name, "sync", "web", "")).To(ConsistOf("worker"))
		Expect(complete("-n", n.Name[:5])).To(ContainElement(n.Name))
		Expect(complete("-n", n.Name, "status", "-o", "")).To(ContainElements("wide", "name"))
		Expect(complete("sy")).To(ConsistOf(HavePrefix("sync\t")))
	}, NodeTimeout(limit))
})
