// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/observer/internal/desired"
	"kumodo.io/convoy/observer/internal/testcluster"
	"kumodo.io/convoy/render"
)

const (
	edited      = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: cm}, data: {a: by hand}}"
	driftIgnore = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: cm, annotations: {convoy.kumodo.io/drift: ignore}}, data: {a: '1'}}"
	other       = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: other}, data: {b: '1'}}"
)

// applied makes the world one in which objects were applied as rendered, and are live so.
func (w *world) applied(manifests ...string) {
	w.t.Helper()
	w.want = &desired.Desired{Revision: "main@sha1:1", Result: &render.Result{Digest: "render"}}
	var entries []corev1alpha1.InventoryEntry
	for _, manifest := range manifests {
		one := entry(manifest, "digest of "+manifest)
		w.want.Objects = append(w.want.Objects, render.Object{Object: testcluster.Object(manifest), Digest: one.Digest})
		w.cluster.Put(marked(manifest))
		entries = append(entries, one)
	}
	w.setEntries(entries...)
	w.setRelease(func(r *corev1alpha1.Release) {
		r.Spec.Sync.Mode = corev1alpha1.SyncModeAutomatic
		r.Status.Applied = &corev1alpha1.AppliedStatus{Revision: "main@sha1:1", Render: "render", Generation: r.Generation, Objects: int32(len(manifests))}
		setApplied(r, metav1.ConditionTrue, corev1alpha1.ReasonApplied)
	})
	w.writes()
}

func setApplied(r *corev1alpha1.Release, status metav1.ConditionStatus, reason string) {
	meta.SetStatusCondition(&r.Status.Conditions, metav1.Condition{
		Type: corev1alpha1.ConditionApplied, Status: status, Reason: reason, ObservedGeneration: r.Generation,
	})
}

// handled lets the controller-manager handle every request, and correct the drift.
func (w *world) handled(manifests ...string) {
	w.t.Helper()
	for _, manifest := range manifests {
		w.cluster.Put(marked(manifest))
	}
	w.setRelease(func(r *corev1alpha1.Release) {
		r.Status.Sync = &corev1alpha1.SyncStatus{LastHandledAt: r.Annotations[corev1alpha1.AnnotationSyncRequestedAt]}
	})
}

// insync is the condition InSync, as "<status> <reason>", and its message.
func (w *world) insync() (string, string) {
	w.t.Helper()
	condition := meta.FindStatusCondition(w.release().Status.Conditions, corev1alpha1.ConditionInSync)
	if condition == nil {
		return "", ""
	}
	w.Expect(condition.ObservedGeneration).To(Equal(w.release().Generation))
	return string(condition.Status) + " " + condition.Reason, condition.Message
}

// changed is a manifest with a change.
func changed(manifest string, change func(*unstructured.Unstructured)) string {
	object := testcluster.Object(manifest)
	change(object)
	data, err := object.MarshalJSON()
	if err != nil {
		panic(err)
	}
	return string(data)
}

func (w *world) expectInSync(want, message string) {
	w.t.Helper()
	got, said := w.insync()
	w.Expect(got).To(Equal(want), said)
	w.Expect(said).To(ContainSubstring(message))
}

func TestInSync(t *testing.T) {
	w := newWorld(t)
	w.applied(configMap, other)
	w.Expect(w.look().RequeueAfter).To(Equal(time.Minute))
	w.expectInSync("True InSync", "2 objects are as applied")
	w.Expect(w.syncs).To(BeZero())
	w.Expect(w.cluster.Asked()).To(HaveLen(2), "each is read, and no dry run is needed")
	w.Expect(w.writes()).To(Equal([]string{"patch releases/status"}))
}

func TestDriftOfNothingCostsNoRequest(t *testing.T) {
	w := newWorld(t)
	w.applied(configMap, other)
	w.judge() // the health loop holds the watches
	w.awaitWatch(configMap)
	w.awaitWatch(other)
	w.look()
	w.cluster.Asked()
	w.writes()

	w.look()
	w.Expect(w.cluster.Asked()).To(BeEmpty())
	w.Expect(w.asked).To(Equal(1), "the render is not looked up")
	w.Expect(w.writes()).To(BeEmpty())

	w.cluster.Put(marked(edited))
	w.awaitWatch(edited)
	w.look()
	path := w.cluster.Path(edited)
	w.Expect(w.cluster.Asked()).To(Equal([]string{"GET " + path, "PATCH " + path}), "only what changed is compared")
	w.Expect(w.syncs).To(Equal(1))
}

func TestDrift(t *testing.T) {
	type cases struct {
		name string
		// do changes a world in which configMap and other are as applied.
		do      func(w *world)
		want    string
		message string
		syncs   int
	}
	edit := func(w *world) { w.cluster.Put(marked(edited)) }
	for _, test := range []cases{
		{"a changed field", edit, "False Drifted", "ConfigMap ns/cm differs in /data/a; a sync is requested", 1},
		{"a missing object", func(w *world) { w.cluster.Delete(configMap) }, "False Drifted", "ConfigMap ns/cm is missing; a sync is requested", 1},
		{"an object without the label by which it is watched", func(w *world) {
			w.cluster.Put(changed(marked(configMap), func(o *unstructured.Unstructured) { o.SetLabels(nil) }))
		}, "False Drifted", "ConfigMap ns/cm differs in /metadata/labels/convoy.kumodo.io~1owner; a sync is requested", 1},
		{"an object without the name of its owner", func(w *world) {
			w.cluster.Put(changed(marked(configMap), func(o *unstructured.Unstructured) { o.SetAnnotations(nil) }))
		}, "False Drifted", "ConfigMap ns/cm differs in /metadata/annotations/convoy.kumodo.io~1release; a sync is requested", 1},
		{"another object of the same name and content", func(w *world) {
			w.cluster.Delete(configMap)
			w.cluster.Put(changed(marked(configMap), func(o *unstructured.Unstructured) { o.SetUID("another") }))
		}, "False Drifted", "ConfigMap ns/cm was replaced by another object of its name; a sync is requested", 1},
		{"a field that nobody rendered", func(w *world) {
			w.cluster.Put(marked("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: cm}, data: {a: '1', more: x}}"))
		}, "True InSync", "", 0},
		{"in manual mode", func(w *world) {
			edit(w)
			w.setRelease(func(r *corev1alpha1.Release) { r.Spec.Sync.Mode = corev1alpha1.SyncModeManual })
		}, "False Drifted", "ConfigMap ns/cm differs in /data/a; a sync corrects it", 0},
		{"in an ignored field", func(w *world) {
			edit(w)
			w.setRelease(func(r *corev1alpha1.Release) {
				r.Spec.Drift = &corev1alpha1.DriftSpec{Ignore: []corev1alpha1.DriftIgnore{{Paths: []string{"/data/a"}}}}
			})
		}, "True InSync", "", 0},
		{"in a field that is ignored for others", func(w *world) {
			edit(w)
			w.setRelease(func(r *corev1alpha1.Release) {
				r.Spec.Drift = &corev1alpha1.DriftSpec{Ignore: []corev1alpha1.DriftIgnore{
					{Target: corev1alpha1.ObjectSelector{Kind: "Secret"}, Paths: []string{"/data/a"}},
				}}
			})
		}, "False Drifted", "/data/a", 1},
		{"in an object whose drift is ignored", func(w *world) {
			edit(w)
			w.want.Objects[0].Object = testcluster.Object(driftIgnore)
		}, "True InSync", "2 objects", 0},
		{"with drift detection disabled", func(w *world) {
			edit(w)
			w.setRelease(func(r *corev1alpha1.Release) {
				r.Spec.Drift = &corev1alpha1.DriftSpec{Mode: corev1alpha1.DriftModeDisabled}
			})
		}, "Unknown DriftDisabled", "spec.drift.mode", 0},
		{"while the Release is suspended", func(w *world) {
			edit(w)
			w.setRelease(func(r *corev1alpha1.Release) { r.Spec.Suspend = true })
		}, "Unknown Suspended", "spec.suspend", 0},
		{"while the Cluster is suspended", func(w *world) {
			edit(w)
			w.setCluster(func(c *corev1alpha1.Cluster) { c.Spec.Suspend = true })
		}, "False Drifted", "Cluster edge is suspended", 0},
		{"while the Release is being deleted", func(w *world) {
			edit(w)
			w.setRelease(func(r *corev1alpha1.Release) {
				r.DeletionTimestamp, r.Finalizers = &metav1.Time{Time: w.clock.Now()}, []string{corev1alpha1.FinalizerRelease}
			})
		}, "Unknown Deleting", "is being deleted", 0},
		{"while the source is suspended", func(w *world) {
			edit(w)
			w.setRelease(func(r *corev1alpha1.Release) {
				r.Status.Conditions = append(r.Status.Conditions, metav1.Condition{
					Type: corev1alpha1.ConditionSourceReady, Status: metav1.ConditionFalse, Reason: corev1alpha1.ReasonSourceSuspended,
				})
			})
		}, "False Drifted", "nothing is synced while the source is suspended", 0},
		{"outside of the windows", func(w *world) {
			edit(w)
			w.setRelease(func(r *corev1alpha1.Release) {
				r.Spec.Sync.Windows = []corev1alpha1.SyncWindow{{Allow: true, Schedule: "0 22 * * *", Duration: metav1.Duration{Duration: time.Hour}}}
			})
		}, "False Drifted", "ConfigMap ns/cm differs in /data/a; it is corrected when the next window of spec.sync.windows opens, at 2026-01-02T22:00:00Z", 0},
		{"inside of a window", func(w *world) {
			edit(w)
			w.setRelease(func(r *corev1alpha1.Release) {
				r.Spec.Sync.Windows = []corev1alpha1.SyncWindow{{Allow: true, Schedule: "0 3 * * *", Duration: metav1.Duration{Duration: time.Hour}}}
			})
		}, "False Drifted", "ConfigMap ns/cm differs in /data/a; a sync is requested", 1},
		{"with a window that denies for ever", func(w *world) {
			edit(w)
			w.setRelease(func(r *corev1alpha1.Release) {
				r.Spec.Sync.Windows = []corev1alpha1.SyncWindow{{Deny: true, Schedule: "* * * * *", Duration: metav1.Duration{Duration: time.Hour}}}
			})
		}, "False Drifted", "no window of spec.sync.windows will open", 0},
		{"while something new waits to be applied", func(w *world) {
			edit(w)
			w.setRelease(func(r *corev1alpha1.Release) { setApplied(r, metav1.ConditionTrue, corev1alpha1.ReasonWaitingForWave) })
		}, "False Drifted", "corrected with the next sync, which is yet to come (WaitingForWave)", 0},
		{"while a new spec waits to be applied", func(w *world) {
			edit(w)
			w.setRelease(func(r *corev1alpha1.Release) { r.Generation++ })
		}, "False Drifted", "corrected with the next sync", 0},
		{"what another Release owns", func(w *world) {
			w.stand("thief", entry(configMap, "d"))
			w.cluster.Put(markedOf("inst/ns/thief", edited))
		}, "Unknown Unknown", "ConfigMap ns/cm could not be compared: belongs to Release ns/thief", 0},
		{"what another Release owns that is not cached yet", func(w *world) {
			w.stand("thief", entry(configMap, "d"))
			w.Expect(w.releases.Delete(&corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "thief"}})).To(Succeed())
			w.cluster.Put(markedOf("inst/ns/thief", edited))
		}, "Unknown Unknown", "ConfigMap ns/cm could not be compared: belongs to Release ns/thief", 0},
		{"what another installation owns", func(w *world) { w.cluster.Put(markedOf("theirs/ns/app", edited)) },
			"Unknown Unknown", "ConfigMap ns/cm could not be compared: belongs to Release ns/app of another convoy (installation theirs)", 0},
		{"the mark of a Release that does not exist", func(w *world) { w.cluster.Put(markedOf("inst/ns/nobody", edited)) },
			"False Drifted", "ConfigMap ns/cm differs in /metadata/annotations/convoy.kumodo.io~1release and 1 more field; a sync is requested", 1},
		{"the mark of a Release that does not have the object", func(w *world) {
			w.stand("thief", entry(other, "d"))
			w.cluster.Put(markedOf("inst/ns/thief", edited))
		}, "False Drifted", "ConfigMap ns/cm differs in /metadata/annotations/convoy.kumodo.io~1release and 1 more field; a sync is requested", 1},
		{"a mark that is nobody's", func(w *world) { w.cluster.Put(markedOf("nobody", edited)) },
			"False Drifted", "ConfigMap ns/cm differs in /metadata/annotations/convoy.kumodo.io~1release and 1 more field; a sync is requested", 1},
		{"one that differs besides one that cannot be compared", func(w *world) {
			edit(w)
			w.cluster.Refuse("GET "+w.cluster.Path(other), apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "other", nil))
		}, "False Drifted", "ConfigMap ns/cm differs in /data/a; ConfigMap ns/other could not be compared", 1},
		{"a target that refuses to be asked", func(w *world) {
			w.cluster.Refuse("GET "+w.cluster.Path(other), apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "other", nil))
		}, "Unknown Forbidden", "ConfigMap ns/other could not be compared", 0},
		{"a target that hangs up", func(w *world) {
			w.cluster.Handle("GET "+w.cluster.Path(other), func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		}, "Unknown TargetUnreachable", "cluster edge: target cluster is unreachable: ", 0},
		{"a target that refuses the credentials", func(w *world) {
			w.cluster.Refuse("GET "+w.cluster.Path(other), apierrors.NewUnauthorized("who are you"))
		}, "Unknown AuthenticationFailed", "cluster edge: target cluster does not accept the credentials", 0},
		{"a Cluster that is not there", func(w *world) { w.Expect(w.clusters.Delete(w.edge())).To(Succeed()) }, "Unknown ClusterNotFound", "edge", 0},
		{"a render that is not known any more", func(w *world) {
			w.wantErr = fmt.Errorf("%w: gone", desired.ErrNotReproducible)
		}, "Unknown NonDeterministicRender", "cannot be made again: gone", 0},
		{"a source that does not answer", func(w *world) { w.wantErr = errors.New("no route") }, "Unknown Unknown", "what was applied cannot be told: no route", 0},
		{"a cluster whose kinds cannot be asked", func(w *world) { w.wantErr = clusterconn.ErrUnreachable }, "Unknown TargetUnreachable", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.applied(configMap, other)
			test.do(w)
			w.look()
			w.expectInSync(test.want, test.message)
			w.Expect(w.syncs).To(Equal(test.syncs))

			w.writes()
			if test.syncs > 0 {
				w.look()
				w.Expect(w.syncs).To(Equal(test.syncs), "one request is enough while it is not handled")
				return
			}
			w.look()
			w.Expect(w.writes()).To(BeEmpty(), "nothing new is to be said")
		})
	}
}

func TestNoDriftWhileASyncIsUnderWay(t *testing.T) {
	const (
		soon  = syncPatience
		later = time.Minute
	)
	for _, test := range []struct {
		name string
		do   func(w *world)
		// host is whether the observer looks at the inventory on the host, and asked whether
		// at the target.
		host, asked bool
		// again is when it looks again, and then what it says when that has not changed.
		again time.Duration
		then  string
	}{
		{"a sync was requested", func(w *world) {
			w.setRelease(func(r *corev1alpha1.Release) {
				r.Annotations = map[string]string{corev1alpha1.AnnotationSyncRequestedAt: "now"}
			})
		}, false, false, soon, "False Drifted"},
		{"a forced sync was requested", func(w *world) {
			w.setRelease(func(r *corev1alpha1.Release) {
				r.Annotations = map[string]string{corev1alpha1.AnnotationSyncForceRequestedAt: "now"}
			})
		}, false, false, soon, "False Drifted"},
		{"it is not Applied", func(w *world) {
			w.setRelease(func(r *corev1alpha1.Release) {
				setApplied(r, metav1.ConditionFalse, corev1alpha1.ReasonWaitingForStage)
			})
		}, false, false, soon, "Unknown Progressing"},
		{"what an older spec applied cannot be made from a newer one", func(w *world) {
			w.wantErr = fmt.Errorf("%w: gone", desired.ErrNotReproducible)
			w.setRelease(func(r *corev1alpha1.Release) { r.Generation++ })
		}, false, false, soon, "Unknown Progressing"},
		{"nothing was applied as a whole", func(w *world) { w.setRelease(func(r *corev1alpha1.Release) { r.Status.Applied = nil }) }, false, false, later, ""},
		{"there is no inventory", func(w *world) { w.Expect(w.inventories.Delete(w.inventory())).To(Succeed()) }, false, false, later, ""},
		{"an entry has no digest", func(w *world) {
			w.setEntries(entry(configMap, ""), entry(other, "digest of "+other))
		}, false, false, soon, "Unknown Progressing"},
		{"an entry has another digest", func(w *world) {
			w.setEntries(entry(configMap, "newer"), entry(other, "digest of "+other))
		}, false, false, soon, "Unknown Progressing"},
		{"an entry lost its digest, and the informer does not know", func(w *world) {
			seen := w.inventory()
			w.setEntries(entry(configMap, ""), entry(other, "digest of "+other))
			w.Expect(w.inventories.Update(seen)).To(Succeed())
		}, true, true, later, ""},
		{"an entry lost its digest and has it again, and the informer does not know", func(w *world) {
			seen := w.inventory()
			w.setEntries(entry(configMap, ""), entry(other, "digest of "+other))
			w.setEntries(entry(configMap, "digest of "+configMap), entry(other, "digest of "+other))
			w.Expect(w.inventories.Update(seen)).To(Succeed())
		}, true, true, later, ""},
		{"the inventory is gone, and the informer does not know", func(w *world) {
			w.Expect(w.client.Tracker().Delete(inventories, "ns", "app")).To(Succeed())
		}, true, true, later, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.applied(configMap, other)
			w.cluster.Put(marked(edited))
			test.do(w)
			w.catchUp()
			w.client.ClearActions()

			result, err := w.drift.Reconcile(t.Context(), key)
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(result.RequeueAfter).To(Equal(test.again), "an event comes before that")
			w.Expect(w.client.Actions()).To(HaveLen(map[bool]int{true: 1}[test.host]))
			w.Expect(w.cluster.Asked() != nil).To(Equal(test.asked))
			w.Expect(w.writes()).To(BeEmpty())
			w.Expect(w.syncs).To(BeZero())

			w.clock.Step(syncPatience)
			if test.then == "" {
				return
			}
			w.Expect(w.look().RequeueAfter).To(Equal(time.Minute))
			w.expectInSync(test.then, "")
			w.look()
			w.Expect(w.syncs).To(BeZero(), "none is asked for")
			w.Expect(w.writes()).To(HaveLen(1), "it is said once")
		})
	}
}

// stand has another Release in the host, with an inventory.
func (w *world) stand(name string, entries ...corev1alpha1.InventoryEntry) {
	w.t.Helper()
	release := &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	inventory := &corev1alpha1.ReleaseInventory{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: corev1alpha1.ReleaseInventorySpec{Entries: entries}}
	w.store(releases, true, release)
	w.store(inventories, true, inventory)
	w.Expect(w.releases.Add(release)).To(Succeed())
	w.Expect(w.inventories.Add(inventory)).To(Succeed())
}

// markedOf is marked, with the annotation of another owner.
func markedOf(owner, manifest string) string {
	return changed(marked(manifest), func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{corev1alpha1.AnnotationRelease: owner})
	})
}

func TestCorrectionComesWhenTheWindowOpens(t *testing.T) {
	w := newWorld(t)
	w.applied(configMap)
	w.cluster.Put(marked(edited))
	w.setRelease(func(r *corev1alpha1.Release) {
		r.Spec.Sync.Windows = []corev1alpha1.SyncWindow{{Allow: true, Schedule: "5 3 * * *", Duration: metav1.Duration{Duration: time.Hour}}}
	})
	w.Expect(w.look().RequeueAfter).To(Equal(56 * time.Second))
	w.Expect(w.syncs).To(BeZero())
	w.clock.Step(56 * time.Second)
	w.look()
	w.Expect(w.syncs).To(Equal(1))
}

func TestPatienceIsForOneSync(t *testing.T) {
	w := newWorld(t)
	w.applied(configMap)
	for range 3 {
		w.setRelease(func(r *corev1alpha1.Release) {
			setApplied(r, metav1.ConditionFalse, corev1alpha1.ReasonWaitingForStage)
		})
		w.Expect(w.look().RequeueAfter).To(Equal(syncPatience))
		w.clock.Step(syncPatience - time.Second)
		w.Expect(w.look().RequeueAfter).To(Equal(time.Second))
		w.setRelease(func(r *corev1alpha1.Release) { setApplied(r, metav1.ConditionTrue, corev1alpha1.ReasonApplied) })
		w.look()
		w.expectInSync("True InSync", "")
	}
}

func TestTheInformerIsBehindOurOwnWrites(t *testing.T) {
	w := newWorld(t)
	w.applied(configMap)
	w.cluster.Put(marked(edited))
	stale := w.release()
	w.look()
	w.Expect(w.syncs).To(Equal(1))

	w.Expect(w.releases.Update(stale)).To(Succeed())
	_, err := w.drift.Reconcile(t.Context(), key)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.syncs).To(Equal(1), "the request is not made again")

	w.see()
	w.handled(configMap)
	stale = w.release()
	w.look()
	w.expectInSync("True InSync", "")
	w.cluster.Delete(configMap)
	w.setRelease(func(r *corev1alpha1.Release) { r.Spec.Sync.Mode = corev1alpha1.SyncModeManual })
	w.look()
	w.expectInSync("False Drifted", "")
	stale.Spec.Sync.Mode = corev1alpha1.SyncModeManual
	w.cluster.Put(marked(configMap))
	w.Expect(w.releases.Update(stale)).To(Succeed())
	_, err = w.drift.Reconcile(t.Context(), key)
	w.Expect(err).NotTo(HaveOccurred())
	w.expectInSync("True InSync", "")
}

// What a rollback left out was never applied, and that is no sync under way: the rest is looked after.
func TestDriftOfWhatARollbackBroughtBack(t *testing.T) {
	w := newWorld(t)
	w.applied(configMap)
	left := entry(other, "")
	w.want.Objects = append(w.want.Objects, render.Object{Object: testcluster.Object(other), Digest: "of another Release"})
	w.setEntries(entry(configMap, "digest of "+configMap), left)
	w.cluster.Put(marked(edited))
	w.look()
	w.Expect(w.syncs).To(BeZero(), "it is about to be applied")
	w.setRelease(func(r *corev1alpha1.Release) {
		r.Status.Rollback = &corev1alpha1.RollbackStatus{FailedRevision: "main@sha1:2"}
	})
	w.look()
	w.Expect(w.syncs).To(Equal(1))
	w.cluster.Put(marked(configMap))
	w.handled(configMap)
	w.look()
	w.expectInSync("True InSync", "")
}

func TestCorrectionsThatComeBackAreContested(t *testing.T) {
	w := newWorld(t)
	w.applied(configMap, other)
	rival := `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "ns", "name": "cm", "managedFields": [
		{"manager": "convoy", "operation": "Apply", "fieldsV1": {"f:data": {"f:b": {}}}},
		{"manager": "tuner", "operation": "Update", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:data": {"f:a": {}}}}]}, "data": {"a": "by tuner %d"}}`
	for i := range contestedAfter {
		w.cluster.Put(marked(fmt.Sprintf(rival, i)))
		w.look()
		w.Expect(w.syncs).To(Equal(i + 1))
		w.handled(configMap)
		w.look()
		w.expectInSync("True InSync", "")
		w.clock.Step(time.Minute)
	}
	w.cluster.Put(marked(fmt.Sprintf(rival, 99)))
	result := w.look()
	w.Expect(w.syncs).To(Equal(contestedAfter))
	w.expectInSync("False DriftContested", "ConfigMap ns/cm differs in /data/a (field manager tuner); it was corrected 5 times and came back: take")
	w.Expect(result.RequeueAfter).To(Equal(time.Minute), "other drift is looked for where nothing tells of it")

	w.cluster.Delete(other)
	w.look()
	w.Expect(w.syncs).To(Equal(contestedAfter+1), "another object's drift is corrected nevertheless")
	w.handled(other)
	w.cluster.Put(marked(fmt.Sprintf(rival, 100)))
	w.look()
	w.expectInSync("False DriftContested", "")

	w.cluster.Delete(other)
	w.Expect(w.look().RequeueAfter).To(Equal(time.Minute))
	w.Expect(w.syncs).To(Equal(contestedAfter+1), "not again and again")
	w.expectInSync("False DriftContested", "ConfigMap ns/other is missing; it is corrected at 2026-01-02T03:10:05Z, because a sync restores what is contested too: ConfigMap ns/cm differs in /data/a (field manager tuner); it was corrected 5 times")
	w.clock.Step(besidesEvery - time.Second)
	w.Expect(w.look().RequeueAfter).To(Equal(time.Second))
	w.clock.Step(time.Second)
	w.look()
	w.Expect(w.syncs).To(Equal(contestedAfter + 2))
	w.handled(other)
	w.cluster.Put(marked(fmt.Sprintf(rival, 101)))
	w.look()
	w.expectInSync("False DriftContested", "")

	w.cluster.Put(changed(marked(fmt.Sprintf(rival, 102)), func(o *unstructured.Unstructured) { o.SetLabels(nil) }))
	w.look()
	w.Expect(w.syncs).To(Equal(contestedAfter+2), "another field of the same object is other drift")
	w.expectInSync("False DriftContested", "and 1 more field; it is corrected at 2026-01-02T03:11:05Z, because a sync restores what is contested too")

	w.setRelease(func(r *corev1alpha1.Release) { r.Status.Applied.Render = "newer" })
	w.look()
	w.Expect(w.syncs).To(Equal(contestedAfter+3), "a new render is a new fight")
}

func TestIgnoreRulesThatGoAreNotedAtOnce(t *testing.T) {
	w := newWorld(t)
	w.applied(configMap)
	w.cluster.Put(marked(edited))
	w.setRelease(func(r *corev1alpha1.Release) {
		r.Spec.Drift = &corev1alpha1.DriftSpec{Ignore: []corev1alpha1.DriftIgnore{{Paths: []string{"/data/a"}}}}
	})
	w.judge()
	w.awaitWatch(edited)
	w.look()
	w.expectInSync("True InSync", "")
	w.setRelease(func(r *corev1alpha1.Release) {
		r.Spec.Drift = nil
		r.Generation++
		setApplied(r, metav1.ConditionTrue, corev1alpha1.ReasonApplied)
	})
	w.look()
	w.expectInSync("False Drifted", "/data/a")
}

func TestAnEmptyReleaseIsInSync(t *testing.T) {
	w := newWorld(t)
	w.applied()
	w.look()
	w.expectInSync("True InSync", "0 objects are as applied")
	w.look()
	w.Expect(w.asked).To(BeZero(), "no render is needed for that")
}

func TestFailuresOfTheHost(t *testing.T) {
	w := newWorld(t)
	w.applied(configMap)
	w.cluster.Put(marked(edited))
	refused := errors.New("host is away")
	w.catchUp()
	w.client.PrependReactor("get", "releaseinventories", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, refused })
	_, err := w.drift.Reconcile(t.Context(), key)
	w.Expect(err).To(MatchError(refused))
	w.Expect(w.syncs).To(BeZero())

	w.client.ReactionChain = w.client.ReactionChain[1:]
	w.syncErr = refused
	_, err = w.drift.Reconcile(t.Context(), key)
	w.Expect(err).To(MatchError(refused))
	w.Expect(w.drift.known[key].corrections).To(BeEmpty(), "what was not requested does not count")

	w.syncErr = apierrors.NewNotFound(releases.GroupResource(), "app")
	w.look()
}

func TestAReleaseThatIsGoneIsForgotten(t *testing.T) {
	w := newWorld(t)
	w.applied(configMap)
	w.look()
	w.Expect(w.drift.known).To(HaveLen(1))
	w.Expect(w.releases.Delete(w.release())).To(Succeed())
	_, err := w.drift.Reconcile(t.Context(), key)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.drift.known).To(BeEmpty())
}

func TestDescribe(t *testing.T) {
	name := corev1alpha1.ObjectKey{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "ns", Name: "web"}
	one := drifted{key: name, changes: []corev1alpha1.FieldChange{{Path: "/spec/replicas"}}}
	two := drifted{key: name, changes: []corev1alpha1.FieldChange{{Path: "/spec/replicas"}, {Path: "/spec/paused"}}}
	gone := drifted{key: corev1alpha1.ObjectKey{Version: "v1", Kind: "Namespace", Name: "ns"}, missing: true}
	for _, test := range []struct {
		name  string
		given []drifted
		want  string
	}{
		{"one field", []drifted{one}, "Deployment ns/web differs in /spec/replicas"},
		{"several fields", []drifted{two}, "Deployment ns/web differs in /spec/replicas and 1 more field"},
		{"a missing object", []drifted{gone}, "Namespace ns is missing"},
		{"more objects than are named", []drifted{gone, gone, gone, one, one}, "Namespace ns is missing, Namespace ns is missing, Namespace ns is missing, 2 more"},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(describe(test.given)).To(Equal(test.want))
		})
	}
}

// An object with the resourceVersion at which it was applied costs no request, as long as the
// spec is that by which it was applied: another one may ignore other fields.
func TestObjectThatIsAsItWasAppliedIsNotCompared(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(w *world)
		want []string
	}{
		{"as applied", func(*world) {}, nil},
		{"somebody wrote to it", func(w *world) {
			w.cluster.Put(marked(configMap))
			w.awaitWatch(configMap)
		}, []string{"cm"}},
		{"by another spec", func(w *world) { w.setSpecOf(w.release().Generation - 1) }, []string{"cm", "other"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.applied(configMap, other)
			w.judge() // starts the watches
			w.awaitWatch(configMap)
			w.awaitWatch(other)
			var entries []corev1alpha1.InventoryEntry
			for _, manifest := range []string{configMap, other} {
				one := entry(manifest, "digest of "+manifest)
				one.ResourceVersion = w.live(manifest)
				entries = append(entries, one)
			}
			w.setEntries(entries...)
			w.setSpecOf(w.release().Generation)
			test.do(w)
			w.cluster.Asked()
			_, err := w.drift.Reconcile(t.Context(), key)
			w.Expect(err).NotTo(HaveOccurred())
			asked := map[string]bool{}
			for _, request := range w.cluster.Asked() {
				asked[request[strings.LastIndex(request, "/")+1:]] = true
			}
			w.Expect(slices.Sorted(maps.Keys(asked))).To(Equal(test.want))
			w.Expect(w.asked > 0).To(Equal(test.want != nil), "the render is looked up where something is compared")
			w.Expect(meta.IsStatusConditionTrue(w.release().Status.Conditions, corev1alpha1.ConditionInSync)).To(BeTrue())
			_, err = w.drift.Reconcile(t.Context(), key)
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(w.cluster.Asked()).To(BeEmpty())
		})
	}
}

func TestWhatWasAppliedIsNotKeptOfAReleaseThatIsGone(t *testing.T) {
	w := newWorld(t)
	_, err := w.drift.Reconcile(t.Context(), key)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.forgotten).To(ConsistOf(key))
}
