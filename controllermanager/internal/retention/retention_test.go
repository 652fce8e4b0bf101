// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"gocloud.dev/blob/memblob"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/store"
)

const grace = 720 * time.Hour

// bench is a store with renders of Releases, and a Keeper for it.
type bench struct {
	*WithT
	t     *testing.T
	store *store.Store
	cache cache.Store
	live  map[string]*corev1alpha1.Release
	clock *clocktesting.FakeClock
	// asked are the Releases that were read past the cache.
	asked []string
	*Keeper
}

func newBench(t *testing.T) *bench {
	b := &bench{
		WithT: NewWithT(t), t: t, cache: cache.NewStore(cache.MetaNamespaceKeyFunc), live: map[string]*corev1alpha1.Release{},
		store: store.New(store.Place{Bucket: memblob.OpenBucket(nil), Name: "mem://"}, store.Options{}),
		clock: clocktesting.NewFakeClock(time.Now()),
	}
	t.Cleanup(func() { b.Expect(b.store.Close()).To(Succeed()) })
	b.Keeper = New(Config{
		Store: b.store, Releases: b.cache, Grace: grace, Clock: b.clock,
		Owned: func(*corev1alpha1.Release) bool { return true }, OwnsGone: func() bool { return true },
		Live: func(_ context.Context, namespace, name string) (*corev1alpha1.Release, error) {
			b.asked = append(b.asked, namespace+"/"+name)
			if release := b.live[name]; release != nil {
				return release, nil
			}
			return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "releases"}, name)
		},
	})
	return b
}

// put stores a render of Release team/<name> and gives its digest.
func (b *bench) put(name, content string) string {
	result := &render.Result{Objects: []render.Object{{Object: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": content},
	}}}}}
	var err error
	result.Digest, err = result.ComputeDigest()
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.store.Put(b.t.Context(), store.Record{Namespace: "team", Name: name, Result: result})).To(Succeed())
	return result.Digest
}

// has puts a Release into the host and the cache.
func (b *bench) has(name string, change func(*corev1alpha1.Release)) *corev1alpha1.Release {
	release := &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
	if change != nil {
		change(release)
	}
	b.live[name] = release
	b.Expect(b.cache.Add(release)).To(Succeed())
	return release
}

// later lets the grace pass and looks through the store, as often as it takes.
func (b *bench) later() {
	_, err := b.Sweep(b.t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.clock.Step(grace + time.Hour)
	_, err = b.Sweep(b.t.Context())
	b.Expect(err).NotTo(HaveOccurred())
}

func (b *bench) stored() []string {
	var digests []string
	for kept, err := range b.store.Walk(b.t.Context()) {
		b.Expect(err).NotTo(HaveOccurred())
		for _, one := range kept.Renders {
			digests = append(digests, one.Digest)
		}
	}
	return digests
}

func TestWhatIsNamedStays(t *testing.T) {
	tests := []struct {
		name string
		by   func(release *corev1alpha1.Release, digest string)
	}{
		{"by the history", func(r *corev1alpha1.Release, digest string) {
			r.Status.History = []corev1alpha1.HistoryEntry{{ID: 2, Render: "sha256:other"}, {ID: 1, Render: digest}}
		}},
		{"by a failure in the history", func(r *corev1alpha1.Release, digest string) {
			r.Status.History = []corev1alpha1.HistoryEntry{{ID: 1, Render: digest, Outcome: corev1alpha1.OutcomeFailed}}
		}},
		{"as applied", func(r *corev1alpha1.Release, digest string) {
			r.Status.Applied = &corev1alpha1.AppliedStatus{Render: digest}
		}},
		{"as about to be applied", func(r *corev1alpha1.Release, digest string) {
			r.Status.Render = &corev1alpha1.RenderStatus{Digest: digest}
		}},
		{"by a pin that no history has", func(r *corev1alpha1.Release, digest string) {
			r.Spec.Pin = &corev1alpha1.Pin{Render: digest}
		}},
		{"while it is deleted", func(r *corev1alpha1.Release, digest string) {
			r.DeletionTimestamp = &metav1.Time{Time: time.Now()}
			r.Status.Applied = &corev1alpha1.AppliedStatus{Render: digest}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			digest, unnamed := b.put("web", "named"), b.put("web", "unnamed")
			b.has("web", func(r *corev1alpha1.Release) { test.by(r, digest) })
			b.later()
			b.Expect(b.stored()).To(ConsistOf(digest))
			b.Expect(unnamed).NotTo(Equal(digest))
		})
	}
}

func TestARevisionPinNamesNoRender(t *testing.T) {
	b := newBench(t)
	b.put("web", "x")
	b.has("web", func(r *corev1alpha1.Release) { r.Spec.Pin = &corev1alpha1.Pin{Revision: "main@sha1:1"} })
	b.later()
	b.Expect(b.stored()).To(BeEmpty())
}

func TestARenderOfAReleaseThatIsGoneStaysForTheGrace(t *testing.T) {
	b := newBench(t)
	digest := b.put("web", "x")
	_, err := b.Sweep(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.clock.Step(grace - time.Hour)
	_, err = b.Sweep(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.stored()).To(ConsistOf(digest))
	b.Expect(b.asked).To(BeEmpty(), "the host is not asked while nothing is due")
	b.clock.Step(2 * time.Hour)
	_, err = b.Sweep(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.stored()).To(BeEmpty())
}

// The cache may be behind: what is pinned or made again just now is asked for.
func TestTheHostIsAskedBeforeARemoval(t *testing.T) {
	b := newBench(t)
	pinned, again := b.put("pinned", "x"), b.put("again", "x")
	b.has("pinned", nil)
	_, err := b.Sweep(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.live["pinned"] = &corev1alpha1.Release{Spec: corev1alpha1.ReleaseSpec{Pin: &corev1alpha1.Pin{Render: pinned}}}
	b.live["again"] = &corev1alpha1.Release{Status: corev1alpha1.ReleaseStatus{Applied: &corev1alpha1.AppliedStatus{Render: again}}}
	b.clock.Step(grace + time.Hour)
	done, err := b.Sweep(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(done).To(Equal(store.Retained{Reclaimed: 2}))
	b.Expect(b.stored()).To(HaveLen(2))
	slices.Sort(b.asked)
	b.Expect(b.asked).To(Equal([]string{"team/again", "team/pinned"}))
}

func TestAHostThatDoesNotAnswerLosesNothing(t *testing.T) {
	b := newBench(t)
	b.put("web", "x")
	_, err := b.Sweep(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.config.Live = func(context.Context, string, string) (*corev1alpha1.Release, error) { return nil, errors.New("away") }
	b.clock.Step(grace + time.Hour)
	_, err = b.Sweep(t.Context())
	b.Expect(err).To(MatchError(ContainSubstring("team/web")))
	b.Expect(b.stored()).To(HaveLen(1))
}

func TestWhatOthersLookAfterIsLeftToThem(t *testing.T) {
	b := newBench(t)
	b.put("theirs", "x")
	b.put("gone", "x")
	b.has("theirs", nil)
	b.config.Owned = func(*corev1alpha1.Release) bool { return false }
	b.config.OwnsGone = func() bool { return false }
	b.later()
	b.Expect(b.stored()).To(HaveLen(2))
	b.config.OwnsGone = func() bool { return true }
	b.later()
	b.Expect(b.stored()).To(HaveLen(1))
}

func TestRunLooksThroughTheStoreFromTimeToTime(t *testing.T) {
	b := newBench(t)
	for i := range 3 {
		b.put(fmt.Sprint("web-", i), "x")
	}
	b.config.Clock = clock.Clock(b.clock)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	for _, step := range []time.Duration{first, grace + every} {
		b.Eventually(b.clock.HasWaiters).Should(BeTrue())
		b.clock.Step(step)
	}
	b.Eventually(b.stored).Should(BeEmpty())
	stop()
	b.Eventually(ended).Should(Receive(BeNil()))
	b.Expect(strings.Join(b.asked, " ")).To(Equal("team/web-0 team/web-1 team/web-2"))
}

// With a cache of some shards, what is not in it may be another's.
func TestWhatIsNotCachedIsReadBeforeItCountsAsGone(t *testing.T) {
	b := newBench(t)
	b.config.Partial = true
	b.put("foreign", "x")
	b.put("gone", "x")
	b.live["foreign"] = &corev1alpha1.Release{}
	done, err := b.Sweep(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(done).To(Equal(store.Retained{Marked: 1}), "nothing is said of the other's")
	b.Expect(b.asked).To(ConsistOf("team/foreign", "team/gone"))
	b.later()
	b.Expect(b.stored()).To(HaveLen(1))
	b.config.Live = func(context.Context, string, string) (*corev1alpha1.Release, error) { return nil, errors.New("away") }
	_, err = b.Sweep(t.Context())
	b.Expect(err).To(MatchError(ContainSubstring("team/foreign")))
}
