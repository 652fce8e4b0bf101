// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// lfsRig is a private repository with a server of Git LFS beside it.
type lfsRig struct {
	*testsource.LFS
	repo     *testsource.GitRepository
	server   *httptest.Server
	recorder *testsource.Recorder
	secrets  secrets
}

func newLFSRig(t *testing.T) *lfsRig {
	t.Helper()
	l := &lfsRig{LFS: testsource.NewLFS(t)}
	root := t.TempDir()
	l.repo = testsource.NewGitRepository(t, root, "app.git")
	l.server, l.recorder = testsource.ServeGit(t, root, true, l.Serve)
	l.server.Config.ErrorLog = testsource.Quiet()
	l.recorder.Allow(testsource.BasicAuth("git", "canary-token"), "")
	l.secrets = secrets{"s": {"username": "git", "password": "canary-token", "ca.crt": string(testsource.Certificate(l.server))}}
	return l
}

func (l *lfsRig) want(path string) fetch.Want {
	want := gitWant(l.server.URL+"/app.git", "s", corev1alpha1.GitSource{Path: path})
	want.MaxAge = 5 * time.Minute
	return want
}

func TestGitLFS(t *testing.T) {
	g := NewWithT(t)
	l := newLFSRig(t)
	values, chart := l.Add("replicas: 3\n"), l.Add("not really an archive")
	l.repo.Commit(map[string]string{"app/values.yaml": values, "app/same.yaml": values, "charts/db.tgz": chart, "plain.yaml": "a: b\n"})
	r := newRig(t, fetch.Options{Secrets: l.secrets})

	a, err := r.get(t, l.want("app"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read(a, "app/values.yaml")).To(Equal("replicas: 3\n"))
	g.Expect(read(a, "app/same.yaml")).To(Equal("replicas: 3\n"))
	g.Expect(read(a, "charts/db.tgz")).To(Equal("not really an archive"))
	g.Expect(read(a, "plain.yaml")).To(Equal("a: b\n"))
	info, err := fs.Stat(a.Root, "app/values.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Size()).To(Equal(int64(12)))
	g.Expect(l.recorder.Count("objects/batch")).To(Equal(1))
	g.Expect(l.recorder.Count("/lfs-objects/")).To(Equal(2), "each object once")

	other, err := r.get(t, l.want("charts"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(other.RootDigest).To(Equal(a.RootDigest))
	g.Expect(l.recorder.Count("objects/batch")).To(Equal(1), "one fetch for all paths")

	l.repo.Commit(map[string]string{"plain.yaml": "a: c\n", "app/new.yaml": l.Add("new\n")})
	r.clock.Step(10 * time.Minute)
	a, err = r.get(t, l.want("app"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read(a, "app/new.yaml")).To(Equal("new\n"))
	g.Expect(read(a, "app/values.yaml")).To(Equal("replicas: 3\n"))
	g.Expect(l.recorder.Count("/lfs-objects/")).To(Equal(3), "what is kept is not downloaded again")
}

// TestGitLFSOfAnotherIsNotGiven makes up a pointer to an object that somebody else's
// repository gave before.
func TestGitLFSOfAnotherIsNotGiven(t *testing.T) {
	g := NewWithT(t)
	l := newLFSRig(t)
	secret := l.Add("a secret of another team")
	l.repo.Commit(map[string]string{"a.yaml": secret})
	r := newRig(t, fetch.Options{Secrets: l.secrets})
	a, err := r.get(t, l.want("."))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read(a, "a.yaml")).To(Equal("a secret of another team"))

	root := t.TempDir()
	testsource.NewGitRepository(t, root, "mine.git").Commit(map[string]string{"b.yaml": secret})
	empty := testsource.NewLFS(t)
	mine, _ := testsource.ServeGit(t, root, false, empty.Serve)
	b, err := r.get(t, gitWant(mine.URL+"/mine.git", "", corev1alpha1.GitSource{}))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = read(b, "b.yaml")
	g.Expect(errors.Is(err, fetch.ErrContent)).To(BeTrue(), "%v", err)
}

func TestGitLFSFailures(t *testing.T) {
	l := newLFSRig(t)
	pointer := l.Add("content")
	oid := testsource.OID(pointer)
	l.repo.Commit(map[string]string{"a.yaml": pointer})
	wrong, wrongSeen := 0, false
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/closed" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		wrong++
		wrongSeen = wrongSeen || r.Header.Get("Authorization") != "" || r.Header.Get("X-Token") != ""
		_, _ = w.Write([]byte("content"))
	}))
	t.Cleanup(elsewhere.Close)
	elsewhere.Config.ErrorLog = testsource.Quiet()
	download := func(told map[string]any) map[string]any {
		return told["actions"].(map[string]any)["download"].(map[string]any)
	}
	for _, tc := range []struct {
		name     string
		put      string
		tell     func(oid string, told map[string]any)
		want     error
		wantText string
	}{
		{name: "fine"},
		{name: "missing object", put: "-", want: fetch.ErrNotFound, wantText: "does not give the object " + oid + ": Object does not exist (code 404)"},
		{name: "other content of the same size", put: "CONTENT", want: fetch.ErrContent, wantText: "not what its pointer says"},
		{name: "longer content", put: "content and more", want: fetch.ErrContent, wantText: "more than the 7 bytes"},
		{name: "shorter content", put: "con", want: fetch.ErrContent, wantText: "gave 3 bytes"},
		{name: "server failure", tell: func(_ string, told map[string]any) {
			told["error"] = map[string]any{"code": 500, "message": "canary-token is no good"}
		}, want: fetch.ErrUnreachable, wantText: "*** is no good (code 500)"},
		{name: "says nothing", tell: func(_ string, told map[string]any) { told["oid"] = strings.Repeat("0", 64) }, want: fetch.ErrNotFound, wantText: "says nothing of the object"},
		{name: "another size", tell: func(_ string, told map[string]any) { told["size"] = 8 }, want: fetch.ErrNotFound, wantText: "says nothing of the object"},
		{name: "no action", tell: func(_ string, told map[string]any) { delete(told, "actions") }, want: fetch.ErrNotFound, wantText: "does not have the object"},
		{name: "disk", tell: func(_ string, told map[string]any) { download(told)["href"] = "file:///etc/passwd" }, want: fetch.ErrContent, wantText: "no http or https url"},
		{name: "credentials in the address", tell: func(_ string, told map[string]any) { download(told)["href"] = "https://u:canary@host.test/x" }, want: fetch.ErrContent, wantText: "without credentials"},
		{name: "out of TLS", tell: func(_ string, told map[string]any) { download(told)["href"] = "http://host.test/x?sig=canary" }, want: fetch.ErrContent, wantText: "from https to http"},
		{name: "nobody there", tell: func(_ string, told map[string]any) {
			download(told)["href"] = "https://nobody.invalid/x?sig=canary"
			download(told)["header"] = map[string]any{"X-Token": "canary-header"}
		}, want: fetch.ErrUnreachable, wantText: "nobody.invalid"},
		{name: "wrong header", tell: func(_ string, told map[string]any) {
			download(told)["header"] = map[string]any{"Authorization": "Bearer canary-other"}
		}, want: fetch.ErrUnauthorized, wantText: "the server does not accept the credentials that came with its address (status 401)"},
		{name: "closed elsewhere", tell: func(_ string, told map[string]any) {
			download(told)["href"] = elsewhere.URL + "/closed"
			delete(download(told), "header")
		}, want: fetch.ErrUnauthorized, wantText: "asks for credentials (status 401), and those of the repository go to its own scheme, host and port only"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			l.Put(oid, "content")
			if tc.put != "" {
				l.Put(oid, strings.Trim(tc.put, "-"))
			}
			l.Tell(tc.tell)
			a, err := newRig(t, fetch.Options{Secrets: l.secrets}).get(t, l.want("."))
			if err == nil {
				var got string
				if got, err = read(a, "a.yaml"); err == nil {
					g.Expect(got).To(Equal("content"))
				}
			}
			if tc.want == nil {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(And(ContainSubstring(tc.wantText), Not(ContainSubstring("canary"))))
		})
	}
	l.Put(oid, "content")
	l.Tell(nil)
	t.Run("an object that is uploaded later", func(t *testing.T) {
		g := NewWithT(t)
		l.Put(oid, "")
		r := newRig(t, fetch.Options{Secrets: l.secrets})
		a, err := r.get(t, l.want("."))
		g.Expect(err).NotTo(HaveOccurred(), "who does not read it does not mind")
		_, err = read(a, "a.yaml")
		g.Expect(err).To(MatchError(ContainSubstring("the file is a Git LFS pointer, whose content is missing")))
		before := l.recorder.Count("objects/batch")
		_, err = r.get(t, l.want("."))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(l.recorder.Count("objects/batch")).To(Equal(before), "a failure stands for a while")
		l.Put(oid, "content")
		r.clock.Step(16 * time.Second)
		b, err := r.get(t, l.want("."))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(read(b, "a.yaml")).To(Equal("content"))
		g.Expect(b.Digest).NotTo(Equal(a.Digest))
	})
	t.Run("credentials go to the origin only", func(t *testing.T) {
		g := NewWithT(t)
		l.secrets["both"] = map[string]string{"username": "git", "password": "canary-token", "ca.crt": string(testsource.Certificate(l.server)) + string(testsource.Certificate(elsewhere))}
		l.Tell(func(_ string, told map[string]any) { download(told)["href"] = elsewhere.URL + "/x" })
		r := newRig(t, fetch.Options{Secrets: l.secrets})
		want := l.want(".")
		want.Source.(*sourcev1alpha1.GitRepository).Spec.SecretRef = ref("both")
		a, err := r.get(t, want)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(read(a, "a.yaml")).To(Equal("content"))
		g.Expect(wrong).To(Equal(1))
		g.Expect(wrongSeen).To(BeFalse())
	})
	t.Run("a header stays behind in a redirect", func(t *testing.T) {
		g := NewWithT(t)
		seen := ""
		redirecting := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen = r.Header.Get("X-Token")
			http.Redirect(w, r, elsewhere.URL+"/x", http.StatusTemporaryRedirect)
		}))
		t.Cleanup(redirecting.Close)
		l.Tell(func(_ string, told map[string]any) {
			download(told)["href"] = redirecting.URL + "/x"
			download(told)["header"] = map[string]any{"X-Token": "canary-header", "Host": "evil.test", "Authorization": "canary"}
		})
		l.secrets["all"] = map[string]string{"username": "git", "password": "canary-token",
			"ca.crt": string(testsource.Certificate(l.server)) + string(testsource.Certificate(elsewhere)) + string(testsource.Certificate(redirecting))}
		r := newRig(t, fetch.Options{Secrets: l.secrets})
		want := l.want(".")
		want.Source.(*sourcev1alpha1.GitRepository).Spec.SecretRef = ref("all")
		a, err := r.get(t, want)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(read(a, "a.yaml")).To(Equal("content"))
		g.Expect(seen).To(Equal("canary-header"))
		g.Expect(wrongSeen).To(BeFalse(), "the second host sees nothing that was meant for the first")
	})
}

func TestGitLFSConfiguredElsewhere(t *testing.T) {
	l := newLFSRig(t)
	pointer := l.Add("content")
	other := testsource.NewLFS(t)
	other.Add("content")
	server, recorder := testsource.ServeGit(t, t.TempDir(), true, other.Serve)
	server.Config.ErrorLog = testsource.Quiet()
	l.secrets["s"]["ca.crt"] += string(testsource.Certificate(server))
	for _, tc := range []struct{ name, given, wantText string }{
		{"elsewhere", "[lfs]\n\turl = " + server.URL + "/store/info/lfs\n", ""},
		{"without TLS", "[lfs]\n\turl = http://host.test/lfs\n", "without TLS"},
		{"disk", "[lfs]\n\turl = file:///srv/lfs\n", "no http or https url"},
		{"with credentials", "[lfs]\n\turl = https://u:canary@host.test/lfs\n", "without credentials"},
		{"malformed", "[lfs\n", "line 1 of the file .lfsconfig is malformed"},
		{"of no interest", "[lfs]\n\tfetchexclude = x\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			l.repo.Commit(map[string]string{".lfsconfig": tc.given, "a.yaml": pointer})
			a, err := newRig(t, fetch.Options{Secrets: l.secrets}).get(t, l.want("."))
			g.Expect(err).NotTo(HaveOccurred())
			got, err := read(a, "a.yaml")
			if tc.wantText != "" {
				g.Expect(errors.Is(err, fetch.ErrContent)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(And(ContainSubstring(tc.wantText), Not(ContainSubstring("canary"))))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal("content"))
		})
	}
	g := NewWithT(t)
	g.Expect(recorder.Count("/store/info/lfs/objects/batch")).To(Equal(1))
	for _, request := range recorder.Requests("/") {
		g.Expect(request.Header.Get("Authorization")).To(BeEmpty(), "another origin gets no credentials")
	}
}

func TestGitLFSOverSSH(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	objects := testsource.NewLFS(t)
	repo := testsource.NewGitRepository(t, root, "team.git")
	repo.Commit(map[string]string{"a.yaml": objects.Add("content")})
	web, recorder := testsource.ServeGit(t, t.TempDir(), true, objects.Serve)
	recorder.Allow(func(r *http.Request) bool { return r.Header.Get("Authorization") == "RemoteAuth canary" }, "")
	objects.Tell(func(_ string, told map[string]any) {
		told["actions"].(map[string]any)["download"].(map[string]any)["header"] = map[string]any{"Authorization": "RemoteAuth canary"}
	})
	key, _ := testsource.NewSigner(t)
	server := testsource.ServeSSH(t, root, key)
	secret := sshSecret(server, key)
	secret["ca.crt"] = string(testsource.Certificate(web))
	url := "ssh://git@" + server.Address + "/team.git"
	reading := func() (string, error) {
		a, err := newRig(t, fetch.Options{Secrets: secrets{"ssh": secret}}).get(t, gitWant(url, "ssh", corev1alpha1.GitSource{}))
		g.Expect(err).NotTo(HaveOccurred())
		return read(a, "a.yaml")
	}

	_, err := reading()
	g.Expect(errors.Is(err, fetch.ErrContent)).To(BeTrue(), "a server that knows no Git LFS: %v", err)
	server.LFS = func(path string) string {
		return `{"href": "` + web.URL + "/" + path + `/info/lfs", "header": {"Authorization": "RemoteAuth canary"}}`
	}
	g.Expect(reading()).To(Equal("content"))
	g.Expect(recorder.Count("/team.git/info/lfs/objects/batch")).To(Equal(1))
	server.LFS = func(string) string { return `{"href": "http://host.test/lfs", "header": {"Authorization": "canary"}}` }
	_, err = reading()
	g.Expect(err).To(MatchError(And(ContainSubstring("without TLS"), Not(ContainSubstring("canary")))))
	server.LFS = func(string) string { return "canary" }
	_, err = reading()
	g.Expect(err).To(MatchError(And(ContainSubstring("cannot be read"), Not(ContainSubstring("canary")))))
}

// TestGitLFSOfMedia has far more in Git LFS than is deployed.
func TestGitLFSOfMedia(t *testing.T) {
	g := NewWithT(t)
	l := newLFSRig(t)
	film := testsource.Pointer(strings.Repeat("a", 64), 5<<30)
	l.repo.Write(map[string]string{"media/film.mp4": film, "media/bad.bin": testsource.Pointer(strings.Repeat("b", 64), -1)})
	l.repo.Link("../shared/values.yaml", "app/linked.yaml")
	l.repo.Commit(map[string]string{"app/values.yaml": l.Add("mine"), "shared/values.yaml": l.Add("shared"), "other/values.yaml": l.Add("other")})
	r := newRig(t, fetch.Options{Secrets: l.secrets})

	a, err := r.get(t, l.want("app"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read(a, "app/values.yaml")).To(Equal("mine"))
	g.Expect(read(a, "app/linked.yaml")).To(Equal("shared"), "what is read through a link is at the path")
	for name, text := range map[string]string{"other/values.yaml": "only what lies at the Release's path is fetched", "media/film.mp4": "only what lies", "media/bad.bin": "malformed"} {
		_, err := read(a, name)
		g.Expect(err).To(MatchError(ContainSubstring(text)))
	}
	g.Expect(l.recorder.Count("/lfs-objects/")).To(Equal(2))
	b, err := r.get(t, l.want("other"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read(b, "other/values.yaml")).To(Equal("other"))
	c, err := r.get(t, l.want("media"))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = read(c, "media/film.mp4")
	g.Expect(errors.Is(err, fetch.ErrLimit)).To(BeTrue(), "%v", err)
}

func TestGitLFSInSubmodules(t *testing.T) {
	g := NewWithT(t)
	l := newLFSRig(t)
	lib := testsource.NewGitRepository(t, l.repo.Root, "lib.git")
	commit := lib.Commit(map[string]string{"values.yaml": l.Add("of the submodule")})
	l.repo.Submodule("lib", "../lib.git", commit)
	l.repo.CommitIndex()
	want := l.want("lib")
	want.Source.(*sourcev1alpha1.GitRepository).Spec.RecurseSubmodules = true
	a, err := newRig(t, fetch.Options{Secrets: l.secrets}).get(t, want)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read(a, "lib/values.yaml")).To(Equal("of the submodule"))
	g.Expect(l.recorder.Count("/lib.git/info/lfs/objects/batch")).To(Equal(1))
}
