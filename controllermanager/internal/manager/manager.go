// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	corev1 "k8s.io/api/core/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned/scheme"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/controllermanager/internal/controller/cluster"
	"kumodo.io/convoy/controllermanager/internal/controller/gitrepository"
	"kumodo.io/convoy/controllermanager/internal/controller/helmregistry"
	"kumodo.io/convoy/controllermanager/internal/controller/ociregistry"
	"kumodo.io/convoy/controllermanager/internal/controller/release"
	"kumodo.io/convoy/controllermanager/internal/controller/source"
	"kumodo.io/convoy/controllermanager/internal/retention"
	"kumodo.io/convoy/fetch"
	fetchmetrics "kumodo.io/convoy/fetch/metrics"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/internal/process"
	"kumodo.io/convoy/internal/references"
	"kumodo.io/convoy/internal/shard"
	"kumodo.io/convoy/internal/sources"
	"kumodo.io/convoy/render"
	rendermetrics "kumodo.io/convoy/render/metrics"
)

// Manager is convoy-controller-manager, put together.
type Manager struct {
	config    *CompletedConfig
	informers *informers
	shards    *shard.Manager
	events    record.EventBroadcaster
	recorder  record.EventRecorder
	// labels returns when the caches can be filled by them.
	labels   func(ctx context.Context) error
	synced   atomic.Bool
	farewell farewell
	gained   atomic.Pointer[time.Time] // when shards were gained last; nil: not yet
	// references tells of changes of the ConfigMaps and Secrets that objects refer to.
	references *references.Watcher[owner]

	clusters        *cluster.Controller
	releases        *release.Controller
	gitRepositories *gitrepository.Controller
	helmRegistries  *helmregistry.Controller
	ociRegistries   *ociregistry.Controller
}

// New puts the parts together. Nothing is sent to any server before Run.
func (c *CompletedConfig) New() (*Manager, error) {
	m := &Manager{config: c, informers: newInformers(c.convoy, c.options.Process.Resync, c.options.Process.ShardScopedCache)}
	var err error
	if m.labels, err = c.options.Process.Labels(c.rest, c.convoy); err != nil {
		return nil, err
	}
	if m.shards, err = shard.NewManager(shard.Options{
		Client: c.kube, Namespace: c.options.Process.Namespace, Component: leaseComponent,
		Identity: process.Identity(), Shards: c.options.Process.Shards, Registerer: c.registry, Fence: c.fence,
	}); err != nil {
		return nil, err
	}
	m.events = record.NewBroadcaster(record.WithCorrelatorOptions(eventLimits))
	m.recorder = m.events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component})
	return m, m.build()
}

// eventLimits let a Release tell of a hundred commits in a row: with those of the library, all
// but 25 events of an object are dropped, and all but ten of a kind summed up in one. What is
// remembered for that takes 2 KiB for an event; a thousand are more than there are of one moment.
var eventLimits = record.CorrelatorOptions{BurstSize: 100, QPS: 1. / 10, MaxEvents: 100, LRUCacheSize: 1000}

// build makes the five controllers.
func (m *Manager) build() error {
	c := m.config
	reader := &references.Reader{Client: c.kube}
	connections := m.connections(reader)
	coordinator := fetch.New(fetch.Options{
		Secrets: reader, AllowFileSources: c.options.Fetch.AllowFileSources,
		CacheBytes: c.options.Fetch.CacheBytes, MaxConcurrent: c.options.Fetch.Concurrency, Limits: c.options.Fetch.Limits,
	})
	renderer := render.New(render.Options{Limits: c.options.RenderLimits(), Workers: c.options.Render.Workers})
	if err := m.watchReferences(connections); err != nil {
		return err
	}
	if m.informers.byShard != nil {
		c.registry.MustRegister(m.informers.byShard.Collector(leaseComponent))
	}
	return errors.Join(
		c.registry.Register(fetchmetrics.NewCollector(coordinator)),
		rendermetrics.Register(c.registry, renderer),
		m.buildClusters(connections),
		m.buildSources(coordinator),
		m.buildReleases(reader, connections, coordinator, renderer),
	)
}

// connections makes what keeps the connections to targets.
func (m *Manager) connections(secrets clusterconn.Secrets) *clusterconn.Connector {
	return clusterconn.New(clusterconn.Options{
		InCluster: m.config.rest, Secrets: secrets, Wrap: m.config.fence.Wrap, UserAgent: component + "/" + process.Version,
		Changed: func(name types.NamespacedName) { m.clusters.Enqueue(name, base.PriorityChange) },
	})
}

func (m *Manager) buildClusters(connections *clusterconn.Connector) (err error) {
	m.clusters, err = cluster.New(cluster.Config{
		Client: m.config.convoy, Clusters: m.informers.clusters, Releases: m.informers.releases,
		Prober: prober{connections}, References: tracked{m.references, kindCluster}, Recorder: m.recorder, Clock: clock.RealClock{},
		Harness: m.harness(kindCluster, m.ownsCluster),
	})
	return err
}

func (m *Manager) buildSources(coordinator *fetch.Coordinator) error {
	config := func(kind string) source.Config {
		return source.Config{
			Checker: coordinator, References: tracked{m.references, kind}, Recorder: m.recorder, Clock: clock.RealClock{},
			Harness: m.harness(kind, m.ownsSource(kind)),
		}
	}
	var errs [3]error
	m.gitRepositories, errs[0] = gitrepository.New(config(sources.KindGitRepository), m.config.convoy, m.informers.gitRepositories)
	m.helmRegistries, errs[1] = helmregistry.New(config(sources.KindHelmRegistry), m.config.convoy, m.informers.helmRegistries)
	m.ociRegistries, errs[2] = ociregistry.New(config(sources.KindOCIRegistry), m.config.convoy, m.informers.ociRegistries)
	return errors.Join(errs[:]...)
}

func (m *Manager) buildReleases(reader *references.Reader, connections *clusterconn.Connector, coordinator *fetch.Coordinator, renderer *render.Renderer) (err error) {
	config := release.Config{
		Client: m.config.convoy, Namespaces: namespaces{m.config.kube},
		Releases: m.informers.releases, Inventories: m.informers.inventories, Clusters: m.informers.clusters,
		GitRepositories: m.informers.gitRepositories, HelmRegistries: m.informers.helmRegistries, OCIRegistries: m.informers.ociRegistries,
		Sources: m.informers.sources(), Fetcher: fetcher{coordinator, &m.gained}, HostReader: reader,
		References: tracked{m.references, kindRelease},
		Connector:  connector{connections}, Renderer: renderer,
		NewApplier: newApplier(m.config.installation, m.config.options.Apply.Concurrency),
		Probe:      m.clusters.ProbeNow, Recorder: m.recorder, Clock: clock.RealClock{},
		Harness: m.harness(kindRelease, m.ownsRelease),
	}
	if m.config.store != nil {
		config.Renders = m.config.store
	}
	if m.informers.byShard != nil {
		config.Elsewhere = m.informers.elsewhere
	}
	config.Harness.GroupOf = func(key types.NamespacedName) string { return m.releases.Cluster(key) }
	config.Harness.GroupLimit = m.config.options.Apply.ClusterConcurrency
	m.releases, err = release.New(config)
	return err
}

// harness gives the settings of the work queue of one kind.
func (m *Manager) harness(kind string, owned func(types.NamespacedName) bool) base.Options[types.NamespacedName] {
	return base.Options[types.NamespacedName]{
		Workers: m.config.options.Process.Workers, InitialBackoff: time.Second, MaxBackoff: time.Minute,
		Owned: owned, Registerer: m.config.registry,
		KeyLog: func(key types.NamespacedName) []any { return []any{kind, klog.KRef(key.Namespace, key.Name)} },
	}
}

// Run works until ctx ends, then ends what is under way.
func (m *Manager) Run(ctx context.Context) error {
	o := m.config.options.Process
	endpoints := process.NewEndpoints(o.MetricsAddr, m.config.registry)
	endpoints.AddReadyCheck("caches", func(context.Context) error {
		if m.synced.Load() {
			return nil
		}
		return errors.New("the caches have not caught up with the host cluster")
	})
	endpoints.AddReadyCheck("sharding", m.shards.Check)
	return process.RunAll(ctx, o.GracePeriod, append(o.Debug(),
		process.Runnable{Name: "endpoints", Run: endpoints.Run},
		process.Runnable{Name: "controllers", Run: m.work},
	)...)
}

// work waits for the caches and runs the controllers.
func (m *Manager) work(ctx context.Context) error {
	m.events.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: m.config.kube.CoreV1().Events("")})
	defer m.events.Shutdown()
	// The informers end with this function, also when a part failed.
	ctx, cancel := context.WithCancel(ctx)
	defer m.informers.stop()
	defer cancel()
	err := m.informers.start(ctx)
	if err == nil {
		err = m.labels(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	m.synced.Store(true)
	m.shards.Subscribe(m.ownershipChanged(ctx))
	err = process.RunAll(ctx, m.config.options.Process.GracePeriod, append(m.retention(),
		process.Runnable{Name: "sharding", Run: m.shards.Run},
		process.Runnable{Name: "clusters", Run: m.clusters.Run},
		process.Runnable{Name: "releases", Run: m.releases.Run},
		process.Runnable{Name: "gitrepositories", Run: m.gitRepositories.Run},
		process.Runnable{Name: "helmregistries", Run: m.helmRegistries.Run},
		process.Runnable{Name: "ociregistries", Run: m.ociRegistries.Run},
		process.Runnable{Name: "memory", Run: process.GiveMemoryBack},
	)...)
	m.references.Stop()
	return err
}

// retention gives what looks through the render store, if there is one and renders in it do
// not stay for ever.
func (m *Manager) retention() []process.Runnable {
	grace := m.config.options.RenderStore.Retention
	if m.config.store == nil || grace == 0 {
		return nil
	}
	keeper := retention.New(retention.Config{
		Store: m.config.store, Releases: m.informers.releases.GetIndexer(), Partial: m.informers.byShard != nil, Grace: grace, Clock: clock.RealClock{},
		Owned: m.ownsCachedRelease, OwnsGone: func() bool { return m.shards.Owns(0) },
		Live: func(ctx context.Context, namespace, name string) (*corev1alpha1.Release, error) {
			return m.config.convoy.CoreV1alpha1().Releases(namespace).Get(ctx, name, metav1.GetOptions{})
		},
	})
	return []process.Runnable{{Name: "retention", Run: keeper.Run}}
}
