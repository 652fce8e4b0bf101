// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/store"
)

func lasts(d time.Duration) func(*render.Hook) { return func(h *render.Hook) { h.Timeout = d } }

// backupWorld has a Release with a preDelete and a postDelete hook whose preDelete hook runs.
func backupWorld(t *testing.T) *world {
	w := newWorld(t, newRelease())
	w.clock.SetTime(time.Now())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{
		hookOf("backup", corev1alpha1.HookPreDelete, lasts(time.Hour)), hookOf("bye", corev1alpha1.HookPostDelete, lasts(time.Hour)),
	}
	w.pass()
	w.deleteRelease()
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a", "apply backup"}))
	w.events()
	return w
}

// takesLong has another process go on, for which it takes longer than a pass waits to get content.
func (w *world) takesLong() *hanging {
	w.restart()
	h := hangs(w)
	h.resolves, h.fetches = func(fetch.Want) bool { return false }, true
	return h
}

// loses deletes the source of the Release.
func (w *world) loses() { w.Expect(w.config.GitRepositories.GetIndexer().Delete(apps())).To(Succeed()) }

// finds creates it again.
func (w *world) finds() { w.Expect(w.config.GitRepositories.GetIndexer().Add(apps())).To(Succeed()) }

func apps() *sourcev1alpha1.GitRepository {
	return &sourcev1alpha1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "apps"}}
}

// TestDeletionWaitsForWhatTakesLong: that content takes longer than a pass waits is no reason to go
// without hooks, however long ago the deletion began.
func TestDeletionWaitsForWhatTakesLong(t *testing.T) {
	for _, outage := range outages {
		w := backupWorld(t)
		outage(w, time.Hour)
		h := w.takesLong()
		w.pass()
		w.Expect(w.target.takeCalls()).To(BeEmpty())
		w.Expect(w.message(corev1alpha1.ConditionReady)).To(Equal("rendering what is applied, for its preDelete hooks"))
		w.Expect(w.events()).NotTo(ContainElement(HavePrefix("Warning HooksSkipped")))
		h.answer()
		w.until(func() string { return w.condition(corev1alpha1.ConditionReady) }, "False WaitingForHook")
		w.Expect(w.target.takeCalls()).To(BeEmpty())
	}
}

// TestDeletionWithoutContentWaitsForWhatHasBegun: what only the source has is left out when it cannot
// be had, and nothing else: a hook that runs, and one that has failed, are known.
func TestDeletionWithoutContentWaitsForWhatHasBegun(t *testing.T) {
	tests := []struct {
		name string
		lost func(w *world)
		says string
	}{
		{"the source is deleted", func(w *world) { w.loses() }, "waiting for preDelete hook backup (Job ns/backup); "},
		{"the source fails for longer than the hook may run", func(w *world) {
			w.source.err = errors.New("down")
			w.pass()
			w.after(defaultTimeout)
		}, "preDelete hook backup (Job ns/backup) failed: did not end within 5m0s; it cannot be run again"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := backupWorld(t)
			tt.lost(w)
			w.pass()
			w.Expect(w.target.takeCalls()).To(BeEmpty())
			skipped := "the Release is deleted without 1 preDelete or postDelete hook, because what was applied cannot be rendered: "
			w.Expect(w.message(corev1alpha1.ConditionReady)).To(And(HavePrefix(tt.says), ContainSubstring("; "+skipped)))
			w.Expect(w.events()).To(ContainElement(HavePrefix("Warning HooksSkipped " + skipped)))

			w.hook("backup", corev1alpha1.HookFailed, "disk full")
			w.pass()
			w.Expect(w.events()).NotTo(ContainElement(HavePrefix("Warning HooksSkipped")), "it is said once")
			w.after(24 * time.Hour)
			w.pass()
			w.Expect(w.target.takeCalls()).To(BeEmpty())
			w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False HookFailed"))
			w.Expect(w.message(corev1alpha1.ConditionReady)).To(HavePrefix("preDelete hook backup (Job ns/backup) failed: disk full; it cannot be run again"))

			w.hook("backup", corev1alpha1.HookSucceeded, "")
			w.pass()
			w.Expect(w.target.takeCalls()).To(Equal([]string{"prune a", "prune backup"}))
			w.Expect(w.release()).To(BeNil())
		})
	}
}

// TestDeletionKeepsWhatHasFailedWithoutAnObject: a hook that could not be started has failed, too.
func TestDeletionKeepsWhatHasFailedWithoutAnObject(t *testing.T) {
	w := deletedWorld(t, hookOf("backup", corev1alpha1.HookPreDelete))
	w.target.obstacles = map[string]error{"backup": errDenied}
	w.pass()
	w.after(time.Minute)
	w.pass()
	w.loses()
	w.pass()
	w.Expect(w.message(corev1alpha1.ConditionReady)).To(HavePrefix("preDelete hook backup failed: did not start within 1m0s (invalid: jobs are denied here); "))
	w.Expect(w.target.names()).To(Equal([]string{"a"}))
}

// specHook is a hook of the spec.
func specHook(name string, on corev1alpha1.HookPoint) corev1alpha1.Hook {
	return corev1alpha1.Hook{Name: name, On: on, Template: runtime.RawExtension{Raw: []byte("{}")}}
}

// TestHooksOfTheSpecNeedNoContent: they run without the source, and are rendered without it.
func TestHooksOfTheSpecNeedNoContent(t *testing.T) {
	w := newWorld(t, newRelease(func(r *corev1alpha1.Release) {
		r.Spec.Render = &corev1alpha1.RenderSpec{Type: corev1alpha1.RenderHelm}
		r.Spec.Mutations = []corev1alpha1.Mutation{{Name: "of the content"}}
		r.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Hooks: []corev1alpha1.Hook{
			specHook("backup", corev1alpha1.HookPreDelete), specHook("migrate", corev1alpha1.HookPreSync), specHook("bye", corev1alpha1.HookPostDelete),
		}}
	}))
	backup, bye := hookOf("backup", corev1alpha1.HookPreDelete), hookOf("bye", corev1alpha1.HookPostDelete)
	bye.Object.Object.SetNamespace("own")
	namespace := objectOf("Namespace", "own", -2, "n")
	namespace.Object.SetNamespace("")
	w.source.offers("main@1", namespace, objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{backup, bye, hookOf("charts", corev1alpha1.HookPostDelete)}
	w.settle()
	w.observe()
	w.settle()
	w.target.takeCalls()
	w.events()
	w.loses()
	alone := &alone{source: w.source, hooks: []render.Hook{hookOf("migrate", corev1alpha1.HookPreSync), backup, bye}}
	w.renderings.engine = alone
	w.deleteRelease()
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply backup"}))
	w.Expect(w.events()).To(ContainElement(HavePrefix("Warning HooksSkipped the Release is deleted without 1 preDelete or postDelete hook, because")))
	w.Expect(alone.asked.Release.Spec.Render.Type).To(Equal(corev1alpha1.RenderPlain))
	w.Expect(alone.asked.Release.Spec.Mutations).To(HaveEach(HaveField("Optional", true)))

	w.ends("backup succeeded")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune a", "apply bye"}), "its namespace is kept for it")
	w.ends("bye succeeded")
	w.pass()
	w.Expect(w.release()).To(BeNil())
	w.Expect(w.target.names()).To(BeEmpty())
}

// alone renders hooks without content.
type alone struct {
	*source
	hooks []render.Hook
	asked render.Input
}

func (a *alone) Render(_ context.Context, input render.Input) (*render.Result, error) {
	a.asked = input
	return &render.Result{Hooks: a.hooks}, nil
}

// TestHooksOfTheSpecAreRenderedAlone: by the engines, which get no content.
func TestHooksOfTheSpecAreRenderedAlone(t *testing.T) {
	hook := specHook("backup", corev1alpha1.HookPreDelete)
	hook.Template.Raw = []byte(`{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "backup"}}`)
	w := newWorld(t, newRelease(func(r *corev1alpha1.Release) {
		r.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Hooks: []corev1alpha1.Hook{hook}}
		r.Spec.Mutations = []corev1alpha1.Mutation{{
			Name: "of the content", Target: corev1alpha1.ObjectSelector{Kind: "Deployment", Name: "web"},
			Type: corev1alpha1.MutationMerge, Patch: `{"spec": {"replicas": 2}}`,
		}}
	}))
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hookOf("backup", corev1alpha1.HookPreDelete)}
	w.pass()
	w.target.takeCalls()
	w.loses()
	w.renderings.engine, w.renderings.patience = render.New(render.Options{}), time.Minute
	w.deleteRelease()
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply backup"}))
	w.Expect(w.message(corev1alpha1.ConditionReady)).To(Equal("waiting for preDelete hook backup (Job ns/backup)"), "nothing is left out")
	w.Expect(w.events()).NotTo(ContainElement(HavePrefix("Warning HooksSkipped")))
}

// TestHooksAreMissedByName: as many hooks in a spec that was never applied make up for none that was.
func TestHooksAreMissedByName(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hookOf("backup", corev1alpha1.HookPreDelete)}
	w.pass()
	w.loses()
	w.change(func(r *corev1alpha1.Release) {
		r.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Hooks: []corev1alpha1.Hook{specHook("other", corev1alpha1.HookPreDelete)}}
		r.Generation++
	})
	w.renderings.engine = &alone{source: w.source, hooks: []render.Hook{hookOf("other", corev1alpha1.HookPreDelete)}}
	w.events()
	w.deleteRelease()
	w.pass()
	w.Expect(w.events()).To(ContainElement(And(HavePrefix("Warning HooksSkipped"), ContainSubstring("not in spec.lifecycle any more"))))
}

// TestDeletionIsPatientFromTheFirstFailure: time in which nothing could be tried does not count.
func TestDeletionIsPatientFromTheFirstFailure(t *testing.T) {
	for name, outage := range outages {
		if name == "suspended" {
			continue // which does not hold a deletion up
		}
		w := newWorld(t, newRelease())
		w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hookOf("bye", corev1alpha1.HookPostDelete)}
		w.pass()
		w.target.takeCalls()
		w.source.err = errors.New("down")
		w.deleteRelease()
		for range 3 {
			w.pass()
			w.after(defaultTimeout - time.Second)
			w.pass()
			outage(w, time.Hour)
		}
		w.Expect(w.pass().RequeueAfter).To(Equal(longestSoon))
		w.Expect(w.message(corev1alpha1.ConditionReady)).To(HavePrefix("looking for preDelete hooks: down; if that is so until"))
		w.after(defaultTimeout)
		w.pass()
		w.Expect(w.release()).To(BeNil())
	}
}

// TestDeletionIsNotHastyForTheTarget: that what is applied cannot be rendered because the target does
// not answer is no lack of content.
func TestDeletionIsNotHastyForTheTarget(t *testing.T) {
	w := backupWorld(t)
	w.source.renderErr = clusterconn.Classify(context.DeadlineExceeded)
	for range 5 {
		w.pass()
		w.after(time.Hour)
	}
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False TargetUnreachable"))
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.events()).NotTo(ContainElement(HavePrefix("Warning HooksSkipped")))
}

// closedStore is a render store that cannot be used.
type closedStore struct{ *source }

func (closedStore) Get(context.Context, string, string, string) (store.Record, error) {
	return store.Record{}, store.ErrUnavailable
}

// TestDeletionWaitsForTheStore: what is stored is there though the source is gone.
func TestDeletionWaitsForTheStore(t *testing.T) {
	w := newWorld(t, newRelease())
	w.config.Renders = w.source
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hookOf("backup", corev1alpha1.HookPreDelete)}
	w.pass()
	w.target.takeCalls()
	w.loses()
	w.config.Renders = closedStore{w.source}
	w.deleteRelease()
	w.pass()
	w.Expect(w.message(corev1alpha1.ConditionReady)).To(HavePrefix("looking for preDelete hooks: reading the stored render: the render store cannot be used; if that is so until"))
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.config.Renders = w.source
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply backup"}))
}

// migratingWorld has a Release that is being deleted while a hook of a sync runs.
func migratingWorld(t *testing.T, on corev1alpha1.HookPoint) *world {
	backup := hookOf("backup", corev1alpha1.HookPreDelete)
	w := newWorld(t, newRelease())
	w.clock.SetTime(time.Now())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{backup}
	w.pass()
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2")).Hooks = []render.Hook{hookOf("migrate", on), backup}
	w.pass()
	w.Expect(w.target.uids).To(HaveKey("migrate"))
	w.target.takeCalls()
	w.events()
	w.deleteRelease()
	return w
}

// TestDeletionEndsHooksOfASync: what a sync runs is gone before anything is done for the deletion.
func TestDeletionEndsHooksOfASync(t *testing.T) {
	for _, point := range []corev1alpha1.HookPoint{corev1alpha1.HookPreSync, corev1alpha1.HookPostSync} {
		w := migratingWorld(t, point)
		w.target.lingering["migrate"] = true
		for range 2 {
			w.Expect(w.pass().RequeueAfter).To(BeNumerically("<=", deletionPoll))
			w.Expect(w.target.takeCalls()).To(Equal([]string{"prune migrate"}))
			w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False WaitingForHook"))
			w.Expect(w.message(corev1alpha1.ConditionReady)).To(Equal("ending " + string(point) +
				" hook Job ns/migrate, which runs for a sync, before anything is deleted: waits for the object of its last run to be gone"))
		}
		delete(w.target.lingering, "migrate")
		w.pass()
		w.Expect(w.target.takeCalls()).To(Equal([]string{"prune migrate", "apply backup"}))
		w.Expect(w.release().Status.Lifecycle.Hooks).To(ContainElement(And(HaveField("Name", "migrate"),
			HaveField("Phase", corev1alpha1.HookFailed), HaveField("Message", "ended, because the Release is being deleted"))))
		w.ends("backup succeeded")
		w.pass()
		w.Expect(w.release()).To(BeNil())
	}
}

// TestDeletionEndsRunsThatAreOnNoRecord: also one that nobody could note.
func TestDeletionEndsRunsThatAreOnNoRecord(t *testing.T) {
	for _, death := range deaths {
		w := strayWorld(t, death)
		w.deleteRelease()
		w.target.lingering["migrate-1"] = true
		w.pass()
		w.Expect(w.target.takeCalls()).To(Equal([]string{"prune migrate-1"}))
		w.Expect(w.message(corev1alpha1.ConditionReady)).To(HavePrefix("ending preSync hook Job ns/migrate-1, which runs for a sync"))
	}
}

// TestRunOfADeletionThatIsOnNoRecord: it is the present one, and goes on.
func TestRunOfADeletionThatIsOnNoRecord(t *testing.T) {
	for _, death := range deaths {
		w := deletedWorld(t, hookOf("backup", corev1alpha1.HookPreDelete))
		w.dies(death)
		backup := w.target.uids["backup"]
		w.pass()
		w.Expect(w.target.takeCalls()).NotTo(ContainElement("prune backup"))
		w.Expect(w.job("backup").UID).To(Equal(backup))
	}
}

// TestDeletionEndsHooksInTheirTime: what does not go holds a deletion up for as long as the hook may
// take, and not while the target is away.
func TestDeletionEndsHooksInTheirTime(t *testing.T) {
	w := migratingWorld(t, corev1alpha1.HookPreSync)
	w.target.lingering["migrate"] = true
	w.pass()
	outages["the target"](w, time.Hour)
	w.pass()
	w.after(defaultTimeout - time.Second)
	w.pass()
	w.Expect(w.target.takeCalls()).To(HaveEach("prune migrate"))
	w.events()
	w.after(time.Second)
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune migrate", "apply backup"}))
	said := "was not gone within 5m0s when the Release was deleted (ending preSync hook Job ns/migrate"
	w.Expect(w.events()).To(ContainElement(HavePrefix("Warning HookFailed preSync hook Job ns/migrate " + said)))
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.ends("backup succeeded")
	w.pass()
	w.Expect(w.release()).NotTo(BeNil(), "it is not forgotten")
	delete(w.target.lingering, "migrate")
	w.pass()
	w.Expect(w.release()).To(BeNil())
}

// TestDeletionPassesOverWhatIsNotItsOwn: what bears the name of the hook's object by now is not ended.
func TestDeletionPassesOverWhatIsNotItsOwn(t *testing.T) {
	w := migratingWorld(t, corev1alpha1.HookPreSync)
	w.target.obstacles = map[string]error{"migrate": &apply.OwnershipError{Owner: "here/team/other"}}
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply backup"}))
}
