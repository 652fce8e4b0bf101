// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	testclock "k8s.io/utils/clock/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	sourcelisters "kumodo.io/convoy/client/listers/source/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/internal/sources"
	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/store"
)

// world is a controller with everything around it faked: the host, the source, the
// renderer and the target.
type world struct {
	*WithT
	*Controller
	host     *host
	target   *target
	source   *source
	clock    *testclock.FakePassiveClock
	recorder *record.FakeRecorder
	gone     bool // the host namespace is terminating
	probed   []types.NamespacedName
}

var key = types.NamespacedName{Namespace: "team", Name: "app"}

// source is the fetch coordinator, the renderer and the render store in one.
type source struct {
	revision  string
	err       error
	renderErr error
	// renderErrs are errors by the name of the Release.
	renderErrs map[string]error
	// results by revision, by Release and revision, and by "upgrade" and revision.
	results map[string]*render.Result
	stored  map[string]store.Record
	asked   []fetch.Want
}

func (s *source) Resolve(_ context.Context, want fetch.Want) (string, time.Time, error) {
	s.asked = append(s.asked, want)
	if want.Revision != "" {
		return want.Revision, time.Time{}, s.err
	}
	return s.revision, time.Time{}, s.err
}

func (s *source) Fetch(_ context.Context, want fetch.Want, revision string) (*fetch.Artifact, error) {
	if want.Source == nil {
		return nil, errors.New("there is no source to fetch from")
	}
	return &fetch.Artifact{Revision: revision, Path: "apps", Digest: "digest of " + revision}, s.err
}

func (s *source) Render(_ context.Context, input render.Input) (*render.Result, error) {
	if s.renderErr != nil {
		return nil, s.renderErr
	}
	if err := s.renderErrs[input.Release.Name]; err != nil {
		return nil, err
	}
	if result, ok := s.results[input.Release.Name+" "+input.Artifact.Revision]; ok {
		return result, nil
	}
	if result, ok := s.results["upgrade "+input.Artifact.Revision]; ok && input.Upgrade {
		return result, nil
	}
	return s.results[input.Artifact.Revision], nil
}

func (s *source) Known(context.Context, render.Input) (*render.Result, bool, error) {
	return nil, false, nil
}

func (s *source) Put(_ context.Context, record store.Record) error {
	s.stored[record.Result.Digest] = record
	return nil
}

func (s *source) Get(_ context.Context, _, _, digest string) (store.Record, error) {
	record, ok := s.stored[digest]
	if !ok {
		return store.Record{}, store.ErrNotFound
	}
	return record, nil
}

func (s *source) ConfigMap(context.Context, string, string) (map[string]string, error) {
	return nil, errors.New("not expected")
}

func (s *source) Secret(context.Context, string, string) (map[string][]byte, error) {
	return nil, errors.New("not expected")
}

// offers makes a revision the newest one, with a render of the given objects.
func (s *source) offers(revision string, objects ...render.Object) *render.Result {
	result := &render.Result{Digest: "render of " + revision, Inputs: "inputs of " + revision, Objects: objects}
	s.revision, s.results[revision] = revision, result
	return result
}

// newWorld has a Cluster "here", a GitRepository "apps" and the Release.
func newWorld(t *testing.T, release *corev1alpha1.Release) *world {
	informer := func(object apiObject) cache.SharedIndexInformer {
		return cache.NewSharedIndexInformer(&cache.ListWatch{}, object, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	w := &world{
		WithT: NewWithT(t), host: newHost(), target: newTarget(),
		source:   &source{results: map[string]*render.Result{}, stored: map[string]store.Record{}},
		clock:    testclock.NewFakePassiveClock(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)),
		recorder: record.NewFakeRecorder(100),
	}
	gits, helms, ocis := informer(&sourcev1alpha1.GitRepository{}), informer(&sourcev1alpha1.HelmRegistry{}), informer(&sourcev1alpha1.OCIRegistry{})
	config := Config{
		Client: w.host, Namespaces: w,
		Releases: informer(&corev1alpha1.Release{}), Inventories: informer(&corev1alpha1.ReleaseInventory{}), Clusters: informer(&corev1alpha1.Cluster{}),
		GitRepositories: gits, HelmRegistries: helms, OCIRegistries: ocis,
		Sources: sources.Lookup{
			GitRepositories: sourcelisters.NewGitRepositoryLister(gits.GetIndexer()),
			HelmRegistries:  sourcelisters.NewHelmRegistryLister(helms.GetIndexer()),
			OCIRegistries:   sourcelisters.NewOCIRegistryLister(ocis.GetIndexer()),
		},
		Fetcher: w.source, HostReader: w.source, Connector: w.target, Renderer: w.source,
		NewApplier: func(_ Target, options apply.Options) Applier { return w.target.as(options) },
		Probe:      func(cluster types.NamespacedName) { w.probed = append(w.probed, cluster) },
		Recorder:   w.recorder, Clock: w.clock, Harness: base.Options[types.NamespacedName]{},
	}
	var err error
	w.Controller, err = New(config)
	w.Expect(err).NotTo(HaveOccurred())
	w.renderings.patience, w.questions.patience = time.Minute, time.Minute
	w.Expect(w.clusters.Add(&corev1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "here"}})).To(Succeed())
	w.Expect(gits.GetIndexer().Add(&sourcev1alpha1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "apps"}})).To(Succeed())
	w.create(release)
	return w
}

// Terminating implements Namespaces.
func (w *world) Terminating(context.Context, string) (bool, error) { return w.gone, nil }

// newRelease is the Release "app".
func newRelease(change ...func(*corev1alpha1.Release)) *corev1alpha1.Release {
	release := &corev1alpha1.Release{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec: corev1alpha1.ReleaseSpec{
			ClusterRef:      corev1alpha1.LocalReference{Name: "here"},
			TargetNamespace: "ns",
			Source: corev1alpha1.ReleaseSource{Git: &corev1alpha1.GitSource{
				RepositoryRef: corev1alpha1.LocalReference{Name: "apps"}, Path: "apps",
			}},
		},
	}
	for _, c := range change {
		c(release)
	}
	return release
}

func (w *world) create(release *corev1alpha1.Release) {
	_, err := w.host.CoreV1alpha1().Releases(release.Namespace).Create(context.Background(), release, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.sync()
	w.host.forgetWrites()
}

// sync brings the caches up to date with the host.
func (w *world) sync() {
	releases, err := w.host.CoreV1alpha1().Releases("").List(context.Background(), metav1.ListOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	var objects []any
	for i := range releases.Items {
		objects = append(objects, &releases.Items[i])
	}
	w.Expect(w.releases.Replace(objects, "")).To(Succeed())
	inventories, err := w.host.CoreV1alpha1().ReleaseInventories("").List(context.Background(), metav1.ListOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	objects = nil
	for i := range inventories.Items {
		objects = append(objects, &inventories.Items[i])
	}
	w.Expect(w.inventories.Replace(objects, "")).To(Succeed())
}

// pass makes one pass over a Release, from and to caches that are up to date.
func (w *world) pass(name ...string) base.Result {
	k := key
	if len(name) > 0 {
		k.Name = name[0]
	}
	w.sync()
	result, err := w.Reconcile(context.Background(), k)
	w.ExpectWithOffset(1, err).NotTo(HaveOccurred())
	w.sync()
	return result
}

// release reads a Release; nil when it is gone.
func (w *world) release(name ...string) *corev1alpha1.Release {
	n := key.Name
	if len(name) > 0 {
		n = name[0]
	}
	release, err := w.host.CoreV1alpha1().Releases(key.Namespace).Get(context.Background(), n, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.Expect(err).NotTo(HaveOccurred())
	return release
}

// inventory reads the inventory of the Release; nil when there is none.
func (w *world) inventory() *corev1alpha1.ReleaseInventory {
	inventory, err := w.host.CoreV1alpha1().ReleaseInventories(key.Namespace).Get(context.Background(), key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.Expect(err).NotTo(HaveOccurred())
	return inventory
}

// change changes the Release as a person would.
func (w *world) change(change func(*corev1alpha1.Release)) {
	release := w.release()
	change(release)
	_, err := w.host.CoreV1alpha1().Releases(key.Namespace).Update(context.Background(), release, metav1.UpdateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
}

// observe writes the health of all objects, as the observer would: healthy, unless said
// otherwise by name.
func (w *world) observe(others ...corev1alpha1.ObjectHealth) {
	inventory := w.inventory()
	inventory.Status = corev1alpha1.ReleaseInventoryStatus{ObservedGeneration: inventory.Generation}
	for _, entry := range inventory.Spec.Entries {
		health := corev1alpha1.ObjectHealth{ObjectKey: entry.ObjectKey, Status: corev1alpha1.HealthHealthy}
		for _, other := range others {
			if other.Name == entry.Name {
				health.Status, health.Message = other.Status, other.Message
			}
		}
		inventory.Status.Health = append(inventory.Status.Health, health)
	}
	_, err := w.host.CoreV1alpha1().ReleaseInventories(key.Namespace).UpdateStatus(context.Background(), inventory, metav1.UpdateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
}

func health(name string, status corev1alpha1.HealthStatus, message string) corev1alpha1.ObjectHealth {
	return corev1alpha1.ObjectHealth{ObjectKey: corev1alpha1.ObjectKey{Name: name}, Status: status, Message: message}
}

// hook writes how a hook ended, as the observer would.
func (w *world) hook(name string, phase corev1alpha1.HookPhase, message string) {
	release := w.release()
	for i := range release.Status.Lifecycle.Hooks {
		if status := &release.Status.Lifecycle.Hooks[i]; status.Name == name {
			status.Phase, status.Message = phase, message
			w.target.ends(status.Object, phase)
		}
	}
	_, err := w.host.CoreV1alpha1().Releases(key.Namespace).UpdateStatus(context.Background(), release, metav1.UpdateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
}

// condition gives "status reason" of a condition.
func (w *world) condition(conditionType string, name ...string) string {
	condition := meta.FindStatusCondition(w.release(name...).Status.Conditions, conditionType)
	if condition == nil {
		return ""
	}
	return string(condition.Status) + " " + condition.Reason
}

func (w *world) message(conditionType string) string {
	condition := meta.FindStatusCondition(w.release().Status.Conditions, conditionType)
	if condition == nil {
		return ""
	}
	return condition.Message
}

// events gives the events since the last time.
func (w *world) events() []string {
	var events []string
	for {
		select {
		case event := <-w.recorder.Events:
			events = append(events, event)
		default:
			return events
		}
	}
}

var deleteOptions = metav1.DeleteOptions{}

var releaseResource = schema.GroupResource{Group: corev1alpha1.GroupName, Resource: "releases"}
