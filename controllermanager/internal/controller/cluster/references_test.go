// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/references"
)

// watcher is what tells of changes of Secrets.
type watcher struct {
	state   string
	tracked map[types.NamespacedName][]references.Object
}

func (f *watcher) Track(_ context.Context, key types.NamespacedName, objects []references.Object) string {
	f.tracked[key] = objects
	return f.state
}

func (f *watcher) Forget(key types.NamespacedName) { delete(f.tracked, key) }

func TestAClusterIsLookedAtAtOnceWhenItsSecretChanges(t *testing.T) {
	w := newWorld(t)
	told := &watcher{state: "there", tracked: map[types.NamespacedName][]references.Object{}}
	w.config.References = told
	cluster, _ := w.pass()
	cluster.Spec.Agentless = &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{
		Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: "kubeconfig"}},
	}}
	w.Expect(w.config.Clusters.GetIndexer().Update(cluster)).To(Succeed())
	_, err := w.Reconcile(t.Context(), key)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(told.tracked).To(HaveKeyWithValue(key, []references.Object{{Kind: references.KindSecret, Namespace: key.Namespace, Name: "kubeconfig"}}))
	w.Expect(w.probes).To(Equal(1), "it is not due")

	told.state = "changed"
	w.pass()
	w.Expect(w.probes).To(Equal(2))
	w.pass()
	w.Expect(w.probes).To(Equal(2))

	w.unowned[key] = true
	w.DropUnowned()
	w.Expect(told.tracked).To(BeEmpty())
	w.Expect(w.secrets.states).To(BeEmpty())
}
