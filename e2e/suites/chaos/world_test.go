// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/e2e/framework/gitserver"
)

const (
	// namespace of everything, on all clusters.
	namespace  = "chaos"
	repository = "repo"
)

// world is what is delivered.
type world struct {
	*rig
	repo   *gitserver.Repository
	hashes []string // of the commits
}

func clusterName(n int) string { return fmt.Sprintf("cluster-%02d", n) }

// newWorld makes the first commit, and Releases of it.
func (r *rig) newWorld(ctx context.Context) *world {
	GinkgoHelper()
	w := &world{rig: r}
	var err error
	w.repo, err = gitserver.Create(ctx, r.path("git"), repository)
	Expect(err).NotTo(HaveOccurred())
	Expect(w.commit(ctx, 0)).To(Succeed())
	for _, kube := range append([]kubernetes.Interface{r.hostKube}, r.targetKubes...) {
		_, err := kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
	_, err = r.api.SourceV1alpha1().GitRepositories(namespace).Create(ctx, &sourcev1alpha1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Name: repository}, Spec: sourcev1alpha1.GitRepositorySpec{URL: r.git.RepositoryURL(repository)},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	for n, target := range r.targets {
		_, err := r.hostKube.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: targetName(n)}, Data: map[string][]byte{"kubeconfig": named(target.AdminKubeconfig(), targetName(n))},
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
	for n := range r.form.clusters {
		w.addCluster(ctx, n)
	}
	for n := range r.form.releases {
		w.addRelease(ctx, n)
	}
	return w
}

func (w *world) addCluster(ctx context.Context, n int) {
	GinkgoHelper()
	_, err := w.api.CoreV1alpha1().Clusters(namespace).Create(ctx, &corev1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: clusterName(n)},
		Spec: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeAgentless, Agentless: &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{
			Type:       corev1alpha1.ClusterAuthTypeKubeconfig,
			Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: targetName(n % targets)}},
		}}},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

func (w *world) addRelease(ctx context.Context, n int) {
	GinkgoHelper()
	release := &corev1alpha1.Release{
		ObjectMeta: metav1.ObjectMeta{Name: releaseName(n)},
		Spec: corev1alpha1.ReleaseSpec{
			ClusterRef: corev1alpha1.LocalReference{Name: clusterName(n % w.form.clusters)},
			Source: corev1alpha1.ReleaseSource{Git: &corev1alpha1.GitSource{
				RepositoryRef: corev1alpha1.LocalReference{Name: repository}, Ref: corev1alpha1.GitRef{Branch: gitserver.DefaultBranch}, Path: releaseName(n),
			}},
		},
	}
	release.Spec.Sync.Interval = &metav1.Duration{Duration: w.form.interval}
	_, err := w.api.CoreV1alpha1().Releases(namespace).Create(ctx, release, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// commit makes a commit of the plan, and asks for the syncs that go with it.
func (w *world) commit(ctx context.Context, number int) error {
	c := w.plan.commits[number]
	hash, err := w.repo.Commit(ctx, gitserver.Commit{Message: fmt.Sprintf("Commit %d", number), Write: c.write, Delete: c.remove})
	if err != nil {
		return err
	}
	w.hashes = append(w.hashes, hash)
	for _, release := range c.sync {
		if _, err := w.api.CoreV1alpha1().Releases(namespace).Sync(ctx, release, corev1alpha1.ReleaseSyncOptions{}); err != nil {
			return fmt.Errorf("sync %s: %w", release, err)
		}
	}
	return nil
}

// settled asks whether a commit is delivered everywhere, with nothing left to do and nothing
// else there.
func (w *world) settled(ctx context.Context, number int) func() error {
	return func() error {
		releases, err := w.api.CoreV1alpha1().Releases(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(releases.Items) != w.form.releases {
			return fmt.Errorf("there are %d Releases", len(releases.Items))
		}
		var errs []error
		for i := range releases.Items {
			errs = append(errs, synced(&releases.Items[i], w.hashes[number]))
		}
		return errors.Join(append(errs, w.complete(ctx, w.plan.commits[number].objects))...)
	}
}

// synced says what a Release lacks.
func synced(r *corev1alpha1.Release, hash string) error {
	if r.Status.Applied == nil || !strings.HasSuffix(r.Status.Applied.Revision, hash) {
		return fmt.Errorf("Release %s has not applied %s: %+v", r.Name, hash, r.Status.Conditions)
	}
	for _, name := range []string{corev1alpha1.ConditionReady, corev1alpha1.ConditionHealthy, corev1alpha1.ConditionInSync} {
		if c := meta.FindStatusCondition(r.Status.Conditions, name); c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != r.Generation {
			return fmt.Errorf("Release %s is not %s: %+v", r.Name, name, r.Status.Conditions)
		}
	}
	if asked := r.Annotations[corev1alpha1.AnnotationSyncRequestedAt]; asked != "" && (r.Status.Sync == nil || r.Status.Sync.LastHandledAt != asked) {
		return fmt.Errorf("Release %s was not synced as requested at %s", r.Name, asked)
	}
	return nil
}

// complete says how the objects of the targets, and the inventories, differ from what shall be.
func (w *world) complete(ctx context.Context, wanted map[string]int) error {
	var errs []error
	there, listed := map[string]int{}, map[string]bool{}
	for _, kube := range w.targetKubes {
		list, err := kube.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: corev1alpha1.LabelOwner})
		if err != nil {
			return err
		}
		for _, object := range list.Items {
			number := -1
			_, _ = fmt.Sscan(object.Data[key], &number)
			there[object.Name] = number
		}
	}
	inventories, err := w.api.CoreV1alpha1().ReleaseInventories(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, inventory := range inventories.Items {
		for _, entry := range inventory.Spec.Entries {
			listed[entry.Name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if number, is := there[name]; !is || number != wanted[name] {
			errs = append(errs, fmt.Errorf("ConfigMap %s has commit %d (there: %t), it should have %d", name, number, is, wanted[name]))
		}
		if !listed[name] {
			errs = append(errs, fmt.Errorf("ConfigMap %s is in no inventory", name))
		}
	}
	for name := range there {
		if _, is := wanted[name]; !is {
			errs = append(errs, fmt.Errorf("ConfigMap %s is left over", name))
		}
	}
	for name := range listed {
		if _, is := wanted[name]; !is {
			errs = append(errs, fmt.Errorf("ConfigMap %s is left in an inventory", name))
		}
	}
	return errors.Join(errs...)
}

// uids gives those of the objects that every commit has.
func (w *world) uids(ctx context.Context) map[string]types.UID {
	GinkgoHelper()
	found := map[string]types.UID{}
	for _, kube := range w.targetKubes {
		list, err := kube.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: corev1alpha1.LabelOwner})
		Expect(err).NotTo(HaveOccurred())
		for _, object := range list.Items {
			if isLasting(object.Name) {
				found[object.Name] = object.UID
			}
		}
	}
	return found
}

// edit changes an object of each Release, as if by hand.
func (w *world) edit(ctx context.Context) {
	GinkgoHelper()
	for n := range w.form.releases {
		kube := w.targetKubes[n%w.form.clusters%targets]
		_, err := kube.CoreV1().ConfigMaps(namespace).Patch(ctx, objectName(releaseName(n), lasting, 0), types.MergePatchType,
			fmt.Appendf(nil, `{"data":{%q:"0"}}`, key), metav1.PatchOptions{FieldManager: "hand"})
		Expect(err).NotTo(HaveOccurred())
	}
}

// shards gives those of Releases, Clusters and sources, as the API labels them.
func (w *world) shards(ctx context.Context) map[string]string {
	GinkgoHelper()
	found := map[string]string{}
	add := func(resource string, object metav1.Object) {
		found[resource+"/"+object.GetName()] = object.GetLabels()[corev1alpha1.LabelShard]
	}
	releases, err := w.api.CoreV1alpha1().Releases(namespace).List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	for i := range releases.Items {
		add("releases", &releases.Items[i])
	}
	clusters, err := w.api.CoreV1alpha1().Clusters(namespace).List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	for i := range clusters.Items {
		add("clusters", &clusters.Items[i])
	}
	sources, err := w.api.SourceV1alpha1().GitRepositories(namespace).List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	for i := range sources.Items {
		add("gitrepositories", &sources.Items[i])
	}
	return found
}
