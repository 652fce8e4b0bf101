// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// lies are what a Git server says and does other than the honest one behind it.
type lies struct {
	// says replaces ids in its list of references.
	says map[string]string
	// gives replaces ids in what it is asked for.
	gives map[string]string
	// adds are ids that it gives besides.
	adds []string
}

// serveLies serves the repositories of an honest server.
func serveLies(t *testing.T, honest string, l lies) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, err := io.ReadAll(r.Body)
		if err == nil && bytes.HasSuffix([]byte(r.URL.Path), []byte("/git-upload-pack")) {
			asked = l.change(asked)
		}
		var request *http.Request
		if err == nil {
			request, err = http.NewRequestWithContext(r.Context(), r.Method, honest+r.URL.RequestURI(), bytes.NewReader(asked))
		}
		if err != nil {
			panic(err)
		}
		request.Header = r.Header.Clone()
		request.Header.Del("Accept-Encoding")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			panic(err)
		}
		defer response.Body.Close()
		answer, _ := io.ReadAll(response.Body)
		if bytes.HasSuffix([]byte(r.URL.Path), []byte("/info/refs")) {
			for from, to := range l.says {
				answer = bytes.ReplaceAll(answer, []byte(from), []byte(to))
			}
		}
		w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
		w.WriteHeader(response.StatusCode)
		_, _ = w.Write(answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// change makes another request of one; its first line ends where the first four digits say.
func (l lies) change(asked []byte) []byte {
	for from, to := range l.gives {
		asked = bytes.ReplaceAll(asked, []byte("want "+from), []byte("want "+to))
	}
	first, err := strconv.ParseInt(string(asked[:4]), 16, 32)
	if err != nil {
		panic(err)
	}
	var more []byte
	for _, id := range l.adds {
		if !bytes.Contains(asked, []byte("want "+id)) {
			more = append(more, "0032want "+id+"\n"...)
		}
	}
	return bytes.Join([][]byte{asked[:first], more, asked[first:]}, nil)
}

// signedAndEvil is a repository with a commit that signed tags lead to, and another one that
// nobody signed. Each has more files than 100 beside the path app.
func signedAndEvil(t *testing.T, root string, sign testsource.Sign) (repo *testsource.GitRepository, good, evil string) {
	t.Helper()
	repo = testsource.NewGitRepository(t, root, "app.git")
	files := map[string]string{"app/a.yaml": "good"}
	for i := range 150 {
		files[fmt.Sprintf("many/%d", i)] = fmt.Sprint(i)
	}
	good = repo.Commit(files)
	repo.SignTag("v1.0.0", "v1.0.0", sign)
	repo.SignTag("inner", "inner", nil)
	repo.SignTagOf("refs/tags/inner", "tag", "v1.1.0", sign)
	repo.SignTag("signed-inner", "signed-inner", sign)
	repo.SignTagOf("refs/tags/signed-inner", "tag", "v1.2.0", nil)
	repo.Git("checkout", "--quiet", "--orphan", "evil")
	evil = repo.Commit(map[string]string{"app/a.yaml": "evil"})
	repo.Git("checkout", "--quiet", "main")
	givesParts(repo)
	repo.Git("-C", repo.Path(), "config", "uploadpack.allowAnySHA1InWant", "true")
	return repo, good, evil
}

// TestGitServerThatLies has a server say that a signed tag leads to another commit than the tag
// itself says, and give that commit.
func TestGitServerThatLies(t *testing.T) {
	root := t.TempDir()
	key := testsource.NewOpenPGPKey(t, started.Add(-time.Hour), 0)
	repo, good, evil := signedAndEvil(t, root, key.SignAt(started.Add(-time.Minute)))
	honest, _ := testsource.ServeGit(t, root, false)
	all := secrets{"keys": {"a.asc": key.Public()}}
	tag := repo.Git("rev-parse", "refs/tags/v1.0.0")
	peeled := func(tag string) map[string]string {
		return map[string]string{good + " refs/tags/" + tag + "^{}": evil + " refs/tags/" + tag + "^{}"}
	}
	for _, tc := range []struct {
		name, mode string
		ref        corev1alpha1.GitRef
		lies       lies
		wantText   string
	}{
		{"tag", "tag", corev1alpha1.GitRef{Tag: "v1.0.0"}, lies{says: peeled("v1.0.0"), adds: []string{evil}},
			"the tag v1.0.0 itself leads to " + good + ", but the server says that it leads to the commit " + evil},
		{"version", "tag", corev1alpha1.GitRef{Semver: "~1.0.0"}, lies{says: peeled("v1.0.0"), adds: []string{evil}}, "itself leads to " + good},
		{"full name", "tag", corev1alpha1.GitRef{Name: "refs/tags/v1.0.0"}, lies{says: peeled("v1.0.0"), adds: []string{evil}}, "itself leads to " + good},
		{"tag of a tag", "tag", corev1alpha1.GitRef{Tag: "v1.1.0"}, lies{says: peeled("v1.1.0"), adds: []string{evil}}, "itself leads to " + good},
		{"signed tag in place of another", "tag", corev1alpha1.GitRef{Tag: "v1.1.0"},
			lies{says: map[string]string{repo.Git("rev-parse", "refs/tags/v1.1.0") + " refs/tags/v1.1.0": tag + " refs/tags/v1.1.0"}}, `under another name, "v1.0.0"`},
		{"tag that is the commit", "tag", corev1alpha1.GitRef{Tag: "v1.0.0"},
			lies{says: map[string]string{tag + " refs/tags/v1.0.0\n": evil + " refs/tags/v1.0.0\n", good + " refs/tags/v1.0.0^{}": evil + " refs/tags/v1.0.0^{}"}}, "lacks the tag v1.0.0"},
		{"commit, unsigned", "head", corev1alpha1.GitRef{Tag: "v1.0.0"}, lies{says: peeled("v1.0.0"), adds: []string{evil}}, "the commit " + evil + " is not signed"},
	} {
		for how, limits := range map[string]fetch.Limits{"whole": {}, "in part": {Files: 100}} {
			t.Run(tc.name+"/"+how, func(t *testing.T) {
				g := NewWithT(t)
				r := newRig(t, fetch.Options{Secrets: all, Limits: limits})
				want := verified(serveLies(t, honest.URL, tc.lies)+"/app.git", tc.mode, "gpg", "keys", tc.ref)
				want.Content.Git.Path = "app"
				a, err := r.get(t, want)
				g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "%v %v", a, err)
				g.Expect(err).To(MatchError(ContainSubstring(tc.wantText)))
				g.Expect(r.Stats().Artifacts).To(BeZero())
			})
		}
	}
}

// TestGitServerThatGivesOther has a server give another object than it is asked for, where
// nothing but the id vouches for it.
func TestGitServerThatGivesOther(t *testing.T) {
	root := t.TempDir()
	key := testsource.NewOpenPGPKey(t, started.Add(-time.Hour), 0)
	repo, good, evil := signedAndEvil(t, root, key.SignAt(started.Add(-time.Minute)))
	blob := func(commit string) string { return repo.Git("rev-parse", commit+":app/a.yaml") }
	tree := func(commit string) string { return repo.Git("rev-parse", commit+":app") }
	module := testsource.NewGitRepository(t, root, "module.git")
	honest, _ := testsource.ServeGit(t, root, false)
	module.Submodule("sub", "../app.git", good)
	module.CommitIndex()
	for _, tc := range []struct {
		name, repository string
		ref              corev1alpha1.GitRef
		gives            map[string]string
	}{
		{"commit", "app.git", corev1alpha1.GitRef{Commit: good}, map[string]string{good: evil}},
		{"branch", "app.git", corev1alpha1.GitRef{Branch: "main"}, map[string]string{good: evil}},
		{"directory", "app.git", corev1alpha1.GitRef{Branch: "main"}, map[string]string{tree(good): tree(evil), blob(good): blob(evil)}},
		{"submodule", "module.git", corev1alpha1.GitRef{Branch: "main"}, map[string]string{good: evil}},
	} {
		for how, limits := range map[string]fetch.Limits{"whole": {}, "in part": {Files: 100}} {
			if tc.name == "directory" && how == "whole" {
				continue // it is not asked for by its id
			}
			t.Run(tc.name+"/"+how, func(t *testing.T) {
				g := NewWithT(t)
				r := newRig(t, fetch.Options{Limits: limits})
				want := gitWant(serveLies(t, honest.URL, lies{gives: tc.gives})+"/"+tc.repository, "", corev1alpha1.GitSource{Ref: tc.ref, Path: "app"})
				if tc.repository == "module.git" {
					want.Content.Git.Path = "sub"
					want.Source.(*sourcev1alpha1.GitRepository).Spec.RecurseSubmodules = true
				}
				_, err := r.get(t, want)
				g.Expect(err).To(MatchError(MatchRegexp("has no commit|commit that lacks")))
			})
		}
	}
}

// TestGitVerifyTagOfATag follows tags from the one that is named, which is the one that has to be
// signed.
func TestGitVerifyTagOfATag(t *testing.T) {
	root := t.TempDir()
	key := testsource.NewOpenPGPKey(t, started.Add(-time.Hour), 0)
	sign := key.SignAt(started.Add(-time.Minute))
	repo, _, _ := signedAndEvil(t, root, sign)
	for i := range 16 {
		repo.SignTagOf(fmt.Sprintf("refs/tags/v1.%d.0", i+2), "tag", fmt.Sprintf("v1.%d.0", i+3), sign)
	}
	repo.SignTagOf("HEAD^{tree}", "tree", "v3.0.0", sign)
	server, _ := testsource.ServeGit(t, root, false)
	all := secrets{"keys": {"a.asc": key.Public()}}
	for scheme, url := range map[string]string{"http": server.URL + "/app.git", "file": "file://" + repo.Path()} {
		for how, limits := range map[string]fetch.Limits{"whole": {}, "in part": {Files: 100}} {
			for _, tc := range []struct{ tag, wantText string }{
				{tag: "v1.0.0"},
				{tag: "v1.1.0"},
				{tag: "v1.3.0"},
				{"v1.2.0", "the tag v1.2.0 is not signed"},
				{"v1.18.0", "a tag of a tag more than 16 times"},
				{"v3.0.0", "does not point to a commit but to a tree"},
			} {
				t.Run(scheme+"/"+how+"/"+tc.tag, func(t *testing.T) {
					if scheme == "file" && tc.tag == "v1.18.0" {
						t.Skip("from disk, more tags are not peeled either")
					}
					g := NewWithT(t)
					r := newRig(t, fetch.Options{Secrets: all, Limits: limits, AllowFileSources: true})
					want := verified(url, "tag", "gpg", "keys", corev1alpha1.GitRef{Tag: tc.tag})
					want.Content.Git.Path = "app"
					a, err := r.get(t, want)
					if tc.wantText != "" {
						g.Expect(err).To(MatchError(ContainSubstring(tc.wantText)))
						return
					}
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(read(a, "app/a.yaml")).To(Equal("good"))
				})
			}
		}
	}
}
