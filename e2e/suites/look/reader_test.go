// SPDX-License-Identifier: Apache-2.0

package look

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/framework/process"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// readAsCaller replaces convoy-observer by one that reads targets as whoever asks, until the
// end of the test.
func readAsCaller(ctx context.Context) {
	GinkgoHelper()
	usual := suite.Convoy.Process(installation.Observer)
	Expect(usual.Stop(ctx)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(usual.Restart(ctx)).To(Succeed()) }, NodeTimeout(limit))
	kubeconfig, err := suite.Host.ServiceAccountKubeconfig(ctx, installation.Namespace, installation.Observer)
	Expect(err).NotTo(HaveOccurred())
	ports, err := process.FreePorts(1)
	Expect(err).NotTo(HaveOccurred())
	ca := suite.Host.CA()
	pair, err := ca.Server("observer-that-reads-as-caller", "127.0.0.1")
	Expect(err).NotTo(HaveOccurred())
	other, err := process.Start(ctx, process.Command{
		Name: "observer-that-reads-as-caller", Path: filepath.Join(suite.Bin, installation.Observer), Dir: filepath.Join(suite.Dir, "convoy"),
		Ready: process.HTTPReady(nil, fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[0])),
		Args: []string{
			"--impersonate-user-on-target", "--kubeconfig=" + kubeconfig,
			fmt.Sprintf("--metrics-addr=127.0.0.1:%d", ports[0]), "--serve-addr=" + suite.Convoy.ObserverAddress(),
			"--tls-cert-file=" + pair.CertFile, "--tls-private-key-file=" + pair.KeyFile, "--client-ca-file=" + ca.CertFile(),
			"--allowed-client-names=" + installation.APIServer,
		},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(other.Stop(ctx)).To(Succeed()) }, NodeTimeout(limit))
}

// rule is a rule of RBAC on a core resource or one of apps.
func rule(verbs string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{"", "apps"}, Resources: resources, Verbs: strings.Fields(verbs)}
}

// grant lets a user of a cluster do what the rules say: in a namespace, or, without one, in
// the cluster. It is not taken back: what was delivered is deleted after the test.
func grant(ctx context.Context, client kubernetes.Interface, user, namespace string, rules ...rbacv1.PolicyRule) {
	GinkgoHelper()
	meta := metav1.ObjectMeta{GenerateName: user + "-"}
	role, err := client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
	reference := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}
	if namespace != "" {
		_, err = client.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: reference}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		return
	}
	_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: reference}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// limited makes a Cluster whose credentials may deliver a few kinds, and impersonate, and
// nothing else.
func limited(ctx context.Context, n *scenario.Namespace) string {
	GinkgoHelper()
	user := "convoy-" + n.Name
	path, err := n.Target.KubeconfigFor(user)
	Expect(err).NotTo(HaveOccurred())
	kubeconfig, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	grant(ctx, n.TargetClient, user, "",
		rule("get list watch create patch delete", "configmaps", "secrets", "namespaces", "deployments"),
		rule("get list", "replicasets", "pods", "events", "persistentvolumeclaims"),
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"users", "groups"}, Verbs: []string{"impersonate"}},
		rbacv1.PolicyRule{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"uids", "userextras/authentication.kubernetes.io/credential-id"}, Verbs: []string{"impersonate"}},
	)
	_, err = n.HostClient.CoreV1().Secrets(n.Name).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "limited"}, Data: map[string][]byte{"kubeconfig": kubeconfig},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	_, err = n.API.CoreV1alpha1().Clusters(n.Name).Create(ctx, &corev1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "limited"},
		Spec: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeAgentless, Agentless: &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{
			Type: corev1alpha1.ClusterAuthTypeKubeconfig, Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: "limited"}},
		}}},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return "limited"
}

const workload = `apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: NAMESPACE}
spec:
  selector: {matchLabels: {app: NAME}}
  template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: c, image: i}]}}
`

var _ = Describe("Targets that are read as who asks", Serial, func() {
	It("show nobody what he may not read there", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, nil)
		other := n.Name + "-other"
		secret := func(value string) string {
			return "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: secret-" + value + "}\n"
		}
		in := func(namespace, manifest string) string {
			return strings.Replace(manifest, "metadata: {", "metadata: {namespace: "+namespace+", ", 1)
		}
		deployment := func(namespace, name string) string {
			return strings.NewReplacer("NAMESPACE", namespace, "NAME", name).Replace(workload)
		}
		n.Commit(ctx, map[string]string{
			"a/ns.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: " + other + ", annotations: {convoy.kumodo.io/prune: enabled}}}\n",
			"a/cm.yaml": scenario.ConfigMap("cm", "v", "live-here"), "a/s.yaml": secret("1"), "a/d.yaml": deployment(n.Name, "web"),
			"a/o.yaml": in(other, scenario.ConfigMap("cm", "v", "live-elsewhere")) + "---\n" + deployment(other, "hidden"),
		})
		release := held(n, "web", "a")
		release.Spec.ClusterRef.Name = limited(ctx, n)
		n.Create(ctx, release)
		Eventually(ctx, func() error {
			_, err := releases(n).Preview(ctx, "web", corev1alpha1.ReleasePreviewOptions{})
			return err
		}).Should(Succeed())
		n.Sync(ctx, "web")
		n.AwaitReady(ctx, "web")
		n.Commit(ctx, map[string]string{
			"a/cm.yaml": scenario.ConfigMap("cm", "v", "2"), "a/s.yaml": secret("2"),
			"a/o.yaml": in(other, scenario.ConfigMap("cm", "v", "2")) + "---\n" + deployment(other, "hidden"),
		})
		readAsCaller(ctx)

		kinds := []string{"configmaps", "deployments", "replicasets", "pods", "secrets"}
		ask := func(user string) func(path string) string {
			GinkgoHelper()
			kubeconfig, err := n.Host.KubeconfigFor(user)
			Expect(err).NotTo(HaveOccurred())
			grant(ctx, n.HostClient, user, n.Name, rbacv1.PolicyRule{
				APIGroups: []string{"core.convoy.kumodo.io"}, Resources: []string{"releases/preview", "releases/diff", "releases/health"}, Verbs: []string{"get"},
			})
			grant(ctx, n.TargetClient, user, "", rule("get", "namespaces"))
			return func(path string) string {
				GinkgoHelper()
				var out string
				Eventually(ctx, func() int {
					var errOut string
					var code int
					out, errOut, code = n.KubectlWith(ctx, "", []string{"KUBECONFIG=" + kubeconfig}, "get", "--raw",
						"/apis/core.convoy.kumodo.io/v1alpha1/namespaces/"+n.Name+"/releases/web/"+path)
					if code != 0 {
						AddReportEntry("refused", errOut) // rights hold a moment after they were given
					}
					return code
				}).Should(BeZero())
				return out
			}
		}
		all, keeper, local := "all-"+n.Name, "no-secrets-"+n.Name, "here-only-"+n.Name
		grant(ctx, n.TargetClient, all, "", rule("get list", kinds...))
		grant(ctx, n.TargetClient, keeper, "", rule("get list", kinds[:3]...))
		grant(ctx, n.TargetClient, local, n.Name, rule("get list", kinds...))

		By("showing all to who may read all")
		whole := ask(all)
		Eventually(ctx, func() string { return whole("preview?output=text") }).Should(And(
			ContainSubstring("update ConfigMap "+n.Name+"/cm\n    /data/v: \"live-here\" -> \"2\""),
			ContainSubstring("update ConfigMap "+other+"/cm\n    /data/v: \"live-elsewhere\" -> \"2\""),
			MatchRegexp(`update Secret %s/s\n    /data/p: \(masked\) -> \(masked, changed\)`, n.Name),
		))
		Expect(whole("diff")).To(And(ContainSubstring("live-here"), ContainSubstring("live-elsewhere"), ContainSubstring("(masked, changed)")))
		Expect(whole("health?tree=true&output=text")).To(And(
			MatchRegexp(`(?m)^Deployment.apps %s/web .*\n  ReplicaSet.apps %[1]s/web-.*\n    Pod %[1]s/web-`, n.Name),
			MatchRegexp(`(?m)^Deployment.apps %s/hidden .*\n  ReplicaSet.apps %[1]s/hidden-.*\n    Pod %[1]s/hidden-`, other),
			Not(ContainSubstring("not shown")),
		))

		By("telling nothing of Secrets to who may not read them")
		without := ask(keeper)
		Expect(without("preview?output=text")).To(And(
			ContainSubstring("live-here"), ContainSubstring("live-elsewhere"),
			MatchRegexp(`error Secret %s/s\n    Forbidden: .*User "%s" cannot get resource "secrets"`, n.Name, keeper),
			Not(ContainSubstring("(masked, changed)")),
		))
		Expect(without("diff")).To(And(ContainSubstring("live-here"), Not(ContainSubstring("(masked, changed)"))))
		Expect(without("health?tree=true&output=text")).To(And(
			MatchRegexp(`(?m)^Secret %s/s .* not shown: you may not read the object in the target cluster$`, n.Name),
			MatchRegexp(`(?m)^  ReplicaSet.apps %s/web-.*\n    Pod %[1]s/\* .*cannot be listed: .*User "%s" cannot list resource "pods"`, n.Name, keeper),
			Not(MatchRegexp(`Pod \S+/web-`)),
		))

		By("telling nothing of a namespace to who may not read in it")
		here := ask(local)
		Expect(here("preview?output=text")).To(And(
			ContainSubstring("live-here"), ContainSubstring("(masked, changed)"), Not(ContainSubstring("live-elsewhere")),
			MatchRegexp(`error ConfigMap %s/cm\n    Forbidden: `, other), MatchRegexp(`error Deployment.apps %s/hidden\n    Forbidden: `, other),
		))
		Expect(here("diff")).To(And(ContainSubstring("live-here"), Not(ContainSubstring("live-elsewhere"))))
		Expect(here("diff?from=desired&to=live")).To(And(ContainSubstring("live-here"), Not(ContainSubstring("live-elsewhere"))))
		Expect(here("health?tree=true&output=text")).To(And(
			MatchRegexp(`(?m)^Deployment.apps %s/web .*\n  ReplicaSet.apps %[1]s/web-.*\n    Pod %[1]s/web-`, n.Name),
			MatchRegexp(`(?m)^ConfigMap %s/cm .*not shown`, other),
			MatchRegexp(`(?m)^Deployment.apps %s/hidden .*not shown.*\n  ReplicaSet.apps %[1]s/\* .*cannot be listed`, other),
			Not(ContainSubstring("hidden-")),
		))
	}, NodeTimeout(2*limit))
})
