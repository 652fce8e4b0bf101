// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	testclock "k8s.io/utils/clock/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned/fake"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/internal/controller/base"
)

var key = types.NamespacedName{Namespace: "team", Name: "edge"}

// world is the controller with a cluster that answers as it is told.
type world struct {
	*WithT
	*Controller
	client      *fake.Clientset
	clock       *testclock.FakePassiveClock
	recorder    *record.FakeRecorder
	err         error
	unreachable bool
	latency     time.Duration
	probes      int
	forgotten   []string
	unowned     map[types.NamespacedName]bool
}

func (w *world) Probe(context.Context, *corev1alpha1.Cluster) (Report, error) {
	w.probes++
	return Report{Version: "v1.37.2", Server: "https://edge:6443", Latency: w.latency}, w.err
}

func (w *world) Unreachable(namespace, name string) bool {
	return w.unreachable && namespace == key.Namespace && name == key.Name
}

func (w *world) Forget(namespace, name string) { w.forgotten = append(w.forgotten, namespace+"/"+name) }

func newWorld(t *testing.T) *world {
	informer := func(object runtime.Object) cache.SharedIndexInformer {
		return cache.NewSharedIndexInformer(&cache.ListWatch{}, object, 0, cache.Indexers{})
	}
	w := &world{
		WithT: NewWithT(t), clock: testclock.NewFakePassiveClock(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)),
		recorder: record.NewFakeRecorder(10), latency: 1234567 * time.Nanosecond, unowned: map[types.NamespacedName]bool{},
	}
	cluster := &corev1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "uid", Generation: 1}}
	w.client = fake.NewSimpleClientset(cluster)
	var err error
	w.Controller, err = New(Config{
		Client: w.client, Clusters: informer(&corev1alpha1.Cluster{}), Releases: informer(&corev1alpha1.Release{}),
		Prober: w, Recorder: w.recorder, Clock: w.clock, Harness: base.Options[types.NamespacedName]{
			Owned: func(key types.NamespacedName) bool { return !w.unowned[key] },
		},
	})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.config.Clusters.GetIndexer().Add(cluster)).To(Succeed())
	return w
}

// pass makes one pass and gives the Cluster after it.
func (w *world) pass() (*corev1alpha1.Cluster, base.Result) {
	result, err := w.Reconcile(context.Background(), key)
	w.ExpectWithOffset(1, err).NotTo(HaveOccurred())
	cluster, err := w.client.CoreV1alpha1().Clusters(key.Namespace).Get(context.Background(), key.Name, metav1.GetOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.config.Clusters.GetIndexer().Update(cluster)).To(Succeed())
	return cluster, result
}

// statusWrites counts the writes of the status so far.
func (w *world) statusWrites() int {
	n := 0
	for _, action := range w.client.Actions() {
		if action.GetVerb() == "update" && action.GetSubresource() == "status" {
			n++
		}
	}
	return n
}

func TestProbeOutcomes(t *testing.T) {
	tests := []struct {
		name  string
		given error
		want  string
	}{
		{"answers", nil, "True Reachable"},
		{"does not answer", clusterconn.Classify(context.DeadlineExceeded), "False Unreachable"},
		{"refuses the credentials", clusterconn.ErrUnauthenticated, "False AuthenticationFailed"},
		{"forbids discovery", clusterconn.ErrForbidden, "False Forbidden"},
		{"is configured wrongly", clusterconn.ErrInvalid, "False InvalidConfiguration"},
		{"answers NotFound to everything", fmt.Errorf("%w: it does not answer as a Kubernetes API server does: %w", clusterconn.ErrUnreachable, apierrors.NewNotFound(schema.GroupResource{}, "")), "False Unreachable"},
		{"has no Secret", apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "kubeconfig"), "False SecretNotFound"},
		{"something else", errors.New("odd"), "False Unreachable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.err = tt.given
			cluster, _ := w.pass()
			ready := meta.FindStatusCondition(cluster.Status.Conditions, corev1alpha1.ConditionReady)
			w.Expect(string(ready.Status) + " " + ready.Reason).To(Equal(tt.want))
			w.Expect(ready.ObservedGeneration).To(Equal(int64(1)))
			w.Expect(cluster.Status.Server).To(Equal("https://edge:6443"))
			w.Expect(cluster.Status.LastProbeTime.Time.Equal(w.clock.Now())).To(BeTrue())
			if tt.given == nil {
				w.Expect(cluster.Status.Version).To(Equal("v1.37.2"))
				w.Expect(cluster.Status.Latency).To(HaveValue(Equal(metav1.Duration{Duration: time.Millisecond})))
			} else {
				w.Expect(cluster.Status.Latency).To(BeNil())
			}
		})
	}
}

func TestProbesAreDueAtIntervals(t *testing.T) {
	w := newWorld(t)
	_, result := w.pass()
	w.Expect(result.RequeueAfter).To(BeNumerically("~", longInterval, longInterval/4))
	w.latency = time.Second
	w.pass()
	w.Expect(w.probes).To(Equal(1), "an event makes no probe")
	w.Expect(w.statusWrites()).To(Equal(1))

	w.clock.SetTime(w.clock.Now().Add(longInterval))
	w.pass()
	w.Expect(w.probes).To(Equal(2))
	w.Expect(w.statusWrites()).To(Equal(2), "the time is written once an interval")

	changed := w.config.Clusters.GetIndexer().List()[0].(*corev1alpha1.Cluster).DeepCopy()
	changed.Generation = 2
	w.Expect(w.client.Tracker().Update(corev1alpha1.SchemeGroupVersion.WithResource("clusters"), changed, key.Namespace)).To(Succeed())
	w.Expect(w.config.Clusters.GetIndexer().Update(changed)).To(Succeed())
	w.pass()
	w.Expect(w.probes).To(Equal(3), "a new spec is tried at once")
}

func TestBrokenClusterIsLookedAtOften(t *testing.T) {
	w := newWorld(t)
	w.err = errors.New("read 127.0.0.1:50001: reset")
	_, result := w.pass()
	w.Expect(result.RequeueAfter).To(BeNumerically("<", 2*shortInterval))
	w.clock.SetTime(w.clock.Now().Add(shortInterval))
	w.err = errors.New("read 127.0.0.1:50002: reset")
	w.pass()
	w.Expect(w.probes).To(Equal(2))
	w.Expect(w.statusWrites()).To(Equal(1), "a text that changes at every try is no news")
	w.clock.SetTime(w.clock.Now().Add(shortInterval))
	w.err = nil
	cluster, _ := w.pass()
	w.Expect(meta.IsStatusConditionTrue(cluster.Status.Conditions, corev1alpha1.ConditionReady)).To(BeTrue())
	w.Expect(w.recorder.Events).To(HaveLen(2), "one event for each transition")
}

func TestTheBreakerIsFollowedAtOnce(t *testing.T) {
	w := newWorld(t)
	w.pass()
	ready := func() bool {
		cluster, _ := w.pass()
		return meta.IsStatusConditionTrue(cluster.Status.Conditions, corev1alpha1.ConditionReady)
	}
	for range 2 {
		w.unreachable, w.err = true, clusterconn.ErrUnreachable
		w.Expect(ready()).To(BeFalse())
		w.unreachable, w.err = false, nil
		w.Expect(ready()).To(BeTrue())
	}
	w.Expect(w.probes).To(Equal(5))
	w.pass()
	w.Expect(w.probes).To(Equal(5))
}

// A breaker that opens during a look, or closes, is another's news.
func TestTheBreakerChangesDuringALook(t *testing.T) {
	w := newWorld(t)
	w.unreachable, w.err = true, clusterconn.ErrUnreachable
	w.client.PrependReactor("update", "clusters", func(clienttesting.Action) (bool, runtime.Object, error) {
		w.unreachable, w.err = false, nil
		return false, nil, nil
	})
	w.pass()
	cluster, _ := w.pass()
	w.Expect(meta.IsStatusConditionTrue(cluster.Status.Conditions, corev1alpha1.ConditionReady)).To(BeTrue())
}

func TestWhatCouldNotBeWrittenIsLookedAtAgain(t *testing.T) {
	w := newWorld(t)
	conflicts := 1
	w.client.PrependReactor("update", "clusters", func(clienttesting.Action) (bool, runtime.Object, error) {
		if conflicts--; conflicts >= 0 {
			return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "clusters"}, key.Name, errors.New("changed"))
		}
		return false, nil, nil
	})
	_, err := w.Reconcile(context.Background(), key)
	w.Expect(apierrors.IsConflict(err)).To(BeTrue())
	cluster, _ := w.pass()
	w.Expect(meta.IsStatusConditionTrue(cluster.Status.Conditions, corev1alpha1.ConditionReady)).To(BeTrue())
	w.Expect(w.probes).To(Equal(2))
}

func TestClustersOfOthersAreForgotten(t *testing.T) {
	w := newWorld(t)
	w.pass()
	w.DropUnowned()
	w.Expect(w.forgotten).To(BeEmpty())
	w.unowned[key] = true
	w.DropUnowned()
	w.Expect(w.forgotten).To(Equal([]string{"team/edge"}))
	w.Expect(w.Controller.probes).To(BeEmpty())
}

func TestMetrics(t *testing.T) {
	w := newWorld(t)
	registry := prometheus.NewRegistry()
	w.Expect(w.register(registry)).To(Succeed())
	series := func() map[string]float64 {
		families, err := registry.Gather()
		w.Expect(err).NotTo(HaveOccurred())
		values := map[string]float64{}
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				for _, label := range metric.GetLabel() {
					w.Expect(label.GetValue()).To(Equal(key.String()), label.GetName())
				}
				values[family.GetName()] += metric.GetGauge().GetValue()
			}
		}
		return values
	}
	w.Expect(series()).To(BeEmpty(), "nothing is known yet")
	w.pass()
	w.Expect(series()).To(Equal(map[string]float64{"convoy_cluster_up": 1, "convoy_cluster_latency_seconds": 0.001, "convoy_cluster_breaker_open": 0}))
	w.unreachable, w.err = true, clusterconn.ErrUnreachable
	w.pass()
	w.Expect(series()).To(Equal(map[string]float64{"convoy_cluster_up": 0, "convoy_cluster_breaker_open": 1}))
	w.unowned[key] = true
	w.Expect(series()).To(BeEmpty(), "it is another process's to tell")
	delete(w.unowned, key)
	w.Expect(w.config.Clusters.GetIndexer().Replace(nil, "")).To(Succeed())
	w.Expect(series()).To(BeEmpty(), "it is gone")
}

func TestProbeNow(t *testing.T) {
	w := newWorld(t)
	w.pass()
	w.ProbeNow(key)
	w.pass()
	w.Expect(w.probes).To(Equal(1), "it has just been looked at")
	w.clock.SetTime(w.clock.Now().Add(shortInterval))
	w.ProbeNow(key)
	w.pass()
	w.Expect(w.probes).To(Equal(2))
}

func TestReleasesAreCounted(t *testing.T) {
	w := newWorld(t)
	add := func(name, cluster string, status metav1.ConditionStatus) {
		w.Expect(w.config.Releases.GetIndexer().Add(&corev1alpha1.Release{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name},
			Spec:       corev1alpha1.ReleaseSpec{ClusterRef: corev1alpha1.LocalReference{Name: cluster}},
			Status: corev1alpha1.ReleaseStatus{Conditions: []metav1.Condition{
				{Type: corev1alpha1.ConditionReady, Status: status},
			}},
		})).To(Succeed())
	}
	add("a", "edge", metav1.ConditionTrue)
	add("b", "edge", metav1.ConditionFalse)
	add("c", "other", metav1.ConditionTrue)
	cluster, _ := w.pass()
	w.Expect(cluster.Status.Releases).To(Equal(&corev1alpha1.ClusterReleases{Total: 2, Ready: 1}))
}

func TestDeletedClusterIsForgottenAfterItsReleases(t *testing.T) {
	w := newWorld(t)
	w.pass()
	release := &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "a"}}
	release.Spec.ClusterRef.Name = key.Name
	w.Expect(w.config.Releases.GetIndexer().Add(release)).To(Succeed())
	w.Expect(w.config.Clusters.GetIndexer().Replace(nil, "")).To(Succeed())
	_, err := w.Reconcile(context.Background(), key)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.forgotten).To(BeEmpty(), "the Release may have to be removed from it yet")
	w.Expect(w.config.Releases.GetIndexer().Delete(release)).To(Succeed())
	_, err = w.Reconcile(context.Background(), key)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.forgotten).To(Equal([]string{"team/edge"}))
	w.Expect(w.Controller.probes).To(BeEmpty())
}
