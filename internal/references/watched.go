// SPDX-License-Identifier: Apache-2.0

package references

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// refusedPause is how long what must not be watched is left alone.
const refusedPause = 5 * time.Minute

// backoff is between tries of a watch that fails otherwise, as informers have it.
var backoff = wait.Backoff{Duration: 800 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 10, Cap: 30 * time.Second}

// watched is the watch of one kind in one namespace. It is the store that its reflector
// fills, and keeps of each object its name and version.
type watched[K comparable] struct {
	watcher *Watcher[K]
	scope   scope
	end     context.CancelFunc
	// answered is closed when owners need not wait any more: the host has answered, or does
	// not do so soon.
	answered chan struct{}

	// What follows is guarded by the watcher.

	isAnswered bool
	// unsure is true while owners go on without knowing what there is.
	unsure bool
	// owners by the names of the objects that they refer to.
	owners map[string]map[K]bool
	// versions of all objects that there are, by name; nil until that is known.
	versions map[string]string
}

// begin begins a watch.
func (w *Watcher[K]) begin(s scope) *watched[K] {
	ctx, end := context.WithCancel(klog.NewContext(context.Background(), w.logger))
	watch := &watched[K]{watcher: w, scope: s, end: end, answered: make(chan struct{}), owners: map[string]map[K]bool{}}
	w.watches[s] = watch
	go watch.run(ctx)
	return watch
}

func (w *watched[K]) add(name string, owner K) {
	if w.owners[name] == nil {
		w.owners[name] = map[K]bool{}
	}
	w.owners[name][owner] = true
}

// remove tells whether that was the last reference to anything.
func (w *watched[K]) remove(name string, owner K) (last bool) {
	delete(w.owners[name], owner)
	if len(w.owners[name]) == 0 {
		delete(w.owners, name)
	}
	return len(w.owners) == 0
}

// await returns when the host has answered, or is not going to do so soon.
func (w *watched[K]) await(ctx context.Context) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-w.answered:
	case <-ctx.Done():
	case <-timer.C:
		w.goOn()
	}
}

// goOn lets owners go on without knowing what there is.
func (w *watched[K]) goOn() {
	w.watcher.mu.Lock()
	defer w.watcher.mu.Unlock()
	if w.versions == nil {
		w.unsure = true
		w.answer()
	}
}

func (w *watched[K]) answer() {
	if !w.isAnswered {
		w.isAnswered = true
		close(w.answered)
	}
}

// run watches until ctx ends.
func (w *watched[K]) run(ctx context.Context) {
	reflector := cache.NewReflectorWithOptions(w.listWatch(), &metav1.PartialObjectMetadata{}, w,
		cache.ReflectorOptions{Name: "references", TypeDescription: w.scope.kind})
	delay := backoff.DelayWithReset(clock.RealClock{}, 2*time.Minute)
	_ = delay.Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil && ctx.Err() == nil {
			w.failed(ctx, err)
		}
		return false, nil
	})
}

func (w *watched[K]) listWatch() cache.ListerWatcher {
	objects := w.watcher.client.Resource(resources[w.scope.kind]).Namespace(w.scope.namespace)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return objects.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return objects.Watch(ctx, options)
		},
	}, w.watcher.client)
}

// failed deals with a watch that cannot be held. One that is refused is tried again after a
// long pause only: that the right is missing may well be meant.
func (w *watched[K]) failed(ctx context.Context, err error) {
	w.goOn()
	logger := klog.FromContext(ctx).WithValues("kind", w.scope.kind, "namespace", w.scope.namespace)
	if !apierrors.IsForbidden(err) {
		logger.V(2).Info("Watch of referenced objects failed", "err", err)
		return
	}
	verbosity := 4
	if w.watcher.firstRefusal() {
		verbosity = 0
	}
	logger.V(verbosity).Info("Referenced objects must not be watched: changes of them are seen at the next resync; told once", "err", err)
	timer := time.NewTimer(refusedPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (w *Watcher[K]) firstRefusal() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := !w.refused
	w.refused = true
	return first
}

// Add is called by the reflector for a new object.
func (w *watched[K]) Add(object any) error {
	partial, err := asMetadata(object)
	if err != nil {
		return err
	}
	w.set(partial.Name, partial.ResourceVersion)
	return nil
}

// Update is called by the reflector for a changed object.
func (w *watched[K]) Update(object any) error { return w.Add(object) }

// Delete is called by the reflector for an object that is gone.
func (w *watched[K]) Delete(object any) error {
	partial, err := asMetadata(object)
	if err != nil {
		return err
	}
	w.set(partial.Name, "")
	return nil
}

// set notes the version of an object, "" for none, and tells its owners if it is another.
func (w *watched[K]) set(name, version string) {
	w.watcher.mu.Lock()
	var owners []K
	if w.versions != nil && w.versions[name] != version {
		owners = slices.Collect(maps.Keys(w.owners[name]))
		w.versions[name] = version
		if version == "" {
			delete(w.versions, name)
		}
	}
	w.watcher.mu.Unlock()
	w.tell(owners)
}

// Replace is called by the reflector with all objects, first and whenever it may have missed
// something. What is there when the watch begins is no news for owners that have waited.
func (w *watched[K]) Replace(objects []any, _ string) error {
	versions := make(map[string]string, len(objects))
	for _, object := range objects {
		partial, err := asMetadata(object)
		if err != nil {
			return err
		}
		versions[partial.Name] = partial.ResourceVersion
	}
	w.watcher.mu.Lock()
	told := map[K]bool{}
	for name, owners := range w.owners {
		if w.unsure || w.versions != nil && w.versions[name] != versions[name] {
			maps.Copy(told, owners)
		}
	}
	w.versions, w.unsure = versions, false
	w.answer()
	w.watcher.mu.Unlock()
	w.tell(slices.Collect(maps.Keys(told)))
	return nil
}

// Resync has no meaning here.
func (w *watched[K]) Resync() error { return nil }

// Transformer is what the reflector applies to objects that it gathers.
func (w *watched[K]) Transformer() cache.TransformFunc { return slim }

func (w *watched[K]) tell(owners []K) {
	if len(owners) > 0 {
		w.watcher.notify(owners)
	}
}

// slim keeps of an object what is read here. Annotations may hold copies of a Secret.
func slim(object any) (any, error) {
	partial, err := asMetadata(object)
	if err != nil {
		return nil, err
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: partial.Namespace, Name: partial.Name, ResourceVersion: partial.ResourceVersion,
	}}, nil
}

func asMetadata(object any) (*metav1.PartialObjectMetadata, error) {
	partial, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return nil, fmt.Errorf("metadata is expected, got a %T", object)
	}
	return partial, nil
}
