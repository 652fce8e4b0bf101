// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/crypto/ssh"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

func branchRef(name string) corev1alpha1.GitSource {
	return corev1alpha1.GitSource{Ref: corev1alpha1.GitRef{Branch: name}}
}

func TestGitReferences(t *testing.T) {
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	first := repo.Commit(map[string]string{"a.yaml": "first"})
	repo.Git("tag", "v1.0.0")
	repo.Git("tag", "2024-09-22-test")
	second := repo.Commit(map[string]string{"a.yaml": "second"})
	repo.Git("tag", "--annotate", "--message", "m", "v1.1.0")
	repo.Git("tag", "2024-09-22-test-2")
	repo.Git("tag", "1.2")
	third := repo.Commit(map[string]string{"a.yaml": "third"})
	repo.Git("tag", "--annotate", "--message", "m", "inner")
	repo.Git("tag", "--annotate", "--message", "m", "v1.2.0", "inner")
	repo.Git("tag", "1.2.5")
	repo.Git("tag", "v1.4.0-rc.1")
	repo.Git("tag", "nightly")
	repo.Git("tag", "9.9.9.9")
	repo.Git("checkout", "--quiet", "-b", "feature/x", first)
	feature := repo.Commit(map[string]string{"a.yaml": "feature"})
	repo.Git("update-ref", "refs/pull/7/head", second)
	repo.Git("checkout", "--quiet", "main")
	repo.Push()
	server, recorder := testsource.ServeGit(t, root, false)
	r := newRig(t, fetch.Options{})

	for _, tc := range []struct {
		name         string
		given        corev1alpha1.GitRef
		pin          string
		want         string
		content      string
		wantErr      error
		wantText     string
		withoutAsked bool
	}{
		{name: "default branch", want: "main@sha1:" + third, content: "third"},
		{name: "branch", given: corev1alpha1.GitRef{Branch: "feature/x"}, want: "feature/x@sha1:" + feature, content: "feature"},
		{name: "lightweight tag", given: corev1alpha1.GitRef{Tag: "v1.0.0"}, want: "v1.0.0@sha1:" + first, content: "first"},
		{name: "annotated tag", given: corev1alpha1.GitRef{Tag: "v1.1.0"}, want: "v1.1.0@sha1:" + second, content: "second"},
		{name: "nested tag", given: corev1alpha1.GitRef{Tag: "v1.2.0"}, want: "v1.2.0@sha1:" + third, content: "third"},
		{name: "tag that looks like a version", given: corev1alpha1.GitRef{Tag: "2024-09-22-test"}, want: "2024-09-22-test@sha1:" + first, content: "first"},
		{name: "tag that looks like a range", given: corev1alpha1.GitRef{Tag: "1.2"}, want: "1.2@sha1:" + second, content: "second"},
		{name: "range that looks like a tag", given: corev1alpha1.GitRef{Semver: "1.2"}, want: "1.2.5@sha1:" + third, content: "third"},
		{name: "range", given: corev1alpha1.GitRef{Semver: ">=1.0.0 <1.2.1"}, want: "v1.2.0@sha1:" + third, content: "third"},
		{name: "range with pre-releases", given: corev1alpha1.GitRef{Semver: ">=1.0.0-0"}, want: "v1.4.0-rc.1@sha1:" + third, content: "third"},
		{name: "reference", given: corev1alpha1.GitRef{Name: "refs/pull/7/head"}, want: "refs/pull/7/head@sha1:" + second, content: "second"},
		{name: "commit", given: corev1alpha1.GitRef{Commit: strings.ToUpper(first)}, want: "sha1:" + first, content: "first", withoutAsked: true},
		{name: "pinned to a revision", pin: "main@sha1:" + first, given: corev1alpha1.GitRef{Branch: "nowhere"}, want: "main@sha1:" + first, content: "first", withoutAsked: true},
		{name: "pinned to a commit", pin: second, want: "sha1:" + second, content: "second", withoutAsked: true},
		{name: "pinned to a tag", pin: "v1.1.0", want: "v1.1.0@sha1:" + second, content: "second"},
		{name: "pinned to a branch", pin: "main", wantErr: fetch.ErrNotFound, wantText: `no tag "main"`},
		{name: "missing branch", given: corev1alpha1.GitRef{Branch: "nope"}, wantErr: fetch.ErrNotFound, wantText: `no branch "nope"`},
		{name: "missing tag", given: corev1alpha1.GitRef{Tag: "v1.0"}, wantErr: fetch.ErrNotFound, wantText: `no tag "v1.0"`},
		{name: "missing reference", given: corev1alpha1.GitRef{Name: "refs/pull/8/head"}, wantErr: fetch.ErrNotFound, wantText: `no reference "refs/pull/8/head"`},
		{name: "range without a match", given: corev1alpha1.GitRef{Semver: ">=3"}, wantErr: fetch.ErrNotFound, wantText: "no version in the range"},
		{name: "no range", given: corev1alpha1.GitRef{Semver: "newest"}, wantErr: fetch.ErrInvalid},
		{name: "short commit", given: corev1alpha1.GitRef{Commit: "abc123"}, wantErr: fetch.ErrInvalid, wantText: "40 hex digits"},
		{name: "SHA-256 commit", given: corev1alpha1.GitRef{Commit: strings.Repeat("a", 64)}, wantErr: fetch.ErrInvalid, wantText: "not supported"},
		{name: "missing commit", given: corev1alpha1.GitRef{Commit: strings.Repeat("1", 40)}, wantErr: fetch.ErrNotFound, wantText: strings.Repeat("1", 40)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			want := gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Ref: tc.given})
			want.Revision = tc.pin
			before := recorder.Count("/")
			revision, _, err := r.Resolve(t.Context(), want)
			if tc.withoutAsked {
				g.Expect(recorder.Count("/")).To(Equal(before))
			}
			g.Expect(recorder.Count("git-upload-pack")).To(Equal(int(r.Stats().Fetches)), "resolving never clones")
			var artifact *fetch.Artifact
			if err == nil {
				artifact, err = r.Fetch(t.Context(), want, revision)
			}
			if tc.wantErr != nil {
				g.Expect(errors.Is(err, tc.wantErr)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(And(ContainSubstring(tc.wantText), HavePrefix("GitRepository team/src ("+server.URL+"/app.git): ")))
				recorder.Reset()
				r = newRig(t, fetch.Options{})
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(revision).To(Equal(tc.want))
			g.Expect(read(artifact, "a.yaml")).To(Equal(tc.content))
			g.Expect(artifact.Revision).To(Equal(tc.want))
		})
	}
}

func TestGitContent(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	// Enough versions of a file with much in common to get deltas.
	long := strings.Repeat("some line of a long file that hardly changes\n", 500)
	for _, version := range []string{"one", "two", "three"} {
		repo.Commit(map[string]string{"apps/x/long.txt": long + version, "apps/y/long.txt": version + long, "apps/z/long.txt": long + version + long})
	}
	repo.Link("../x/long.txt", "apps/y/link.txt")
	repo.Link("../../../../etc/hostname", "docs/out")
	repo.Link("nowhere", "docs/dangling")
	repo.Write(map[string]string{
		"run.sh": "#!/bin/sh\n", "lfs/values.yaml": "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 1\n",
		`odd\name`: "odd", "ünïcode/ß": "text",
	})
	g.Expect(os.Chmod(repo.Work("run.sh"), 0o755)).To(Succeed())
	repo.Git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",modules/lib")
	repo.Git("add", "--all", ":!modules")
	repo.Git("commit", "--quiet", "--message", "links")
	repo.Git("repack", "-adq", "--depth=50", "--window=50")
	repo.Push()
	server, _ := testsource.ServeGit(t, root, false)
	r := newRig(t, fetch.Options{})

	a, err := r.get(t, gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Path: "./apps/y/"}))
	g.Expect(err).NotTo(HaveOccurred(), "links outside of the path do not matter")
	g.Expect(a.Path).To(Equal("apps/y"))
	g.Expect(a.Digest).NotTo(Equal(a.RootDigest))
	g.Expect(read(a, "apps/y/long.txt")).To(Equal("three" + long))
	g.Expect(read(a, "apps/z/long.txt")).To(Equal(long + "three" + long))
	g.Expect(read(a, "apps/y/link.txt")).To(Equal(long + "three"))
	g.Expect(read(a, `odd\name`)).To(Equal("odd"))
	g.Expect(read(a, "ünïcode/ß")).To(Equal("text"))
	info, err := fs.Stat(a.Root, "run.sh")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(fs.FileMode(0o755)))
	entries, err := fs.ReadDir(a.Root, "modules/lib")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(entries).To(BeEmpty(), "a submodule is an empty directory")
	for name, text := range map[string]string{
		"docs/out": `"docs/out" -> "../../../../etc/hostname"`, "docs/dangling": `"docs/dangling" -> "nowhere"`, "lfs/values.yaml": "Git LFS pointer",
	} {
		_, err := read(a, name)
		g.Expect(errors.Is(err, fetch.ErrContent)).To(BeTrue(), "%v", err)
		g.Expect(err.Error()).To(ContainSubstring(text))
	}
	for path, want := range map[string]error{"nope": fetch.ErrNotFound, "../..": fetch.ErrInvalid, "run.sh": fetch.ErrInvalid, "docs/out": fetch.ErrContent, "a/../../b": fetch.ErrInvalid} {
		_, err := r.get(t, gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Path: path}))
		g.Expect(errors.Is(err, want)).To(BeTrue(), "%s: %v", path, err)
	}
}

func TestGitDigestOfASubtreeChangesWithItOnly(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	repo.Commit(map[string]string{"a/x": "1", "b/y": "1"})
	server, recorder := testsource.ServeGit(t, root, false)
	r := newRig(t, fetch.Options{})
	at := func(path string) *fetch.Artifact {
		a, err := r.get(t, gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Path: path}))
		g.Expect(err).NotTo(HaveOccurred())
		return a
	}
	a1, b1 := at("a"), at("b")
	repo.Commit(map[string]string{"b/y": "2"})
	a2, b2 := at("a"), at("b")
	g.Expect(a2.Digest).To(Equal(a1.Digest))
	g.Expect(b2.Digest).NotTo(Equal(b1.Digest))
	g.Expect(a2.RootDigest).NotTo(Equal(a1.RootDigest))
	g.Expect(recorder.Count("git-upload-pack")).To(Equal(2), "one fetch per commit")
	repo.Commit(nil)
	a3, b3 := at("a"), at("b")
	g.Expect(a3.Revision).NotTo(Equal(a2.Revision))
	g.Expect([]string{a3.Digest, b3.Digest, a3.RootDigest}).To(Equal([]string{a2.Digest, b2.Digest, a2.RootDigest}), "a commit of nothing changes nothing")
}

func TestGitAuthentication(t *testing.T) {
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	repo.Commit(map[string]string{"a.yaml": "a"})
	server, recorder := testsource.ServeGit(t, root, true)
	server.Config.ErrorLog = testsource.Quiet()
	ca := string(testsource.Certificate(server))
	all := secrets{
		"basic":  {"username": "git", "password": "canary-password", "ca.crt": ca},
		"wrong":  {"username": "git", "password": "canary-wrong", "ca.crt": ca},
		"bearer": {"bearerToken": "canary-token", "ca.crt": ca},
		"ca":     {"ca.crt": ca},
		"no-ca":  {"username": "git", "password": "canary-password"},
	}
	recorder.Allow(func(r *http.Request) bool {
		return testsource.BasicAuth("git", "canary-password")(r) || r.Header.Get("Authorization") == "Bearer canary-token"
	}, "")
	for _, tc := range []struct {
		name, secret string
		change       func(*sourcev1alpha1.GitRepositorySpec)
		want         error
		wantText     string
	}{
		{name: "basic", secret: "basic"},
		{name: "bearer", secret: "bearer"},
		{name: "certificate of another Secret", secret: "no-ca", change: func(s *sourcev1alpha1.GitRepositorySpec) { s.CASecretRef = ref("ca") }},
		{name: "any certificate", secret: "no-ca", change: func(s *sourcev1alpha1.GitRepositorySpec) { s.InsecureSkipTLSVerify = true }},
		{name: "unknown authority", secret: "no-ca", want: fetch.ErrUnreachable, wantText: "unknown authority"},
		{name: "none", secret: "ca", want: fetch.ErrUnauthorized, wantText: "none are configured"},
		{name: "wrong", secret: "wrong", want: fetch.ErrUnauthorized, wantText: "does not accept the credentials"},
		{name: "missing Secret", secret: "nope", want: fetch.ErrSecretNotFound, wantText: "team/nope does not exist"},

		{name: "credentials in the url", change: func(s *sourcev1alpha1.GitRepositorySpec) {
			s.URL = strings.Replace(s.URL, "https://", "https://git:canary-password@", 1)
		}, want: fetch.ErrInvalid, wantText: "the url holds credentials"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			r := newRig(t, fetch.Options{Secrets: all})
			want := gitWant(server.URL+"/app.git", tc.secret, branchRef("main"))
			if tc.change != nil {
				tc.change(&want.Source.(*sourcev1alpha1.GitRepository).Spec)
			}
			a, err := r.get(t, want)
			result, checkErr := r.Check(t.Context(), "team", want.Source)
			if tc.want == nil {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(checkErr).NotTo(HaveOccurred())
				g.Expect(read(a, "a.yaml")).To(Equal("a"))
				g.Expect(result).To(Equal(fetch.CheckResult{DefaultBranch: "main", Refs: 1}))
				return
			}
			for _, err := range []error{err, checkErr} {
				g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(ContainSubstring(tc.wantText))
				g.Expect(err.Error()).NotTo(Or(ContainSubstring("canary"), ContainSubstring("git:")))
			}
		})
	}
}

func TestGitWrongAddresses(t *testing.T) {
	root := t.TempDir()
	testsource.NewGitRepository(t, root, "empty.git")
	server, _ := testsource.ServeGit(t, root, false)
	page := testsource.ServePages(t, map[string]string{"/page/info/refs": "<html>hello</html>"})
	gone := testsource.ServePages(t, nil)
	gone.Close()
	for _, tc := range []struct {
		name, given string
		want        error
		wantText    string
	}{
		{"missing repository", server.URL + "/nope.git", fetch.ErrNotFound, "status 404"},
		{"empty repository", server.URL + "/empty.git", fetch.ErrNotFound, "is empty"},
		{"a page", page.URL + "/page", fetch.ErrNotFound, "no Git repository"},
		{"nobody there", gone.URL + "/app.git", fetch.ErrUnreachable, "refused"},
		{"no host of that name", "https://nobody.invalid/app.git", fetch.ErrUnreachable, "nobody.invalid"},
		{"scheme", "ftp://host/app.git", fetch.ErrInvalid, "none of https, http, ssh"},
		{"remote helper", "ext::sh -c true", fetch.ErrInvalid, ""},
		{"disk", "file://" + root + "/empty.git", fetch.ErrInvalid, "--allow-file-sources"},
		{"path", "/app.git", fetch.ErrInvalid, ""},
		{"ssh without a Secret", "ssh://git@127.0.0.1:1/app.git", fetch.ErrSecret, "known_hosts"},
		{"short ssh without a Secret", "git@127.0.0.1:app.git", fetch.ErrSecret, "known_hosts"},
		{"ssh with a password", "ssh://git:canary@127.0.0.1:1/app.git", fetch.ErrInvalid, "holds credentials"},
		{"space", server.URL + "/my app.git", fetch.ErrInvalid, "the url holds a space"},
		{"space at the end", server.URL + "/empty.git ", fetch.ErrInvalid, "the url holds a space"},
		{"control character", server.URL + "/app\x07.git", fetch.ErrInvalid, "U+0007"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			r := newRig(t, fetch.Options{})
			_, err := r.get(t, gitWant(tc.given, "", corev1alpha1.GitSource{}))
			g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(ContainSubstring(tc.wantText))
			g.Expect(err.Error()).NotTo(ContainSubstring("canary"))
		})
	}
	t.Run("check of an empty repository", func(t *testing.T) {
		g := NewWithT(t)
		r := newRig(t, fetch.Options{})
		result, err := r.Check(t.Context(), "team", gitWant(server.URL+"/empty.git", "", corev1alpha1.GitSource{}).Source)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result.Refs).To(BeZero())
	})
}

func TestGitRedirect(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	repo.Commit(map[string]string{"a.yaml": "a"})
	target, targetRecorder := testsource.ServeGit(t, root, false)
	moved := testsource.ServeRedirects(t, "/old", target.URL+"/app.git")
	r := newRig(t, fetch.Options{Secrets: secrets{"s": {"username": "u", "password": "canary"}}})

	a, err := r.get(t, gitWant(moved.URL+"/old", "s", corev1alpha1.GitSource{}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read(a, "a.yaml")).To(Equal("a"))
	for _, request := range targetRecorder.Requests("/") {
		g.Expect(request.Header.Get("Authorization")).To(BeEmpty(), "another origin gets no credentials")
	}
}

// TestGitCommitThatIsNotHandedOut fetches an old commit over SSH, where git refuses ids
// that are no tips unless it is configured otherwise.
func TestGitCommitThatIsNotHandedOut(t *testing.T) {
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	first := repo.Commit(map[string]string{"a.yaml": "first"})
	second := repo.Commit(map[string]string{"a.yaml": "second"})
	repo.Git("checkout", "--quiet", "-b", "side", first)
	side := repo.Commit(map[string]string{"a.yaml": "side"})
	side2 := repo.Commit(map[string]string{"a.yaml": "side 2 again"})
	repo.Commit(map[string]string{"a.yaml": "side 2"})
	repo.Git("tag", "--annotate", "--message", "m", "v1")
	repo.Commit(map[string]string{"a.yaml": "side 3"})
	key, _ := testsource.NewSigner(t)
	server := testsource.ServeSSH(t, root, key)
	r := newRig(t, fetch.Options{Secrets: secrets{"ssh": sshSecret(server, key)}})
	url := "ssh://git@" + server.Address + "/app.git"
	for _, tc := range []struct {
		name, revision, want string
		wantErr              error
		connections          int32
	}{
		{name: "tip", revision: "main@sha1:" + second, want: "second", connections: 1},
		{name: "in the history of its branch", revision: "main@sha1:" + first, want: "first", connections: 2},
		{name: "in the history of another branch", revision: "main@sha1:" + side, want: "side", connections: 3},
		{name: "without a name", revision: "sha1:" + side2, want: "side 2 again", connections: 2},
		{name: "nowhere", revision: "sha1:" + strings.Repeat("1", 40), wantErr: fetch.ErrNotFound, connections: 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			before := server.Connections.Load()
			defer func() { g.Expect(server.Connections.Load() - before).To(Equal(tc.connections)) }()
			a, err := r.Fetch(t.Context(), gitWant(url, "ssh", corev1alpha1.GitSource{}), tc.revision)
			if tc.wantErr != nil {
				g.Expect(errors.Is(err, tc.wantErr)).To(BeTrue(), "%v", err)
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(read(a, "a.yaml")).To(Equal(tc.want))
		})
	}
	t.Run("annotated tag", func(t *testing.T) {
		g := NewWithT(t)
		before := server.Connections.Load()
		a, err := r.get(t, gitWant(url, "ssh", corev1alpha1.GitSource{Ref: corev1alpha1.GitRef{Tag: "v1"}}))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(read(a, "a.yaml")).To(Equal("side 2"))
		g.Expect(server.Connections.Load()-before).To(Equal(int32(2)), "one to resolve, one to fetch: a tag is asked for as the server lists it")
	})
	t.Run("missing repository", func(t *testing.T) {
		g := NewWithT(t)
		_, err := r.get(t, gitWant("ssh://git@"+server.Address+"/nope.git", "ssh", corev1alpha1.GitSource{}))
		g.Expect(errors.Is(err, fetch.ErrNotFound)).To(BeTrue(), "%v", err)
	})
}

func TestGitFromDisk(t *testing.T) {
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	repo.Commit(map[string]string{"a.yaml": "first"})
	repo.Git("tag", "--annotate", "--message", "m", "v1.0.0")
	second := repo.Commit(map[string]string{"a.yaml": "second"})
	repo.Push()
	r := newRig(t, fetch.Options{AllowFileSources: true})
	for name, tc := range map[string]struct {
		path, want string
		ref        corev1alpha1.GitRef
	}{
		"bare":      {repo.Path(), "second", corev1alpha1.GitRef{}},
		"work tree": {repo.Work(""), "second", corev1alpha1.GitRef{Branch: "main"}},
		"tag":       {repo.Path(), "first", corev1alpha1.GitRef{Tag: "v1.0.0"}},
		"commit":    {repo.Path(), "second", corev1alpha1.GitRef{Commit: second}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			a, err := r.get(t, gitWant("file://"+filepath.ToSlash(tc.path), "", corev1alpha1.GitSource{Ref: tc.ref}))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(read(a, "a.yaml")).To(Equal(tc.want))
		})
	}
	t.Run("an object in the place of another", func(t *testing.T) {
		g := NewWithT(t)
		odd := testsource.NewGitRepository(t, root, "odd.git")
		odd.Commit(map[string]string{"a": "a", "b": "b"})
		loose := func(name string) string {
			id := odd.Git("rev-parse", "HEAD:"+name)
			return filepath.Join(odd.Path(), "objects", id[:2], id[2:])
		}
		g.Expect(os.Rename(loose("b"), loose("a"))).To(Succeed())
		_, err := r.get(t, gitWant("file://"+odd.Path(), "", corev1alpha1.GitSource{}))
		g.Expect(errors.Is(err, fetch.ErrContent)).To(BeTrue(), "%v", err)
		g.Expect(err.Error()).To(ContainSubstring("is damaged"))
	})
	t.Run("missing", func(t *testing.T) {
		_, err := r.get(t, gitWant("file://"+filepath.ToSlash(root)+"/nope", "", corev1alpha1.GitSource{}))
		NewWithT(t).Expect(errors.Is(err, fetch.ErrNotFound)).To(BeTrue(), "%v", err)
	})
}

func TestGitLimits(t *testing.T) {
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	// Zeros are nothing on the wire, and much in memory.
	repo.Commit(map[string]string{"bomb": strings.Repeat("\x00", 4<<20), "a": "a", "b": "b"})
	server, _ := testsource.ServeGit(t, root, false)
	for name, limits := range map[string]fetch.Limits{
		"unpacked bytes": {ContentBytes: 1 << 20},
		"bytes of files": {ContentBytes: 3 << 20},
		"one file":       {FileBytes: 1 << 20},
		"files":          {Files: 2},
		"download":       {DownloadBytes: 100},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := newRig(t, fetch.Options{Limits: limits})
			want := gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{})
			want.MaxAge = 10 * time.Second
			_, err := r.get(t, want)
			g.Expect(errors.Is(err, fetch.ErrLimit)).To(BeTrue(), "%v", err)
			r.clock.Step(time.Minute)
			_, err = r.get(t, want)
			g.Expect(errors.Is(err, fetch.ErrLimit)).To(BeTrue(), "%v", err)
			g.Expect(r.Stats().Fetches).To(Equal(int64(1)), "what is too large is not downloaded again")
		})
	}
}

func sshSecret(server *testsource.SSHServer, hostKey ssh.Signer) map[string]string {
	return map[string]string{"identity": string(server.Client), "known_hosts": server.KnownHosts(hostKey.PublicKey())}
}

// TestGitLinks reads through links of all kinds.
func TestGitLinks(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	repo.Write(map[string]string{"shared/a.yaml": "shared", "chart/templates/x.yaml": "x"})
	for name, target := range map[string]string{
		"apps/a.yaml": "../shared/a.yaml", "apps/b.yaml": "../../../../etc/hostname", "apps/c.yaml": "/etc/passwd", "apps/dir": "../shared", "apps/host": "/etc",
		"docs/dangling": "nowhere", "docs/l1": "l2", "docs/l2": "l1", "chart/Chart.yaml": "/etc/hostname", "chart/values.yaml": "../../../../../etc/hostname",
	} {
		repo.Link(target, name)
	}
	repo.Commit(nil)
	server, _ := testsource.ServeGit(t, root, false)
	r := newRig(t, fetch.Options{})
	for _, path := range []string{"shared", "apps", "docs", "chart", "."} {
		_, err := r.get(t, gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Path: path}))
		g.Expect(err).NotTo(HaveOccurred(), "links cost nothing until they are read")
	}
	a, err := r.get(t, gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Path: "apps"}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read(a, "apps/a.yaml")).To(Equal("shared"))
	g.Expect(read(a, "apps/dir/a.yaml")).To(Equal("shared"))
	for name, text := range map[string]string{
		"apps/b.yaml": `"apps/b.yaml" -> "../../../../etc/hostname" leads out of the content`, "apps/c.yaml": `"apps/c.yaml" -> "/etc/passwd" is absolute`,
		"apps/host/hostname": `"apps/host" -> "/etc" is absolute`, "docs/dangling": "leads to nothing", "docs/l1": "circle",
		"chart/Chart.yaml": "is absolute", "chart/values.yaml": "leads out of the content",
	} {
		_, err := read(a, name)
		g.Expect(errors.Is(err, fetch.ErrContent)).To(BeTrue(), "%s: %v", name, err)
		g.Expect(err.Error()).To(ContainSubstring(text))
		_, err = a.Root.Open(name)
		g.Expect(errors.Is(err, fetch.ErrContent)).To(BeTrue(), "%s: %v", name, err)
	}
}
