// SPDX-License-Identifier: Apache-2.0

// Package testsource runs real sources on the loopback interface for tests: Git over HTTP
// and SSH, Helm repositories and OCI registries. Only tests import it.
package testsource

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// GitRepository is a bare repository on disk, filled with the git command.
type GitRepository struct {
	t testing.TB
	// Root holds the repository under Name.
	Root, Name string
	work       string
}

// NewGitRepository makes an empty repository whose default branch is main.
func NewGitRepository(t testing.TB, root, name string) *GitRepository {
	t.Helper()
	return NewGitRepositoryOf(t, root, name, "sha1")
}

// NewGitRepositoryOf makes one whose ids are of a format, sha1 or sha256.
func NewGitRepositoryOf(t testing.TB, root, name, format string) *GitRepository {
	t.Helper()
	r := &GitRepository{t: t, Root: root, Name: name, work: t.TempDir()}
	r.Git("init", "--quiet", "--initial-branch=main", "--object-format="+format, ".")
	run(t, root, "git", "init", "--quiet", "--bare", "--initial-branch=main", "--object-format="+format, r.Path())
	r.Git("remote", "add", "origin", r.Path())
	return r
}

// Path of the bare repository.
func (r *GitRepository) Path() string { return filepath.Join(r.Root, r.Name) }

// Work is the path of a file in the work tree.
func (r *GitRepository) Work(name string) string { return filepath.Join(r.work, name) }

// Git runs git in the work tree and returns its output.
func (r *GitRepository) Git(args ...string) string {
	r.t.Helper()
	return run(r.t, r.work, "git", args...)
}

// Write puts files into the work tree.
func (r *GitRepository) Write(files map[string]string) {
	r.t.Helper()
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(r.Work(name)), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(r.Work(name), []byte(content), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
}

// Link puts a symbolic link into the work tree.
func (r *GitRepository) Link(target, name string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(r.Work(name)), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Symlink(target, r.Work(name)); err != nil {
		r.t.Fatal(err)
	}
}

// Commit commits the work tree and files, pushes everything and returns the commit's id.
func (r *GitRepository) Commit(files map[string]string) string {
	r.t.Helper()
	r.Write(files)
	r.Git("add", "--all")
	r.Git("commit", "--quiet", "--allow-empty", "--message", "change")
	r.Push()
	return r.Git("rev-parse", "HEAD")
}

// Submodule puts a submodule into the index: a commit at a path, and its entry in the file
// .gitmodules unless the url is empty.
func (r *GitRepository) Submodule(path, url, commit string, more ...string) {
	r.t.Helper()
	r.Git("update-index", "--add", "--cacheinfo", "160000,"+commit+","+path)
	if url == "" {
		return
	}
	entry := "[submodule \"" + path + "\"]\n\tpath = " + path + "\n\turl = " + url + "\n"
	for _, line := range more {
		entry += "\t" + line + "\n"
	}
	old, err := os.ReadFile(r.Work(".gitmodules"))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	r.Write(map[string]string{".gitmodules": string(old) + entry})
	r.Git("add", ".gitmodules")
}

// CommitIndex commits what is in the index, pushes it and returns the commit's id. Unlike
// Commit it leaves submodules alone, which have no files in the work tree.
func (r *GitRepository) CommitIndex() string {
	r.t.Helper()
	r.Git("commit", "--quiet", "--allow-empty", "--message", "change")
	r.Push()
	return r.Git("rev-parse", "HEAD")
}

// Import makes commits of one file each on main of the bare repository, fast and without
// the work tree.
func (r *GitRepository) Import(write func(commit func(name string, content []byte))) {
	r.t.Helper()
	cmd := exec.Command("git", "-c", "core.compression=0", "-c", "pack.compression=0", "fast-import", "--quiet", "--depth=0")
	cmd.Dir = r.Path()
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	write(func(name string, content []byte) {
		fmt.Fprintf(stdin, "commit refs/heads/main\ncommitter Test <test@example.test> 1760000000 +0000\ndata 6\nchange\nM 644 inline %s\ndata %d\n", name, len(content))
		_, _ = stdin.Write(content)
		_, _ = io.WriteString(stdin, "\n")
	})
	_ = stdin.Close()
	if err := cmd.Wait(); err != nil {
		r.t.Fatal(err)
	}
}

// Push makes the branches, tags and pull requests of the bare repository equal to the work
// tree's. A mirror would also get the remote-tracking branches, which keep old tips alive.
func (r *GitRepository) Push() {
	r.t.Helper()
	r.Git("push", "--quiet", "--prune", "origin", "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", "+refs/pull/*:refs/pull/*")
}

func run(t testing.TB, dir, command string, args ...string) string {
	t.Helper()
	cmd := exec.Command(command, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.test", "GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.test")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", command, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Recorder counts the requests that a server gets, and can hold or refuse them.
type Recorder struct {
	mu        sync.Mutex
	requests  []*http.Request
	before    func(*http.Request)
	allow     func(*http.Request) bool
	challenge string
}

// Before has f called before each request is served.
func (r *Recorder) Before(f func(*http.Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before = f
}

// Allow has f decide whether a request is served; others get 401 with the challenge. nil
// serves all.
func (r *Recorder) Allow(f func(*http.Request) bool, challenge string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.allow, r.challenge = f, challenge
}

// Wrap records what next is asked.
func (r *Recorder) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.mu.Lock()
		r.requests = append(r.requests, request.Clone(request.Context()))
		before, allow, challenge := r.before, r.allow, r.challenge
		r.mu.Unlock()
		if before != nil {
			before(request)
		}
		if allow != nil && !allow(request) {
			if challenge == "" {
				challenge = `Basic realm="test"`
			}
			w.Header().Set("WWW-Authenticate", challenge)
			http.Error(w, "no: "+request.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, request)
	})
}

// Requests returns the requests whose path contains part.
func (r *Recorder) Requests(part string) []*http.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []*http.Request
	for _, request := range r.requests {
		if strings.Contains(request.URL.Path, part) {
			found = append(found, request)
		}
	}
	return found
}

// Count returns the number of requests whose path contains part.
func (r *Recorder) Count(part string) int { return len(r.Requests(part)) }

// BasicAuth allows requests with the user and password only.
func BasicAuth(user, password string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		u, p, ok := r.BasicAuth()
		return ok && u == user && p == password
	}
}

// ServeGit serves the repositories below root with git's own HTTP backend, and what others
// want to serve before it: each says whether it did.
func ServeGit(t testing.TB, root string, tls bool, others ...func(http.ResponseWriter, *http.Request) bool) (*httptest.Server, *Recorder) {
	t.Helper()
	recorder := &Recorder{}
	git := &cgi.Handler{
		Path:   filepath.Join(run(t, root, "git", "--exec-path"), "git-http-backend"),
		Dir:    root,
		Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
			// The repositories may belong to another user than the one who runs the tests.
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
	}
	handler := recorder.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, other := range others {
			if other(w, r) {
				return
			}
		}
		git.ServeHTTP(w, r)
	}))
	server := httptest.NewUnstartedServer(handler)
	if tls {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server, recorder
}

// Certificate returns the certificate of a TLS server in PEM form.
func Certificate(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// Quiet returns a log that nobody reads, for servers whose clients hang up on purpose.
func Quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// Reset forgets the requests so far.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = nil
}

// ServePages serves texts by their path.
func ServePages(t testing.TB, pages map[string]string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, page)
	}))
	t.Cleanup(server.Close)
	return server
}

// ServeRedirects sends everything below the path from to the same below the URL to.
func ServeRedirects(t testing.TB, from, to string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to+strings.TrimPrefix(r.URL.RequestURI(), from), http.StatusFound)
	}))
	t.Cleanup(server.Close)
	return server
}
