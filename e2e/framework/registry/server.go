// SPDX-License-Identifier: Apache-2.0

// Package registry runs an OCI registry that keeps its content in a folder, and
// pushes charts and artifacts into registries. The registry speaks the whole
// distribution API; deleting is allowed.
package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"strings"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem" // the storage named in Handler
	"github.com/sirupsen/logrus"

	"kumodo.io/convoy/e2e/framework/certs"
	"kumodo.io/convoy/e2e/framework/httpserver"
)

// Options of a server. Root is required.
type Options struct {
	Root        string
	Address     string // of the loopback; empty is 127.0.0.1 with a free port
	Certificate *certs.Pair
}

// Server is a running registry that counts its requests.
type Server struct {
	*httpserver.Server
	root     string
	app      *handlers.App
	recorder *httpserver.Recorder
}

// Start serves the folder, which is made when absent, in the background.
func Start(o Options) (*Server, error) {
	app, err := newApp(o.Root)
	if err != nil {
		return nil, err
	}
	recorder := &httpserver.Recorder{}
	handler := recorder.Handler(httpserver.FolderAuth(o.Root, app))
	server, err := httpserver.Start(httpserver.Options{Address: o.Address, Handler: handler, Certificate: o.Certificate})
	if err != nil {
		return nil, errors.Join(err, app.Shutdown())
	}
	return &Server{Server: server, root: o.Root, app: app, recorder: recorder}, nil
}

// RepositoryURL returns the oci:// URL of a repository; an empty one is the
// registry itself.
func (s *Server) RepositoryURL(repository string) string {
	return "oci://" + path.Join(s.Address(), repository)
}

// Protect makes the registry ask for the credentials.
func (s *Server) Protect(user, password string) error {
	return httpserver.Protect(s.root, user, password)
}

// Unprotect opens the registry to everybody again.
func (s *Server) Unprotect() error { return httpserver.Unprotect(s.root) }

// Requests returns how many manifests and blobs of a repository were handed out
// since the start or ResetRequests. HEAD requests do not count.
func (s *Server) Requests(repository string) (manifests, blobs int) {
	count := func(kind string) int {
		return s.recorder.Count(func(r httpserver.Request) bool {
			return r.Method == http.MethodGet && r.Status < 400 && strings.HasPrefix(r.Path, "/v2/"+repository+"/"+kind+"/")
		})
	}
	return count("manifests"), count("blobs")
}

// ResetRequests sets all counts to zero.
func (s *Server) ResetRequests() { s.recorder.Reset() }

// Close stops serving. The content stays in the folder.
func (s *Server) Close(ctx context.Context) error {
	return errors.Join(s.Server.Close(ctx), s.app.Shutdown())
}

func newApp(root string) (*handlers.App, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("create the registry's folder: %w", err)
	}
	// The library writes to the logger of the whole program, every request of
	// it; its errors are answers to requests and show there.
	logrus.SetLevel(logrus.FatalLevel)
	config := &configuration.Configuration{
		Version: configuration.CurrentVersion,
		Storage: configuration.Storage{
			"filesystem":  {"rootdirectory": root},
			"delete":      {"enabled": true},
			"maintenance": {"uploadpurging": map[any]any{"enabled": false}},
		},
	}
	return handlers.NewApp(context.Background(), config), nil
}
