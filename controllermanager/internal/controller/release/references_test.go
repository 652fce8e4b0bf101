// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/internal/references"
)

// watcher is what tells of changes of ConfigMaps and Secrets.
type watcher struct {
	state   string
	tracked map[types.NamespacedName][]references.Object
}

func (f *watcher) Track(_ context.Context, key types.NamespacedName, objects []references.Object) string {
	f.tracked[key] = objects
	return f.state
}

func (f *watcher) Forget(key types.NamespacedName) { delete(f.tracked, key) }

// watch gives the world a watcher.
func (w *world) watch() *watcher {
	told := &watcher{state: "as it was", tracked: map[types.NamespacedName][]references.Object{}}
	w.config.References = told
	return told
}

func valuesFrom(from ...corev1alpha1.ValuesReference) func(*corev1alpha1.Release) {
	return func(r *corev1alpha1.Release) {
		r.Spec.Render = &corev1alpha1.RenderSpec{Helm: &corev1alpha1.HelmRender{ValuesFrom: from}}
	}
}

func TestWhatIsReferredToIsTracked(t *testing.T) {
	w := newWorld(t, newRelease(valuesFrom(
		corev1alpha1.ValuesReference{Kind: "ConfigMap", Name: "settings"},
		corev1alpha1.ValuesReference{Kind: "GitRepository", Name: "values"},
		corev1alpha1.ValuesReference{Kind: "OCIRegistry", Name: "absent"},
	)))
	told := w.watch()
	secret := func(name string) references.Object {
		return references.Object{Kind: references.KindSecret, Namespace: key.Namespace, Name: name}
	}
	cluster := &corev1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "here"}}
	cluster.Spec.Agentless = &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{
		Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: "kubeconfig"}},
	}}
	w.Expect(w.clusters.Update(cluster)).To(Succeed())
	for _, name := range []string{"apps", "values"} {
		w.Expect(w.config.GitRepositories.GetIndexer().Update(&sourcev1alpha1.GitRepository{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name},
			Spec:       sourcev1alpha1.GitRepositorySpec{SecretRef: &sourcev1alpha1.SecretReference{Name: "login"}},
		})).To(Succeed())
	}
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "1"))
	w.pass()
	w.Expect(told.tracked).To(HaveKeyWithValue(key, []references.Object{
		{Kind: references.KindConfigMap, Namespace: key.Namespace, Name: "settings"}, secret("kubeconfig"), secret("login"),
	}))

	w.pass("gone")
	w.Expect(w.releases.Delete(w.release())).To(Succeed())
	_, err := w.Reconcile(t.Context(), key)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(told.tracked).To(BeEmpty())
}

func TestAChangeOfWhatIsReferredToRepeatsAFailedAttemptAtOnce(t *testing.T) {
	none := int32(0)
	w := newWorld(t, newRelease(func(r *corev1alpha1.Release) { r.Spec.Sync.Retry = &corev1alpha1.RetrySpec{Limit: &none} }))
	told := w.watch()
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "1"))
	w.source.renderErr = errors.New("Secret team/login: not found")
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionRendered)).To(Equal("False RenderFailed"))

	w.source.renderErr = nil
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionRendered)).To(Equal("False RenderFailed"), "nothing says that it would end otherwise")
	told.state = "there is a Secret"
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionRendered)).To(Equal("True Rendered"))
}

func TestManualModeWaitsForASyncAfterAChangeOfValues(t *testing.T) {
	w := newWorld(t, newRelease(func(r *corev1alpha1.Release) { r.Spec.Sync.Mode = corev1alpha1.SyncModeManual }))
	w.change(func(r *corev1alpha1.Release) {
		metav1.SetMetaDataAnnotation(&r.ObjectMeta, corev1alpha1.AnnotationSyncRequestedAt, "2026-03-01T09:59:00Z")
	})
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "1"))
	w.pass()
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))

	changed := w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "2")) // the same revision with other values
	changed.Digest, changed.Inputs = "another render", "other inputs"
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True WaitingForSync"))
	w.Expect(w.target.takeCalls()).To(BeEmpty())

	w.change(func(r *corev1alpha1.Release) { r.Spec.Sync.Mode = corev1alpha1.SyncModeAutomatic })
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
}
