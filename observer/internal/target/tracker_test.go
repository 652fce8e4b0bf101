// SPDX-License-Identifier: Apache-2.0

package target

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"
	"unique"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

var (
	edge       = types.NamespacedName{Namespace: "ns", Name: "edge"}
	app        = types.NamespacedName{Namespace: "ns", Name: "app"}
	web        = types.NamespacedName{Namespace: "ns", Name: "web"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	secrets    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	patience   = 10 * time.Second
)

// bench is a tracker, and a protocol of whom it notified.
type bench struct {
	*WithT
	*Tracker

	mu       sync.Mutex
	notified map[types.NamespacedName]int
}

func newBench(t *testing.T) *bench {
	b := &bench{WithT: NewWithT(t), notified: map[types.NamespacedName]int{}}
	b.Tracker = New(klog.Background(), "inst", func(release types.NamespacedName) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.notified[release]++
	})
	t.Cleanup(b.Stop)
	return b
}

// told is how often a Release was notified.
func (b *bench) told(release types.NamespacedName) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notified[release]
}

// eventuallyKnows waits for a version.
func (b *bench) eventuallyKnows(resource schema.GroupVersionResource, namespace, name, version string) {
	b.Eventually(func() (string, error) {
		seen, known := b.Version(edge, resource, namespace, name)
		if !known {
			return "", errors.New("not known")
		}
		return seen, nil
	}).WithTimeout(patience).Should(Equal(version))
}

// client is a target cluster that counts how often it is asked for a list.
type client struct {
	*metadatafake.FakeMetadataClient
	mu      sync.Mutex
	lists   int
	refused bool
	over    chan struct{} // of an outage
}

func newClient(objects ...runtime.Object) *client {
	scheme := metadatafake.NewTestScheme()
	_ = metav1.AddMetaToScheme(scheme)
	c := &client{FakeMetadataClient: metadatafake.NewSimpleMetadataClient(scheme, objects...)}
	c.PrependReactor("list", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lists++
		if c.refused {
			return true, nil, errors.New("refused")
		}
		return false, nil, nil
	})
	return c
}

func (c *client) listed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lists
}

func (c *client) Metadata() metadata.Interface { return c }

func (c *client) Outage() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

func (c *client) setOutage(over chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = over
}

func (c *client) refuse(refused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = refused
}

// object is the metadata of an object of a Release, of no Release when it is "".
func object(kind, namespace, name, owner string, version int) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, ResourceVersion: strconv.Itoa(version),
			Labels: map[string]string{corev1alpha1.LabelOwner: "x"}, Annotations: map[string]string{"big": "text"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "convoy"}},
		},
	}
	if owner != "" {
		o.Annotations[corev1alpha1.AnnotationRelease] = owner
	}
	return o
}

func (c *client) update(b *bench, o *metav1.PartialObjectMetadata) {
	_, err := c.Resource(configMaps).Namespace(o.Namespace).(metadatafake.MetadataClient).UpdateFake(o, metav1.UpdateOptions{})
	b.Expect(err).NotTo(HaveOccurred())
}

func TestVersions(t *testing.T) {
	b := newBench(t)
	c := newClient(object("ConfigMap", "ns", "cm", "inst/ns/app", 5), object("Namespace", "", "team", "inst/ns/app", 6))
	_, known := b.Version(edge, configMaps, "ns", "cm")
	b.Expect(known).To(BeFalse(), "there is no watch yet")

	b.Track(edge, c, app, []schema.GroupVersionResource{configMaps, namespaces})
	b.eventuallyKnows(configMaps, "ns", "cm", "5")
	b.eventuallyKnows(namespaces, "", "team", "6")
	b.eventuallyKnows(configMaps, "ns", "absent", "")
	_, known = b.Version(edge, secrets, "ns", "cm")
	b.Expect(known).To(BeFalse())
	_, known = b.Version(types.NamespacedName{Namespace: "ns", Name: "another"}, configMaps, "ns", "cm")
	b.Expect(known).To(BeFalse())
}

func TestOnlyWhatIsReadIsKept(t *testing.T) {
	b := newBench(t)
	c := newClient(object("ConfigMap", "ns", "cm", "inst/ns/app", 5))
	b.Track(edge, c, app, []schema.GroupVersionResource{configMaps})
	b.eventuallyKnows(configMaps, "ns", "cm", "5")
	held := b.clusters[edge].kinds[configMaps].informer.GetStore().List()
	b.Expect(held).To(Equal([]any{&seen{key: "ns/cm", version: "5", owner: unique.Make("inst/ns/app")}}))
}

func TestOwnersAreNotified(t *testing.T) {
	b := newBench(t)
	c := newClient(
		object("ConfigMap", "ns", "a", "inst/ns/app", 1), object("ConfigMap", "ns", "b", "inst/ns/app", 1),
		object("ConfigMap", "ns", "c", "inst/ns/web", 1), object("ConfigMap", "ns", "d", "elsewhere/ns/other", 1),
		object("ConfigMap", "ns", "e", "not-a-mark", 1), object("ConfigMap", "ns", "f", "", 1))
	b.Track(edge, c, app, []schema.GroupVersionResource{configMaps})
	b.Eventually(func() []int { return []int{b.told(app), b.told(web)} }).WithTimeout(patience).Should(Equal([]int{1, 1}), "once, when the watch has caught up")

	c.update(b, object("ConfigMap", "ns", "a", "inst/ns/app", 2))
	b.Eventually(func() int { return b.told(app) }).WithTimeout(patience).Should(Equal(2))
	b.eventuallyKnows(configMaps, "ns", "a", "2")

	c.update(b, object("ConfigMap", "ns", "a", "inst/ns/web", 3))
	b.Eventually(func() []int { return []int{b.told(app), b.told(web)} }).WithTimeout(patience).Should(Equal([]int{3, 2}), "the old owner and the new one")

	c.update(b, object("ConfigMap", "ns", "c", "", 4))
	b.Eventually(func() int { return b.told(web) }).WithTimeout(patience).Should(Equal(3), "who takes the mark off is noticed")

	b.Expect(c.Tracker().Delete(configMaps, "ns", "b")).To(Succeed())
	b.Eventually(func() int { return b.told(app) }).WithTimeout(patience).Should(Equal(4))
	b.eventuallyKnows(configMaps, "ns", "b", "")
	b.Expect(b.notified).To(HaveLen(2), "nobody else")
}

func TestAChangedConnectionBeginsAnew(t *testing.T) {
	b := newBench(t)
	first := newClient(object("ConfigMap", "ns", "cm", "inst/ns/app", 5))
	b.Track(edge, first, app, []schema.GroupVersionResource{configMaps})
	b.Track(edge, first, web, []schema.GroupVersionResource{configMaps})
	b.eventuallyKnows(configMaps, "ns", "cm", "5")
	old := b.clusters[edge].kinds[configMaps].informer
	b.Track(edge, first, app, []schema.GroupVersionResource{configMaps})
	b.Expect(b.clusters[edge].kinds[configMaps].informer).To(BeIdenticalTo(old), "nothing changed")
	b.Expect(first.listed()).To(Equal(1))

	second := newClient(object("ConfigMap", "ns", "cm", "inst/ns/app", 9))
	b.Track(edge, second, app, []schema.GroupVersionResource{configMaps})
	b.eventuallyKnows(configMaps, "ns", "cm", "9")
	b.Eventually(old.IsStopped).WithTimeout(patience).Should(BeTrue())
	b.Expect(b.clusters[edge].kinds[configMaps].releases).To(HaveLen(2), "the others' watches went over as well")
}

func TestWatchesEndWhenNobodyNeedsThem(t *testing.T) {
	both := []schema.GroupVersionResource{configMaps, secrets}
	for _, test := range []struct {
		name string
		do   func(b *bench, c Source)
		want []schema.GroupVersionResource
	}{
		{"nothing", func(*bench, Source) {}, both},
		{"one of two Releases needs less", func(b *bench, c Source) {
			b.Track(edge, c, app, []schema.GroupVersionResource{configMaps})
		}, both},
		{"both need less", func(b *bench, c Source) {
			b.Track(edge, c, app, []schema.GroupVersionResource{configMaps})
			b.Track(edge, c, web, nil)
		}, []schema.GroupVersionResource{configMaps}},
		{"one Release is gone", func(b *bench, c Source) { b.ForgetRelease(app) }, []schema.GroupVersionResource{secrets}},
		{"all are", func(b *bench, c Source) { b.ForgetRelease(app); b.ForgetRelease(web) }, nil},
		{"the cluster is", func(b *bench, c Source) { b.Forget(edge); b.Forget(edge) }, nil},
		{"the process ends", func(b *bench, c Source) {
			b.Stop()
			b.Track(edge, c, app, both)
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			c := newClient()
			b.Track(edge, c, app, both)
			b.Track(edge, c, web, []schema.GroupVersionResource{secrets})
			before := map[schema.GroupVersionResource]*kind{}
			for _, resource := range both {
				before[resource] = b.clusters[edge].kinds[resource]
			}
			test.do(b, c)
			for _, resource := range both {
				wanted := false
				for _, want := range test.want {
					wanted = wanted || want == resource
				}
				if wanted {
					b.Expect(b.clusters[edge].kinds).To(HaveKeyWithValue(resource, before[resource]))
					b.Expect(before[resource].informer.IsStopped()).To(BeFalse())
				} else {
					b.Eventually(before[resource].informer.IsStopped).WithTimeout(patience).Should(BeTrue())
				}
			}
		})
	}
}

func TestABrokenWatchKnowsNothing(t *testing.T) {
	b := newBench(t)
	c := newClient(object("ConfigMap", "ns", "cm", "inst/ns/app", 5))
	c.refuse(true)
	b.Track(edge, c, app, []schema.GroupVersionResource{configMaps})
	b.Eventually(c.listed).WithTimeout(patience).Should(BeNumerically(">", 0))
	_, known := b.Version(edge, configMaps, "ns", "cm")
	b.Expect(known).To(BeFalse())

	c.refuse(false)
	b.eventuallyKnows(configMaps, "ns", "cm", "5")
	b.clusters[edge].kinds[configMaps].answered.Store(false)
	_, known = b.Version(edge, configMaps, "ns", "cm")
	b.Expect(known).To(BeFalse(), "what was seen before it broke may be old")
}

// An outage is sat out, and what was seen before it is not taken for what is.
func TestWatchesGoOnAfterAnOutage(t *testing.T) {
	b := newBench(t)
	c := newClient(object("ConfigMap", "ns", "cm", "inst/ns/app", 5))
	over := make(chan struct{})
	c.setOutage(over)
	b.Track(edge, c, app, []schema.GroupVersionResource{configMaps})
	_, known := b.Version(edge, configMaps, "ns", "cm")
	b.Expect(known).To(BeFalse())
	b.Expect(c.listed()).To(BeZero())

	c.setOutage(nil)
	close(over)
	b.eventuallyKnows(configMaps, "ns", "cm", "5")
	b.Expect(c.listed()).To(Equal(1), "nothing was tried meanwhile")

	k := b.clusters[edge].kinds[configMaps]
	c.setOutage(over)
	k.sitOut(t.Context(), c)
	_, known = b.Version(edge, configMaps, "ns", "cm")
	b.Expect(known).To(BeFalse(), "what was seen before an outage may be old")
}

func TestAnOutageHoldsUpNoEnd(t *testing.T) {
	b := newBench(t)
	c := newClient()
	c.setOutage(make(chan struct{}))
	b.Track(edge, c, app, []schema.GroupVersionResource{configMaps})
	b.Stop()
}
