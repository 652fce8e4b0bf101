// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/controllermanager/internal/inventory"
	"kumodo.io/convoy/render"
)

// target is a target cluster and the applier of it: it has objects by name and says what
// was done with them.
type target struct {
	dynamic *dynamicfake.FakeDynamicClient
	// connectErr is the error of connecting.
	connectErr error
	// uids of what is there, by kind and name, and how many were given out.
	uids   map[string]types.UID
	issued int
	// failures are the errors of applying or pruning objects, by name.
	failures map[string]error
	// heirs are Releases that objects are given to, by name.
	heirs map[string]types.NamespacedName
	// obstacles are the errors of making way for hooks, by name.
	obstacles map[string]error
	// lingering objects take time to be deleted, and those that wait for another one of the
	// Release, which is named, are held back while it is there.
	lingering map[string]bool
	waitsFor  map[string]string
	// validateErr is the error of validation, and validated the names of what it was last about.
	validateErr error
	validated   []string
	// calls are what was done, in order: "apply a", "prune b".
	calls []string
	// options of the applier that was made last.
	options apply.Options
	// untouched are the names of objects that nobody wrote to.
	untouched map[string]bool
	// onApply is called before objects are applied.
	onApply func()
}

func newTarget() *target {
	scheme := runtime.NewScheme()
	return &target{
		dynamic: dynamicfake.NewSimpleDynamicClient(scheme), uids: map[string]types.UID{},
		failures: map[string]error{}, lingering: map[string]bool{},
	}
}

func (t *target) ConnectRelease(context.Context, *corev1alpha1.Cluster, *corev1alpha1.Release) (Target, error) {
	if t.connectErr != nil {
		return nil, t.connectErr
	}
	return t, nil
}

func (t *target) Dynamic() dynamic.Interface   { return t.dynamic }
func (t *target) Metadata() metadata.Interface { panic("only the applier lists metadata") }
func (t *target) REST() rest.Interface         { panic("only the applier deletes") }
func (t *target) Invalidate()                  {}

func (t *target) Mapping(_ context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	return &meta.RESTMapping{Resource: resource, GroupVersionKind: gvk, Scope: meta.RESTScopeNamespace}, nil
}

func (t *target) Namespaced(context.Context, schema.GroupVersionKind) (bool, error) { return true, nil }

func (t *target) Capabilities(context.Context) (string, []string, error) { return "v1.37.2", nil, nil }

// as makes the target the applier of a pass.
func (t *target) as(options apply.Options) *target {
	t.options = options
	return t
}

func (t *target) Validate(_ context.Context, objects []render.Object) error {
	t.validated = nil
	for _, object := range objects {
		t.validated = append(t.validated, object.Object.GetName())
	}
	return t.validateErr
}

func (t *target) Untouched(_ context.Context, entries []corev1alpha1.InventoryEntry) map[string]bool {
	untouched := map[string]bool{}
	for _, entry := range entries {
		untouched[inventory.Key(entry)] = t.untouched[entry.Name] && entry.Digest != ""
	}
	return untouched
}

func (t *target) Apply(ctx context.Context, objects []render.Object) []apply.Result {
	if t.onApply != nil {
		t.onApply()
	}
	var results []apply.Result
	for _, object := range objects {
		name := object.Object.GetName()
		t.calls = append(t.calls, "apply "+name)
		result := apply.Result{Key: object.Key(), Digest: object.Digest, Err: t.failures[name]}
		if result.Err == nil {
			result.UID, result.Action = t.put(ctx, object)
			known := t.known(object.Key())
			result.Adopted = result.Action != apply.Created && (known.Adopted || known.UID != result.UID)
		}
		results = append(results, result)
	}
	return results
}

// known gives the inventory's entry of an object.
func (t *target) known(key corev1alpha1.ObjectKey) corev1alpha1.InventoryEntry {
	for _, entry := range t.options.Inventory {
		if inventory.Key(entry) == inventory.KeyOf(key) {
			return entry
		}
	}
	return corev1alpha1.InventoryEntry{}
}

func (t *target) put(ctx context.Context, object render.Object) (types.UID, apply.Action) {
	name := object.Object.GetName()
	mapping, _ := t.Mapping(ctx, object.Object.GroupVersionKind())
	client := t.dynamic.Resource(mapping.Resource).Namespace(object.Object.GetNamespace())
	live := object.Object.DeepCopy()
	if uid, ok := t.uids[name]; ok {
		live.SetUID(uid)
		if _, err := client.Update(ctx, live, metav1.UpdateOptions{}); err != nil {
			panic(err)
		}
		return uid, apply.Configured
	}
	t.issued++
	uid := types.UID(fmt.Sprintf("%s-%d", name, t.issued))
	t.uids[name] = uid
	live.SetUID(uid)
	if _, err := client.Create(ctx, live, metav1.CreateOptions{}); err != nil {
		panic(err)
	}
	return uid, apply.Created
}

// MakeWay deletes what was not made for the run, as the applier does with what is the Release's,
// and it counts as pruned.
func (t *target) MakeWay(ctx context.Context, object render.Object) (bool, error) {
	key := object.Key()
	if err := t.obstacles[key.Name]; err != nil {
		return false, err
	}
	if t.uids[key.Name] == "" {
		return true, nil
	}
	mapping, _ := t.Mapping(ctx, key.GroupVersionKind())
	live, err := t.dynamic.Resource(mapping.Resource).Namespace(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	if live.GetAnnotations()[apply.AnnotationHookRun] == object.Object.GetAnnotations()[apply.AnnotationHookRun] {
		return false, nil
	}
	if result := t.Prune(ctx, []corev1alpha1.InventoryEntry{{ObjectKey: key}})[0]; !result.Gone {
		return false, &apply.WaitingError{For: "the object of its last run to be gone"}
	}
	return true, nil
}

func (t *target) Prune(ctx context.Context, entries []corev1alpha1.InventoryEntry) []apply.PruneResult {
	return t.prune(ctx, entries, false)
}

func (t *target) Revert(ctx context.Context, entries []corev1alpha1.InventoryEntry) []apply.PruneResult {
	return t.prune(ctx, entries, true)
}

func (t *target) prune(ctx context.Context, entries []corev1alpha1.InventoryEntry, reverts bool) []apply.PruneResult {
	return t.remove("prune", entries, func(entry corev1alpha1.InventoryEntry, result *apply.PruneResult) {
		switch {
		case t.lingering[entry.Name]:
		case t.uids[t.waitsFor[entry.Name]] != "":
			result.Held, result.Message = true, "not deleted while "+t.waitsFor[entry.Name]+" is in it"
		case t.heirs[entry.Name].Name != "":
			result.Kept, result.Heir = true, t.heirs[entry.Name]
			result.Message = "handed over to Release " + result.Heir.String()
		case entry.Keep:
			result.Kept, result.Message = true, "kept, as its source asked"
		case reverts && entry.Adopted:
			result.Kept, result.Message = true, "kept, because it was there before"
		default:
			result.Gone = true
			mapping, _ := t.Mapping(ctx, entry.GroupVersionKind())
			_ = t.dynamic.Resource(mapping.Resource).Namespace(entry.Namespace).Delete(ctx, entry.Name, metav1.DeleteOptions{})
			delete(t.uids, entry.Name)
		}
	})
}

func (t *target) Orphan(_ context.Context, entries []corev1alpha1.InventoryEntry) []apply.PruneResult {
	return t.remove("orphan", entries, func(_ corev1alpha1.InventoryEntry, result *apply.PruneResult) { result.Kept = true })
}

func (t *target) remove(verb string, entries []corev1alpha1.InventoryEntry, do func(corev1alpha1.InventoryEntry, *apply.PruneResult)) []apply.PruneResult {
	var results []apply.PruneResult
	for _, entry := range entries {
		t.calls = append(t.calls, verb+" "+entry.Name)
		result := apply.PruneResult{Entry: entry}
		if t.heirs[entry.Name].Name == "" { // else it is theirs, and no failure
			result.Err = t.failures[entry.Name]
		}
		if result.Err == nil {
			do(entry, &result)
		}
		results = append(results, result)
	}
	return results
}

// ends has a Job say that it has ended.
func (t *target) ends(job *corev1alpha1.ObjectUID, phase corev1alpha1.HookPhase) {
	condition, ended := map[corev1alpha1.HookPhase]string{corev1alpha1.HookSucceeded: "Complete", corev1alpha1.HookFailed: "Failed"}[phase]
	if job == nil || job.Kind != "Job" || !ended || t.uids[job.Name] != job.UID {
		return
	}
	jobs := t.dynamic.Resource(schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}).Namespace(job.Namespace)
	live, err := jobs.Get(context.Background(), job.Name, metav1.GetOptions{})
	if err == nil {
		live.Object["status"] = map[string]any{"conditions": []any{map[string]any{
			"type": condition, "status": "True", "reason": "Because", "message": "it has ended", "lastTransitionTime": "2026-03-01T10:00:30Z",
		}}}
		_, err = jobs.Update(context.Background(), live, metav1.UpdateOptions{})
	}
	if err != nil {
		panic(err)
	}
}

// names of the objects that are there.
func (t *target) names() []string { return slices.Sorted(maps.Keys(t.uids)) }

// takeCalls gives the calls since the last time.
func (t *target) takeCalls() []string {
	calls := t.calls
	t.calls = nil
	return calls
}

// objectOf makes a rendered object of a core or batch kind in namespace "ns".
func objectOf(kind, name string, stage int32, digest string) render.Object {
	version := "v1"
	switch kind {
	case "Job":
		version = "batch/v1"
	case "Deployment":
		version = "apps/v1"
	}
	return render.Object{
		Object: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": version, "kind": kind, "metadata": map[string]any{"namespace": "ns", "name": name},
		}},
		Stage: stage, Digest: digest, Origin: name + ".yaml",
	}
}
