// SPDX-License-Identifier: Apache-2.0

package gitserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"os/exec"
	"path/filepath"
	"strings"

	"kumodo.io/convoy/e2e/framework/certs"
	"kumodo.io/convoy/e2e/framework/httpserver"
)

// Options of a server. Root is required.
type Options struct {
	Root        string // holds <name>.git folders
	Address     string // of the loopback; empty is 127.0.0.1 with a free port
	Certificate *certs.Pair
	Log         io.Writer // what git complains of; nil drops it
}

// Server is a git server that counts its requests.
type Server struct {
	*httpserver.Server
	recorder *httpserver.Recorder
}

// Requests tells how often a repository was asked, by answer.
type Requests struct {
	InfoRefs   int // advertisements: one per clone, fetch or ls-remote
	UploadPack int // listings of references (protocol 2) and packs
	Denied     int // either of both, refused for its credentials
}

// Start serves the folder in the background.
func Start(o Options) (*Server, error) {
	handler, err := Handler(o.Root, o.Log)
	if err != nil {
		return nil, err
	}
	recorder := &httpserver.Recorder{}
	server, err := httpserver.Start(httpserver.Options{Address: o.Address, Handler: recorder.Handler(handler), Certificate: o.Certificate})
	if err != nil {
		return nil, err
	}
	return &Server{Server: server, recorder: recorder}, nil
}

// RepositoryURL returns the URL under which a repository is cloned.
func (s *Server) RepositoryURL(name string) string { return s.URL() + "/" + name + ".git" }

// Requests returns the counts of one repository since the start or ResetRequests.
func (s *Server) Requests(name string) Requests {
	count := func(denied bool, endings ...string) int {
		return s.recorder.Count(func(r httpserver.Request) bool {
			for _, ending := range endings {
				if r.Path == "/"+name+".git"+ending {
					return (r.Status == http.StatusUnauthorized) == denied
				}
			}
			return false
		})
	}
	const refs, pack = "/info/refs", "/git-upload-pack"
	return Requests{InfoRefs: count(false, refs), UploadPack: count(false, pack), Denied: count(true, refs, pack)}
}

// ResetRequests sets all counts to zero.
func (s *Server) ResetRequests() { s.recorder.Reset() }

// Handler serves the repositories below root: fetching and pushing, with the
// credentials of those that are protected. log gets git's complaints and may be
// nil.
func Handler(root string, logTo io.Writer) (http.Handler, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("find git: %w", err)
	}
	if root, err = filepath.Abs(root); err != nil { // the backend runs elsewhere
		return nil, fmt.Errorf("find the repositories: %w", err)
	}
	if logTo == nil {
		logTo = io.Discard
	}
	backend := &cgi.Handler{
		Path:   git,
		Args:   []string{"http-backend"},
		Env:    append(isolated(), "GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1"),
		Stderr: logTo,
		Logger: log.New(logTo, "git http-backend: ", 0),
	}
	return httpserver.FolderAuth(root, hideFiles(wholeBody(backend))), nil
}

// hideFiles leaves only the smart protocol, so that the credentials file of a
// repository is no content, and clients of the dumb protocol fail clearly.
func hideFiles(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		smart := strings.HasSuffix(r.URL.Path, "/info/refs") && r.URL.Query().Get("service") != ""
		if !smart && !strings.HasSuffix(r.URL.Path, "/git-upload-pack") && !strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
			http.NotFound(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// wholeBody gives a chunked request a length, without which CGI cannot take it.
func wholeBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength < 0 {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, "cannot read the request", http.StatusBadRequest)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			r.ContentLength = int64(len(body))
			r.TransferEncoding = nil
		}
		next.ServeHTTP(w, r)
	})
}

// run executes git with the isolated environment and returns its output.
func run(ctx context.Context, dir string, input io.Reader, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, append(cmd.Environ(), isolated()...), input
	var output, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &complaints
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(complaints.String()))
	}
	return strings.TrimSpace(output.String()), nil
}

// isolated keeps the user's and the system's git configuration away, and trusts
// the folder whoever owns it.
func isolated() []string {
	return []string{
		"GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=safe.directory",
		"GIT_CONFIG_VALUE_0=*",
		"GIT_TERMINAL_PROMPT=0",
	}
}
