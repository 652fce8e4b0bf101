// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

var since = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))

func newRelease(name string, changes ...func(*corev1alpha1.Release)) *corev1alpha1.Release {
	release := &corev1alpha1.Release{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 2},
		Spec:       corev1alpha1.ReleaseSpec{ClusterRef: corev1alpha1.LocalReference{Name: "edge"}},
	}
	for _, change := range changes {
		change(release)
	}
	return release
}

func says(name string, status metav1.ConditionStatus, reason string) func(*corev1alpha1.Release) {
	return func(r *corev1alpha1.Release) {
		r.Status.Conditions = append(r.Status.Conditions, metav1.Condition{
			Type: name, Status: status, Reason: reason, Message: reason + " it is", ObservedGeneration: r.Generation, LastTransitionTime: since,
		})
	}
}

const (
	yes = metav1.ConditionTrue
	no  = metav1.ConditionFalse
)

// well is a Release that nothing is wrong with.
func well(r *corev1alpha1.Release) {
	for _, name := range []string{"Ready", "SourceReady", "Rendered", "Applied", "Healthy", "InSync"} {
		says(name, yes, map[string]string{"Applied": "Applied"}[name])(r)
	}
}

func wave(number int32) func(*corev1alpha1.Release) {
	return func(r *corev1alpha1.Release) { r.Spec.Wave = number }
}

func hook(name string, on corev1alpha1.HookPoint, phase corev1alpha1.HookPhase) func(*corev1alpha1.Release) {
	return func(r *corev1alpha1.Release) {
		if r.Status.Lifecycle == nil {
			r.Status.Lifecycle = &corev1alpha1.LifecycleStatus{}
		}
		r.Status.Lifecycle.Hooks = append(r.Status.Lifecycle.Hooks, corev1alpha1.HookStatus{Name: name, On: on, Phase: phase, Message: "exit 1", StartedAt: &since, FinishedAt: &since})
	}
}

func found(kind, name string, suspended bool, ready *metav1.Condition) Referred {
	return Referred{Kind: kind, Name: name, Known: true, Found: true, Suspended: suspended, Ready: ready}
}

func fine(kind, name string) Referred {
	return found(kind, name, false, &metav1.Condition{Status: yes})
}

// told is a Finding in short, with what is below it.
type told struct {
	subject, reason string
	do              []string
	causes          []told
}

func short(findings []Finding) []told {
	var all []told
	for _, finding := range findings {
		all = append(all, told{finding.Subject, finding.Reason, finding.Do, short(finding.Causes)})
	}
	return all
}

func TestBlockers(t *testing.T) {
	sync := "kubectl convoy -n shop sync web"
	gate := func(r *corev1alpha1.Release) {
		r.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Gates: []corev1alpha1.Gate{{Name: "qa"}}}
		r.Status.Lifecycle = &corev1alpha1.LifecycleStatus{Gates: []corev1alpha1.GateStatus{{Name: "qa", Revision: "v2", Render: "sha256:12"}}}
	}
	gone := func(r *corev1alpha1.Release) { r.DeletionTimestamp = &since }
	orphan := `to give up what is left in the target: kubectl -n shop patch release web --type=merge -p '{"spec":{"deletionPolicy":"orphan"}}'`
	ill := []corev1alpha1.ReleaseInventory{{Status: corev1alpha1.ReleaseInventoryStatus{Health: []corev1alpha1.ObjectHealth{
		{ObjectKey: corev1alpha1.ObjectKey{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, Status: corev1alpha1.HealthProgressing},
		{ObjectKey: corev1alpha1.ObjectKey{Kind: "ConfigMap", Name: "fine"}, Status: corev1alpha1.HealthHealthy},
		{ObjectKey: corev1alpha1.ObjectKey{Kind: "Job", Name: "paused"}, Status: corev1alpha1.HealthSuspended},
	}}}}
	illObject := []told{{"Deployment.apps shop/web", "progressing", nil, nil}}
	tree := []string{"kubectl convoy -n shop tree web --deep"}
	for _, test := range []struct {
		name  string
		facts Facts
		want  []told
	}{
		{"nothing", Facts{Release: newRelease("web", well)}, nil},
		{"nothing, all of it known", Facts{Release: newRelease("web", well), Cluster: fine("Cluster", "edge"), Source: fine("GitRepository", "apps")}, nil},
		{"nobody has looked at it", Facts{Release: newRelease("web")}, []told{{"convoy-controller-manager", "", []string{
			"if that stays so, see whether it runs, and holds the shard of the Release: kubectl -n convoy-system get leases"}, nil}}},
		{"an older spec counts for nothing", Facts{Release: newRelease("web", says("Ready", no, "Old"), func(r *corev1alpha1.Release) { r.Generation++ })}, []told{{"convoy-controller-manager", "", []string{
			"if that stays so, see whether it runs, and holds the shard of the Release: kubectl -n convoy-system get leases"}, nil}}},
		{
			"suspended, whatever else is wrong", Facts{Release: newRelease("web", says("Ready", no, "Suspended"), says("Healthy", no, "Degraded"), func(r *corev1alpha1.Release) { r.Spec.Suspend = true })},
			[]told{{"spec.suspend", "Suspended", []string{"kubectl convoy -n shop resume web"}, nil}},
		},
		{
			"a Cluster that does not exist", Facts{Release: newRelease("web", says("Ready", no, "ClusterNotFound")), Cluster: Referred{Kind: "Cluster", Name: "edge", Known: true}},
			[]told{{"Cluster edge", "NotFound", []string{"create it: kubectl convoy -n shop cluster add edge --target-context CONTEXT"}, nil}},
		},
		{
			"a Cluster that may not be read", Facts{Release: newRelease("web", says("Ready", no, "ClusterNotFound")), Cluster: Referred{Kind: "Cluster", Name: "edge"}},
			[]told{{"Ready", "ClusterNotFound", nil, nil}},
		},
		{
			"what only Ready tells", Facts{Release: newRelease("web", says("Ready", no, "ClusterNotFound"), says("Healthy", no, "Progressing"))},
			[]told{{"Ready", "ClusterNotFound", nil, nil}},
		},
		{
			"a rollback", Facts{Release: newRelease("web", says("Ready", no, "RolledBack"), says("Applied", yes, "RolledBack"), says("Healthy", yes, "Healthy"))},
			[]told{{"Ready", "RolledBack", []string{"mend it, and deliver another revision; or try the same again: " + sync + " --force"}, nil}},
		},
		{
			"a Cluster that is suspended", Facts{Release: newRelease("web", says("Ready", no, "ClusterSuspended")), Cluster: found("Cluster", "edge", true, nil)},
			[]told{{"Cluster edge", "Suspended", []string{"kubectl convoy -n shop resume cluster/edge"}, nil}},
		},
		{
			"a Cluster that does not answer", Facts{Release: newRelease("web", says("Ready", no, "TargetUnreachable")), Cluster: found("Cluster", "edge", false, &metav1.Condition{Status: no, Reason: "Unreachable"})},
			[]told{{"Cluster edge", "Unreachable", []string{"kubectl convoy -n shop cluster list -o wide", "kubectl convoy -n shop events cluster/edge"}, nil}},
		},
		{
			"a revision that the source does not have", Facts{Release: newRelease("web", says("Ready", no, "RevisionNotFound"), says("SourceReady", no, "RevisionNotFound")), Source: fine("GitRepository", "apps")},
			[]told{{"GitRepository apps", "RevisionNotFound", []string{"correct the reference in spec.source"}, nil}},
		},
		{
			"a source that does not answer", Facts{Release: newRelease("web", says("Ready", no, "Unreachable"), says("SourceReady", no, "Unreachable")), Source: found("HelmRegistry", "charts", false, &metav1.Condition{Status: no, Reason: "Unreachable"})},
			[]told{{"HelmRegistry charts", "Unreachable", []string{"it is tried again by itself; at once with: " + sync}, nil}},
		},
		{
			"a render that fails", Facts{Release: newRelease("web", says("Ready", no, "RenderFailed"), says("Rendered", no, "RenderFailed"))},
			[]told{{"Rendered", "RenderFailed", []string{"mend the source or the spec; before it is delivered, look at a revision with: kubectl convoy -n shop preview web --revision REVISION"}, nil}},
		},
		{
			"a gate, while what is applied is well", Facts{Release: newRelease("web", says("Ready", yes, "WaitingForGate"), says("Applied", yes, "WaitingForGate"), gate)},
			[]told{{"Applied", "WaitingForGate", []string{"look at it: kubectl convoy -n shop preview web", "approve it: kubectl convoy -n shop approve web --render sha256:12"}, []told{{"gate qa", "", nil, nil}}}},
		},
		{
			"a window or a request", Facts{Release: newRelease("web", says("Ready", no, "WaitingForSync"), says("Applied", no, "WaitingForSync"))},
			[]told{{"Applied", "WaitingForSync", []string{sync}, nil}},
		},
		{
			"a hook that failed", Facts{Release: newRelease("web", says("Ready", no, "HookFailed"), says("Applied", no, "HookFailed"), hook("migrate", "preSync", "failed"), hook("fine", "preSync", "succeeded"))},
			[]told{{"Applied", "HookFailed", nil, []told{{"preSync hook migrate", "", []string{"kubectl convoy -n shop retry web migrate", "kubectl convoy -n shop skip web migrate"}, nil}}}},
		},
		{
			"a hook that runs", Facts{Release: newRelease("web", says("Ready", no, "WaitingForHook"), says("Applied", no, "WaitingForHook"), hook("migrate", "preSync", "running"))},
			[]told{{"Applied", "WaitingForHook", nil, []told{{"preSync hook migrate", "", nil, nil}}}},
		},
		{
			"a stage, told once", Facts{Release: newRelease("web", says("Ready", no, "WaitingForStage"), says("Applied", no, "WaitingForStage"), says("Healthy", no, "Progressing")), Inventory: ill},
			[]told{{"Applied", "WaitingForStage", tree, illObject}},
		},
		{
			"objects that are not healthy", Facts{Release: newRelease("web", says("Ready", no, "Degraded"), says("Applied", yes, "Applied"), says("Healthy", no, "Degraded")), Inventory: ill},
			[]told{{"Healthy", "Degraded", tree, illObject}},
		},
		{
			"a deletion that a hook holds up", Facts{Release: newRelease("web", gone, says("Ready", no, "HookFailed"), hook("backup", "preDelete", "failed"), hook("migrate", "preSync", "failed"))},
			[]told{{"the deletion of the Release", "HookFailed", []string{orphan},
				[]told{{"preDelete hook backup", "", []string{"kubectl convoy -n shop retry web backup", "kubectl convoy -n shop skip web backup"}, nil}}}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(short(Explain(test.facts).Blockers)).To(Equal(test.want))
		})
	}
}

func TestWaitsAreFollowedToTheirCause(t *testing.T) {
	waits := func(reason string) func(*corev1alpha1.Release) {
		return func(r *corev1alpha1.Release) { says("Ready", no, reason)(r); says("Applied", no, reason)(r) }
	}
	elsewhere := func(r *corev1alpha1.Release) { r.Spec.ClusterRef.Name = "north" }
	dependsOn := func(dependencies ...corev1alpha1.Dependency) func(*corev1alpha1.Release) {
		return func(r *corev1alpha1.Release) { r.Spec.DependsOn = dependencies }
	}
	failed := []func(*corev1alpha1.Release){says("Ready", no, "ApplyFailed"), says("Applied", no, "ApplyFailed")}
	cause := []told{{"Applied", "ApplyFailed", nil, nil}}
	releases := func(all ...*corev1alpha1.Release) []corev1alpha1.Release {
		var list []corev1alpha1.Release
		for _, release := range all {
			list = append(list, *release)
		}
		return list
	}
	for _, test := range []struct {
		name    string
		release *corev1alpha1.Release
		others  []corev1alpha1.Release
		want    []told
	}{
		{
			"lower waves of the same Cluster that are not well", newRelease("web", wave(2), waits("WaitingForWave")),
			releases(newRelease("fine", well), newRelease("z", append(failed, wave(0))...), newRelease("b", append(failed, wave(1))...),
				newRelease("same", append(failed, wave(2))...), newRelease("north", append(failed, elsewhere)...),
				newRelease("gone", append(failed, func(r *corev1alpha1.Release) { r.DeletionTimestamp = &since })...)),
			[]told{{"Release z (wave 0)", "", nil, cause}, {"Release b (wave 1)", "", nil, cause}},
		},
		{
			"a chain", newRelease("web", wave(2), waits("WaitingForWave")),
			releases(newRelease("b", wave(1), waits("WaitingForDependency"), dependsOn(corev1alpha1.Dependency{Name: "db"})), newRelease("db", append(failed, elsewhere)...)),
			[]told{{"Release b (wave 1)", "", nil, []told{{"Applied", "WaitingForDependency", nil, []told{{"Release db", "", nil, cause}}}}}},
		},
		{
			"a circle ends", newRelease("web", waits("WaitingForDependency"), dependsOn(corev1alpha1.Dependency{Name: "db"})),
			releases(newRelease("web", waits("WaitingForDependency")), newRelease("db", waits("WaitingForDependency"), dependsOn(corev1alpha1.Dependency{Name: "web"}))),
			[]told{{"Release db", "", nil, []told{{"Applied", "WaitingForDependency", nil, []told{{"Release web", "", nil, nil}}}}}},
		},
		{
			"what does not exist, and expressions", newRelease("web", waits("WaitingForDependency"),
				dependsOn(corev1alpha1.Dependency{Name: "nobody"}, corev1alpha1.Dependency{Name: "db", ReadyExpr: "false"})),
			releases(newRelease("db", well)),
			[]told{{"Release nobody", "", nil, nil}, {"Release db", "", nil, nil}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			blockers := short(Explain(Facts{Release: test.release, Others: test.others}).Blockers)
			g.Expect(blockers).To(HaveLen(1))
			g.Expect(blockers[0].causes).To(Equal(test.want))
		})
	}
}

func TestRemarks(t *testing.T) {
	g := NewWithT(t)
	release := newRelease("web", well, func(r *corev1alpha1.Release) {
		r.Status.Conditions = r.Status.Conditions[:5]
		r.Spec.Pin = &corev1alpha1.Pin{Render: "sha256:0123456789abcdef", Reason: "frozen"}
		r.Status.Rollback = &corev1alpha1.RollbackStatus{Revision: "v1", FailedRevision: "v2", Message: "crash", At: since}
	}, says("InSync", no, "DriftContested"))
	explanation := Explain(Facts{Release: release})
	g.Expect(explanation.Blockers).To(BeEmpty())
	g.Expect(explanation.Ready).To(Equal(yes))
	g.Expect(explanation.Since).To(Equal(&since))
	g.Expect(explanation.Remarks).To(HaveExactElements(
		And(HaveField("Subject", "spec.pin"), HaveField("Message", "fixed to render sha256:0123456789ab: nothing newer is applied (frozen)"), HaveField("Do", HaveExactElements("kubectl convoy -n shop unpin web"))),
		And(HaveField("Subject", "rollback"), HaveField("Message", "v2 failed, and v1 is applied again: crash"), HaveField("Since", &since)),
		And(HaveField("Subject", "drift"), HaveField("Reason", "DriftContested")),
	))
}

func TestFailedAttemptsAreCounted(t *testing.T) {
	g := NewWithT(t)
	release := newRelease("web", says("Ready", no, "ApplyFailed"), says("Applied", no, "ApplyFailed"), func(r *corev1alpha1.Release) {
		r.Status.Sync = &corev1alpha1.SyncStatus{Attempts: 3, NextRetryAt: &since}
	})
	g.Expect(Explain(Facts{Release: release}).Blockers).To(HaveExactElements(And(
		HaveField("Message", "ApplyFailed it is; attempt 3 failed, the next one is at 03:04:05 UTC"), HaveField("Since", &since))))
}
