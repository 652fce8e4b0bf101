// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// AnnotationHookRun on the object of a hook says for which run of which hook it was made: it
// tells one whose making was not noted any more from what is to make way.
const AnnotationHookRun = "convoy.kumodo.io/hook-run"

const (
	// helmHook is Helm's annotation of hooks' objects.
	helmHook = "helm.sh/hook"
	// Helm's annotations of the objects of a release.
	helmReleaseName      = "meta.helm.sh/release-name"
	helmReleaseNamespace = "meta.helm.sh/release-namespace"
)

// ObstacleError says that something stands where the object of a hook is to be made, and that
// nothing says that it may be deleted. Nothing was written.
type ObstacleError struct {
	// Why it stays, for people, without naming the object.
	Why string
}

func (e *ObstacleError) Error() string {
	return e.Why + ": delete it, or give the object of the hook another name"
}

// MakeWay makes way for the object of a run of a hook, which bears AnnotationHookRun: what else
// bears its name is deleted. That is what this Release has applied, and what was left by a hook
// of Helm, of a Release that gave it up, or of the chart's release in Helm; a mark of the source
// that it is to be kept does not hold it, since the run needs its name. What others have, and
// what nothing tells of, stays, with an error.
//
// vacant is true when nothing is there (any more), false when there is what was made for this
// very run, which Apply leaves as it is. The error is a WaitingError while something takes time
// to go, or has not ended yet, an OwnershipError or an ObstacleError for what stays, or that of a
// request.
func (a *Applier) MakeWay(ctx context.Context, o render.Object) (vacant bool, err error) {
	defer recovered(ctx, &err)
	vacant, err = a.makeWay(ctx, o)
	if err != nil {
		return false, a.explain(err, o.Key())
	}
	if vacant {
		a.forget(corev1alpha1.InventoryEntry{ObjectKey: o.Key()})
	}
	return vacant, nil
}

func (a *Applier) makeWay(ctx context.Context, o render.Object) (vacant bool, err error) {
	client, err := a.served(ctx, o.Key())
	if err != nil {
		return false, err
	}
	live, err := client.Get(ctx, o.Object.GetName(), metav1.GetOptions{})
	if absent(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if live.GetDeletionTimestamp() != nil {
		return false, lastRunGoes(beingDeleted(live))
	}
	// One that failed, and is to run once more though, was taken off the record by somebody.
	if a.owns(live) && live.GetAnnotations()[AnnotationHookRun] == o.Object.GetAnnotations()[AnnotationHookRun] && !failed(live) {
		return false, nil
	}
	if err := a.mayGo(ctx, o, live); err != nil {
		return false, err
	}
	gone, err := a.delete(ctx, o.Key(), live)
	if gone {
		return true, nil
	}
	if outdated(err) {
		return false, lastRunGoes("changed when it was about to be deleted")
	}
	if err != nil {
		return false, err
	}
	result, err := confirm(ctx, client, live)
	if err != nil || result.Gone {
		return err == nil, err
	}
	return false, lastRunGoes(result.Message)
}

func lastRunGoes(state string) error {
	return &WaitingError{For: "the object of its last run to be gone: it " + state}
}

// mayGo tells whether an object may be deleted for a run of a hook; if not, why.
func (a *Applier) mayGo(ctx context.Context, o render.Object, live *unstructured.Unstructured) error {
	if live.GetAnnotations()[corev1alpha1.AnnotationPrune] == corev1alpha1.PruneDisabled && !o.Keep && !a.lookUp(o.Key()).Keep {
		return &ObstacleError{Why: fmt.Sprintf("what bears its name says by its annotation %s: %s, which its source does not have, that it is never to be deleted",
			corev1alpha1.AnnotationPrune, corev1alpha1.PruneDisabled)}
	}
	owner := ownerOf(live)
	if owner == a.owner {
		return nil
	}
	if owner != "" {
		left, err := a.left(ctx, owner, o.Key())
		if err != nil {
			return err
		}
		if !left {
			return &OwnershipError{Owner: owner, Installation: a.options.Installation}
		}
	}
	if !a.leftover(live) {
		return &ObstacleError{Why: "something bears its name already, and nothing says that a hook left it or that it is this Release's"}
	}
	if !ended(live) {
		return &WaitingError{For: "what bears its name already to end, the hook of another: stop it by deleting it, or give the object of the hook another name"}
	}
	return nil
}

// left tells whether the Release whose mark an object bears has it no more. One that is about to
// have it no more removes it itself: nobody else ends what may be in use.
func (a *Applier) left(ctx context.Context, owner string, key corev1alpha1.ObjectKey) (bool, error) {
	other, ok := a.neighbour(owner)
	if !ok {
		return false, nil
	}
	standing, err := a.options.Others.Standing(ctx, other, key)
	if err != nil {
		return false, fmt.Errorf("looking whether Release %s still has what bears the name of the hook's object: %w", other, err)
	}
	return standing == Absent, nil
}

// leftover tells whether an object that is nobody's was made by a hook, of whatever tool, or by
// Helm for what is this Release now.
func (a *Applier) leftover(live *unstructured.Unstructured) bool {
	annotations := live.GetAnnotations()
	if annotations[AnnotationHookRun] != "" || annotations[helmHook] != "" {
		return true
	}
	release := a.options.Release
	name := release.Name
	if render := release.Spec.Render; render != nil && render.Helm != nil {
		name = cmp.Or(render.Helm.ReleaseName, name)
	}
	return annotations[helmReleaseName] == name &&
		annotations[helmReleaseNamespace] == cmp.Or(release.Spec.TargetNamespace, release.Namespace)
}

var (
	jobKind = schema.GroupKind{Group: "batch", Kind: "Job"}
	podKind = schema.GroupKind{Kind: "Pod"}
)

// failed tells whether a Job or a Pod has failed.
func failed(live *unstructured.Unstructured) bool {
	return says(live, "Failed", "Failed")
}

// ended tells whether an object does not run (any more): only Jobs and Pods do.
func ended(live *unstructured.Unstructured) bool {
	return !Ends(live) || failed(live) || says(live, "Complete", "Succeeded")
}

// says tells whether a Job or a definition has a condition, or a Pod is in a phase.
func says(live *unstructured.Unstructured, condition, phase string) bool {
	switch groupKind(live) {
	case podKind:
		now, _, _ := unstructured.NestedString(live.Object, "status", "phase")
		return now == phase
	case jobKind, definitionKind:
		conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == condition && c["status"] == "True" {
				return true
			}
		}
	}
	return false
}
