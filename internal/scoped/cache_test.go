// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func TestScopesAreReadAsOne(t *testing.T) {
	g := NewWithT(t)
	c, said := newCache(t)
	g.Expect(c.parts[0].Replace([]any{release("a", 0, 1)}, "1")).To(Succeed())
	g.Expect(c.parts[1].Replace([]any{release("b", 1, 2)}, "2")).To(Succeed())
	g.Expect(c.parts[0].Add(release("c", 0, 3))).To(Succeed())
	g.Expect(texts(c)).To(ConsistOf("a@1", "b@2", "c@3"))
	g.Expect(c.Len()).To(Equal(3))
	g.Expect(said.take()).To(Equal([]string{"there a@1", "there b@2", "add c@3"}))

	g.Expect(c.parts[0].Update(release("a", 0, 4))).To(Succeed())
	g.Expect(c.parts[1].Delete(release("b", 1, 5))).To(Succeed())
	g.Expect(texts(c)).To(ConsistOf("a@4", "c@3"))
	g.Expect(said.take()).To(Equal([]string{"update a@1 a@4", "delete b@5"}))
}

func TestAScopeIsSeenWhenItIsShown(t *testing.T) {
	g := NewWithT(t)
	c, said := newCache(t)
	g.Expect(c.parts[2].Replace([]any{release("a", 2, 1), release("b", 2, 1)}, "1")).To(Succeed())
	g.Expect(c.parts[2].Update(release("a", 2, 2))).To(Succeed())
	g.Expect(c.parts[2].Delete(release("b", 2, 3))).To(Succeed())
	g.Expect(c.parts[2].Resync()).To(Succeed())
	g.Expect(texts(c)).To(BeEmpty())
	g.Expect(said.take()).To(BeEmpty())
	g.Expect(c.Whole(2)).To(BeFalse())

	c.Show(2)
	g.Expect(texts(c)).To(ConsistOf("a@2"))
	g.Expect(said.take()).To(Equal([]string{"there a@2"}))
	g.Expect(c.Whole(2)).To(BeTrue())
	c.Show(2)
	g.Expect(said.take()).To(BeEmpty(), "it is shown once")
}

func TestAScopeThatEndsIsForgottenWithoutAWord(t *testing.T) {
	g := NewWithT(t)
	c, said := newCache(t)
	g.Expect(c.AddIndexers(cache.Indexers{"shard": func(object any) ([]string, error) {
		return []string{object.(*corev1alpha1.Release).Labels[corev1alpha1.LabelShard]}, nil
	}})).To(Succeed())
	g.Expect(c.parts[0].Replace([]any{release("a", 0, 1)}, "1")).To(Succeed())
	g.Expect(c.parts[1].Replace([]any{release("b", 1, 1)}, "1")).To(Succeed())
	said.take()
	ended := c.parts[0]
	c.End(0)
	g.Expect(texts(c)).To(ConsistOf("b@1"))
	g.Expect(c.GetIndexer().ByIndex("shard", "0")).To(BeEmpty())
	g.Expect(c.GetIndexer().ByIndex("shard", "1")).To(HaveLen(1))

	g.Expect(ended.Add(release("c", 0, 2))).To(Succeed())
	g.Expect(ended.Replace([]any{release("d", 0, 2)}, "2")).To(Succeed())
	g.Expect(ended.Delete(release("a", 0, 2))).To(Succeed())
	g.Expect(ended.Resync()).To(Succeed())
	g.Expect(texts(c)).To(ConsistOf("b@1"), "what comes late counts for nothing")
	g.Expect(said.take()).To(BeEmpty())
}

// A Release whose label changes leaves one scope and enters another, in either order.
func TestAnObjectMovesBetweenScopes(t *testing.T) {
	for _, test := range []struct {
		name  string
		steps func(from, to *part[int]) []error
		want  []string
	}{
		{"it is in both first", func(from, to *part[int]) []error {
			return []error{to.Add(release("a", 1, 2)), from.Delete(release("a", 0, 2))}
		}, []string{"update a@1 a@2"}},
		{"it is in none first", func(from, to *part[int]) []error {
			return []error{from.Delete(release("a", 0, 2)), to.Add(release("a", 1, 2))}
		}, []string{"delete a@2", "add a@2"}},
		{"the old scope is behind", func(from, to *part[int]) []error {
			return []error{to.Add(release("a", 1, 3)), from.Update(release("a", 0, 2)), from.Delete(release("a", 0, 3))}
		}, []string{"update a@1 a@3"}},
		{"the old scope is told late", func(from, to *part[int]) []error {
			return []error{to.Add(release("a", 1, 2)), from.Replace(nil, "9")}
		}, []string{"update a@1 a@2"}},
		{"and back", func(from, to *part[int]) []error {
			return []error{to.Add(release("a", 1, 2)), from.Update(release("a", 0, 3)), to.Delete(release("a", 1, 3))}
		}, []string{"update a@1 a@2", "update a@2 a@3"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			c, said := newCache(t)
			g.Expect(c.parts[0].Replace([]any{release("a", 0, 1)}, "1")).To(Succeed())
			said.take()
			g.Expect(errors.Join(test.steps(c.parts[0], c.parts[1])...)).To(Succeed())
			g.Expect(c.Len()).To(Equal(1))
			g.Expect(said.take()).To(Equal(test.want))
		})
	}
}

func TestWhatAScopeMissed(t *testing.T) {
	g := NewWithT(t)
	c, said := newCache(t)
	g.Expect(c.parts[0].Replace([]any{release("a", 0, 1), release("b", 0, 1)}, "1")).To(Succeed())
	said.take()
	g.Expect(c.parts[0].Replace([]any{release("b", 0, 2), release("c", 0, 2)}, "2")).To(Succeed())
	g.Expect(texts(c)).To(ConsistOf("b@2", "c@2"))
	g.Expect(said.take()).To(Equal([]string{"update b@1 b@2", "add c@2", "delete missed a@1"}))
}

func TestEndingAScopeLeavesWhatAnotherHas(t *testing.T) {
	g := NewWithT(t)
	c, said := newCache(t)
	g.Expect(c.parts[0].Replace([]any{release("a", 0, 1)}, "1")).To(Succeed())
	g.Expect(c.parts[1].Replace([]any{release("a", 1, 2)}, "2")).To(Succeed())
	said.take()
	c.End(0)
	g.Expect(texts(c)).To(ConsistOf("a@2"))
	c.End(1)
	g.Expect(texts(c)).To(BeEmpty())
	g.Expect(said.take()).To(BeEmpty())
}

// What nobody sees keeps nothing from being gone.
func TestAnObjectThatOnlyAHiddenScopeHas(t *testing.T) {
	g := NewWithT(t)
	c, said := newCache(t)
	g.Expect(c.parts[0].Replace([]any{release("a", 0, 1)}, "1")).To(Succeed())
	g.Expect(c.parts[2].Replace([]any{release("a", 2, 2)}, "2")).To(Succeed())
	said.take()
	g.Expect(c.parts[0].Delete(release("a", 0, 2))).To(Succeed())
	g.Expect(texts(c)).To(BeEmpty())
	g.Expect(said.take()).To(Equal([]string{"delete a@2"}))
	c.Show(2)
	g.Expect(said.take()).To(Equal([]string{"there a@2"}))
}

func TestResync(t *testing.T) {
	g := NewWithT(t)
	c, said := newCache(t)
	g.Expect(c.parts[0].Replace([]any{release("a", 0, 1), release("b", 0, 1)}, "1")).To(Succeed())
	g.Expect(c.parts[1].Replace([]any{release("a", 1, 2)}, "2")).To(Succeed())
	said.take()
	g.Expect(c.parts[0].Resync()).To(Succeed())
	g.Expect(said.take()).To(Equal([]string{"update b@1 b@1"}), "the newer state of the other is another scope's to tell of")
}

func TestAHandlerThatComesLate(t *testing.T) {
	g := NewWithT(t)
	c, _ := newCache(t)
	g.Expect(c.parts[0].Replace([]any{release("a", 0, 1)}, "1")).To(Succeed())
	late := &log{}
	registration, err := c.AddEventHandler(late)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(late.take()).To(Equal([]string{"there a@1"}))
	g.Expect(registration.HasSynced()).To(BeFalse())
	g.Expect(c.parts[1].Replace(nil, "1")).To(Succeed())
	g.Expect(c.parts[2].Replace(nil, "1")).To(Succeed())
	g.Expect(registration.HasSynced()).To(BeTrue())
}

func TestObjectsAreTransformed(t *testing.T) {
	g := NewWithT(t)
	c := New(Options[int]{Name: "Release", Example: &corev1alpha1.Release{}, ListWatch: silent, Transform: func(object any) (any, error) {
		r := object.(*corev1alpha1.Release)
		if r.Name == "bad" {
			return nil, errors.New("bad")
		}
		r.Labels = nil
		return r, nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	defer c.Wait()
	defer cancel()
	c.Begin(ctx, 0, true)
	g.Expect(c.parts[0].Replace([]any{release("a", 0, 1)}, "1")).To(Succeed())
	g.Expect(c.parts[0].Add(release("b", 0, 1))).To(Succeed())
	for _, object := range c.GetIndexer().List() {
		g.Expect(object).To(HaveField("Labels", BeEmpty()))
	}
	g.Expect(c.parts[0].Add(release("bad", 0, 1))).NotTo(Succeed())
	g.Expect(c.Len()).To(Equal(2))
}

// TestOnAHost has objects come, change, move and go while scopes begin and end.
func TestOnAHost(t *testing.T) {
	g := NewWithT(t)
	h, said := newHost(), &log{}
	h.set("a", 0)
	h.set("b", 1)
	c := New(Options[int]{Name: "Release", Example: &corev1alpha1.Release{}, ListWatch: h.listWatch})
	_, err := c.AddEventHandler(said)
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	defer c.Wait()
	defer cancel()
	eventually := func(want ...any) {
		t.Helper()
		g.Eventually(func() []string { return texts(c) }).WithTimeout(20 * time.Second).Should(ConsistOf(want...))
	}
	<-c.Begin(ctx, 0, true)
	g.Expect(c.Begin(ctx, 0, true)).To(BeClosed(), "it is begun once")
	g.Expect(texts(c)).To(ConsistOf("a@1"))
	h.set("c", 0)
	eventually("a@1", "c@3")
	<-c.Begin(ctx, 1, true)
	eventually("a@1", "b@2", "c@3")
	h.set("c", 1)
	eventually("a@1", "b@2", "c@4")
	h.set("b", -1)
	eventually("a@1", "c@4")
	said.take()

	g.Eventually(h.watched).WithTimeout(20 * time.Second).Should(Equal(2))
	c.End(1)
	g.Expect(texts(c)).To(ConsistOf("a@1"))
	g.Eventually(h.watched).WithTimeout(20*time.Second).Should(Equal(1), "its watch ends")
	h.set("c", 1)
	h.set("d", 0)
	eventually("a@1", "d@7")
	g.Expect(said.take()).To(Equal([]string{"add d@7"}))
	<-c.Begin(ctx, 1, true)
	eventually("a@1", "c@6", "d@7")
}
