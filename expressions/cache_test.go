// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/cel-go/cel"
	. "github.com/onsi/gomega"
)

// Nobody waits for what another compiles.
func TestCacheIsNotHeld(t *testing.T) {
	g := NewWithT(t)
	var cache Cache
	compiled := 0
	compile := func() (*Program, error) {
		compiled++
		if g.Expect(cache.mu.TryLock()).To(BeTrue()) {
			cache.mu.Unlock()
		}
		return &Program{}, nil
	}
	for range 2 {
		_, err := cache.get(cacheKey{text: "a"}, compile)
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(compiled).To(Equal(1))
	_, err := cache.get(cacheKey{text: "b"}, func() (*Program, error) { return nil, errors.New("none") })
	g.Expect(err).To(MatchError("none"))
	g.Expect(cache.programs).To(HaveLen(1))
}

// Programs are kept by what they hold.
func TestCacheIsBounded(t *testing.T) {
	g := NewWithT(t)
	env := testEnvironment(t)
	var cache Cache
	most := 0
	for i := range 100 {
		_, err := cache.Compile(env, fmt.Sprintf(`"%d".matches("(?:a?b?c?){999}")`, i), cel.BoolType)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(cache.held).To(BeNumerically("<=", maxCached))
		most = max(most, len(cache.programs))
	}
	g.Expect(most).To(And(BeNumerically(">", 30), BeNumerically("<", 80)))
}
