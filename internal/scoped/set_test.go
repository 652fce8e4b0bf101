// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// newSetOf is a Set of two kinds of a host that tests speak for.
func newSetOf(t *testing.T) (set *Set, first, second *Cache[int]) {
	of := func(name string) *Cache[int] {
		return New(Options[int]{Name: name, Example: &corev1alpha1.Release{}, ListWatch: silent})
	}
	first, second = of("First"), of("Second")
	set = newSet(first, second)
	t.Cleanup(set.Stop)
	return set, first, second
}

func TestAShardIsHeldWhenAllKindsAreWhole(t *testing.T) {
	g := NewWithT(t)
	set, first, second := newSetOf(t)
	whole := make(chan struct{})
	set.Gain(t.Context(), 3, func() { close(whole) })
	g.Expect(first.parts[3].Replace([]any{release("a", 3, 1)}, "1")).To(Succeed())
	g.Consistently(whole).WithTimeout(50 * time.Millisecond).ShouldNot(BeClosed())
	g.Expect(set.Holds(3)).To(BeFalse())
	g.Expect(texts(first)).To(BeEmpty(), "half of a shard is not seen")

	// A handler may ask what is held, and finds what it depends on.
	var seen []int
	held := false
	_, err := second.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { seen, held = append(seen, first.Len()), held || set.Holds(3) }})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(second.parts[3].Replace([]any{release("b", 3, 1)}, "1")).To(Succeed())
	g.Eventually(whole).WithTimeout(20 * time.Second).Should(BeClosed())
	g.Expect(set.Holds(3)).To(BeTrue())
	g.Expect(set.Holds(2)).To(BeFalse())
	g.Expect(seen).To(Equal([]int{1}), "the first kind is shown first")
	g.Expect(held).To(BeFalse())
	g.Expect(gathered(g, set)).To(Equal(map[string]float64{"convoy_shards_cached": 1, "First": 1, "Second": 1}))

	set.Lose(3)
	g.Expect(set.Holds(3)).To(BeFalse())
	g.Expect(first.Len() + second.Len()).To(BeZero())
	g.Expect(gathered(g, set)).To(Equal(map[string]float64{"convoy_shards_cached": 0, "First": 0, "Second": 0}))
	set.Lose(3)
}

func TestAShardThatIsLostBeforeItIsWhole(t *testing.T) {
	g := NewWithT(t)
	set, first, second := newSetOf(t)
	set.Gain(t.Context(), 0, func() { t.Error("it was lost") })
	lost := first.parts[0]
	set.Lose(0)
	g.Expect(lost.Replace([]any{release("a", 0, 1)}, "1")).To(Succeed())

	whole := make(chan struct{})
	set.Gain(t.Context(), 0, func() { close(whole) })
	set.Gain(t.Context(), 0, func() { t.Error("it is gained already") })
	g.Expect(first.parts[0]).NotTo(BeIdenticalTo(lost))
	g.Expect(first.parts[0].Replace([]any{release("a", 0, 2)}, "2")).To(Succeed())
	g.Expect(second.parts[0].Replace(nil, "2")).To(Succeed())
	g.Eventually(whole).WithTimeout(20 * time.Second).Should(BeClosed())
	g.Expect(texts(first)).To(ConsistOf("a@2"))
}

func TestAShardThatIsLostWhileItIsToBeShown(t *testing.T) {
	g := NewWithT(t)
	set, first, second := newSetOf(t)
	set.Gain(t.Context(), 0, func() { t.Error("it was lost") })
	lost, cancel := context.WithCancel(t.Context())
	cancel()
	g.Expect(first.parts[0].Replace([]any{release("a", 0, 1)}, "1")).To(Succeed())
	g.Expect(set.show(lost, 0)).To(BeFalse())
	g.Expect(set.Holds(0)).To(BeFalse())
	g.Expect(first.Len() + second.Len()).To(BeZero())
}

func TestTheEndOfASet(t *testing.T) {
	g := NewWithT(t)
	set, _, _ := newSetOf(t)
	ctx, cancel := context.WithCancel(t.Context())
	set.Gain(ctx, 0, func() { t.Error("the process ends") })
	set.Gain(t.Context(), 1, func() { t.Error("the process ends") })
	cancel()
	set.Stop()
	g.Expect(set.Holds(0)).To(BeFalse())
}

// gathered gives the metrics of a Set.
func gathered(g *WithT, set *Set) map[string]float64 {
	registry := prometheus.NewRegistry()
	g.Expect(registry.Register(set.Collector("convoy-cm"))).To(Succeed())
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	found := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.Metric {
			name := family.GetName()
			for _, label := range metric.Label {
				if label.GetName() == "kind" {
					name = label.GetValue()
				}
			}
			found[name] = metric.Gauge.GetValue()
		}
	}
	return found
}
