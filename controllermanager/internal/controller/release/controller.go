// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/controllermanager/internal/content"
	"kumodo.io/convoy/controllermanager/internal/errands"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/internal/sources"
	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/store"
)

// Target is the connection to a target cluster with a Release's identity.
type Target interface {
	apply.Target
	render.Cluster
	Dynamic() dynamic.Interface
}

// Connector gives connections to target clusters.
type Connector interface {
	ConnectRelease(ctx context.Context, cluster *corev1alpha1.Cluster, release *corev1alpha1.Release) (Target, error)
}

// Applier writes the objects of one Release to its target.
type Applier interface {
	Validate(ctx context.Context, objects []render.Object) error
	Untouched(ctx context.Context, entries []corev1alpha1.InventoryEntry) map[string]bool
	Apply(ctx context.Context, objects []render.Object) []apply.Result
	MakeWay(ctx context.Context, object render.Object) (vacant bool, err error)
	Prune(ctx context.Context, entries []corev1alpha1.InventoryEntry) []apply.PruneResult
	Revert(ctx context.Context, entries []corev1alpha1.InventoryEntry) []apply.PruneResult
	Orphan(ctx context.Context, entries []corev1alpha1.InventoryEntry) []apply.PruneResult
}

// NewApplier makes the applier of one pass. Of the options, those of the installation are
// the maker's to fill in.
type NewApplier func(target Target, options apply.Options) Applier

// Renderer makes objects of content.
type Renderer interface {
	Render(ctx context.Context, input render.Input) (*render.Result, error)
	// Known gives what Render gives when nothing has to be rendered for that; ok is false when
	// something has.
	Known(ctx context.Context, input render.Input) (result *render.Result, ok bool, err error)
}

// Renders keeps past renders.
type Renders interface {
	Put(ctx context.Context, record store.Record) error
	Get(ctx context.Context, namespace, name, digest string) (store.Record, error)
}

// Namespaces tells of namespaces of the host cluster.
type Namespaces interface {
	// Terminating tells whether the namespace is being deleted, or is gone.
	Terminating(ctx context.Context, name string) (bool, error)
}

// Informer has objects of one kind, and tells of changes.
type Informer interface {
	AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error)
	AddIndexers(indexers cache.Indexers) error
	GetIndexer() cache.Indexer
}

// Config is what the controller works with. All fields are required but those that say
// otherwise.
type Config struct {
	// Client of the convoy API on the host cluster.
	Client versioned.Interface
	// Namespaces of the host cluster.
	Namespaces Namespaces
	// The informers of the host cluster's objects. Releases, Inventories and Clusters may have
	// those of some shards only, of which the work queue owns no others.
	Releases, Inventories, Clusters                Informer
	GitRepositories, HelmRegistries, OCIRegistries Informer
	// Elsewhere has Releases of other shards; nil: the informers have all there are.
	Elsewhere Elsewhere

	// Sources finds source objects.
	Sources sources.Lookup
	// Fetcher finds and gives their content.
	Fetcher fetch.Fetcher
	// HostReader reads ConfigMaps and Secrets.
	HostReader content.HostReader
	// References tells of changes of what HostReader reads; nil: they are seen when a pass is
	// made for another reason.
	References References
	// Connector gives connections to target clusters.
	Connector Connector
	// Renderer makes objects of content.
	Renderer Renderer
	// Renders keeps what is applied; nil: nothing is kept.
	Renders Renders
	// NewApplier makes the applier of one pass.
	NewApplier NewApplier

	// Probe is told of a cluster that did not accept the credentials, or that there is no
	// connection to; nil: nobody is.
	Probe func(cluster types.NamespacedName)
	// Recorder takes events for people.
	Recorder record.EventRecorder
	// Clock is the time.
	Clock clock.PassiveClock

	// Harness has the settings of the work queue; name and reconciler are the controller's.
	Harness base.Options[types.NamespacedName]
}

// Controller is the controller of Releases. Its key is the name of the Release.
type Controller struct {
	*base.Controller[types.NamespacedName]
	config Config

	releases    cache.Indexer
	inventories cache.Indexer
	clusters    cache.Indexer

	deliver, remove []step

	latestReleases    latest[*corev1alpha1.Release]
	latestInventories latest[*corev1alpha1.ReleaseInventory]
	attempts          perRelease[*attempt]
	lastClusters      perRelease[*corev1alpha1.Cluster]  // as they were last seen: one may be gone before its Release
	awaits            perRelease[[]types.NamespacedName] // those that Releases wait for
	expressions       readyExpressions
	sightings         sightings
	stored            shelf
	errands           errands.Errands
	renderings        renderings
	questions         questions
	watched           perRelease[time.Time] // since when a Release, and its target, are looked at
	lacking           perRelease[absence]   // of what is applied of a deleted Release
	left              perRelease[leaving]   // out of rollbacks
	metrics           *metrics
}

// Name of the controller in logs and metrics.
const Name = "release"

// New makes the controller and registers its indexes and event handlers. It must be called
// before the informers start.
func New(config Config) (*Controller, error) {
	c := newController(config)
	harness := config.Harness
	harness.Name, harness.Reconciler = Name, c
	c.Controller = base.New(harness)
	if r := harness.Registerer; r != nil {
		r.MustRegister(census{c})
	}
	if err := errors.Join(addIndexes(config.Releases), c.addHandlers()); err != nil {
		return nil, fmt.Errorf("release controller: %w", err)
	}
	return c, nil
}

// newController makes the controller without its work queue and handlers.
func newController(config Config) *Controller {
	c := &Controller{
		config:      config,
		releases:    config.Releases.GetIndexer(),
		inventories: config.Inventories.GetIndexer(),
		clusters:    config.Clusters.GetIndexer(),
		metrics:     newMetrics(config.Harness.Registerer),
	}
	c.errands.Clock, c.errands.Enqueue = config.Clock, func(release types.NamespacedName, p base.Priority) { c.Enqueue(release, p) }
	c.renderings.engine, c.renderings.patience, c.questions.patience = config.Renderer, passPatience, passPatience
	c.deliver = c.deliverSteps()
	c.remove = c.removeSteps()
	return c
}

// EnqueueShard enqueues every Release that the given function owns, after a change of what
// this process owns.
func (c *Controller) EnqueueShard(owned func(release *corev1alpha1.Release) bool) {
	for _, object := range c.releases.List() {
		if release, ok := object.(*corev1alpha1.Release); ok && owned(release) {
			c.Enqueue(nameOf(release), base.PriorityResync)
		}
	}
}

// Cluster gives the group of a Release's key: the name of its cluster, so that clusters
// take turns.
func (c *Controller) Cluster(key types.NamespacedName) string {
	return clusterOf(c.releases, key)
}

func clusterOf(releases cache.Indexer, key types.NamespacedName) string {
	object, exists, err := releases.GetByKey(key.String())
	if err != nil || !exists {
		return ""
	}
	release, ok := object.(*corev1alpha1.Release)
	if !ok {
		return ""
	}
	return clusterNameOf(release)
}

// clusterNameOf names a Release's cluster in metrics and indexes: "<namespace>/<name>".
func clusterNameOf(release *corev1alpha1.Release) string {
	return release.Namespace + "/" + release.Spec.ClusterRef.Name
}

// Defaults of a Release's fields, for objects that were stored without them.
const (
	defaultInterval       = 5 * time.Minute
	defaultTimeout        = 5 * time.Minute
	defaultInitialBackoff = 5 * time.Second
	defaultMaxBackoff     = 5 * time.Minute
	defaultHistoryLimit   = 10
)

func interval(release *corev1alpha1.Release) time.Duration {
	if d := release.Spec.Sync.Interval; d != nil && d.Duration > 0 {
		return d.Duration
	}
	return defaultInterval
}

func timeout(release *corev1alpha1.Release) time.Duration {
	if d := release.Spec.Sync.Timeout; d != nil && d.Duration > 0 {
		return d.Duration
	}
	return defaultTimeout
}

func prunes(release *corev1alpha1.Release) bool {
	return release.Spec.Sync.Prune == nil || *release.Spec.Sync.Prune
}

// objectName is how an object is written in messages.
func objectName(key corev1alpha1.ObjectKey) string {
	if key.Namespace == "" {
		return key.Kind + " " + key.Name
	}
	return key.Kind + " " + key.Namespace + "/" + key.Name
}
