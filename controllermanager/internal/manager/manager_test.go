// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"filippo.io/age"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned/fake"
	"kumodo.io/convoy/controllermanager/internal/options"
	"kumodo.io/convoy/internal/shard"
)

// TestGainedShardTakesUpEverything runs the whole process on fakes: objects that exist
// when it starts are worked on once it owns their shards, and it stops when it is told to.
func TestGainedShardTakesUpEverything(t *testing.T) {
	g := NewWithT(t)
	object := metav1.ObjectMeta{Namespace: "team", Name: "a", Generation: 1}
	// Nothing here can be reached: every kind has something to say of that in its status.
	convoy := fake.NewSimpleClientset(
		&corev1alpha1.Cluster{ObjectMeta: object, Spec: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeAgent}},
		&corev1alpha1.Release{ObjectMeta: object, Spec: corev1alpha1.ReleaseSpec{ClusterRef: corev1alpha1.LocalReference{Name: "none"}}},
		&sourcev1alpha1.GitRepository{ObjectMeta: object, Spec: sourcev1alpha1.GitRepositorySpec{URL: "file:///none"}},
		&sourcev1alpha1.HelmRegistry{ObjectMeta: object, Spec: sourcev1alpha1.HelmRegistrySpec{Suspend: true}},
		&sourcev1alpha1.OCIRegistry{ObjectMeta: object, Spec: sourcev1alpha1.OCIRegistrySpec{Suspend: true}},
	)
	kube := kubefake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "the-host"}})
	o := options.New()
	o.Process.MetricsAddr = "127.0.0.1:0"
	config := &Config{options: o, rest: &rest.Config{}, convoy: convoy, kube: kube, fence: &shard.Fence{}}
	completed, err := config.Complete(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(completed.installation).To(Equal("the-host"))
	m, err := completed.New()
	g.Expect(err).NotTo(HaveOccurred())

	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	g.Eventually(func() []string { return said(g, convoy) }).WithTimeout(30 * time.Second).Should(ConsistOf(
		"InvalidConfiguration", "ClusterNotFound", "InvalidConfiguration", "Suspended", "Suspended"))
	leases := func() []coordinationv1.Lease {
		list, err := kube.CoordinationV1().Leases("convoy-system").List(t.Context(), metav1.ListOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		return list.Items
	}
	g.Expect(leases()).To(ContainElement(HaveField("Name", "convoy-cm-0")))

	stop()
	g.Eventually(done).WithTimeout(30 * time.Second).Should(Receive(BeNil()))
	for _, lease := range leases() {
		g.Expect(lease.Spec.HolderIdentity).To(Or(BeNil(), HaveValue(BeEmpty())), "%s is given up", lease.Name)
	}
}

// said gives the reasons of all Ready conditions.
func said(g *WithT, client *fake.Clientset) []string {
	var conditions [][]metav1.Condition
	ctx, get := context.Background(), metav1.GetOptions{}
	cluster, err := client.CoreV1alpha1().Clusters("team").Get(ctx, "a", get)
	g.Expect(err).NotTo(HaveOccurred())
	release, err := client.CoreV1alpha1().Releases("team").Get(ctx, "a", get)
	g.Expect(err).NotTo(HaveOccurred())
	git, err := client.SourceV1alpha1().GitRepositories("team").Get(ctx, "a", get)
	g.Expect(err).NotTo(HaveOccurred())
	helm, err := client.SourceV1alpha1().HelmRegistries("team").Get(ctx, "a", get)
	g.Expect(err).NotTo(HaveOccurred())
	oci, err := client.SourceV1alpha1().OCIRegistries("team").Get(ctx, "a", get)
	g.Expect(err).NotTo(HaveOccurred())
	conditions = append(conditions, cluster.Status.Conditions, release.Status.Conditions, git.Status.Conditions, helm.Status.Conditions, oci.Status.Conditions)
	var reasons []string
	for _, c := range conditions {
		if ready := meta.FindStatusCondition(c, corev1alpha1.ConditionReady); ready != nil {
			reasons = append(reasons, ready.Reason)
		}
	}
	return reasons
}

func TestOpenStore(t *testing.T) {
	dir := t.TempDir()
	identity, err := age.GenerateX25519Identity()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	file, broken := filepath.Join(dir, "identity"), filepath.Join(dir, "broken")
	NewWithT(t).Expect(os.WriteFile(file, []byte(identity.String()+"\n"), 0o600)).To(Succeed())
	NewWithT(t).Expect(os.WriteFile(broken, []byte("AGE-SECRET-KEY-canary\n"), 0o600)).To(Succeed())
	tests := []struct {
		name  string
		given options.RenderStore
		want  string
	}{
		{"no store", options.RenderStore{}, ""},
		{"a store", options.RenderStore{URL: "file://" + dir + "/renders", Recipients: []string{identity.Recipient().String()}, IdentityFiles: []string{file}}, ""},
		{"a bad recipient", options.RenderStore{URL: "mem://", Recipients: []string{"age1"}}, "--render-store-recipient"},
		{"a private key as recipient", options.RenderStore{URL: "mem://", Recipients: []string{"AGE-SECRET-KEY-canary"}}, "--render-store-recipient"},
		{"an object store", options.RenderStore{URL: "s3://bucket/prefix?region=eu-central-1"}, ""},
		{"credentials in the URL", options.RenderStore{URL: "s3://key:canary@bucket"}, "--render-store-url"},
		{"no such file", options.RenderStore{URL: "mem://", IdentityFiles: []string{filepath.Join(dir, "none")}}, "--render-store-identity-file"},
		{"a file without identities", options.RenderStore{URL: "mem://", IdentityFiles: []string{broken}}, "holds no age identities"},
		{"an unknown scheme", options.RenderStore{URL: "ftp://x"}, "--render-store-url"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := openStore(t.Context(), &tt.given, "here")
			if tt.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(And(ContainSubstring(tt.want), Not(ContainSubstring("canary")))))
		})
	}
}

func TestOwnership(t *testing.T) {
	g := NewWithT(t)
	o := options.New()
	config := &Config{options: o, rest: &rest.Config{}, convoy: fake.NewSimpleClientset(), kube: kubefake.NewClientset(), fence: &shard.Fence{}}
	m, err := (&CompletedConfig{Config: config, installation: "i", registry: prometheus.NewRegistry()}).New()
	g.Expect(err).NotTo(HaveOccurred())
	release := &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "a"}}
	g.Expect(m.informers.releases.GetIndexer().Add(release)).To(Succeed())
	key := metav1.ObjectMeta{Namespace: "team", Name: "a"}
	g.Expect(m.ownsRelease(namespacedName(key))).To(BeFalse(), "no shard is owned yet")
	key.Name = "gone"
	g.Expect(m.ownsRelease(namespacedName(key))).To(BeTrue(), "what is remembered of a Release that is gone must go")

	m.farewell.begin()
	g.Expect(m.ownsRelease(namespacedName(key))).To(BeFalse(), "work on it that is under way is cut off with that on lost shards")
	g.Expect(m.farewell.end()).To(ConsistOf(namespacedName(key)))
	g.Expect(m.ownsRelease(namespacedName(key))).To(BeTrue(), "and then it must go")
}

func namespacedName(object metav1.ObjectMeta) types.NamespacedName {
	return types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
}
