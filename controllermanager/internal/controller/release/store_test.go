// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"gocloud.dev/blob/memblob"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/store"
)

// away is a render store that cannot be used.
type away struct{}

func (away) Put(context.Context, store.Record) error {
	return fmt.Errorf("storing x in s3://b: %w", store.ErrUnavailable)
}

func (away) Get(context.Context, string, string, string) (store.Record, error) {
	return store.Record{}, fmt.Errorf("reading x in s3://b: %w", store.ErrUnavailable)
}

// What cannot be stored is not applied, and is when the store is back.
func TestAStoreThatIsAway(t *testing.T) {
	w := newWorld(t, newRelease())
	w.config.Renders = away{}
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False ApplyFailed"))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("s3://b"))

	w.config.Renders = w.source
	w.clock.SetTime(w.clock.Now().Add(defaultMaxBackoff))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(w.source.stored).To(HaveKey("render of main@1"))
}

// While it is not known what the first render was, no other one is applied in its stead.
func TestAStoreThatIsAwayChangesNoPasswords(t *testing.T) {
	w := newWorld(t, newRelease())
	w.config.Renders = w.source
	for _, made := range []string{"first", "second"} {
		result := w.source.offers("main@1", objectOf("Secret", "a", 0, made))
		result.Digest, result.NonDeterministic = made, []corev1alpha1.ObjectKey{{Version: "v1", Kind: "Secret", Namespace: "ns", Name: "a"}}
		w.pass()
		w.config.Renders = away{}
	}
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(w.release().Status.Applied.Render).To(Equal("first"))
	w.Expect(w.message(corev1alpha1.ConditionRendered)).To(ContainSubstring("s3://b"))
}

// A rollback applies the stored bytes, in another process and with the source gone, and
// nothing at all when they are not what was stored.
func TestRollbackFromAStore(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = bucket.Close() })
	w := newWorld(t, newRelease())
	open := func() *store.Store {
		return store.New(store.Place{Bucket: bucket, Name: "mem://"}, store.Options{Installation: "here"})
	}
	w.config.Renders = open()
	first := offersWhole(w, "main@1", "a1")
	w.pass()
	w.observe()
	w.pass()
	offersWhole(w, "main@2", "a2")
	w.pass()
	w.target.takeCalls()

	w.config.Renders, w.source.err = open(), context.DeadlineExceeded
	w.change(func(r *corev1alpha1.Release) { r.Spec.Pin = &corev1alpha1.Pin{Render: first.Digest} })
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(w.release().Status.Applied).To(And(HaveField("Render", first.Digest), HaveField("Revision", "main@1")))

	key := "here/" + w.release().Namespace + "/" + w.release().Name + "/" + strings.TrimPrefix(first.Digest, "sha256:") + ".json.zst"
	w.Expect(bucket.WriteAll(t.Context(), key, []byte("broken"), nil)).To(Succeed())
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.condition(corev1alpha1.ConditionRendered)).To(Equal("False RenderFailed"))
	w.Expect(w.message(corev1alpha1.ConditionRendered)).To(And(ContainSubstring(key), ContainSubstring("corrupt")))
}

// offersWhole makes a revision the newest one, with a render whose digest is right.
func offersWhole(w *world, revision, content string) *render.Result {
	object := objectOf("ConfigMap", "a", 0, "")
	object.Object.Object["data"] = map[string]any{"content": content}
	result := w.source.offers(revision, object)
	var err error
	result.Digest, err = result.ComputeDigest()
	w.Expect(err).NotTo(HaveOccurred())
	for i := range result.Objects {
		result.Objects[i].Digest = content
	}
	return result
}

// What was applied before there was a store is stored at the next pass, once.
func TestAStoreThatComesLater(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.config.Renders = away{}
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("True Ready"), "it is no failure of what is applied")

	w.config.Renders = w.source
	w.pass()
	w.Expect(w.source.stored).To(BeEmpty(), "a store that could not be used is left alone")
	w.clock.SetTime(w.clock.Now().Add(storeRest))
	w.pass()
	w.Expect(w.source.stored).To(HaveKey("render of main@1"))
	clear(w.source.stored)
	w.pass()
	w.Expect(w.source.stored).To(BeEmpty())
}
