// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// noise is text that does not compress.
func noise(seed byte, n int) string {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b)
	return string(b)
}

// givesParts lets the server of a repository give parts of a commit.
func givesParts(repo *testsource.GitRepository) {
	repo.Git("-C", repo.Path(), "config", "uploadpack.allowFilter", "true")
	repo.Git("-C", repo.Path(), "config", "uploadpack.allowReachableSHA1InWant", "true")
}

// TestGitLargeFileBesideThePath concerns those only whose path shows it.
func TestGitLargeFileBesideThePath(t *testing.T) {
	const mib = 1 << 20
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	repo.Link("../media/big.bin", "linked/l")
	repo.Link("../media", "linkeddir/l")
	deep := strings.Repeat("d/", 70) + "x"
	repo.Commit(map[string]string{"app/a.yaml": "a", "media/big.bin": noise(1, 2*mib), "media/bigger.bin": noise(1, 2*mib) + "more", "media/small": "s", deep: "x"})
	server, recorder := testsource.ServeGit(t, root, false)
	for scheme, url := range map[string]string{"http": server.URL + "/app.git", "file": "file://" + repo.Path()} {
		t.Run(scheme, func(t *testing.T) {
			g := NewWithT(t)
			r := newRig(t, fetch.Options{AllowFileSources: true, Limits: fetch.Limits{FileBytes: mib, ContentBytes: 2 * mib}})
			at := func(path string) (*fetch.Artifact, error) {
				want := gitWant(url, "", corev1alpha1.GitSource{Path: path})
				want.MaxAge = time.Hour
				return r.get(t, want)
			}
			recorder.Reset()
			a, err := at("app")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(read(a, "app/a.yaml")).To(Equal("a"))
			g.Expect(read(a, "media/small")).To(Equal("s"))
			for _, name := range []string{"media/big.bin", "media/bigger.bin", "linked/l"} {
				_, err := fs.ReadFile(a.Root, name)
				g.Expect(errors.Is(err, fetch.ErrContent)).To(BeTrue(), "%s: %v", name, err)
				g.Expect(err).To(MatchError(And(ContainSubstring("1 MiB"), ContainSubstring("--artifact-max-file-bytes"))))
			}
			info, err := fs.Stat(a.Root, "media/big.bin")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(info.Mode().IsRegular()).To(BeTrue())
			for path, text := range map[string]string{"media": "a file may have", "linked": "big.bin", "linkeddir": "big.bin", ".": "has more than 64 elements", "d": "has more than 64 elements"} {
				_, err := at(path)
				g.Expect(errors.Is(err, fetch.ErrLimit)).To(BeTrue(), "%s: %v", path, err)
				g.Expect(err).To(MatchError(And(HavePrefix("GitRepository team/src ("+url+"): "), ContainSubstring(text))))
			}
			if scheme == "http" {
				g.Expect(recorder.Count("git-upload-pack")).To(Equal(1), "all paths share one fetch")
			}
			g.Expect(r.Stats().Bytes).To(BeNumerically("<", mib))
		})
	}
}

// TestGitPart has a commit that is too large in one way or another, and paths in it that are
// not.
func TestGitPart(t *testing.T) {
	const mib = 1 << 20
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	files := map[string]string{"apps/web/a.yaml": "a", "apps/web/sub/b.yaml": "b", "shared/s.yaml": "shared", "libs/lib/l.yaml": "lib", "libs/lib/deeper/m.yaml": "m", "far/f.yaml": "far", "apps/large/x": noise(9, 3*mib/2)}
	for i := range 4 {
		files[fmt.Sprintf("media/%d.bin", i)] = noise(byte(i), mib-1)
	}
	for i := range 300 {
		files[fmt.Sprintf("many/%d", i)] = fmt.Sprint(i)
	}
	repo.Link("../../shared/s.yaml", "apps/web/shared.yaml")
	repo.Link("../../libs/lib", "apps/web/lib")
	repo.Link("../../../far/f.yaml", "libs/lib/deeper/far.yaml")
	repo.Link("apps", "current")
	repo.Link("../none", "apps/dangling/none")
	repo.Commit(files)
	server, recorder := testsource.ServeGit(t, root, false)
	get := func(t *testing.T, r *rig, url, path string) (*fetch.Artifact, error) {
		want := gitWant(url, "", corev1alpha1.GitSource{Path: path})
		want.MaxAge = time.Hour
		return r.get(t, want)
	}
	remote := server.URL + "/app.git"
	t.Run("a server that gives no parts", func(t *testing.T) {
		g := NewWithT(t)
		_, err := get(t, newRig(t, fetch.Options{Limits: fetch.Limits{ContentBytes: mib}}), remote, "apps/web")
		g.Expect(errors.Is(err, fetch.ErrLimit)).To(BeTrue(), "%v", err)
		g.Expect(err).To(MatchError(And(ContainSubstring("--artifact-max-bytes"), ContainSubstring("uploadpack.allowFilter"))))
		a, err := get(t, newRig(t, fetch.Options{Limits: fetch.Limits{Files: 100}}), remote, "apps/web")
		g.Expect(err).NotTo(HaveOccurred(), "a part of what it sends is used")
		g.Expect(read(a, "apps/web/lib/deeper/far.yaml")).To(Equal("far"))
		g.Expect(read(a, "shared/s.yaml")).To(Equal("shared"))
	})
	givesParts(repo)
	all := newRig(t, fetch.Options{})
	whole := func(path string) string {
		a, err := get(t, all, remote, path)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return a.Digest
	}
	for name, tc := range map[string]struct {
		limits fetch.Limits
		flag   string
	}{
		"too many bytes":        {fetch.Limits{ContentBytes: mib}, "artifact-max-bytes"},
		"too many files":        {fetch.Limits{Files: 100}, "artifact-max-files"},
		"too much to download":  {fetch.Limits{DownloadBytes: 3 * mib}, "artifact-max-download-bytes"},
		"also a file too large": {fetch.Limits{Files: 100, FileBytes: mib}, "artifact-max-files"},
	} {
		for scheme, url := range map[string]string{"http": remote, "file": "file://" + repo.Path()} {
			if scheme == "file" && strings.Contains(name, "download") {
				continue
			}
			t.Run(name+"/"+scheme, func(t *testing.T) {
				g := NewWithT(t)
				r := newRig(t, fetch.Options{AllowFileSources: true, Limits: tc.limits})
				recorder.Reset()
				a, err := get(t, r, url, "apps/web")
				g.Expect(err).NotTo(HaveOccurred())
				for file, want := range map[string]string{"a.yaml": "a", "sub/b.yaml": "b", "shared.yaml": "shared", "lib/l.yaml": "lib", "lib/deeper/m.yaml": "m", "lib/deeper/far.yaml": "far"} {
					g.Expect(read(a, "apps/web/"+file)).To(Equal(want), file)
				}
				g.Expect(a.Digest).To(Equal(whole("apps/web")), "what a reader sees is the same")
				for file, want := range map[string]string{"many/7": "7", "shared/s.yaml": "shared", "libs/lib/deeper/far.yaml": "far"} {
					if tc.limits.Files > 0 && file == "many/7" {
						_, err := fs.ReadDir(a.Root, "many")
						g.Expect(errors.Is(err, fetch.ErrLimit)).To(BeTrue(), "what is read beyond has limits, too: %v", err)
						g.Expect(err).To(MatchError(ContainSubstring("--" + tc.flag)))
					}
					g.Expect(read(a, file)).To(Equal(want), "what lies elsewhere is brought when it is read")
				}
				for _, dir := range []string{"libs/lib", "libs/lib/deeper"} {
					g.Expect(fs.Stat(a.Root, dir)).To(HaveField("IsDir()", true))
				}
				entries, err := fs.ReadDir(a.Root, "libs")
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(entries).To(HaveLen(1))
				_, err = fs.ReadFile(a.Root, "libs/nowhere.yaml")
				g.Expect(errors.Is(err, fs.ErrNotExist)).To(BeTrue(), "%v", err)
				for _, path := range []string{"current/web", "apps/dangling", "libs"} {
					b, err := get(t, r, url, path)
					g.Expect(err).NotTo(HaveOccurred(), path)
					g.Expect(b.Digest).To(Equal(whole(path)), path)
				}
				_, err = get(t, r, url, "nowhere/at/all")
				g.Expect(errors.Is(err, fetch.ErrNotFound)).To(BeTrue(), "%v", err)
				if tc.limits.FileBytes > 0 {
					_, err = get(t, r, url, "apps/large")
					g.Expect(errors.Is(err, fetch.ErrLimit)).To(BeTrue(), "%v", err)
					g.Expect(err).To(MatchError(ContainSubstring("--artifact-max-file-bytes")))
				}
				before := recorder.Count("git-upload-pack")
				again, err := get(t, r, url, "apps/web")
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(again.RootDigest).To(Equal(a.RootDigest))
				g.Expect(recorder.Count("git-upload-pack")).To(Equal(before), "a part is kept")
			})
		}
	}
	t.Run("a server that gives other parts only", func(t *testing.T) {
		g := NewWithT(t)
		repo.Git("-C", repo.Path(), "config", "uploadpackfilter.tree.allow", "false")
		defer repo.Git("-C", repo.Path(), "config", "--unset", "uploadpackfilter.tree.allow")
		a, err := get(t, newRig(t, fetch.Options{Limits: fetch.Limits{Files: 100}}), remote, "apps/web")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(a.Digest).To(Equal(whole("apps/web")))
	})
	t.Run("with submodules wanted", func(t *testing.T) {
		g := NewWithT(t)
		want := gitWant(remote, "", corev1alpha1.GitSource{Path: "apps/web"})
		want.Source.(*sourcev1alpha1.GitRepository).Spec.RecurseSubmodules = true
		_, err := newRig(t, fetch.Options{Limits: fetch.Limits{Files: 100}}).get(t, want)
		g.Expect(err).NotTo(HaveOccurred())
	})
}

// TestReadFileBesideMuch reads values from repositories that hold more than is accepted.
func TestReadFileBesideMuch(t *testing.T) {
	const mib = 1 << 20
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	repo.Link("env", "current")
	repo.Commit(map[string]string{"values.yaml": "root", "env/prod.yaml": "prod", "media/1": noise(1, 2*mib), "media/2": noise(2, 2*mib)})
	givesParts(repo)
	server, _ := testsource.ServeGit(t, root, false)
	source := gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{}).Source
	for name, limits := range map[string]fetch.Limits{"large files": {FileBytes: mib}, "a large commit": {ContentBytes: mib}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := newRig(t, fetch.Options{Limits: limits})
			at := func(path string) (string, error) {
				data, err := fetch.ReadFile(t.Context(), r, "team", source, corev1alpha1.ValuesReference{Kind: "GitRepository", Name: "src", Path: path}, time.Hour, 1<<20)
				return string(data), err
			}
			for path, want := range map[string]string{"values.yaml": "root", "./env/prod.yaml": "prod", "current/prod.yaml": "prod"} {
				g.Expect(at(path)).To(Equal(want), path)
			}
			for _, path := range []string{"none.yaml", "env/none.yaml", "none/at/all.yaml"} {
				_, err := at(path)
				g.Expect(errors.Is(err, fs.ErrNotExist)).To(BeTrue(), "%s: %v", path, err)
			}
			_, err := at("media/1")
			g.Expect(errors.Is(err, fetch.ErrLimit)).To(BeTrue(), "%v", err)
			_, err = fetch.ReadFile(t.Context(), r, "team", source, corev1alpha1.ValuesReference{Kind: "GitRepository", Name: "src", Path: "values.yaml"}, time.Hour, 3)
			g.Expect(err).To(MatchError(ContainSubstring("values.yaml has 4 bytes, more than the 3")))
			g.Expect(errors.Is(err, fetch.ErrLimit)).To(BeTrue(), "%v", err)
			_, err = at("../values.yaml")
			g.Expect(errors.Is(err, fetch.ErrInvalid)).To(BeTrue(), "%v", err)
		})
	}
}

// TestGitPartThatTakesLongerThanItsReader is not begun anew by the next one.
func TestGitPartThatTakesLongerThanItsReader(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	givesParts(repo)
	repo.Commit(map[string]string{"app/a.yaml": "a", "base/b.yaml": "b", "media/1": noise(1, 1<<20), "media/2": noise(2, 1<<20)})
	git, _ := testsource.ServeGit(t, root, false)
	behind, err := url.Parse(git.URL)
	g.Expect(err).NotTo(HaveOccurred())
	forward := httputil.NewSingleHostReverseProxy(behind)
	var slow atomic.Bool
	arrived, goOn := make(chan struct{}, 10), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slow.Load() {
			arrived <- struct{}{}
			<-goOn
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	r := newRig(t, fetch.Options{Limits: fetch.Limits{ContentBytes: 1 << 20}})
	a, err := r.get(t, gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Path: "app"}))
	g.Expect(err).NotTo(HaveOccurred())
	before := r.Stats().Fetches
	content := a.Root.(interface {
		WithContext(ctx context.Context) fs.FS
	})

	slow.Store(true)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := fs.ReadFile(content.WithContext(ctx), "base/b.yaml")
		left <- err
	}()
	<-arrived
	leave()
	g.Expect(<-left).To(MatchError(context.Canceled))
	slow.Store(false)
	close(goOn)
	g.Expect(fs.ReadFile(content.WithContext(t.Context()), "base/b.yaml")).To(BeEquivalentTo("b"))
	g.Expect(r.Stats().Fetches - before).To(BeEquivalentTo(1))
}

// TestGitPartIsVerified as a whole commit is, what is read beyond it too.
func TestGitPartIsVerified(t *testing.T) {
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	givesParts(repo)
	files := map[string]string{"app/a.yaml": "a", "base/b.yaml": "b"}
	for i := range 30 {
		files[fmt.Sprintf("many/%d", i)] = fmt.Sprint(i)
	}
	repo.Commit(files)
	key, other := testsource.NewOpenPGPKey(t, started.Add(-time.Hour), 0), testsource.NewOpenPGPKey(t, started.Add(-time.Hour), 0)
	repo.SignHead(key.SignAt(started.Add(-time.Minute)))
	repo.SignTag("v1.0.0", "v1.0.0", key.SignAt(started.Add(-time.Minute)))
	server, _ := testsource.ServeGit(t, root, false)
	login, _ := testsource.NewSigner(t)
	ssh := testsource.ServeSSH(t, root, login)
	secret := secrets{"good": {"a.asc": key.Public()}, "other": {"a.asc": other.Public()}, "login": sshSecret(ssh, login)}
	for mode, wanted := range map[string]corev1alpha1.GitRef{"head": {Branch: "main"}, "tag": {Tag: "v1.0.0"}} {
		for _, trusted := range []string{"good", "other"} {
			for _, url := range []string{server.URL + "/app.git", "ssh://git@" + ssh.Address + "/app.git"} {
				t.Run(mode+"/"+trusted+"/"+url[:4], func(t *testing.T) {
					g := NewWithT(t)
					want := verified(url, mode, "gpg", trusted, wanted)
					want.Content.Git.Path = "app"
					if strings.HasPrefix(url, "ssh") {
						want.Source.(*sourcev1alpha1.GitRepository).Spec.SecretRef = ref("login")
					}
					a, err := newRig(t, fetch.Options{Secrets: secret, Limits: fetch.Limits{Files: 10}}).get(t, want)
					if trusted == "other" {
						g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "%v", err)
						return
					}
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(read(a, "app/a.yaml")).To(Equal("a"))
					g.Expect(read(a, "base/b.yaml")).To(Equal("b"))
				})
			}
		}
	}
}

// TestGitPartOfTheNextCommit is fetched without trying all of it first, for a while.
func TestGitPartOfTheNextCommit(t *testing.T) {
	g := NewWithT(t)
	const mib = 1 << 20
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	givesParts(repo)
	repo.Commit(map[string]string{"app/a.yaml": "1", "media/1": noise(1, mib), "media/2": noise(2, mib)})
	server, _ := testsource.ServeGit(t, root, false)
	r := newRig(t, fetch.Options{Limits: fetch.Limits{ContentBytes: 3 * mib / 2}})
	fetched := func(want string) int64 {
		before := r.Stats().Kinds["GitRepository"].Received
		a, err := r.get(t, gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Path: "app"}))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(read(a, "app/a.yaml")).To(Equal(want))
		return r.Stats().Kinds["GitRepository"].Received - before
	}
	g.Expect(fetched("1")).To(BeNumerically(">", mib))
	repo.Commit(map[string]string{"app/a.yaml": "2"})
	g.Expect(fetched("2")).To(BeNumerically("<", mib/10))
	r.clock.Step(2 * time.Hour)
	repo.Commit(map[string]string{"app/a.yaml": "3"})
	g.Expect(fetched("3")).To(BeNumerically(">", mib), "it may have become smaller")
}

// TestGitServerThatLacksObjects answers, and is not unreachable.
func TestGitServerThatLacksObjects(t *testing.T) {
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	commit := repo.Commit(map[string]string{"app/a.yaml": "a", "app/b.yaml": "b"})
	blob := repo.Git("rev-parse", "HEAD:app/b.yaml")
	pack := func(input string, options ...string) []byte {
		cmd := exec.Command("git", append([]string{"pack-objects", "--stdout", "--quiet"}, options...)...)
		cmd.Dir, cmd.Stdin = repo.Path(), strings.NewReader(input)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	var without []string
	for line := range strings.Lines(repo.Git("rev-list", "--objects", "--no-object-names", "HEAD")) {
		if id := strings.TrimSpace(line); id != blob {
			without = append(without, id)
		}
	}
	repo.Commit(map[string]string{"app/b.yaml": strings.Repeat("line of text\n", 500)})
	base := repo.Git("rev-parse", "HEAD:app/b.yaml")
	repo.Commit(map[string]string{"app/b.yaml": strings.Repeat("line of text\n", 500) + "more"})
	thin := pack(repo.Git("rev-parse", "HEAD")+"\n^"+repo.Git("rev-parse", "HEAD~")+"\n", "--revs", "--thin")
	for name, tc := range map[string]struct {
		pack []byte
		want string
	}{
		"a file":               {pack(strings.Join(without, "\n") + "\n"), "lacks the blob " + blob + `, which is "app/b.yaml"`},
		"what others build on": {thin, base},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server, _ := testsource.ServeGit(t, root, false, func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPost {
					return false
				}
				w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
				var b bytes.Buffer
				encoder := pktline.NewEncoder(&b)
				g.Expect(encoder.EncodeString("shallow " + commit)).To(Succeed())
				g.Expect(encoder.Flush()).To(Succeed())
				g.Expect(encoder.EncodeString("NAK\n")).To(Succeed())
				for rest := tc.pack; len(rest) > 0; {
					n := min(len(rest), 60000)
					g.Expect(encoder.Encode(append([]byte{1}, rest[:n]...))).To(Succeed())
					rest = rest[n:]
				}
				g.Expect(encoder.Flush()).To(Succeed())
				_, _ = w.Write(b.Bytes())
				return true
			})
			want := gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Path: "app"})
			if name == "a file" {
				want.Content.Git.Ref.Commit = commit
			}
			_, err := newRig(t, fetch.Options{}).get(t, want)
			g.Expect(errors.Is(err, fetch.ErrContent)).To(BeTrue(), "%v", err)
			g.Expect(errors.Is(err, fetch.ErrUnreachable)).To(BeFalse(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

// TestGitPartMemory measures what a path of 1 KiB costs beside much that nobody wants.
func TestGitPartMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 470 MiB")
	}
	const mib = 1 << 20
	for name, tc := range map[string]struct {
		files, each int
		peak        int64
	}{
		"one file of 70 MiB":  {1, 70 * mib, 16 * mib},
		"1600 files, 400 MiB": {1600, mib / 4, 300 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			root := t.TempDir()
			repo := testsource.NewGitRepository(t, root, "app.git")
			repo.Import(func(commit func(name string, content []byte)) {
				for i := range tc.files {
					commit(fmt.Sprintf("data/%d/blob.bin", i), []byte(noise(byte(i), tc.each-8)+fmt.Sprintf("%8d", i)))
				}
				commit("app/a.yaml", []byte(strings.Repeat("a", 1024)))
			})
			givesParts(repo)
			server, _ := testsource.ServeGit(t, root, false)
			r := newRig(t, fetch.Options{})
			want := gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Path: "app"})
			began := time.Now()
			peak := heapPeak(5, func() {
				a, err := r.get(t, want)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(read(a, "app/a.yaml")).To(HaveLen(1024))
			})
			t.Logf("peak %.1f MiB, kept %.3f MiB, %s", float64(peak)/mib, float64(r.Stats().Bytes)/mib, time.Since(began).Round(time.Millisecond))
			g.Expect(peak).To(BeNumerically("<", tc.peak))
			g.Expect(r.Stats().Bytes).To(BeNumerically("<", mib))
		})
	}
}
