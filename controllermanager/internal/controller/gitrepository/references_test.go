// SPDX-License-Identifier: Apache-2.0

package gitrepository

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
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

func TestASourceIsCheckedAtOnceWhenASecretChanges(t *testing.T) {
	told := &watcher{state: "absent", tracked: map[types.NamespacedName][]references.Object{}}
	w := newWorld(t, told)
	w.change(func(r *sourcev1alpha1.GitRepository) {
		r.Spec.SecretRef = &sourcev1alpha1.SecretReference{Name: "login"}
	})
	w.err = fetch.ErrUnauthorized
	w.pass()
	w.Expect(told.tracked).To(HaveKeyWithValue(key, []references.Object{{Kind: references.KindSecret, Namespace: key.Namespace, Name: "login"}}))
	w.clock.SetTime(w.clock.Now().Add(10 * time.Second))
	w.pass()
	w.pass()
	w.Expect(w.checks).To(Equal(2), "it is not due")

	told.state = "there"
	_, result := w.pass()
	w.Expect(w.checks).To(Equal(3))
	w.Expect(result.RequeueAfter).To(BeNumerically("~", 10*time.Second, 2*time.Second), "failures are counted anew")
	w.err = nil
	told.state = "changed"
	repository, _ := w.pass()
	w.Expect(readyOf(repository)).To(Equal("True Reachable"))
	w.pass()
	w.Expect(w.checks).To(Equal(4))

	w.Expect(w.informer.GetIndexer().Delete(repository)).To(Succeed())
	_, err := w.Reconcile(t.Context(), key)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(told.tracked).To(BeEmpty())
}
