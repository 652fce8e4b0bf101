// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// other is another Release on the same cluster, from another source.
func other(name string, change ...func(*corev1alpha1.Release)) *corev1alpha1.Release {
	release := newRelease(change...)
	release.Name = name
	release.Spec.Source.Git.RepositoryRef.Name = "infrastructure"
	return release
}

func wave(n int32) func(*corev1alpha1.Release) {
	return func(r *corev1alpha1.Release) { r.Spec.Wave = n }
}

func conditions(applied, healthy metav1.ConditionStatus, generation int64) []metav1.Condition {
	return []metav1.Condition{
		{Type: corev1alpha1.ConditionApplied, Status: applied, Reason: "R", ObservedGeneration: generation},
		{Type: corev1alpha1.ConditionHealthy, Status: healthy, Reason: "R", ObservedGeneration: generation},
	}
}

// set writes the status of another Release.
func (w *world) set(name string, conditions []metav1.Condition, change ...func(*corev1alpha1.Release)) {
	release := w.release(name)
	release.Status.Conditions = conditions
	for _, c := range change {
		c(release)
	}
	_, err := w.host.CoreV1alpha1().Releases(key.Namespace).UpdateStatus(context.Background(), release, metav1.UpdateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
}

const (
	isTrue  = metav1.ConditionTrue
	isFalse = metav1.ConditionFalse
)

func TestWaves(t *testing.T) {
	tests := []struct {
		name  string
		lower *corev1alpha1.Release
		state []metav1.Condition
		want  []string
	}{
		{"a lower wave that is Applied and Healthy", other("base"), conditions(isTrue, isTrue, 1), nil},
		{"nothing known of it", other("base"), nil, []string{"Release base (wave 0)"}},
		{"not Applied", other("base"), conditions(isFalse, isTrue, 1), []string{"Release base (wave 0)"}},
		{"not Healthy", other("base"), conditions(isTrue, metav1.ConditionUnknown, 1), []string{"Release base (wave 0)"}},
		{"at an older generation", other("base"), conditions(isTrue, isTrue, 0), []string{"Release base (wave 0)"}},
		{"of the same wave", other("base", wave(1)), nil, nil},
		{"of a higher wave", other("base", wave(2)), nil, nil},
		{"on another cluster", other("base", func(r *corev1alpha1.Release) { r.Spec.ClusterRef.Name = "there" }), nil, nil},
		{"of another namespace", other("base", func(r *corev1alpha1.Release) { r.Namespace = "others" }), nil, nil},
		{"being deleted", other("base", func(r *corev1alpha1.Release) { r.DeletionTimestamp = &metav1.Time{}; r.Finalizers = []string{"x/y"} }), nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, newRelease(wave(1)))
			w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
			if tt.lower.DeletionTimestamp != nil {
				now := metav1.Now()
				tt.lower.DeletionTimestamp = &now
			}
			w.create(tt.lower)
			if tt.state != nil {
				w.set("base", tt.state)
			}
			w.pass()
			if tt.want == nil {
				w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
				return
			}
			w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False WaitingForWave"))
			w.Expect(w.release().Status.Sync.BlockedBy).To(Equal(tt.want))
			w.Expect(w.source.asked).To(BeEmpty(), "the source is not asked")
		})
	}
}

func TestBlockedReleaseStaysWhatItIs(t *testing.T) {
	w := settledWorld(t, newRelease(wave(1)), objectOf("ConfigMap", "a", 0, "a1"))
	w.create(other("base"))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True WaitingForWave"))
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("True Ready"))
	w.Expect(w.release().Status.Sync.BlockedBy).To(HaveLen(1))
	w.set("base", conditions(isTrue, isTrue, 1))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
	w.Expect(w.release().Status.Sync).To(BeNil())
}

func TestCauseOfAWaitIsTold(t *testing.T) {
	w := newWorld(t, newRelease(wave(1)))
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.create(other("base"))
	w.set("base", append(conditions(isFalse, isTrue, 1), metav1.Condition{
		Type: corev1alpha1.ConditionReady, Status: isFalse, Reason: corev1alpha1.ReasonInvalidObjects, ObservedGeneration: 1,
	}))
	w.pass()
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("not Applied (InvalidObjects)"))

	w.set("base", conditions(isTrue, isTrue, 1))
	w.source.err = context.DeadlineExceeded
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False FetchFailed"), "the wave is not waited for any more")
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(HavePrefix("not applied yet: "))
}

func TestWaitThatIsOverIsNotTold(t *testing.T) {
	w := settledWorld(t, newRelease(wave(1)), objectOf("ConfigMap", "a", 0, "a1"))
	w.create(other("base"))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True WaitingForWave"))
	w.set("base", conditions(isTrue, isTrue, 1))
	w.source.err = context.DeadlineExceeded
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
}

func dependsOn(name, expression string) func(*corev1alpha1.Release) {
	return func(r *corev1alpha1.Release) {
		r.Spec.DependsOn = []corev1alpha1.Dependency{{Name: name, ReadyExpr: expression}}
	}
}

func TestDependencies(t *testing.T) {
	tests := []struct {
		name       string
		expression string
		state      []metav1.Condition
		absent     bool
		want       string
	}{
		{"ready", "", conditions(isTrue, isTrue, 1), false, "True Applied"},
		{"not ready", "", conditions(isTrue, isFalse, 1), false, "False WaitingForDependency"},
		{"absent", "", nil, true, "False WaitingForDependency"},
		{"an expression that is true", "release.metadata.name == 'db'", nil, false, "True Applied"},
		{"an expression that is false", "release.spec.wave > 5", conditions(isTrue, isTrue, 1), false, "False WaitingForDependency"},
		{"an expression over what is not there yet", "release.status.render.objects > 0", nil, false, "False WaitingForDependency"},
		{"an expression over an item that is not there yet", "release.status.conditions[7].status == 'True'", conditions(isTrue, isTrue, 1), false, "False WaitingForDependency"},
		{"an expression that compares a number with a text", "release.metadata.generation > 'x'", nil, false, "False InvalidConfiguration"},
		{"an expression that converts what is no number", "int(release.metadata.name) > 1", nil, false, "False InvalidConfiguration"},
		{"an expression that gives a text", "release.metadata.name", nil, false, "False InvalidConfiguration"},
		{"an expression over conditions", "release.status.conditions.exists(c, c.type == 'Applied' && c.status == 'True')",
			conditions(isTrue, isFalse, 1), false, "True Applied"},
		{"an expression that does not compile", "release.", nil, false, "False InvalidConfiguration"},
		{"an expression that is no condition", "'text'", nil, false, "False InvalidConfiguration"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, newRelease(dependsOn("db", tt.expression)))
			w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
			if !tt.absent {
				w.create(other("db", func(r *corev1alpha1.Release) { r.Spec.ClusterRef.Name = "there" }))
				w.set("db", tt.state)
			}
			w.pass()
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal(tt.want))
		})
	}
}

// TestReleasesThatWaitForEachOther: a wave and a dependency. Both say so, until one of them is changed.
func TestReleasesThatWaitForEachOther(t *testing.T) {
	w := newWorld(t, newRelease(dependsOn("late", "")))
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.source.results["late main@1"] = &render.Result{Digest: "late", Objects: []render.Object{objectOf("ConfigMap", "b", 0, "b1")}}
	w.create(newRelease(wave(1), func(r *corev1alpha1.Release) { r.Name = "late" }))
	w.create(newRelease(wave(2), func(r *corev1alpha1.Release) { r.Name = "later" }))
	for range 2 {
		w.pass()
		w.pass("late")
		w.pass("later")
	}
	w.Expect(w.release().Status.Sync.BlockedBy).To(Equal([]string{"Release late"}))
	w.Expect(w.message(corev1alpha1.ConditionReady)).To(Equal("waiting for Release late: not Applied (WaitingForWave); " +
		"they wait for each other: app -> late -> app: change spec.dependsOn or spec.wave of one of them"))
	late := meta.FindStatusCondition(w.release("late").Status.Conditions, corev1alpha1.ConditionReady)
	w.Expect(w.release("late").Status.Sync.BlockedBy).To(Equal([]string{"Release app (wave 0)"}))
	w.Expect(late.Message).To(Equal("waiting for Release app (wave 0): not Applied (WaitingForDependency); " +
		"they wait for each other: late -> app -> late: change spec.dependsOn or spec.wave of one of them"))
	later := meta.FindStatusCondition(w.release("later").Status.Conditions, corev1alpha1.ConditionReady)
	w.Expect(later.Message).NotTo(ContainSubstring("each other"), "it is in no circle itself")

	w.change(func(r *corev1alpha1.Release) { r.Spec.DependsOn = nil })
	w.pass()
	w.observe()
	w.pass()
	w.pass("late")
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
	w.Expect(w.condition(corev1alpha1.ConditionApplied, "late")).To(Equal("True Applied"))
}

// TestWaitThatIsNoCircle: of what waits for each other only by the spec, one is ready.
func TestWaitThatIsNoCircle(t *testing.T) {
	w := newWorld(t, newRelease(dependsOn("late", "")))
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.set("app", conditions(isTrue, isTrue, 1))
	w.create(other("late", wave(1)))
	w.set("late", conditions(isTrue, isFalse, 1))
	w.pass()
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(Equal("waiting for Release late: not Healthy (R)"))
}

// peer is a Release of the same source that was applied at a revision, and is well.
func (w *world) peer(name, revision string, change ...func(*corev1alpha1.Release)) {
	release := newRelease(change...)
	release.Name = name
	w.create(release)
	w.set(name, conditions(isTrue, isTrue, 1), func(r *corev1alpha1.Release) {
		r.Status.Applied = &corev1alpha1.AppliedStatus{Revision: revision}
	})
}

func TestPeersOfOneCommitKeepTheirOrder(t *testing.T) {
	suspended := func(r *corev1alpha1.Release) { r.Spec.Suspend = true }
	manual := func(r *corev1alpha1.Release) { r.Spec.Sync.Mode = corev1alpha1.SyncModeManual }
	pinned := func(r *corev1alpha1.Release) { r.Spec.Pin = &corev1alpha1.Pin{Revision: "main@1"} }
	tests := []struct {
		name    string
		release func(*corev1alpha1.Release)
		peer    func(*corev1alpha1.Release)
		applied string
		want    string
	}{
		{"a lower wave that has yet to see the commit", wave(1), wave(0), "main@1", "False WaitingForWave"},
		{"a lower wave that has applied it", wave(1), wave(0), "main@2", "True Applied"},
		{"a dependency that has yet to see it", dependsOn("peer", ""), wave(0), "main@1", "False WaitingForDependency"},
		{"a dependency with a rule of its own", dependsOn("peer", "true"), wave(0), "main@1", "True Applied"},
		{"one that is suspended", wave(1), suspended, "main@1", "True Applied"},
		{"one that is synced by people", wave(1), manual, "main@1", "True Applied"},
		{"one that is pinned", wave(1), pinned, "main@1", "True Applied"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, newRelease(tt.release))
			w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
			w.peer("peer", tt.applied, tt.peer)
			w.pass()
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal(tt.want))
		})
	}
}

// TestSearchForACircleEvaluatesNoOthersExpressions: only those of a circle that was found. Each expression
// here is another one, so that those that were used can be counted.
func TestSearchForACircleEvaluatesNoOthersExpressions(t *testing.T) {
	const n = 16
	for _, tt := range []struct {
		name      string
		last      []corev1alpha1.Dependency // of the last one
		evaluated int
		circle    string
	}{
		{"no circle", nil, n - 1, ""},
		{"a circle", []corev1alpha1.Dependency{{Name: "r00", ReadyExpr: "release.spec.wave == 99"}}, n - 1 + 1, "r00 -> r15 -> r00"},
		{"one behind one that is none", []corev1alpha1.Dependency{
			{Name: "r00", ReadyExpr: "release.spec.wave == 0"}, {Name: "plain"},
		}, n - 1 + 1, "r00 -> r15 -> plain -> r00"},
		{"one that is none", []corev1alpha1.Dependency{{Name: "r00", ReadyExpr: "release.spec.wave == 0"}}, n - 1 + 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, newRelease())
			name := func(i int) string { return fmt.Sprintf("r%02d", i) }
			for i := range n {
				r := other(name(i))
				for j := i + 1; j < n; j++ {
					r.Spec.DependsOn = append(r.Spec.DependsOn, corev1alpha1.Dependency{
						Name: name(j), ReadyExpr: fmt.Sprintf("release.spec.wave == %d", 100+n*i+j),
					})
				}
				if i == n-1 {
					r.Spec.DependsOn = tt.last
				}
				w.create(r)
			}
			w.create(other("plain", dependsOn(name(0), "")))
			r := w.release(name(0))
			s := &scope{key: nameOf(r), release: r, before: &corev1alpha1.ReleaseStatus{}}
			out := w.awaitDependencies(t.Context(), s)
			w.Expect(out.kind).To(Equal(waits))
			w.Expect(w.expressions.programs.Len()).To(Equal(tt.evaluated))
			if tt.circle == "" {
				w.Expect(out.message).NotTo(ContainSubstring("each other"))
			} else {
				w.Expect(out.message).To(ContainSubstring("they wait for each other: " + tt.circle + ":"))
			}
		})
	}
}
