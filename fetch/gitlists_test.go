// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// TestGitListsOfReferencesAreHeldOneAtATime has a part of a commit that takes many conversations, in
// each of which the server lists its references.
func TestGitListsOfReferencesAreHeldOneAtATime(t *testing.T) {
	const mib, references, links = 1 << 20, 3000, 5
	g := NewWithT(t)
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	files := map[string]string{"app/a.yaml": "a", "media/0.bin": noise(1, mib), "media/1.bin": noise(2, mib), fmt.Sprintf("d%d/l", links): "end"}
	for i := range links {
		repo.Link(fmt.Sprintf("../d%d/l", i+1), fmt.Sprintf("d%d/l", i))
	}
	repo.Link("../d0/l", "app/l")
	commit := repo.Commit(files)
	givesParts(repo)
	var list strings.Builder
	list.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	for i := range references {
		fmt.Fprintf(&list, "%s refs/tags/v%06d\n", commit, i)
	}
	g.Expect(os.WriteFile(filepath.Join(repo.Path(), "packed-refs"), []byte(list.String()), 0o600)).To(Succeed())
	server, recorder := testsource.ServeGit(t, root, false)
	r := newRig(t, fetch.Options{Limits: fetch.Limits{ContentBytes: mib}})
	var taken []int64
	recorder.Before(func(request *http.Request) {
		if strings.HasSuffix(request.URL.Path, "/info/refs") {
			taken = append(taken, r.Stats().TakingBytes)
		}
	})
	want := gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Path: "app"})
	want.MaxAge = time.Hour
	a, err := r.get(t, want)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read(a, "app/l")).To(Equal("end"))
	g.Expect(len(taken)).To(BeNumerically(">", links))
	g.Expect(taken).To(HaveEach(BeNumerically("<", list.Len()/2)))
}
