// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

func TestGitTagThatPointsToNoCommit(t *testing.T) {
	for _, filters := range []string{"false", "true"} {
		t.Run("a server that filters: "+filters, func(t *testing.T) {
			g := NewWithT(t)
			root := t.TempDir()
			repo := testsource.NewGitRepository(t, root, "app.git")
			commit := repo.Commit(map[string]string{"a.yaml": "a"})
			repo.Git("tag", "v1.0.0")
			repo.Git("tag", "--annotate", "--message", "m", "v1.2.0")
			repo.Git("tag", "--annotate", "--message", "m", "v1.3.0", repo.Git("rev-parse", "HEAD:a.yaml"))
			repo.Git("tag", "v1.4.0", repo.Git("rev-parse", "HEAD^{tree}"))
			repo.Git("tag", "v3.0.0", repo.Git("rev-parse", "HEAD:a.yaml"))
			repo.Commit(map[string]string{"a.yaml": "the branch is not where the tag is"})
			repo.Git("--git-dir", repo.Path(), "config", "uploadpack.allowFilter", filters)
			server, recorder := testsource.ServeGit(t, root, false)
			r := newRig(t, fetch.Options{})
			want := gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Ref: corev1alpha1.GitRef{Semver: ">=1.0.0 <2.0.0"}})
			want.MaxAge = 5 * time.Minute

			var logs bytes.Buffer
			var mu sync.Mutex
			_, _, err := r.Resolve(klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(lockedWriter{&mu, &logs})))), want)
			g.Expect(err).NotTo(HaveOccurred())
			mu.Lock()
			for tag, kind := range map[string]string{"v1.3.0": "blob", "v1.4.0": "tree"} {
				g.Expect(logs.String()).To(ContainSubstring(`Skipping a tag that does not point to a commit" url="%s" tag="%s" kind="%s"`, server.URL+"/app.git", tag, kind))
			}
			mu.Unlock()
			a, err := r.get(t, want)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(a.Revision).To(Equal("v1.2.0@sha1:"+commit), "what is no commit is passed over")
			before := recorder.Count("/")
			r.clock.Step(4 * time.Minute)
			_, err = r.get(t, want)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(recorder.Count("/")).To(Equal(before), "what something is does not have to be asked for again")
			r.clock.Step(4 * time.Minute)
			_, err = r.get(t, want)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(recorder.Count("/")).To(Equal(before + 1))

			_, err = r.get(t, gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Ref: corev1alpha1.GitRef{Semver: ">=3"}}))
			g.Expect(errors.Is(err, fetch.ErrNotFound)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(ContainSubstring("not pointing to a commit: v1.3.0, v1.4.0, v3.0.0"))
			_, err = r.get(t, gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Ref: corev1alpha1.GitRef{Tag: "v1.3.0"}}))
			g.Expect(errors.Is(err, fetch.ErrContent)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(And(ContainSubstring("v1.3.0"), ContainSubstring("does not point to a commit but to a blob")))
			for _, ref := range []corev1alpha1.GitRef{{Tag: "v1.3.0"}, {Tag: "v1.4.0"}, {Name: "refs/tags/v3.0.0"}} {
				r, want := newRig(t, fetch.Options{}), gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Ref: ref})
				if filters == "false" {
					_, err := r.get(t, want)
					g.Expect(errors.Is(err, fetch.ErrContent)).To(BeTrue(), "a fetch finds out: %v", err)
				}
				revision, _, err := r.Resolve(t.Context(), want)
				g.Expect(errors.Is(err, fetch.ErrContent)).To(BeTrue(), "%v", err)
				g.Expect(revision).To(BeEmpty(), "nothing that could be used")
			}
		})
	}
}

// TestGitTagThatIsNoRange follows bugs of tools that read names as versions.
func TestGitTagThatIsNoRange(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	first := repo.Commit(map[string]string{"a.yaml": "first"})
	repo.Git("tag", "2024-09-22-test")
	repo.Git("tag", "1.2")
	server, _ := testsource.ServeGit(t, root, false)
	second := repo.Commit(map[string]string{"a.yaml": "second"})
	repo.Git("tag", "1.2.5")
	repo.Push()
	var logs bytes.Buffer
	var mu sync.Mutex
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(lockedWriter{&mu, &logs}))))
	r := newRig(t, fetch.Options{})
	at := func(ref corev1alpha1.GitRef) (string, error) {
		revision, _, err := r.Resolve(ctx, gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Ref: ref}))
		return revision, err
	}

	g.Expect(at(corev1alpha1.GitRef{Tag: "2024-09-22-test"})).To(Equal("2024-09-22-test@sha1:" + first))
	repo.Git("tag", "2024-09-22-test-2")
	repo.Push()
	g.Expect(at(corev1alpha1.GitRef{Tag: "2024-09-22-test"})).To(Equal("2024-09-22-test@sha1:"+first), "another tag changes nothing")
	g.Expect(at(corev1alpha1.GitRef{Tag: "1.2"})).To(Equal("1.2@sha1:" + first))
	repo.Git("tag", "--delete", "1.2")
	repo.Push()
	_, err := at(corev1alpha1.GitRef{Tag: "1.2"})
	g.Expect(errors.Is(err, fetch.ErrNotFound)).To(BeTrue(), "%v", err)
	g.Expect(err.Error()).To(ContainSubstring(`no tag "1.2"`))
	g.Expect(at(corev1alpha1.GitRef{Semver: "1.2"})).To(Equal("1.2.5@sha1:" + second))

	g.Expect(logs.String()).NotTo(ContainSubstring("moved"))
	repo.Git("tag", "--force", "2024-09-22-test")
	repo.Push()
	g.Expect(at(corev1alpha1.GitRef{Tag: "2024-09-22-test"})).To(Equal("2024-09-22-test@sha1:" + second))
	g.Expect(logs.String()).To(And(ContainSubstring("A tag was moved to another commit"), ContainSubstring(first), ContainSubstring(second)))
}

// TestGitSHA256 asks repositories whose ids are of the other kind.
func TestGitSHA256(t *testing.T) {
	root := t.TempDir()
	repo := testsource.NewGitRepositoryOf(t, root, "sha256.git", "sha256")
	repo.Commit(map[string]string{"a.yaml": "a"})
	server, _ := testsource.ServeGit(t, root, false)
	for _, url := range []string{server.URL + "/sha256.git", "file://" + root + "/sha256.git"} {
		g := NewWithT(t)
		_, err := newRig(t, fetch.Options{AllowFileSources: true}).get(t, gitWant(url, "", corev1alpha1.GitSource{}))
		g.Expect(errors.Is(err, fetch.ErrInvalid)).To(BeTrue(), "%v", err)
		g.Expect(err.Error()).To(ContainSubstring("has SHA-256 commit ids, which are not supported"))
	}
}
