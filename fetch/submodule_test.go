// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

func recursive(url, secret, path string) fetch.Want {
	want := gitWant(url, secret, corev1alpha1.GitSource{Path: path})
	want.MaxAge = 5 * time.Minute
	want.Source.(*sourcev1alpha1.GitRepository).Spec.RecurseSubmodules = true
	return want
}

// TestGitSubmodules has a private parent with a private sibling, a public submodule
// elsewhere, and one that cannot be reached.
func TestGitSubmodules(t *testing.T) {
	root, elsewhere := t.TempDir(), t.TempDir()
	deep := testsource.NewGitRepository(t, root, "deep.git")
	deepCommit := deep.Commit(map[string]string{"deep.yaml": "deep"})
	lib := testsource.NewGitRepository(t, root, "lib.git")
	lib.Write(map[string]string{"base/lib.yaml": "lib"})
	lib.Git("add", "--all")
	lib.Submodule("deep", "../deep.git", deepCommit)
	libCommit := lib.CommitIndex()
	lib.Commit(map[string]string{"base/lib.yaml": "newer, which nobody asked for"})
	pub := testsource.NewGitRepository(t, elsewhere, "pub.git")
	pubCommit := pub.Commit(map[string]string{"pub.yaml": "pub"})
	server, recorder := testsource.ServeGit(t, root, true)
	server.Config.ErrorLog = testsource.Quiet()
	public, publicRecorder := testsource.ServeGit(t, elsewhere, false)
	recorder.Allow(testsource.BasicAuth("git", "canary-token"), "")

	parent := testsource.NewGitRepository(t, root, "parent.git")
	parent.Write(map[string]string{"apps/x/own.yaml": "own"})
	parent.Link("../../lib/base", "apps/x/lib")
	parent.Link("../../e", "apps/y/e")
	parent.Git("add", "--all")
	parent.Submodule("lib", "../lib.git", libCommit)
	parent.Submodule("pub", public.URL+"/pub.git", pubCommit)
	parent.Submodule("e", "git@third.test:priv/e.git", strings.Repeat("1", 40))
	parent.Submodule("skipped", "https://nowhere.invalid/x.git", strings.Repeat("1", 40), "update = none")
	parent.CommitIndex()
	secret := secrets{"s": {"username": "git", "password": "canary-token", "ca.crt": string(testsource.Certificate(server))}}
	url := server.URL + "/parent.git"

	t.Run("not asked for", func(t *testing.T) {
		g := NewWithT(t)
		r := newRig(t, fetch.Options{Secrets: secret})
		a, err := r.get(t, gitWant(url, "s", corev1alpha1.GitSource{}))
		g.Expect(err).NotTo(HaveOccurred())
		for _, name := range []string{"lib", "pub", "e", "skipped"} {
			entries, err := fs.ReadDir(a.Root, name)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(entries).To(BeEmpty())
		}
		g.Expect(recorder.Count("lib.git") + publicRecorder.Count("/")).To(BeZero())
	})
	t.Run("asked for", func(t *testing.T) {
		g := NewWithT(t)
		r := newRig(t, fetch.Options{Secrets: secret})
		a, err := r.get(t, recursive(url, "s", "apps/x"))
		g.Expect(err).NotTo(HaveOccurred(), "a submodule outside of the path fails nobody")
		g.Expect(read(a, "apps/x/lib/lib.yaml")).To(Equal("lib"))
		g.Expect(read(a, "lib/base/lib.yaml")).To(Equal("lib"))
		g.Expect(read(a, "lib/deep/deep.yaml")).To(Equal("deep"))
		g.Expect(read(a, "pub/pub.yaml")).To(Equal("pub"))
		entries, err := fs.ReadDir(a.Root, "skipped")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(entries).To(BeEmpty())
		for _, request := range publicRecorder.Requests("/") {
			g.Expect(request.Header.Get("Authorization")).To(BeEmpty(), "another origin gets no credentials")
		}
		for _, name := range []string{"e", "e/x.yaml", "apps/y/e/x.yaml"} {
			_, err := fs.ReadFile(a.Root, name)
			if name == "e" {
				_, err = fs.ReadDir(a.Root, name)
			}
			g.Expect(err).To(MatchError(ContainSubstring(`the submodule "e" (ssh://third.test/priv/e.git): ssh needs credentials`)), name)
		}
		before := r.Stats().Fetches
		_, err = r.get(t, recursive(url, "s", "lib"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(r.Stats().Fetches).To(Equal(before), "all paths share one fetch")
	})
	for _, path := range []string{".", "e", "e/below", "apps/y"} {
		t.Run("a missing one at the path "+path, func(t *testing.T) {
			g := NewWithT(t)
			r := newRig(t, fetch.Options{Secrets: secret})
			_, err := r.get(t, recursive(url, "s", path))
			g.Expect(errors.Is(err, fetch.ErrUnauthorized)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(And(HavePrefix("GitRepository team/src ("+url+"): the submodule \"e\" (ssh://third.test/priv/e.git): "), Not(ContainSubstring("canary"))))
		})
	}
	t.Run("a path in a submodule", func(t *testing.T) {
		g := NewWithT(t)
		r := newRig(t, fetch.Options{Secrets: secret})
		a, err := r.get(t, recursive(url, "s", "lib/deep"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(read(a, "lib/deep/deep.yaml")).To(Equal("deep"))
		_, err = r.get(t, gitWant(url, "s", corev1alpha1.GitSource{Path: "lib/deep"}))
		g.Expect(errors.Is(err, fetch.ErrNotFound)).To(BeTrue(), "%v", err)
	})
}

func TestGitSubmodulesThatAreRefused(t *testing.T) {
	root := t.TempDir()
	testsource.NewGitRepository(t, root, "ok.git").Commit(map[string]string{"a": "a"})
	server, _ := testsource.ServeGit(t, root, false)
	commit := strings.Repeat("1", 40)
	for i, tc := range []struct {
		name, path, url string
		more            []string
		want            error
		wantText        string
		allowFiles      bool
	}{
		{name: "disk", path: "m", url: "file://" + root + "/ok.git", want: fetch.ErrInvalid, wantText: "not read from the disk", allowFiles: true},
		{name: "absolute path", path: "m", url: root + "/ok.git", want: fetch.ErrInvalid},
		{name: "helper", path: "m", url: "ext::sh -c true", want: fetch.ErrInvalid},
		{name: "option", path: "m", url: "-u./x", want: fetch.ErrInvalid},
		{name: "unknown scheme", path: "m", url: "ftp://host/x.git", want: fetch.ErrInvalid, wantText: `"ftp"`},
		{name: "credentials", path: "m", url: "https://u:canary@host.test/x.git", want: fetch.ErrInvalid, wantText: "(https://host.test/x.git): the url holds credentials"},
		{name: "out of the host", path: "m", url: "../../x.git", want: fetch.ErrContent, wantText: "leads out of the host"},
		{name: "odd relative", path: "m", url: "../x/../../y.git", want: fetch.ErrContent, wantText: "malformed"},
		{name: "no entry", path: "m", want: fetch.ErrContent, wantText: "no entry for it"},
		{name: "no url", path: "m", url: `""`, want: fetch.ErrContent, wantText: "no url"},
		{name: "no such repository", path: "m", url: "../nope.git", want: fetch.ErrNotFound, wantText: "status 404"},
		{name: "no such commit", path: "m", url: "../ok.git", want: fetch.ErrNotFound, wantText: commit},
		{name: "path out of the repository", path: "m", url: "../ok.git", more: []string{"path = ../m"}, want: fetch.ErrContent, wantText: `forbidden path "../m"`},
		{name: "path into the repository's own data", path: "m", url: "../ok.git", more: []string{"path = .git/hooks"}, want: fetch.ErrContent, wantText: "forbidden path"},
		{name: "one path twice", path: "m", url: "../ok.git", more: []string{"[submodule \"other\"]", "path = m"}, want: fetch.ErrContent, wantText: "twice"},
		{name: "malformed file", path: "m", url: "../ok.git", more: []string{"[what"}, want: fetch.ErrContent, wantText: "line 4 of the file .gitmodules is malformed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			repo := testsource.NewGitRepository(t, root, fmt.Sprintf("parent%d.git", i))
			repo.Write(map[string]string{"apps/a": "a"})
			repo.Git("add", "apps")
			repo.Submodule(tc.path, tc.url, commit, tc.more...)
			repo.CommitIndex()
			r := newRig(t, fetch.Options{AllowFileSources: tc.allowFiles})
			_, err := r.get(t, recursive(server.URL+"/"+repo.Name, "", "."))
			g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(And(ContainSubstring(tc.wantText), Not(ContainSubstring("canary"))))
			_, err = r.get(t, recursive(server.URL+"/"+repo.Name, "", "apps"))
			g.Expect(err).NotTo(HaveOccurred(), "the path has no submodules")
			_, err = r.get(t, gitWant(server.URL+"/"+repo.Name, "", corev1alpha1.GitSource{}))
			g.Expect(err).NotTo(HaveOccurred(), "nobody asked for submodules")
		})
	}
}

func TestGitSubmoduleLimits(t *testing.T) {
	root := t.TempDir()
	server, recorder := testsource.ServeGit(t, root, false)
	// A repository that has itself as a submodule, again and again, older each time.
	self := testsource.NewGitRepository(t, root, "self.git")
	commit := self.Commit(map[string]string{"n": "0"})
	var commits []string
	for i := range 12 {
		self.Write(map[string]string{"n": fmt.Sprint(i + 1)})
		self.Write(map[string]string{"apps/a": "a"})
		self.Git("add", "n", "apps")
		self.Git("update-index", "--add", "--cacheinfo", "160000,"+commit+",older")
		self.Write(map[string]string{".gitmodules": "[submodule \"older\"]\npath = older\nurl = ./\n"})
		self.Write(map[string]string{".gitmodules": "[submodule \"older\"]\npath = older\nurl = ../self.git\n"})
		self.Git("add", ".gitmodules")
		commit = self.CommitIndex()
		commits = append(commits, commit)
	}
	big := testsource.NewGitRepository(t, root, "big.git")
	bigCommit := big.Commit(map[string]string{"a": strings.Repeat("a", 600), "b": "b"})
	twice := testsource.NewGitRepository(t, root, "twice.git")
	twice.Write(map[string]string{"apps/a": "a"})
	twice.Git("add", "apps")
	twice.Submodule("one", "../big.git", bigCommit)
	twice.Submodule("two", "../big.git", bigCommit)
	twice.CommitIndex()
	many := testsource.NewGitRepository(t, root, "many.git")
	many.Write(map[string]string{"apps/a": "a"})
	many.Git("add", "apps")
	for i := range 101 {
		many.Submodule(fmt.Sprintf("m%03d", i), "../big.git", bigCommit)
	}
	many.CommitIndex()

	for _, tc := range []struct {
		name, repository string
		ref              corev1alpha1.GitRef
		limits           fetch.Limits
		wantText         string
	}{
		{name: "deep", repository: "self.git", ref: corev1alpha1.GitRef{Commit: commits[7]}},
		{name: "too deep", repository: "self.git", ref: corev1alpha1.GitRef{Commit: commits[8]}, wantText: "more than 8 deep"},
		{name: "the same twice", repository: "twice.git"},
		{name: "too many", repository: "many.git", wantText: "more than 100 submodules"},
		{name: "too many bytes together", repository: "twice.git", limits: fetch.Limits{ContentBytes: 1000}, wantText: "more than 1000 bytes"},
		{name: "too many files together", repository: "twice.git", limits: fetch.Limits{Files: 6}, wantText: "more than 6 files"},
		{name: "too long a path together", repository: "self.git", ref: corev1alpha1.GitRef{Commit: commits[5]}, limits: fetch.Limits{PathBytes: 30}, wantText: "a path may have 30"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			r := newRig(t, fetch.Options{Limits: tc.limits})
			want := recursive(server.URL+"/"+tc.repository, "", ".")
			want.Content.Git.Ref = tc.ref
			_, err := r.get(t, want)
			if tc.wantText == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(errors.Is(err, fetch.ErrLimit)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(And(ContainSubstring("the submodule"), ContainSubstring(tc.wantText)))
			beside := want
			beside.Content.Git = &corev1alpha1.GitSource{Ref: tc.ref, Path: "apps"}
			_, err = r.get(t, beside)
			g.Expect(err).NotTo(HaveOccurred(), "the path has no submodules")
			recorder.Reset()
			r.clock.Step(time.Minute)
			_, err = r.get(t, want)
			g.Expect(errors.Is(err, fetch.ErrLimit)).To(BeTrue(), "%v", err)
			g.Expect(recorder.Count("git-upload-pack")).To(BeZero(), "what is too large is not fetched again")
		})
	}
}

// TestGitSubmoduleThatComesBack has a submodule whose server is down for a while.
func TestGitSubmoduleThatComesBack(t *testing.T) {
	g := NewWithT(t)
	root, elsewhere := t.TempDir(), t.TempDir()
	lib := testsource.NewGitRepository(t, elsewhere, "lib.git")
	libCommit := lib.Commit(map[string]string{"a": "lib"})
	other, otherRecorder := testsource.ServeGit(t, elsewhere, false)
	parent := testsource.NewGitRepository(t, root, "parent.git")
	parent.Write(map[string]string{"apps/a": "a"})
	parent.Git("add", "--all")
	parent.Submodule("lib", other.URL+"/lib.git", libCommit)
	parent.CommitIndex()
	server, recorder := testsource.ServeGit(t, root, false)
	r := newRig(t, fetch.Options{})
	outside, inside := recursive(server.URL+"/parent.git", "", "apps"), recursive(server.URL+"/parent.git", "", "lib")

	otherRecorder.Allow(func(*http.Request) bool { return false }, "")
	without, err := r.get(t, outside)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = r.get(t, inside)
	g.Expect(errors.Is(err, fetch.ErrUnauthorized)).To(BeTrue(), "%v", err)
	asked := otherRecorder.Count("/")
	for range 3 {
		_, err = r.get(t, inside)
		g.Expect(errors.Is(err, fetch.ErrUnauthorized)).To(BeTrue(), "%v", err)
	}
	g.Expect(otherRecorder.Count("/")).To(Equal(asked), "a failure stands for a while")

	r.clock.Step(16 * time.Second)
	_, err = r.get(t, outside)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(otherRecorder.Count("/")).To(Equal(asked), "who does not see the gap does not wait for it")
	r.clock.Step(10 * time.Minute)
	_, err = r.get(t, outside)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(otherRecorder.Count("/")).To(BeNumerically(">", asked), "though it may be read from elsewhere")

	otherRecorder.Allow(nil, "")
	r.clock.Step(16 * time.Second)
	with, err := r.get(t, inside)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read(with, "lib/a")).To(Equal("lib"))
	g.Expect(with.RootDigest).NotTo(Equal(without.RootDigest), "who reads all has to look again")
	again, err := r.get(t, outside)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Digest).To(Equal(without.Digest))
	g.Expect(recorder.Count("git-upload-pack")).To(Equal(1), "the parent itself was there all the time")
	g.Expect(otherRecorder.Count("git-upload-pack")).To(Equal(1))

	t.Run("a person asks now", func(t *testing.T) {
		g := NewWithT(t)
		r := newRig(t, fetch.Options{})
		otherRecorder.Allow(func(*http.Request) bool { return false }, "")
		_, err := r.get(t, inside)
		g.Expect(errors.Is(err, fetch.ErrUnauthorized)).To(BeTrue(), "%v", err)
		otherRecorder.Allow(nil, "")
		now := inside
		now.MaxAge = 0
		_, err = r.get(t, now)
		g.Expect(err).NotTo(HaveOccurred())
	})
}

func TestGitSubmodulesOverSSH(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	lib := testsource.NewGitRepository(t, root, "lib.git")
	libCommit := lib.Commit(map[string]string{"a": "lib"})
	parent := testsource.NewGitRepository(t, root, "parent.git")
	parent.Submodule("lib", "../lib.git", libCommit)
	parent.CommitIndex()
	key, _ := testsource.NewSigner(t)
	server, stranger := testsource.ServeSSH(t, root, key), testsource.ServeSSH(t, root, key)
	r := newRig(t, fetch.Options{Secrets: secrets{"ssh": sshSecret(server, key)}})

	a, err := r.get(t, recursive("ssh://git@"+server.Address+"/parent.git", "ssh", "lib"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read(a, "lib/a")).To(Equal("lib"))

	parent.Submodule("strange", "ssh://git@"+stranger.Address+"/lib.git", libCommit)
	parent.CommitIndex()
	r.clock.Step(10 * time.Minute)
	_, err = r.get(t, recursive("ssh://git@"+server.Address+"/parent.git", "ssh", "strange"))
	g.Expect(errors.Is(err, fetch.ErrUnauthorized)).To(BeTrue(), "%v", err)
	g.Expect(stranger.Connections.Load()).To(BeZero())
}
