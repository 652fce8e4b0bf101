// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/inventory"
	"kumodo.io/convoy/render"
)

// defaultConcurrency is how many objects of a batch are under way at the same time when
// the caller says nothing.
const defaultConcurrency = 8

// Target is the cluster that is written to, seen with the Release's identity.
type Target interface {
	Dynamic() dynamic.Interface
	Metadata() metadata.Interface
	// REST is for requests to absolute paths.
	REST() rest.Interface
	// Mapping finds the resource of a kind; an empty version means the preferred one.
	// meta.IsNoMatchError tells that the cluster does not serve the kind.
	Mapping(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error)
	// Invalidate makes the next miss ask the server for its kinds again.
	Invalidate()
}

// Options say for whom and how an Applier works.
type Options struct {
	// Installation names this convoy in the marks of the objects.
	Installation string
	// Release whose objects these are; its spec.sync and spec.drift are the policies. It is
	// only read.
	Release *corev1alpha1.Release
	// Inventory is the whole inventory of the Release: what has been applied, with UIDs and
	// digests, and what is written ahead. Without it every object counts as never applied,
	// and the care for namespaces and definitions that still hold objects of the Release is
	// lost.
	Inventory []corev1alpha1.InventoryEntry
	// Others tells of the other Releases of the installation; nil: nothing is known of them,
	// and no object changes hands.
	Others Others
	// Concurrency bounds how many objects are under way at the same time; 0 means 8.
	Concurrency int
	// Force replaces objects whose immutable fields changed, whatever spec.sync.replace says.
	Force bool
}

// Applier applies and removes the objects of one Release. It serves one pass: it knows of
// the inventory what it was given, and adds what it does itself. Its methods may be called
// at the same time.
type Applier struct {
	target      Target
	options     Options
	owner       string
	override    bool
	replace     bool
	concurrency int
	ignores     []ignoreRule
	ignoresErr  error

	mu       sync.Mutex
	known    map[string]corev1alpha1.InventoryEntry // by inventory.Key
	removing map[string]bool                        // the keys of all that is or was to be removed
}

// New makes an Applier. It sends nothing.
func New(target Target, options Options) *Applier {
	release := options.Release
	a := &Applier{
		target:      target,
		options:     options,
		owner:       corev1alpha1.ReleaseAnnotationValue(options.Installation, release.Namespace, release.Name),
		override:    release.Spec.Sync.Conflicts != corev1alpha1.ConflictsFail,
		replace:     options.Force || release.Spec.Sync.Replace == corev1alpha1.ReplaceOnImmutable,
		concurrency: options.Concurrency,
		known:       make(map[string]corev1alpha1.InventoryEntry, len(options.Inventory)),
		removing:    map[string]bool{},
	}
	if a.concurrency <= 0 {
		a.concurrency = defaultConcurrency
	}
	a.ignores, a.ignoresErr = compileIgnores(release.Spec.Drift)
	for _, e := range options.Inventory {
		a.known[inventory.Key(e)] = e
	}
	return a
}

// Action is what applying an object came to.
type Action string

const (
	// Created: the object did not exist.
	Created Action = "created"
	// Configured: the object existed and was sent another content.
	Configured Action = "configured"
	// Unchanged: the object existed and is as it was.
	Unchanged Action = "unchanged"
	// Recreated: an object that was applied before was created again, because it had gone or
	// because an immutable field changed.
	Recreated Action = "recreated"
)

// Result is the outcome for one object. Without Err, the object is in the cluster as
// rendered: UID, Digest, ResourceVersion and Adopted belong into its inventory entry.
type Result struct {
	Key             corev1alpha1.ObjectKey
	UID             types.UID
	Digest          string
	ResourceVersion string
	Action          Action
	// Adopted: the object was there, or may have been, before this Release applied it first.
	Adopted bool
	// Err says why the object was not applied, for people, without naming the object.
	// Reason and Retryable classify it.
	Err error
}

// Apply sends the objects of one batch, some of them at the same time, and gives one
// result for each, in the same order. One object's failure does not keep the others from
// being sent. Objects are not changed. When ctx ends, what was not begun fails with its
// error.
func (a *Applier) Apply(ctx context.Context, objects []render.Object) []Result {
	results := make([]Result, len(objects))
	a.each(len(objects), func(i int) {
		results[i] = a.applyOne(ctx, objects[i])
	})
	return results
}

func (a *Applier) applyOne(ctx context.Context, o render.Object) (result Result) {
	result = Result{Key: o.Key(), Digest: o.Digest}
	defer recovered(ctx, &result.Err)
	if result.Err = ctx.Err(); result.Err != nil {
		return result
	}
	d, err := a.newDelivery(ctx, o)
	if err != nil {
		result.Err = a.explain(err, result.Key)
		return result
	}
	live, action, err := d.send(ctx)
	if err != nil {
		result.Err = a.explain(err, result.Key)
		return result
	}
	result.UID, result.ResourceVersion, result.Action = live.GetUID(), live.GetResourceVersion(), action
	result.Adopted = d.adopted(live, action)
	a.record(corev1alpha1.InventoryEntry{
		ObjectKey: result.Key, UID: result.UID, Digest: result.Digest, ResourceVersion: result.ResourceVersion,
		Stage: o.Stage, Keep: o.Keep, Hook: d.known.Hook, Adopted: result.Adopted,
	})
	klog.FromContext(ctx).V(4).Info("Applied object", "object", describe(result.Key), "action", action)
	return result
}

// Counts sums up results by their outcome.
type Counts struct {
	Created, Configured, Unchanged, Recreated, Failed int
}

// Count sums up results.
func Count(results []Result) Counts {
	var c Counts
	for _, r := range results {
		switch {
		case r.Err != nil:
			c.Failed++
		case r.Action == Created:
			c.Created++
		case r.Action == Configured:
			c.Configured++
		case r.Action == Recreated:
			c.Recreated++
		default:
			c.Unchanged++
		}
	}
	return c
}

// each calls do for 0 … n-1, at most a.concurrency calls at the same time, and returns
// when the last has.
func (a *Applier) each(n int, do func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, a.concurrency) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	workers.Wait()
}

// recovered turns a panic over one object into that object's error: a malformed object of
// one Release must not end the process that serves all of them. It has to be deferred.
func recovered(ctx context.Context, err *error) {
	if p := recover(); p != nil {
		klog.FromContext(ctx).Error(nil, "Panic while handling an object", "panic", p, "stack", string(debug.Stack()))
		*err = fmt.Errorf("internal error: %v", p)
	}
}

// resource gives the client for an object.
func (a *Applier) resource(ctx context.Context, key corev1alpha1.ObjectKey) (dynamic.ResourceInterface, error) {
	mapping, err := a.mapping(ctx, key)
	if err != nil {
		return nil, err
	}
	return a.client(mapping, key.Namespace), nil
}

func (a *Applier) mapping(ctx context.Context, key corev1alpha1.ObjectKey) (*meta.RESTMapping, error) {
	return a.target.Mapping(ctx, key.GroupVersionKind())
}

// client gives the client for the objects of a resource in a namespace, which is ignored for a
// cluster-scoped kind.
func (a *Applier) client(mapping *meta.RESTMapping, namespace string) dynamic.ResourceInterface {
	client := a.target.Dynamic().Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return client.Namespace(namespace)
	}
	return client
}

// served is resource for an object about to be applied. Its kind is served, or was when
// the render was checked, or is defined by the same render: one that the target does not
// know is asked for anew, and if it still does not is waited for.
func (a *Applier) served(ctx context.Context, key corev1alpha1.ObjectKey) (dynamic.ResourceInterface, error) {
	client, err := a.resource(ctx, key)
	if !meta.IsNoMatchError(err) {
		return client, err
	}
	a.target.Invalidate()
	if client, err = a.resource(ctx, key); meta.IsNoMatchError(err) {
		return nil, &WaitingError{For: fmt.Sprintf("the target cluster to serve kind %s of %s", key.Kind, groupVersion(key)), cause: err}
	}
	return client, err
}

func groupVersion(key corev1alpha1.ObjectKey) string {
	return schema.GroupVersion{Group: key.Group, Version: key.Version}.String()
}

func (a *Applier) lookUp(key corev1alpha1.ObjectKey) corev1alpha1.InventoryEntry {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known[inventory.KeyOf(key)]
}

func (a *Applier) record(e corev1alpha1.InventoryEntry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known[inventory.Key(e)] = e
}

func (a *Applier) forget(e corev1alpha1.InventoryEntry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.known, inventory.Key(e))
}

func (a *Applier) beginRemoval(entries []corev1alpha1.InventoryEntry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range entries {
		a.removing[inventory.Key(e)] = true
	}
}

// find gives the known entries that match, sorted by key. match is called under the lock.
func (a *Applier) find(match func(corev1alpha1.InventoryEntry) bool) []corev1alpha1.InventoryEntry {
	a.mu.Lock()
	defer a.mu.Unlock()
	var found []corev1alpha1.InventoryEntry
	for _, key := range slices.Sorted(maps.Keys(a.known)) {
		if e := a.known[key]; match(e) {
			found = append(found, e)
		}
	}
	return found
}

// describe names an object for people: "Deployment.apps shop/web".
func describe(key corev1alpha1.ObjectKey) string {
	name := schema.GroupKind{Group: key.Group, Kind: key.Kind}.String() + " "
	if key.Namespace != "" {
		name += key.Namespace + "/"
	}
	return name + key.Name
}
