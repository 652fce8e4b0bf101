// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/observer/internal/desired"
	"kumodo.io/convoy/observer/internal/testcluster"
	"kumodo.io/convoy/render"
)

// neighbour adds a Release of the same source on the same Cluster.
func (w *world) neighbour(name string, newest *desired.Desired, change func(*corev1alpha1.Release)) {
	w.release.Spec.Source.Git = &corev1alpha1.GitSource{RepositoryRef: corev1alpha1.LocalReference{Name: "repo"}}
	release := w.release.DeepCopy()
	release.Name, release.Status = name, corev1alpha1.ReleaseStatus{}
	change(release)
	w.Expect(w.releases.Add(release)).To(Succeed())
	if w.newest == nil {
		w.newest = map[string]*desired.Desired{}
	}
	w.newest[name] = newest
}

// mark brings an object into the cluster that bears the mark of a Release.
func (w *world) mark(manifest, release string) {
	object := testcluster.Object(manifest)
	render.Mark(object, "inst", "ns", release)
	data, err := object.MarshalJSON()
	w.Expect(err).NotTo(HaveOccurred())
	w.cluster.Put(string(data))
}

func TestWhatLeftTheRender(t *testing.T) {
	unchanged := func(*corev1alpha1.Release) {}
	for _, test := range []struct {
		name   string
		do     func(w *world)
		action corev1alpha1.ObjectAction
		want   string
	}{
		{"nobody wants it", func(w *world) { w.put(other) }, corev1alpha1.ActionDelete, "left the render"},
		{"it is gone", func(*world) {}, corev1alpha1.ActionUnchanged, "gone already"},
		{"somebody took the marks off", func(w *world) { w.cluster.Put(other) }, corev1alpha1.ActionUnchanged, "not marked as this Release's"},
		{"it is another Release's by now", func(w *world) { w.mark(other, "b") }, corev1alpha1.ActionUnchanged, "belongs to Release ns/b now"},
		{"it is protected where it is", func(w *world) {
			w.put(strings.Replace(other, "name: other", "name: other, annotations: {helm.sh/resource-policy: keep}", 1))
		}, corev1alpha1.ActionUnchanged, "an annotation says so"},
		{"another one claims it", func(w *world) {
			w.put(strings.Replace(other, "name: other", "name: other, annotations: {convoy.kumodo.io/claimed-by: inst/ns/b}", 1))
			w.has("b", "other")
		}, corev1alpha1.ActionUnchanged, "moves to Release ns/b, which waits for it"},
		{"a claim of what has it no more", func(w *world) {
			w.put(strings.Replace(other, "name: other", "name: other, annotations: {convoy.kumodo.io/claimed-by: inst/ns/b}", 1))
		}, corev1alpha1.ActionDelete, "left the render"},
		{"another one declares it", func(w *world) {
			w.put(other)
			w.neighbour("b", rendered("b", other), unchanged)
		}, corev1alpha1.ActionUnchanged, "moves to Release b, and stays"},
		{"another one does not declare it", func(w *world) {
			w.put(other)
			w.neighbour("b", rendered("b", job), unchanged)
		}, corev1alpha1.ActionDelete, "left the render"},
		{"another one that is suspended", func(w *world) {
			w.put(other)
			w.neighbour("b", rendered("b", other), func(r *corev1alpha1.Release) { r.Spec.Suspend = true })
		}, corev1alpha1.ActionDelete, "left the render"},
		{"another one that is synced by people", func(w *world) {
			w.put(other)
			w.neighbour("b", rendered("b", other), func(r *corev1alpha1.Release) { r.Spec.Sync.Mode = corev1alpha1.SyncModeManual })
		}, corev1alpha1.ActionDelete, "left the render"},
		{"another one on another Cluster", func(w *world) {
			w.put(other)
			w.neighbour("b", rendered("b", other), func(r *corev1alpha1.Release) { r.Spec.ClusterRef.Name = "far" })
		}, corev1alpha1.ActionDelete, "left the render"},
		{"another one that has applied its newest revision", func(w *world) {
			w.put(other)
			w.neighbour("b", rendered("b", other), func(r *corev1alpha1.Release) {
				r.Status.Applied = &corev1alpha1.AppliedStatus{Revision: "main@sha1:1"}
			})
		}, corev1alpha1.ActionDelete, "left the render"},
		{"another one is rolled back to what declares it", func(w *world) {
			w.put(other)
			w.neighbour("b", rendered("failed", job), func(r *corev1alpha1.Release) {
				r.Status.Rollback = &corev1alpha1.RollbackStatus{Revision: "main@sha1:0", Render: "good", Failed: "failed"}
			})
			w.byDigest = map[string]*desired.Desired{"good": rendered("good", other)}
		}, corev1alpha1.ActionUnchanged, "moves to Release b, and stays"},
		{"another one that cannot be rendered", func(w *world) {
			w.put(other)
			w.neighbour("b", nil, unchanged)
			w.newestErr = fetch.ErrUnreachable
		}, corev1alpha1.ActionDelete, "unless Release b takes it over, which cannot be told now: "},
		{"it may not be read", func(w *world) {
			w.put(other)
			w.cluster.Refuse("GET "+w.cluster.Path(other), apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "other", nil))
		}, corev1alpha1.ActionDelete, "may not be read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.current = rendered("d", configMap)
			w.has("app", "other")
			test.do(w)
			objects := answer[corev1alpha1.ReleasePreview](w, "/preview/ns/app").Objects
			last := objects[len(objects)-1]
			w.Expect(last.Name).To(Equal("other"))
			w.Expect(string(last.Action) + ": " + last.Message).To(And(HavePrefix(string(test.action)), ContainSubstring(test.want)))
		})
	}
}

func TestWhatComesFromAnotherRelease(t *testing.T) {
	unchanged := func(*corev1alpha1.Release) {}
	for _, test := range []struct {
		name   string
		do     func(w *world)
		action corev1alpha1.ObjectAction
		want   string
	}{
		{"which has it no more", func(w *world) { w.neighbour("a", rendered("a", job), unchanged) }, corev1alpha1.ActionUpdate, "moves here from Release ns/a"},
		{"which is being deleted", func(w *world) {
			w.neighbour("a", rendered("a", configMap), func(r *corev1alpha1.Release) { r.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} })
		}, corev1alpha1.ActionUpdate, "moves here"},
		{"which does not exist", func(*world) {}, corev1alpha1.ActionUpdate, "moves here"},
		{"which still declares it", func(w *world) { w.neighbour("a", rendered("a", configMap), unchanged) }, corev1alpha1.ActionError, "belongs to Release ns/a"},
		{"which is rolled back", func(w *world) {
			w.neighbour("a", rendered("a", job), func(r *corev1alpha1.Release) {
				r.Status.Rollback = &corev1alpha1.RollbackStatus{Revision: "main@sha1:0", Render: "good", Failed: "a"}
			})
		}, corev1alpha1.ActionError, "belongs to Release ns/a"},
		{"which people sync", func(w *world) {
			w.neighbour("a", rendered("a", job), func(r *corev1alpha1.Release) { r.Spec.Sync.Mode = corev1alpha1.SyncModeManual })
		}, corev1alpha1.ActionError, "belongs to Release ns/a"},
		{"which cannot be rendered", func(w *world) {
			w.neighbour("a", nil, unchanged)
			w.newestErr = clusterconn.ErrUnreachable
		}, corev1alpha1.ActionError, "belongs to Release ns/a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.mark(changed, "a")
			w.has("a", "cm")
			w.current = rendered("d", configMap)
			test.do(w)
			object := answer[corev1alpha1.ReleasePreview](w, "/preview/ns/app").Objects[0]
			w.Expect(string(object.Action) + ": " + object.Message).To(And(HavePrefix(string(test.action)), ContainSubstring(test.want)))
			if test.action == corev1alpha1.ActionError {
				w.Expect(object.Reason).To(Equal(corev1alpha1.ReasonOwnershipConflict))
			}
		})
	}
}

func TestForcedPreview(t *testing.T) {
	w := newWorld(t)
	w.put(changed)
	w.current = rendered("d", configMap)
	w.current.Hooks = []render.Hook{{Name: "pre", On: corev1alpha1.HookPreSync, Object: render.Object{Object: testcluster.Object(job)}}}
	w.release.Status.Applied = &corev1alpha1.AppliedStatus{Render: "d"}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "cm", nil)
	invalid.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "data", Message: "field is immutable"}}
	w.cluster.Refuse("PATCH "+w.cluster.Path(configMap), invalid)

	plain := answer[corev1alpha1.ReleasePreview](w, "/preview/ns/app")
	w.Expect(plain.Objects[0].Message).To(ContainSubstring("does not run"))
	w.Expect(plain.Objects[1].Action).To(Equal(corev1alpha1.ActionError))
	w.Expect(plain.Objects[1].Reason).To(Equal(corev1alpha1.ReasonImmutableField))
	forced := answer[corev1alpha1.ReleasePreview](w, "/preview/ns/app?force=true")
	w.Expect(forced.Objects[0].Message).To(Equal("runs with the sync"))
	w.Expect(forced.Objects[1].Action).To(Equal(corev1alpha1.ActionRecreate))
	w.Expect(forced.Objects[1].Reason).To(BeEmpty())
	w.Expect(w.release.Spec.Sync.Replace).To(BeEmpty(), "the Release of the cache is not changed")
}

func TestPlansAreEqualForEqualSyncs(t *testing.T) {
	w := newWorld(t)
	w.current = rendered("d", configMap)
	plan := func() string { return answer[corev1alpha1.ReleasePreview](w, "/preview/ns/app").Plan }
	first := plan()
	w.Expect(first).To(MatchRegexp("^sha256:[0-9a-f]{64}$"))
	w.Expect(plan()).To(Equal(first))
	w.put(changed)
	second := plan()
	w.Expect(second).NotTo(Equal(first), "an update is no creation")
	w.put(strings.Replace(changed, "'2'", "'3'", 1))
	third := plan()
	w.Expect(third).NotTo(Equal(second), "it changes another value")
	w.current = rendered("e", configMap)
	w.Expect(plan()).NotTo(Equal(third), "it is another render")
}
