// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestAListIsTheTruth: a host that was restored to an older state has older versions, and what it listed
// before counts for nothing.
func TestAListIsTheTruth(t *testing.T) {
	g := NewWithT(t)
	c, said := newCache(t)
	g.Expect(c.parts[0].Replace([]any{release("a", 0, 8), release("b", 0, 9)}, "9")).To(Succeed())
	said.take()
	g.Expect(c.parts[0].Replace([]any{release("a", 0, 2), release("c", 0, 3)}, "4")).To(Succeed())
	g.Expect(texts(c)).To(ConsistOf("a@2", "c@3"))
	g.Expect(said.take()).To(Equal([]string{"update a@8 a@2", "add c@3", "delete missed b@9"}))
	g.Expect(c.parts[0].Update(release("a", 0, 5))).To(Succeed())
	g.Expect(said.take()).To(Equal([]string{"update a@2 a@5"}), "and it goes on from there")
}

// TestAnObjectThatIsBackInItsScope: what moved after the state that a host was restored to, has not. In
// whatever order the scopes are listed again.
func TestAnObjectThatIsBackInItsScope(t *testing.T) {
	lists := map[int][]any{0: {release("a", 0, 2)}, 1: nil}
	for name, order := range map[string][]int{"the old scope first": {0, 1}, "the new scope first": {1, 0}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c, said := newCache(t)
			g.Expect(c.parts[0].Replace([]any{release("a", 0, 2)}, "2")).To(Succeed())
			g.Expect(c.parts[1].Add(release("a", 1, 9))).To(Succeed())
			g.Expect(c.parts[0].Delete(release("a", 0, 9))).To(Succeed())
			g.Expect(texts(c)).To(ConsistOf("a@9"))
			said.take()
			for _, scope := range order {
				g.Expect(c.parts[scope].Replace(lists[scope], "4")).To(Succeed())
			}
			g.Expect(texts(c)).To(ConsistOf("a@2"))
			g.Expect(said.take()).To(Or(Equal([]string{"update a@9 a@2"}), Equal([]string{"delete missed a@9", "add a@2"})))
		})
	}
}

// TestAListThatIsBehind: that of one scope takes nothing back that another one told of.
func TestAListThatIsBehind(t *testing.T) {
	g := NewWithT(t)
	c, said := newCache(t)
	g.Expect(c.parts[0].Replace([]any{release("a", 0, 1)}, "1")).To(Succeed())
	g.Expect(c.parts[1].Add(release("a", 1, 3))).To(Succeed())
	said.take()
	g.Expect(c.parts[0].Replace([]any{release("a", 0, 2)}, "2")).To(Succeed())
	g.Expect(texts(c)).To(ConsistOf("a@3"))
	g.Expect(said.take()).To(BeEmpty())
}
