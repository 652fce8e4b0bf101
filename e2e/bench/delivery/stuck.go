// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/bench/meter"
	"kumodo.io/convoy/e2e/framework/gitserver"
)

// trap is content that a Release gets stuck in.
type trap struct {
	what   string
	files  map[string]string
	reason string // of the condition Ready or Applied, once it is stuck
	fails  bool   // the Job "hook" is to fail
}

const stuckName = "stuck"

// hooked is a chart with a hook.
var hooked = map[string]string{
	"Chart.yaml":          "apiVersion: v2\nname: stuck\nversion: 1.0.0\n",
	"templates/map.yaml":  configMap(stuckName, "trapped"),
	"templates/hook.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: hook, annotations: {helm.sh/hook: 'pre-install,pre-upgrade'}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: 'registry.example.com/hook:1'}]}}}\n",
}

var traps = []trap{
	{what: "a hook that failed", reason: corev1alpha1.ReasonHookFailed, fails: true, files: hooked},
	{what: "a hook that does not end", reason: corev1alpha1.ReasonWaitingForHook, files: hooked},
	{what: "a stage that does not become healthy", reason: corev1alpha1.ReasonWaitingForStage, files: map[string]string{
		"ill.yaml":  "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: ill}\nspec: {selector: {matchLabels: {a: ill}}, template: {metadata: {labels: {a: ill}}, spec: {containers: [{name: c, image: 'registry.example.com/ill:1'}]}}}\n",
		"last.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: last, annotations: {" + corev1alpha1.AnnotationStage + ": '1'}}\n",
	}},
}

// stuck measures how soon a Release that is stuck takes a new commit. That there is one, it
// learns as it does without anybody's request.
func (t *trial) stuck(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for _, resource := range []schema.GroupVersionResource{jobs, deployments} {
		if err := t.collect(ctx, resource); err != nil {
			return err
		}
	}
	for _, trap := range traps {
		var took, lead []float64
		for round := range max(t.sizes.rounds, 3) {
			whole, seen, err := t.free(ctx, trap, round)
			if err != nil {
				return fmt.Errorf("%s: %w", trap.what, err)
			}
			took, lead = append(took, whole), append(lead, seen)
		}
		t.figure("stuck, "+trap.what, "from the commit until it is applied, with a look at the source each second", "ms", took)
		t.figure("stuck, "+trap.what, "from seeing the new commit until it is applied", "ms", lead)
	}
	return nil
}

// free lets a Release get stuck, and commits something that it is not stuck in.
func (t *trial) free(ctx context.Context, trap trap, round int) (took, lead float64, err error) {
	if err := t.getStuck(ctx, trap, round); err != nil {
		return 0, 0, err
	}
	good := gitserver.Commit{Write: map[string]string{stuckName + "/good.yaml": configMap(stuckName, fmt.Sprint(round))}, Delete: trap.paths()}
	commit, err := t.repo.Commit(ctx, good)
	if err != nil {
		return 0, 0, err
	}
	told := t.manager
	told.Counters = []meter.Counter{{What: "lead", Metric: "convoy_release_lead_time_seconds_sum", Labels: map[string]string{"target_cluster": namespace + "/" + stuckName}}}
	before, err := count(ctx, told)
	if err != nil {
		return 0, 0, err
	}
	names := []string{stuckName}
	whole, err := t.releases.until(ctx, names, has(commit), func() error { return nil })
	if err != nil {
		return 0, 0, err
	}
	after, err := count(ctx, told)
	if err != nil {
		return 0, 0, err
	}
	_, err = t.releases.gone(ctx, names, func() error { return t.releases.delete(ctx, stuckName) })
	return float64(whole.Milliseconds()), 1000 * (after["lead"] - before["lead"]), err
}

// collect ends the deletion of what waits for its Pods to go, until ctx ends: there are none, and
// no garbage collector in the target.
func (t *trial) collect(ctx context.Context, resource schema.GroupVersionResource) error {
	objects := t.target.Resource(resource).Namespace(namespace)
	watcher, err := objects.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	go func() {
		defer watcher.Stop()
		for event := range watcher.ResultChan() {
			object, ok := event.Object.(metav1.Object)
			if !ok || object.GetDeletionTimestamp() == nil {
				continue
			}
			// One that is gone already is no failure, and one that stays is seen in the figures.
			_, _ = objects.Patch(ctx, object.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		}
	}()
	return nil
}

var (
	jobs        = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// getStuck commits the trap and makes a Release of it, on a Cluster of its own.
func (t *trial) getStuck(ctx context.Context, trap trap, round int) error {
	files := map[string]string{}
	for name, content := range trap.files {
		files[stuckName+"/"+name] = content
	}
	files[stuckName+"/round"] = trap.what + fmt.Sprint(round) // so that there is something to commit
	if _, err := t.repo.Commit(ctx, gitserver.Commit{Write: files}); err != nil {
		return err
	}
	_, err := t.releases.until(ctx, []string{stuckName}, isStuck(trap.reason, trap.fails), func() error {
		release := release(stuckName)
		release.Spec.ClusterRef.Name = stuckName
		release.Spec.Sync.Interval = &metav1.Duration{Duration: time.Second}
		_, err := t.releases.api.CoreV1alpha1().Releases(namespace).Create(ctx, release, metav1.CreateOptions{})
		return err
	})
	if err != nil || !trap.fails {
		return err
	}
	_, err = t.releases.until(ctx, []string{stuckName}, isStuck(trap.reason, false), func() error {
		_, err := t.target.Resource(jobs).Namespace(namespace).Patch(ctx, "hook", types.MergePatchType, []byte(failed), metav1.PatchOptions{}, "status")
		return err
	})
	return err
}

// failed is the status of a Job that failed: nothing in the target runs it.
const failed = `{"status":{"startTime":"2026-01-01T00:00:00Z","conditions":[
  {"type":"FailureTarget","status":"True","reason":"BackoffLimitExceeded","lastTransitionTime":"2026-01-01T00:00:00Z"},
  {"type":"Failed","status":"True","reason":"BackoffLimitExceeded","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`

// isStuck says that a condition of the Release has the reason; or, while a hook is yet to fail,
// that it is waited for.
func isStuck(reason string, running bool) func(*corev1alpha1.Release) bool {
	if running {
		reason = corev1alpha1.ReasonWaitingForHook
	}
	return func(r *corev1alpha1.Release) bool {
		for _, name := range []string{corev1alpha1.ConditionReady, corev1alpha1.ConditionApplied} {
			if c := meta.FindStatusCondition(r.Status.Conditions, name); c != nil && c.Reason == reason {
				return true
			}
		}
		return false
	}
}

// paths are the files of the trap in the repository.
func (t trap) paths() []string {
	var paths []string
	for name := range t.files {
		paths = append(paths, stuckName+"/"+name)
	}
	return paths
}
