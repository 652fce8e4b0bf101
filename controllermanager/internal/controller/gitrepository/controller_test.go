// SPDX-License-Identifier: Apache-2.0

package gitrepository

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	testclock "k8s.io/utils/clock/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned/fake"
	"kumodo.io/convoy/controllermanager/internal/controller/source"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/controller/base"
)

// What the controllers of sources have in common is tested here, with one of them.

var key = types.NamespacedName{Namespace: "team", Name: "apps"}

type world struct {
	*WithT
	*Controller
	client   *fake.Clientset
	informer cache.SharedIndexInformer
	clock    *testclock.FakePassiveClock
	recorder *record.FakeRecorder
	err      error
	checks   int
	// answers, if it is not nil, is when the source answers.
	answers chan struct{}
	ended   atomic.Int32
}

func (w *world) Check(ctx context.Context, _ string, _ runtime.Object) (fetch.CheckResult, error) {
	if w.answers != nil {
		select {
		case <-w.answers:
		case <-ctx.Done():
			w.ended.Add(1)
			return fetch.CheckResult{}, ctx.Err()
		}
	}
	w.checks++
	return fetch.CheckResult{DefaultBranch: "main", Refs: 3}, w.err
}

func newWorld(t *testing.T, watchers ...source.References) *world {
	return newHastyWorld(t, time.Minute, watchers...)
}

// newHastyWorld has workers that wait for the source as long as given.
func newHastyWorld(t *testing.T, patience time.Duration, watchers ...source.References) *world {
	w := &world{
		WithT: NewWithT(t), clock: testclock.NewFakePassiveClock(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)),
		recorder: record.NewFakeRecorder(10),
		informer: cache.NewSharedIndexInformer(&cache.ListWatch{}, &sourcev1alpha1.GitRepository{}, 0, cache.Indexers{}),
	}
	repository := &sourcev1alpha1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "uid", Generation: 1}}
	repository.Spec.Interval = &metav1.Duration{Duration: time.Minute}
	w.client = fake.NewSimpleClientset(repository)
	config := source.Config{Checker: w, Recorder: w.recorder, Clock: w.clock, Patience: patience, Harness: base.Options[types.NamespacedName]{}}
	if len(watchers) > 0 {
		config.References = watchers[0]
	}
	var err error
	w.Controller, err = New(config, w.client, w.informer)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.informer.GetIndexer().Add(repository)).To(Succeed())
	return w
}

func (w *world) pass() (*sourcev1alpha1.GitRepository, base.Result) {
	result, err := w.Reconcile(context.Background(), key)
	w.ExpectWithOffset(1, err).NotTo(HaveOccurred())
	repository, err := w.client.SourceV1alpha1().GitRepositories(key.Namespace).Get(context.Background(), key.Name, metav1.GetOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.informer.GetIndexer().Update(repository)).To(Succeed())
	return repository, result
}

func (w *world) change(change func(*sourcev1alpha1.GitRepository)) {
	repository := w.informer.GetIndexer().List()[0].(*sourcev1alpha1.GitRepository).DeepCopy()
	repository.Generation++
	change(repository)
	w.Expect(w.client.Tracker().Update(sourcev1alpha1.SchemeGroupVersion.WithResource("gitrepositories"), repository, key.Namespace)).To(Succeed())
	w.Expect(w.informer.GetIndexer().Update(repository)).To(Succeed())
}

func (w *world) statusWrites() int {
	n := 0
	for _, action := range w.client.Actions() {
		if action.GetVerb() == "update" && action.GetSubresource() == "status" {
			n++
		}
	}
	return n
}

func readyOf(repository *sourcev1alpha1.GitRepository) string {
	ready := meta.FindStatusCondition(repository.Status.Conditions, corev1alpha1.ConditionReady)
	return string(ready.Status) + " " + ready.Reason
}

func TestCheck(t *testing.T) {
	w := newWorld(t)
	repository, result := w.pass()
	w.Expect(readyOf(repository)).To(Equal("True Reachable"))
	w.Expect(repository.Status.DefaultBranch).To(Equal("main"))
	w.Expect(repository.Status.Refs).To(Equal(int32(3)))
	w.Expect(repository.Status.ObservedGeneration).To(Equal(int64(1)))
	w.Expect(repository.Status.LastCheckTime.Time.Equal(w.clock.Now())).To(BeTrue())
	w.Expect(result.RequeueAfter).To(BeNumerically("~", time.Minute, 7*time.Second))

	w.clock.SetTime(w.clock.Now().Add(30 * time.Second))
	_, result = w.pass()
	w.Expect(w.checks).To(Equal(1), "it is not due")
	w.Expect(result.RequeueAfter).To(Equal(30 * time.Second))

	w.change(func(r *sourcev1alpha1.GitRepository) { r.Spec.URL = "https://other.test/" })
	w.pass()
	w.Expect(w.checks).To(Equal(2), "a new spec is tried at once")
}

func TestFailedCheck(t *testing.T) {
	w := newWorld(t)
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.err = fetch.ErrUnauthorized
	repository, result := w.pass()
	w.Expect(readyOf(repository)).To(Equal("False AuthenticationFailed"))
	w.Expect(repository.Status.DefaultBranch).To(Equal("main"), "what was learnt stays")
	w.Expect(result.RequeueAfter).To(BeNumerically("~", 10*time.Second, 2*time.Second))
	writes := w.statusWrites()

	w.clock.SetTime(w.clock.Now().Add(10 * time.Second))
	w.err = errors.Join(fetch.ErrUnauthorized, errors.New("request 4711"))
	_, result = w.pass()
	w.Expect(w.checks).To(Equal(3))
	w.Expect(w.statusWrites()).To(Equal(writes), "a text that changes at every try is no news")
	w.Expect(result.RequeueAfter).To(BeNumerically("~", 20*time.Second, 3*time.Second))

	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.err = nil
	repository, _ = w.pass()
	w.Expect(readyOf(repository)).To(Equal("True Reachable"))
	w.Expect(w.recorder.Events).To(HaveLen(2), "one event for each transition")
}

// TestSourceThatDoesNotAnswerHoldsNoWorker has the work queue enqueue it when it has answered.
func TestSourceThatDoesNotAnswerHoldsNoWorker(t *testing.T) {
	w := newHastyWorld(t, time.Nanosecond)
	w.answers = make(chan struct{})
	for range 3 {
		repository, result := w.pass()
		w.Expect(repository.Status.Conditions).To(BeEmpty())
		w.Expect(result).To(BeZero())
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- w.Run(ctx) }()
	close(w.answers)
	w.Eventually(w.statusWrites).Should(Equal(1))
	stop()
	w.Expect(<-stopped).To(Succeed())
	w.Expect(w.checks).To(Equal(1), "the answer is given to who comes for it")
}

func TestChecksThatNobodyWantsEnd(t *testing.T) {
	for name, cause := range map[string]func(w *world){
		"suspended": func(w *world) {
			w.change(func(r *sourcev1alpha1.GitRepository) { r.Spec.Suspend = true })
			w.pass()
		},
		"deleted": func(w *world) {
			w.Expect(w.informer.GetIndexer().Replace(nil, "")).To(Succeed())
			_, err := w.Reconcile(context.Background(), key)
			w.Expect(err).NotTo(HaveOccurred())
		},
		"another spec": func(w *world) {
			w.change(func(r *sourcev1alpha1.GitRepository) { r.Spec.URL = "https://other.test/" })
			w.pass()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHastyWorld(t, time.Nanosecond)
			w.answers = make(chan struct{})
			w.pass()
			cause(w)
			w.Eventually(w.ended.Load).Should(Equal(int32(1)))
		})
	}
}

func TestSuspended(t *testing.T) {
	w := newWorld(t)
	w.change(func(r *sourcev1alpha1.GitRepository) { r.Spec.Suspend = true })
	repository, result := w.pass()
	w.Expect(w.checks).To(BeZero())
	w.Expect(readyOf(repository)).To(Equal("False Suspended"))
	w.Expect(result.RequeueAfter).To(BeZero())
	w.pass()
	w.Expect(w.statusWrites()).To(Equal(1))

	w.change(func(r *sourcev1alpha1.GitRepository) { r.Spec.Suspend = false })
	repository, _ = w.pass()
	w.Expect(readyOf(repository)).To(Equal("True Reachable"))
}

func TestDeletedWhileChecked(t *testing.T) {
	w := newWorld(t)
	w.Expect(w.client.Tracker().Delete(sourcev1alpha1.SchemeGroupVersion.WithResource("gitrepositories"), key.Namespace, key.Name)).To(Succeed())
	_, err := w.Reconcile(context.Background(), key)
	w.Expect(err).NotTo(HaveOccurred(), "there is nothing left to tell")
}
