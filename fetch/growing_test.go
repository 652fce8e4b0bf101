// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// TestGitReadingBeyondThePathHasALimit in sum, which what is small beside much does not meet.
func TestGitReadingBeyondThePathHasALimit(t *testing.T) {
	const mib, dirs = 1 << 20, 2
	g := NewWithT(t)
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	files := map[string]string{"app/a.yaml": "a"}
	for i := range dirs {
		files[fmt.Sprintf("d%d/a.yaml", i)] = fmt.Sprint(i)
		files[fmt.Sprintf("d%d/noise", i)] = noise(byte(i), 3*mib/2)
	}
	repo.Commit(files)
	givesParts(repo)
	server, _ := testsource.ServeGit(t, root, false)
	r := newRig(t, fetch.Options{CacheBytes: 2 * mib, Limits: fetch.Limits{ContentBytes: 2 * mib}})
	want := gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Path: "app"})
	want.MaxAge = time.Hour
	a, err := r.get(t, want)
	g.Expect(err).NotTo(HaveOccurred())
	readAll := func() (bytes int) {
		for i := range dirs {
			g.Expect(read(a, fmt.Sprintf("d%d/a.yaml", i))).To(Equal(fmt.Sprint(i)))
			noise, err := fs.ReadFile(a.Root, fmt.Sprintf("d%d/noise", i))
			if bytes += len(noise); err != nil {
				g.Expect(errors.Is(err, fetch.ErrLimit)).To(BeTrue(), "%v", err)
				g.Expect(err).To(MatchError(And(ContainSubstring("outside of it take more than 2 MiB together"), ContainSubstring("--artifact-max-bytes"))))
			}
		}
		return bytes
	}
	g.Expect(readAll()).To(Equal(3 * mib / 2))
	before := r.Stats().Fetches
	g.Expect(readAll()).To(Equal(3 * mib / 2))
	g.Expect(r.Stats().Fetches).To(Equal(before), "what has no room is not fetched again")
}
