// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	informers "kumodo.io/convoy/client/informers/externalversions"
	corelisters "kumodo.io/convoy/client/listers/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/fetch"
	fetchmetrics "kumodo.io/convoy/fetch/metrics"
	"kumodo.io/convoy/internal/certificate"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/internal/process"
	"kumodo.io/convoy/internal/references"
	"kumodo.io/convoy/internal/shard"
	"kumodo.io/convoy/internal/sources"
	"kumodo.io/convoy/observer/internal/desired"
	"kumodo.io/convoy/observer/internal/observer"
	"kumodo.io/convoy/observer/internal/serve"
	"kumodo.io/convoy/observer/internal/target"
	"kumodo.io/convoy/render"
	rendermetrics "kumodo.io/convoy/render/metrics"
)

// groupLimit is how many Releases of one cluster are in work at once.
const groupLimit = 8

// Manager is convoy-observer, put together.
type Manager struct {
	config    *CompletedConfig
	informers informers.SharedInformerFactory
	core      core
	shards    *shard.Manager
	// labels returns when the caches can be filled by them.
	labels func(ctx context.Context) error
	synced atomic.Bool
	visits visits

	host     observer.Host
	rules    *observer.Rules
	health   *observer.HealthController
	drift    *observer.Controller
	serving  *serve.Server
	listener func(net.Listener) net.Listener
	keeper   *certificate.Keeper // of own certificates; nil when there are none

	healthQueue, driftQueue, ruleQueue *base.Controller[types.NamespacedName]
}

// New puts the parts together. ctx is that of the process.
func (c *CompletedConfig) New(ctx context.Context) (*Manager, error) {
	m := &Manager{config: c, informers: newInformers(c.convoy)}
	m.core = newCore(c.convoy, m.informers, c.options.Process.ShardScopedCache)
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
	if m.keeper, err = newKeeper(c.options.Serving, c.kube); err != nil {
		return nil, err
	}
	var own identities
	if m.keeper != nil {
		own = m.keeper
	}
	if m.listener, err = secure(ctx, c.options.Serving, own); err != nil {
		return nil, err
	}
	if err := m.build(ctx); err != nil {
		return nil, err
	}
	return m, m.addHandlers()
}

func (m *Manager) build(ctx context.Context) error {
	c := m.config
	reader := &references.Reader{Client: c.kube}
	source := m.informers.Source().V1alpha1()
	extensions := m.informers.Extensions().V1alpha1()
	content := c.options.Content
	coordinator := fetch.New(fetch.Options{Secrets: reader, AllowFileSources: content.AllowFileSources, CacheBytes: content.CacheBytes, Limits: content.Limits})
	lookup := sources.Lookup{
		GitRepositories: source.GitRepositories().Lister(), HelmRegistries: source.HelmRegistries().Lister(), OCIRegistries: source.OCIRegistries().Lister(),
	}
	m.host = observer.Host{
		Client:      c.convoy,
		Releases:    corelisters.NewReleaseLister(m.core.releases.GetIndexer()),
		Inventories: corelisters.NewReleaseInventoryLister(m.core.inventories.GetIndexer()),
		Clusters:    corelisters.NewClusterLister(m.core.clusters.GetIndexer()),
		Connector: clusterconn.New(clusterconn.Options{
			InCluster: c.rest, Secrets: reader, ReadOnly: true, UserAgent: component + "/" + process.Version, Changed: m.reachChanged,
		}),
		Tracker: target.New(klog.FromContext(ctx), c.installation, m.changed), Installation: c.installation,
	}
	if m.core.byShard != nil {
		m.host.Visited = m.visits.note
		c.registry.MustRegister(m.core.byShard.Collector(leaseComponent))
	}
	m.rules = &observer.Rules{Sets: extensions.HealthRuleSets().Lister(), Global: extensions.GlobalHealthRuleSets().Lister()}
	renderer := render.New(render.Options{Limits: content.RenderLimits(), Workers: content.RenderWorkers})
	renders := &desired.Resolver{
		Sources: lookup, Fetch: coordinator, Renderer: renderer,
		References: desired.References{HostReader: reader, Fetch: coordinator, Sources: lookup}, Store: c.store,
	}
	m.health = &observer.HealthController{Host: m.host, Rules: m.rules, Clock: clock.RealClock{}, Resync: c.options.Process.Resync}
	m.drift = &observer.Controller{Host: m.host, Desired: renders, Clock: clock.RealClock{}, Resync: c.options.Process.Resync, FullInterval: c.options.Drift.FullInterval}
	sets := &observer.RuleSetController{Client: c.convoy, Sets: m.rules.Sets, Global: m.rules.Global}
	m.serving = &serve.Server{Host: m.host, Desired: renders, Health: m.health, Values: renders, Rules: m.rules, AsCaller: c.options.Serving.ImpersonateUser}
	m.healthQueue = base.New(m.queue("health", m.health))
	m.driftQueue = base.New(m.queue("drift", m.drift))
	m.ruleQueue = base.New(base.Options[types.NamespacedName]{
		Name: "ruleset", Workers: 1, Reconciler: sets, KeyLog: keyLog("HealthRuleSet"), Registerer: c.registry,
	})
	return errors.Join(c.registry.Register(fetchmetrics.NewCollector(coordinator)), rendermetrics.Register(c.registry, renderer))
}

// restAfter lets no Release take more than about a quarter of a worker's time, however often its
// objects change.
const restAfter = 4

// queue are the options of a loop over Releases.
func (m *Manager) queue(name string, reconciler base.Reconciler[types.NamespacedName]) base.Options[types.NamespacedName] {
	return base.Options[types.NamespacedName]{
		Name: name, Workers: m.config.options.Process.Workers, Reconciler: reconciler,
		InitialBackoff: time.Second, MaxBackoff: time.Minute, Rest: restAfter,
		Owned: m.owned, GroupOf: m.clusterOf, GroupLimit: groupLimit,
		KeyLog: keyLog("Release"), Registerer: m.config.registry,
	}
}

func keyLog(kind string) func(types.NamespacedName) []any {
	return func(key types.NamespacedName) []any { return []any{kind, klog.KRef(key.Namespace, key.Name)} }
}

// clusterOf is the cluster of a Release; one that is not known is a group of its own.
func (m *Manager) clusterOf(key types.NamespacedName) string {
	release, err := m.host.Releases.Releases(key.Namespace).Get(key.Name)
	if err != nil {
		return key.String()
	}
	return shard.ReleaseKey(release.Namespace, release.Spec.ClusterRef.Name)
}

// owned tells whether this process works on a Release. One that is gone from the cache is:
// its memory must go too.
func (m *Manager) owned(key types.NamespacedName) bool {
	release, err := m.host.Releases.Releases(key.Namespace).Get(key.Name)
	return err != nil || m.works(shard.ReleaseKey(release.Namespace, release.Spec.ClusterRef.Name))
}

// works tells whether this process works on the shard of a Cluster, and its Releases: it has the
// shard, and all that is in it is cached.
func (m *Manager) works(clusterKey string) bool {
	n := shard.Of(clusterKey, m.shards.Shards())
	return m.shards.Owns(n) && m.core.hold(n)
}

// changed is told of a change in a target cluster.
func (m *Manager) changed(release types.NamespacedName) {
	m.enqueue(release, base.PriorityChange)
}

// reachChanged is told of a cluster that does not answer any more, or does again.
func (m *Manager) reachChanged(cluster types.NamespacedName) {
	for _, release := range m.releasesOn(cluster) {
		m.enqueue(release, base.PriorityChange)
	}
}

func (m *Manager) enqueue(release types.NamespacedName, priority base.Priority) {
	m.healthQueue.Enqueue(release, priority)
	m.driftQueue.Enqueue(release, priority)
}

// Run works until ctx ends, then ends what is under way.
func (m *Manager) Run(ctx context.Context) error {
	options := m.config.options
	endpoints := process.NewEndpoints(options.Process.MetricsAddr, m.config.registry)
	endpoints.AddReadyCheck("caches", func(context.Context) error {
		if m.synced.Load() {
			return nil
		}
		return errors.New("the caches have not caught up with the host cluster")
	})
	endpoints.AddReadyCheck("sharding", m.shards.Check)
	return process.RunAll(ctx, options.Process.GracePeriod, m.parts(endpoints)...)
}

// parts are what a Manager runs.
func (m *Manager) parts(endpoints *process.Endpoints) []process.Runnable {
	parts := []process.Runnable{
		{Name: "endpoints", Run: endpoints.Run}, {Name: "loops", Run: m.work},
		// What the assessment of thousands of objects at a start, or a burst of answers, has taken.
		{Name: "memory", Run: process.GiveMemoryBack},
	}
	if m.keeper != nil {
		endpoints.AddReadyCheck("certificates", m.keeper.Check)
		parts = append(parts, process.Runnable{Name: "certificates", Run: m.keeper.Run})
	}
	return append(parts, m.config.options.Process.Debug()...)
}

// work waits for the caches and runs the loops. A host whose convoy API is not served yet
// is waited for: the processes of an installation start in any order.
func (m *Manager) work(ctx context.Context) error {
	// The informers and watches end with this function, also when a part failed.
	ctx, cancel := context.WithCancel(ctx)
	defer m.informers.Shutdown()
	defer m.core.stop()
	defer cancel()
	defer m.host.Tracker.Stop()
	err := startInformers(ctx, m.informers)
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
	m.shards.Subscribe(m.shardsChanged(ctx))
	options := m.config.options
	return process.RunAll(ctx, options.Process.GracePeriod,
		process.Runnable{Name: "sharding", Run: m.shards.Run},
		process.Runnable{Name: "health", Run: m.healthQueue.Run},
		process.Runnable{Name: "drift", Run: m.driftQueue.Run},
		process.Runnable{Name: "rulesets", Run: m.ruleQueue.Run},
		process.Runnable{Name: "visits", Run: m.forgetVisited},
		process.Runnable{Name: "serving", Run: func(ctx context.Context) error {
			return process.Serve(ctx, options.Serving.Addr, m.serving.Handler(), m.listener)
		}},
	)
}

// shardsChanged drops the work on lost shards and takes up that of gained ones.
func (m *Manager) shardsChanged(ctx context.Context) func(gained, lost []int) {
	return func(gained, lost []int) {
		if len(lost) > 0 {
			for _, queue := range []*base.Controller[types.NamespacedName]{m.healthQueue, m.driftQueue} {
				queue.DropUnowned()
			}
			m.forgetUnowned()
			if m.core.byShard != nil {
				m.core.byShard.Lose(lost...)
			}
		}
		switch {
		case len(gained) == 0:
		case m.core.byShard == nil:
			m.enqueueGained(gained...)
		default:
			for _, n := range gained {
				m.core.byShard.Gain(ctx, n, func() { m.enqueueGained(n) })
			}
		}
	}
}
