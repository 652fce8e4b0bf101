// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// TestGitBombs has a blob that is nothing on the wire, at the wanted path and elsewhere in the
// commit, where it concerns nobody.
func TestGitBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 256 MiB")
	}
	const mib = 1 << 20
	for name, bomb := range map[string]string{"at the path": "app/bomb", "elsewhere": "media/bomb"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			root := t.TempDir()
			repo := testsource.NewGitRepository(t, root, "app.git")
			repo.Commit(map[string]string{bomb: strings.Repeat("\x00", 128*mib), "app/a.yaml": "a"})
			server, recorder := testsource.ServeGit(t, root, false)
			r := newRig(t, fetch.Options{Limits: fetch.Limits{ContentBytes: 32 * mib, FileBytes: 32 * mib}})
			want := gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Path: "app"})
			want.MaxAge = time.Minute
			before := allocated()
			_, err := r.get(t, want)
			g.Expect(allocated()-before).To(BeNumerically("<", 32*mib), "all that was ever allocated")
			judge := func(err error) {
				if name == "elsewhere" {
					g.Expect(err).NotTo(HaveOccurred())
					return
				}
				g.Expect(errors.Is(err, fetch.ErrLimit)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(And(ContainSubstring(`"app/bomb" has 128 MiB; a file may have 32 MiB`), ContainSubstring("Take what is not deployed out of the source"), ContainSubstring("raise --artifact-max-file-bytes")))
			}
			judge(err)
			r.clock.Step(30 * time.Second)
			_, err = r.get(t, want)
			judge(err)
			g.Expect(recorder.Count("git-upload-pack")).To(Equal(1))
		})
	}
}

// TestGitCommitsThatAreTooLarge are not tried again: they are what they are.
func TestGitCommitsThatAreTooLarge(t *testing.T) {
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	repo.Commit(map[string]string{"a.yaml": "a"})
	large := repo.Store("commit", repo.Git("cat-file", "commit", "HEAD")+strings.Repeat("\n", 17<<20))
	repo.Git("reset", "--quiet", "--soft", large)
	repo.Push()
	server, recorder := testsource.ServeGit(t, root, false)
	for _, address := range []string{server.URL + "/app.git", "file://" + repo.Path()} {
		g := NewWithT(t)
		r := newRig(t, fetch.Options{AllowFileSources: true})
		want := gitWant(address, "", corev1alpha1.GitSource{})
		want.MaxAge = time.Minute
		for range 2 {
			_, err := r.get(t, want)
			g.Expect(errors.Is(err, fetch.ErrLimit)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring("holds a commit of 17.1 MiB; one that is no file may have 16 MiB")))
			r.clock.Step(30 * time.Second)
		}
	}
	NewWithT(t).Expect(recorder.Count("git-upload-pack")).To(Equal(1))
}

// TestArchivesThatGrow are named, whatever they come from.
func TestArchivesThatGrow(t *testing.T) {
	const mib = 1 << 20
	files := map[string]string{"web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "web/bomb": strings.Repeat("\x00", 16*mib)}
	archive := testsource.TarGz(t, files)
	repository := serveHelm(t, map[string][]byte{
		"index.yaml":    []byte("apiVersion: v1\nentries:\n  web:\n  - {name: web, version: 1.0.0, urls: [web-1.0.0.tgz], digest: " + testsource.SHA256(archive) + "}\n"),
		"web-1.0.0.tgz": archive,
	})
	registry := testsource.ServeOCI(t, false)
	registry.Push("team/app", []testsource.Layer{{MediaType: contentLayer, Content: archive}}, "1.0.0")
	for _, tc := range []struct {
		name string
		want fetch.Want
		told string
	}{
		{"a chart", helmWant(repository.URL+"/charts", "", "web", "1.0.0"), "the chart web 1.0.0: "},
		{"a layer", ociWant("oci://"+registry.Host()+"/team", "", artifactRef("app", corev1alpha1.OCIRef{Tag: "1.0.0"})), "the layer sha256:" + testsource.SHA256(archive) + ": "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := newRig(t, fetch.Options{}).get(t, tc.want)
			g.Expect(errors.Is(err, fetch.ErrLimit)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(And(ContainSubstring("%sthe archive has %d bytes and grows to more than 100 times as many", tc.told, len(archive)), ContainSubstring("raise --artifact-max-ratio")))
			_, err = newRig(t, fetch.Options{Limits: fetch.Limits{Ratio: 2000}}).get(t, tc.want)
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}

// TestLimitsAreNamedWithTheirFlags: who runs convoy learns what to raise.
func TestLimitsAreNamedWithTheirFlags(t *testing.T) {
	files := map[string]string{"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "a": strings.Repeat("a", 3000), "b": strings.Repeat("b", 3000)}
	root := t.TempDir()
	testsource.NewGitRepository(t, root, "app.git").Commit(files)
	git, _ := testsource.ServeGit(t, root, false)
	charted := map[string]string{}
	for name, content := range files {
		charted["web/"+name] = content
	}
	archive := testsource.TarGz(t, charted)
	repository := serveHelm(t, map[string][]byte{"index.yaml": []byte("entries:\n  web:\n  - {version: 1.0.0, urls: [web.tgz], digest: " + testsource.SHA256(archive) + "}\n"), "web.tgz": archive})
	registry := testsource.ServeOCI(t, false)
	registry.Push("web", []testsource.Layer{{MediaType: contentLayer, Content: archive}}, "1.0.0")
	for kind, want := range map[string]fetch.Want{
		"git": gitWant(git.URL+"/app.git", "", corev1alpha1.GitSource{}), "helm": helmWant(repository.URL+"/charts", "", "web", "1.0.0"),
		"oci": ociWant("oci://"+registry.Host(), "", artifactRef("web", corev1alpha1.OCIRef{Tag: "1.0.0"})),
	} {
		for _, tc := range []struct {
			limits   fetch.Limits
			wantText string
		}{
			{fetch.Limits{DownloadBytes: 100}, "raise --artifact-max-download-bytes"},
			{fetch.Limits{ContentBytes: 4000}, "raise --artifact-max-bytes"},
			{fetch.Limits{FileBytes: 1000}, "raise --artifact-max-file-bytes"},
			{fetch.Limits{Files: 2}, "raise --artifact-max-files"},
		} {
			t.Run(kind+"/"+tc.wantText, func(t *testing.T) {
				g := NewWithT(t)
				_, err := newRig(t, fetch.Options{Limits: tc.limits}).get(t, want)
				g.Expect(errors.Is(err, fetch.ErrLimit)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(HaveSuffix(tc.wantText))
			})
		}
	}
}

// TestHelmIndexWithoutEnd is read up to the limit, and little of it is held.
func TestHelmIndexWithoutEnd(t *testing.T) {
	const mib = 1 << 20
	g := NewWithT(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writeIndex(clientsPatience{w, r}, 500*1000*1000, strings.Repeat("words ", 100), strings.Repeat("ab", 32))
	}))
	t.Cleanup(server.Close)
	r := newRig(t, fetch.Options{Limits: fetch.Limits{IndexBytes: 4 * mib}})
	peak := heapPeak(100, func() {
		_, _, err := r.Resolve(t.Context(), helmWant(server.URL, "", "chart-1", ""))
		g.Expect(errors.Is(err, fetch.ErrLimit)).To(BeTrue(), "%v", err)
		g.Expect(err.Error()).To(And(ContainSubstring("the index has more than 4 MiB"), ContainSubstring("publish fewer versions in one index")))
	})
	g.Expect(peak).To(BeNumerically("<", 64*mib))
	g.Expect(r.Stats().Kinds["HelmRegistry"].Received).To(BeNumerically("<", 8*mib))
}

// clientsPatience fails to write once the client has left.
type clientsPatience struct {
	http.ResponseWriter
	request *http.Request
}

func (c clientsPatience) Write(p []byte) (int, error) {
	if err := c.request.Context().Err(); err != nil {
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(p)
}
