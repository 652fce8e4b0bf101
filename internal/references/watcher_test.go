// SPDX-License-Identifier: Apache-2.0

package references

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
)

var (
	settings  = Object{KindConfigMap, "team", "settings"}
	login     = Object{KindSecret, "team", "login"}
	elsewhere = Object{KindConfigMap, "other", "settings"}
)

// bench is a watcher of a host, with a protocol of whom it told. Time is that of a bubble.
type bench struct {
	*WithT
	*Watcher[string]
	t    *testing.T
	host *metadatafake.FakeMetadataClient

	mu      sync.Mutex
	version int
	tellers []string
	// streams are the watches that run, by "<resource>/<namespace>"; lists counts lists.
	streams map[string]*watch.FakeWatcher
	lists   map[string]int
	// refusal is the error of all lists.
	refusal error
	// slow is how long a list takes.
	slow time.Duration
}

func inBench(t *testing.T, do func(b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		scheme := metadatafake.NewTestScheme()
		_ = metav1.AddMetaToScheme(scheme)
		b := &bench{
			WithT: NewWithT(t), t: t, host: metadatafake.NewSimpleMetadataClient(scheme),
			streams: map[string]*watch.FakeWatcher{}, lists: map[string]int{},
		}
		b.host.PrependReactor("list", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
			b.mu.Lock()
			b.lists[place(action)]++
			refusal, slow := b.refusal, b.slow
			b.mu.Unlock()
			time.Sleep(slow)
			return refusal != nil, nil, refusal
		})
		b.host.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			stream := watch.NewFakeWithChanSize(10, false)
			b.streams[place(action)] = stream
			return true, stream, nil
		})
		b.Watcher = NewWatcher(klog.Background(), b.host, func(owners []string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.tellers = append(b.tellers, owners...)
		})
		defer b.Stop()
		do(b)
	})
}

func place(action clienttesting.Action) string {
	return action.GetResource().Resource + "/" + action.GetNamespace()
}

func (o Object) place() string { return resources[o.Kind].Resource + "/" + o.Namespace }

// put creates or changes an object, without a word to those who watch.
func (b *bench) put(o Object) *metav1.PartialObjectMetadata {
	b.version++
	object := &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: o.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: o.Name, ResourceVersion: strconv.Itoa(b.version), Annotations: map[string]string{"copy": "canary"},
		},
	}
	tracker := b.host.Tracker()
	if tracker.Update(resources[o.Kind], object, o.Namespace) != nil {
		b.Expect(tracker.Create(resources[o.Kind], object, o.Namespace)).To(Succeed())
	}
	return object
}

// send lets those who watch know of an object.
func (b *bench) send(event watch.EventType, o Object) {
	object := b.put(o)
	b.mu.Lock()
	stream := b.streams[o.place()]
	b.mu.Unlock()
	stream.Action(event, object)
	synctest.Wait()
}

// told gives who was told since the last time.
func (b *bench) told() []string {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	told := b.tellers
	b.tellers = nil
	slices.Sort(told)
	return told
}

func (b *bench) track(owner string, objects ...Object) string {
	state := b.Track(b.t.Context(), owner, objects)
	synctest.Wait() // for the stream that follows the list
	return state
}

func (b *bench) refuse(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refusal = err
}

func TestOwnersAreToldOfWhatTheyReferTo(t *testing.T) {
	inBench(t, func(b *bench) {
		b.put(settings)
		b.put(elsewhere)
		for _, owner := range []string{"a", "b"} {
			b.track(owner, settings)
		}
		b.track("c", login)
		b.track("d", elsewhere)
		b.Expect(b.told()).To(BeEmpty(), "what was there is no news")

		b.send(watch.Modified, settings)
		b.Expect(b.told()).To(Equal([]string{"a", "b"}))
		b.send(watch.Modified, elsewhere)
		b.Expect(b.told()).To(Equal([]string{"d"}), "the same name in another namespace")
		b.send(watch.Added, Object{KindConfigMap, "team", "login"})
		b.Expect(b.told()).To(BeEmpty(), "another kind")
		b.send(watch.Added, login)
		b.Expect(b.told()).To(Equal([]string{"c"}), "it did not exist before")
		b.send(watch.Deleted, login)
		b.Expect(b.told()).To(Equal([]string{"c"}))
		b.Expect(b.lists).To(Equal(map[string]int{"configmaps/team": 1, "secrets/team": 1, "configmaps/other": 1}))
	})
}

func TestState(t *testing.T) {
	inBench(t, func(b *bench) {
		b.put(settings)
		first := b.track("a", settings, login)
		b.Expect(b.track("a", settings, login)).To(Equal(first))
		b.send(watch.Added, Object{KindSecret, "team", "unrelated"})
		b.Expect(b.track("a", settings, login)).To(Equal(first))
		b.send(watch.Modified, settings)
		second := b.track("a", settings, login)
		b.Expect(second).NotTo(Equal(first))
		b.send(watch.Added, login)
		third := b.track("a", settings, login)
		b.Expect(third).NotTo(Equal(second))
		b.send(watch.Deleted, login)
		b.Expect(b.track("a", settings, login)).To(Equal(second))
		b.Expect(b.track("b")).To(BeEmpty())
	})
}

func TestWatchesEndWithTheirLastOwner(t *testing.T) {
	inBench(t, func(b *bench) {
		b.track("a", settings, login)
		b.track("b", login)
		b.track("a", settings)
		b.Expect(b.watches).To(HaveLen(2))
		b.send(watch.Added, login)
		b.Expect(b.told()).To(Equal([]string{"b"}), "a does not refer to it any more")

		b.Retain(func(owner string) bool { return owner != "b" })
		b.Expect(b.watches).To(HaveLen(1))
		synctest.Wait()
		b.Expect(b.streams["secrets/team"].IsStopped()).To(BeTrue())
		b.Forget("a")
		b.Forget("never")
		b.Expect(b.watches).To(BeEmpty())
		b.Expect(b.tracked).To(BeEmpty())

		b.track("a", settings)
		b.send(watch.Added, settings)
		b.Expect(b.told()).To(Equal([]string{"a"}), "a watch may begin anew")
	})
}

func TestNothingThatHappenedDuringAnOutageIsMissed(t *testing.T) {
	same, later := Object{KindConfigMap, "team", "same"}, Object{KindConfigMap, "team", "later"}
	inBench(t, func(b *bench) {
		b.put(settings)
		b.put(same)
		b.track("a", settings)
		b.track("b", same)
		b.track("c", later)

		b.put(settings)
		b.put(later)
		b.streams[settings.place()].Error(&metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired})
		time.Sleep(time.Minute)
		b.Expect(b.told()).To(Equal([]string{"a", "c"}))
		b.send(watch.Modified, same)
		b.Expect(b.told()).To(Equal([]string{"b"}), "it is watched again")
	})
}

func TestWhatMustNotBeWatched(t *testing.T) {
	inBench(t, func(b *bench) {
		b.put(login)
		b.refuse(apierrors.NewForbidden(resources[KindSecret].GroupResource(), "", nil))
		start := time.Now()
		unknown := b.track("a", login)
		b.Expect(time.Since(start)).To(BeZero(), "nobody waits for what is refused")
		time.Sleep(time.Minute)
		b.Expect(b.track("a", login)).To(Equal(unknown))
		b.Expect(b.lists["secrets/team"]).To(Equal(1), "it is left alone")
		b.Expect(b.told()).To(BeEmpty())

		b.refuse(nil)
		time.Sleep(refusedPause + time.Minute)
		b.Expect(b.told()).To(Equal([]string{"a"}), "it may have changed since it was read")
		b.Expect(b.track("a", login)).NotTo(Equal(unknown))
		b.send(watch.Modified, login)
		b.Expect(b.told()).To(Equal([]string{"a"}))
	})
}

func TestAHostThatDoesNotAnswerHoldsNobodyUpForLong(t *testing.T) {
	inBench(t, func(b *bench) {
		b.put(login)
		b.slow = time.Minute
		start := time.Now()
		b.track("a", login)
		b.Expect(time.Since(start)).To(Equal(patience))
		b.track("b", login)
		b.Expect(time.Since(start)).To(Equal(patience), "one has waited for all")
		b.Expect(b.told()).To(BeEmpty())
		time.Sleep(time.Minute)
		b.Expect(b.told()).To(Equal([]string{"a", "b"}), "they have gone on without knowing")
	})
}

func TestOwnersWaitForAWatchToBegin(t *testing.T) {
	inBench(t, func(b *bench) {
		b.slow = time.Second
		start := time.Now()
		first := b.track("a", login)
		b.Expect(time.Since(start)).To(Equal(time.Second))
		b.Expect(b.track("a", login)).To(Equal(first))
		b.Expect(b.told()).To(BeEmpty())
	})
}

func TestOnlyNamesAndVersionsAreKept(t *testing.T) {
	inBench(t, func(b *bench) {
		b.put(login)
		b.track("a", login)
		b.Expect(b.watches[login.scope()].versions).To(Equal(map[string]string{"login": "1"}))
		slimmed, err := slim(b.put(login))
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(slimmed.(*metav1.PartialObjectMetadata).Annotations).To(BeEmpty())
		_, err = slim("text")
		b.Expect(err).To(HaveOccurred())
		b.send(watch.Deleted, login)
		b.Expect(b.watches[login.scope()].versions).To(BeEmpty())
	})
}

func TestStopped(t *testing.T) {
	inBench(t, func(b *bench) {
		b.track("a", settings)
		b.Stop()
		b.track("b", login)
		b.Expect(b.watches).To(HaveLen(1))
		b.Forget("a")
	})
}
