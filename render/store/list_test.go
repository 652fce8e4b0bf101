// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/store"
)

// TestListingGoesOnWhenSomethingVanishes has a place that says so, as directories do.
func TestListingGoesOnWhenSomethingVanishes(t *testing.T) {
	for vanishes, fine := range map[int]bool{3: true, 1000: false} {
		t.Run(fmt.Sprint(vanishes), func(t *testing.T) {
			g := NewWithT(t)
			m := &memory{objects: map[string]stored{}}
			left := 0
			s := m.open(store.Options{}, func() error {
				if left--; left >= 0 {
					return errAbsent
				}
				return nil
			})
			put := record(t, object("ConfigMap", "a", nil))
			g.Expect(s.Put(t.Context(), put)).To(Succeed())
			left = vanishes
			var digests []string
			var failure error
			for kept, err := range s.Walk(t.Context()) {
				failure = err
				for _, stored := range kept.Renders {
					digests = append(digests, stored.Digest)
				}
			}
			if !fine {
				g.Expect(errors.Is(failure, store.ErrUnavailable)).To(BeTrue(), "%v", failure)
				return
			}
			g.Expect(failure).NotTo(HaveOccurred())
			g.Expect(digests).To(ConsistOf(put.Result.Digest))
		})
	}
}

// TestDirectoryIsListedWhileFilesComeAndGo as those do that another process writes and removes.
func TestDirectoryIsListedWhileFilesComeAndGo(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	s := open(t, dir, store.Options{})
	put := record(t, object("ConfigMap", "a", nil))
	g.Expect(s.Put(t.Context(), put)).To(Succeed())
	done := make(chan struct{})
	var other sync.WaitGroup
	for n := range 4 {
		other.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				file := filepath.Join(dir, "team", "web", fmt.Sprintf("%d%063d.unneeded", n, i%7))
				if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Remove(file)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 300 {
		seen := false
		for kept, err := range s.Walk(t.Context()) {
			g.Expect(err).NotTo(HaveOccurred())
			for _, stored := range kept.Renders {
				seen = seen || stored.Digest == put.Result.Digest
			}
		}
		g.Expect(seen).To(BeTrue())
	}
	close(done)
	other.Wait()
}
