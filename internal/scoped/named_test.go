// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"context"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// byNumber is the name of what is alone in a shard of the test's host.
func byNumber(n int) types.NamespacedName {
	return types.NamespacedName{Namespace: "team", Name: strconv.Itoa(n)}
}

func newNamed(t *testing.T, h *host) (*Named[string], *Cache[types.NamespacedName], *log) {
	c, said := New(Options[types.NamespacedName]{Name: "Release", Example: &corev1alpha1.Release{}, ListWatch: func(name types.NamespacedName) cache.ListerWatcher {
		n, err := strconv.Atoi(name.Name)
		if err != nil {
			t.Error(err)
		}
		return h.listWatch(n)
	}}), &log{}
	_, err := c.AddEventHandler(said)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	n := NewNamed[string](klog.Background(), c)
	t.Cleanup(n.Stop)
	return n, c, said
}

func TestWhatIsWantedIsWatched(t *testing.T) {
	g := NewWithT(t)
	h := newHost()
	n, c, said := newNamed(t, h)
	count := func() int { return h.watched() }
	n.Want("one", []types.NamespacedName{byNumber(0), byNumber(1), byNumber(0)})
	n.Want("two", []types.NamespacedName{byNumber(1)})
	g.Eventually(count).WithTimeout(20 * time.Second).Should(Equal(2))
	g.Expect(c.Whole(byNumber(0))).To(BeTrue())
	g.Expect(c.Len()).To(BeZero())
	h.set("1", 1)
	g.Eventually(said.take).WithTimeout(20 * time.Second).Should(Equal([]string{"add 1@1"}))

	n.Want("one", []types.NamespacedName{byNumber(2)})
	g.Eventually(count).WithTimeout(20*time.Second).Should(Equal(2), "nobody wants the first any more")
	g.Expect(c.Len()).To(Equal(1))
	n.Want("two", nil)
	g.Expect(c.Len()).To(BeZero())
	n.Want("one", nil)
	g.Eventually(count).WithTimeout(20 * time.Second).Should(BeZero())
	g.Expect(n.wanted).To(BeEmpty())
	g.Expect(n.owners).To(BeEmpty())
	g.Expect(said.take()).To(BeEmpty(), "nothing is gone")
}

func TestWatchesByNameAreBounded(t *testing.T) {
	g := NewWithT(t)
	n, _, _ := newNamed(t, newHost())
	n.limit = 2
	n.Want("one", []types.NamespacedName{byNumber(0), byNumber(1), byNumber(2)})
	g.Expect(n.owners).To(Equal(map[types.NamespacedName]int{byNumber(0): 1, byNumber(1): 1}))
	n.Want("two", []types.NamespacedName{byNumber(1)})
	g.Expect(n.owners).To(HaveKeyWithValue(byNumber(1), 2), "it is watched already")
	n.Want("one", []types.NamespacedName{byNumber(1), byNumber(2)})
	g.Expect(n.owners).To(Equal(map[types.NamespacedName]int{byNumber(1): 2, byNumber(2): 1}), "there is room again")
	n.Stop()
	n.Want("three", []types.NamespacedName{byNumber(1)})
	g.Expect(n.owners).To(HaveKeyWithValue(byNumber(1), 2), "no new one begins")
}

// What whoever had a shard before has written is not to be missed.
func TestTheFirstListIsNoOldOne(t *testing.T) {
	g := NewWithT(t)
	var lists []metav1.ListOptions
	lw := listWatch(plain{}, func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
		lists = append(lists, o)
		return &corev1alpha1.ReleaseList{}, nil
	}, func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
		func(o *metav1.ListOptions) { o.LabelSelector = "a=b" })
	for _, version := range []string{"0", "7"} {
		_, err := cache.ToListerWatcherWithContext(lw).ListWithContext(t.Context(), metav1.ListOptions{ResourceVersion: version})
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(lists).To(Equal([]metav1.ListOptions{{LabelSelector: "a=b"}, {LabelSelector: "a=b", ResourceVersion: "7"}}))
}

func TestNoNamespaceTakesAllWatchesByName(t *testing.T) {
	g := NewWithT(t)
	n, _, _ := newNamed(t, newHost())
	n.limit, n.share = 4, 1
	n.Want("greedy", []types.NamespacedName{byNumber(0), byNumber(1), byNumber(2), byNumber(3)})
	g.Expect(n.owners).To(HaveLen(2), "half of them")
	other := types.NamespacedName{Namespace: "other", Name: "0"}
	n.Want("other", []types.NamespacedName{other})
	g.Expect(n.owners).To(HaveKeyWithValue(other, 1))
}
