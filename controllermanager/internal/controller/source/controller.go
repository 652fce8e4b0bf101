// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"kumodo.io/convoy/controllermanager/internal/errands"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/internal/references"
	"kumodo.io/convoy/internal/sources"
)

// Checker asks sources.
type Checker interface {
	Check(ctx context.Context, namespace string, source runtime.Object) (fetch.CheckResult, error)
}

// References has sources enqueued when Secrets change that they refer to.
type References interface {
	// Track has changes of the objects, from now on, enqueue the source, and no others. The
	// state that it gives is the same while they are.
	Track(ctx context.Context, source types.NamespacedName, objects []references.Object) (state string)
	Forget(source types.NamespacedName)
}

// Config is what the controllers of sources work with.
type Config struct {
	// Checker asks sources.
	Checker Checker
	// References tells of changes of Secrets; nil: they are seen with the next check.
	References References
	// Recorder takes events for people.
	Recorder record.EventRecorder
	// Clock is the time.
	Clock clock.PassiveClock
	// Patience is how long a worker waits for a source; default 200 milliseconds.
	Patience time.Duration
	// Harness has the settings of the work queue; name and reconciler are the controller's.
	Harness base.Options[types.NamespacedName]
}

// Kind says how a controller deals with one kind of source.
type Kind[T sources.Object] struct {
	// Name of the controller in logs and metrics.
	Name string
	// Informer of the objects.
	Informer cache.SharedIndexInformer
	// Settings gives what the spec says of checks.
	Settings func(source T) Settings
	// Status gives access to the common part of an object's status.
	Status func(source T) Status
	// Learn writes what a check found into the status.
	Learn func(source T, result fetch.CheckResult)
	// Copy gives a deep copy.
	Copy func(source T) T
	// Update writes the status.
	Update func(ctx context.Context, source T) (T, error)
}

// Settings are what the spec of a source says of checks.
type Settings struct {
	// Interval between checks; nil or 0 means 10 minutes.
	Interval *metav1.Duration
	// Suspend stops checks.
	Suspend bool
}

// Status points into the common part of the status of a source.
type Status struct {
	ObservedGeneration *int64
	Conditions         *[]metav1.Condition
	LastCheckTime      **metav1.Time
}

// Controller checks the sources of one kind. Its key is the name of the object.
type Controller[T sources.Object] struct {
	*base.Controller[types.NamespacedName]
	config  Config
	kind    Kind[T]
	errands errands.Errands

	mu     sync.Mutex
	checks map[types.NamespacedName]check
}

// check is the last check of a source by this process.
type check struct {
	uid        types.UID
	generation int64
	// references is the state of the Secrets before the check.
	references string
	at         time.Time
	// failures in a row with the same spec and Secrets.
	failures int
}

// New makes a controller and registers its event handler. It must be called before the
// informer starts.
func New[T sources.Object](config Config, kind Kind[T]) (*Controller[T], error) {
	config.Patience = cmp.Or(config.Patience, defaultPatience)
	c := &Controller[T]{config: config, kind: kind, checks: map[types.NamespacedName]check{}}
	c.errands.Clock, c.errands.Enqueue = config.Clock, func(source types.NamespacedName, p base.Priority) { c.Enqueue(source, p) }
	harness := config.Harness
	harness.Name, harness.Reconciler = kind.Name, c
	c.Controller = base.New(harness)
	_, err := kind.Informer.AddEventHandler(base.Handler(c, base.Events[T, types.NamespacedName]{
		Keys: base.Single(nameOf[T]),
		Changed: func(old, source T) bool {
			return old.GetUID() != source.GetUID() || old.GetGeneration() != source.GetGeneration()
		},
	}))
	if err != nil {
		return nil, fmt.Errorf("%s controller: %w", kind.Name, err)
	}
	return c, nil
}

// EnqueueShard enqueues every source that the given function owns, after a change of what
// this process owns.
func (c *Controller[T]) EnqueueShard(owned func(key types.NamespacedName) bool) {
	for _, object := range c.kind.Informer.GetStore().List() {
		if source, ok := object.(T); ok && owned(nameOf(source)) {
			c.Enqueue(nameOf(source), base.PriorityResync)
		}
	}
}

// DropUnowned ends the work on sources that are another process's now, as that of the queue does,
// and the checks of them.
func (c *Controller[T]) DropUnowned() {
	c.Controller.DropUnowned()
	c.errands.Retain(func(source types.NamespacedName) bool {
		return c.config.Harness.Owned == nil || c.config.Harness.Owned(source)
	})
}

// Run works on sources until ctx ends.
func (c *Controller[T]) Run(ctx context.Context) error {
	err := c.Controller.Run(ctx)
	c.errands.Retain(func(types.NamespacedName) bool { return false })
	return err
}

func nameOf[T sources.Object](source T) types.NamespacedName {
	return types.NamespacedName{Namespace: source.GetNamespace(), Name: source.GetName()}
}
