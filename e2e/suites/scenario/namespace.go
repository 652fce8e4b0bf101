// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/e2e/framework/gitserver"
)

// Names of what every test namespace has.
const (
	Here       = "here" // the Cluster of mode inCluster
	Edge       = "edge" // the agentless Cluster
	Repository = "repo" // the GitRepository
)

// Namespace is a namespace of one test on both clusters, with two Clusters and a Git
// repository; it is deleted after the test, with all that was delivered.
type Namespace struct {
	*Suite
	Name string
	Repo *gitserver.Repository
}

// NewNamespace makes a namespace for the running test; files are the repository's first
// commit.
func (s *Suite) NewNamespace(ctx context.Context, files map[string]string) *Namespace {
	GinkgoHelper()
	created, err := s.HostClient.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	n := &Namespace{Suite: s, Name: created.Name}
	_, err = s.TargetClient.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(n.remove, NodeTimeout(3*time.Minute))
	n.Repo, err = gitserver.Create(ctx, s.gitRoot, n.Name)
	Expect(err).NotTo(HaveOccurred())
	if len(files) > 0 {
		n.Commit(ctx, files)
	}
	n.clusters(ctx)
	_, err = s.API.SourceV1alpha1().GitRepositories(n.Name).Create(ctx, &sourcev1alpha1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Name: Repository},
		Spec:       sourcev1alpha1.GitRepositorySpec{URL: s.Git.RepositoryURL(n.Name)},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return n
}

func (n *Namespace) clusters(ctx context.Context) {
	GinkgoHelper()
	kubeconfig, err := os.ReadFile(n.Target.AdminKubeconfig())
	Expect(err).NotTo(HaveOccurred())
	_, err = n.HostClient.CoreV1().Secrets(n.Name).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "edge-kubeconfig"}, Data: map[string][]byte{"kubeconfig": kubeconfig},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	for _, cluster := range []*corev1alpha1.Cluster{
		{ObjectMeta: metav1.ObjectMeta{Name: Here}, Spec: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeInCluster}},
		{ObjectMeta: metav1.ObjectMeta{Name: Edge}, Spec: corev1alpha1.ClusterSpec{
			Mode: corev1alpha1.ClusterModeAgentless,
			Agentless: &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{
				Type:       corev1alpha1.ClusterAuthTypeKubeconfig,
				Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: "edge-kubeconfig"}},
			}},
		}},
	} {
		_, err := n.API.CoreV1alpha1().Clusters(n.Name).Create(ctx, cluster, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
}

// remove deletes the Releases, waits until they are gone, and deletes the namespace.
func (n *Namespace) remove(ctx SpecContext) {
	if _, err := n.HostClient.CoreV1().Namespaces().Get(ctx, n.Name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		return // the spec has deleted it
	}
	releases := n.API.CoreV1alpha1().Releases(n.Name)
	Expect(releases.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})).To(Succeed())
	Eventually(ctx, func() ([]corev1alpha1.Release, error) {
		list, err := releases.List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		return list.Items, nil
	}).Should(BeEmpty())
	Expect(n.HostClient.CoreV1().Namespaces().Delete(ctx, n.Name, metav1.DeleteOptions{})).To(Succeed())
	Expect(n.TargetClient.CoreV1().Namespaces().Delete(ctx, n.Name, metav1.DeleteOptions{})).To(Succeed())
}

// Commit writes files to the repository's main branch and returns the commit.
func (n *Namespace) Commit(ctx context.Context, files map[string]string, deleted ...string) string {
	GinkgoHelper()
	commit, err := n.Repo.Commit(ctx, gitserver.Commit{Write: files, Delete: deleted})
	Expect(err).NotTo(HaveOccurred())
	return commit
}

// GitRelease is a Release of a path of the repository's main branch to a cluster.
func (n *Namespace) GitRelease(name, cluster, path string) *corev1alpha1.Release {
	return &corev1alpha1.Release{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: n.Name},
		Spec: corev1alpha1.ReleaseSpec{
			ClusterRef: corev1alpha1.LocalReference{Name: cluster},
			Source: corev1alpha1.ReleaseSource{Git: &corev1alpha1.GitSource{
				RepositoryRef: corev1alpha1.LocalReference{Name: Repository},
				Ref:           corev1alpha1.GitRef{Branch: gitserver.DefaultBranch}, Path: path,
			}},
		},
	}
}

// Create creates a Release and returns it.
func (n *Namespace) Create(ctx context.Context, release *corev1alpha1.Release) *corev1alpha1.Release {
	GinkgoHelper()
	created, err := n.API.CoreV1alpha1().Releases(n.Name).Create(ctx, release, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return created
}

// Release reads a Release.
func (n *Namespace) Release(ctx context.Context, name string) *corev1alpha1.Release {
	GinkgoHelper()
	release, err := n.API.CoreV1alpha1().Releases(n.Name).Get(ctx, name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	return release
}

// Update changes a Release, however often others write meanwhile.
func (n *Namespace) Update(ctx context.Context, name string, change func(*corev1alpha1.Release)) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		release := n.Release(ctx, name)
		change(release)
		_, err := n.API.CoreV1alpha1().Releases(n.Name).Update(ctx, release, metav1.UpdateOptions{})
		return err
	}).Should(Succeed())
}

// Sync asks for a sync of a Release.
func (n *Namespace) Sync(ctx context.Context, name string) {
	GinkgoHelper()
	n.MustKubectl(ctx, "convoy", "-n", n.Name, "sync", name)
}

// Ready asks whether the Release is Ready at its current generation, for Eventually.
func (n *Namespace) Ready(ctx context.Context, name string) func() error {
	return func() error { return n.condition(ctx, name, corev1alpha1.ConditionReady, metav1.ConditionTrue) }
}

// AwaitReady waits until the Release is Ready at its current generation.
func (n *Namespace) AwaitReady(ctx context.Context, name string) {
	GinkgoHelper()
	Eventually(ctx, n.Ready(ctx, name)).Should(Succeed())
}

// AwaitCondition waits until a condition has the status, and returns it.
func (n *Namespace) AwaitCondition(ctx context.Context, name, condition string, status metav1.ConditionStatus) *metav1.Condition {
	GinkgoHelper()
	Eventually(ctx, func() error { return n.condition(ctx, name, condition, status) }).Should(Succeed())
	return meta.FindStatusCondition(n.Release(ctx, name).Status.Conditions, condition)
}

func (n *Namespace) condition(ctx context.Context, name, condition string, status metav1.ConditionStatus) error {
	release, err := n.API.CoreV1alpha1().Releases(n.Name).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	c := meta.FindStatusCondition(release.Status.Conditions, condition)
	switch {
	case c == nil:
		return fmt.Errorf("Release %s has no condition %s", name, condition)
	case c.ObservedGeneration != release.Generation:
		return fmt.Errorf("condition %s speaks of generation %d, now is %d", condition, c.ObservedGeneration, release.Generation)
	case c.Status != status:
		return fmt.Errorf("condition %s is %s, %s: %s", condition, c.Status, c.Reason, c.Message)
	}
	return nil
}

// Data asks for a ConfigMap's data in the target cluster, for Eventually; nil when the
// ConfigMap is not there.
func (n *Namespace) Data(ctx context.Context, name string) func() (map[string]string, error) {
	return func() (map[string]string, error) {
		cm, err := n.TargetClient.CoreV1().ConfigMaps(n.Name).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return cm.Data, nil
	}
}

// Inventory reads the inventory of a Release.
func (n *Namespace) Inventory(ctx context.Context, name string) *corev1alpha1.ReleaseInventory {
	GinkgoHelper()
	inventory, err := n.API.CoreV1alpha1().ReleaseInventories(n.Name).Get(ctx, name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	return inventory
}

// ConfigMap is the manifest of a ConfigMap with one value.
func ConfigMap(name, key, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {%s: %q}\n", name, key, value)
}
