// SPDX-License-Identifier: Apache-2.0

// Package helmrepo keeps Helm repositories as folders, an index and archives
// each, and serves them over HTTP. As with gitserver, the content is written in
// the folder, and any process may serve it.
package helmrepo

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"kumodo.io/convoy/e2e/framework/certs"
	"kumodo.io/convoy/e2e/framework/chart"
	"kumodo.io/convoy/e2e/framework/httpserver"
)

const indexFile = "index.yaml"

// index is the part of a repository's index that is written here.
type index struct {
	APIVersion string                      `json:"apiVersion"`
	Generated  time.Time                   `json:"generated"`
	Entries    map[string][]map[string]any `json:"entries"`
}

// Add puts archives into the repository <root>/<name>, which is made when
// absent. An archive of a version that is there already replaces it.
func Add(root, name string, archives ...*chart.Archive) error {
	dir := filepath.Join(root, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create Helm repository %s: %w", name, err)
	}
	listed, err := readIndex(dir)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	listed.Generated = now
	for _, archive := range archives {
		if err := replaceFile(filepath.Join(dir, archive.FileName()), archive.Content); err != nil {
			return err
		}
		entry := map[string]any{"urls": []string{archive.FileName()}, "digest": archive.Digest(), "created": now}
		for key, value := range archive.Metadata {
			entry[key] = value
		}
		listed.Entries[archive.Name] = append(without(listed.Entries[archive.Name], archive.Version), entry)
	}
	return writeIndex(dir, listed)
}

// Remove takes a version of a chart out of the index and deletes its archive.
func Remove(root, name, chartName, version string) error {
	dir := filepath.Join(root, name)
	listed, err := readIndex(dir)
	if err != nil {
		return err
	}
	listed.Entries[chartName] = without(listed.Entries[chartName], version)
	if len(listed.Entries[chartName]) == 0 {
		delete(listed.Entries, chartName)
	}
	if err := writeIndex(dir, listed); err != nil {
		return err
	}
	archive := chart.Archive{Name: chartName, Version: version}
	if err := os.Remove(filepath.Join(dir, archive.FileName())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a chart: %w", err)
	}
	return nil
}

// Protect makes servers ask for the credentials of the repository.
func Protect(root, name, user, password string) error {
	return httpserver.Protect(filepath.Join(root, name), user, password)
}

// Server is a running server of all repositories of a folder.
type Server struct {
	*httpserver.Server
	recorder *httpserver.Recorder
}

// Options of a server. Root is required.
type Options struct {
	Root        string
	Address     string // of the loopback; empty is 127.0.0.1 with a free port
	Certificate *certs.Pair
}

// Start serves the folder in the background.
func Start(o Options) (*Server, error) {
	recorder := &httpserver.Recorder{}
	server, err := httpserver.Start(httpserver.Options{Address: o.Address, Handler: recorder.Handler(Handler(o.Root)), Certificate: o.Certificate})
	if err != nil {
		return nil, err
	}
	return &Server{Server: server, recorder: recorder}, nil
}

// RepositoryURL returns the URL of a repository.
func (s *Server) RepositoryURL(name string) string { return s.URL() + "/" + name }

// Requests returns how often the index and the archives of a repository were
// handed out since the start or ResetRequests.
func (s *Server) Requests(name string) (indexes, archives int) {
	count := func(match func(file string) bool) int {
		return s.recorder.Count(func(r httpserver.Request) bool {
			return r.Status < 400 && path.Dir(r.Path) == "/"+name && match(path.Base(r.Path))
		})
	}
	indexes = count(func(file string) bool { return file == indexFile })
	return indexes, count(func(file string) bool { return strings.HasSuffix(file, ".tgz") })
}

// ResetRequests sets all counts to zero.
func (s *Server) ResetRequests() { s.recorder.Reset() }

// Handler serves the indexes and archives below root, with the credentials of
// those repositories that are protected.
func Handler(root string) http.Handler {
	files := http.FileServerFS(os.DirFS(root))
	return httpserver.FolderAuth(root, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Base(r.URL.Path) != indexFile && !strings.HasSuffix(r.URL.Path, ".tgz") {
			http.NotFound(w, r)
			return
		}
		files.ServeHTTP(w, r)
	}))
}

func without(entries []map[string]any, version string) []map[string]any {
	var kept []map[string]any
	for _, entry := range entries {
		if entry["version"] != version {
			kept = append(kept, entry)
		}
	}
	return kept
}

func readIndex(dir string) (index, error) {
	listed := index{APIVersion: "v1", Entries: map[string][]map[string]any{}}
	content, err := os.ReadFile(filepath.Join(dir, indexFile))
	if errors.Is(err, fs.ErrNotExist) {
		return listed, nil
	}
	if err != nil {
		return listed, fmt.Errorf("read the index: %w", err)
	}
	if err := yaml.Unmarshal(content, &listed); err != nil {
		return listed, fmt.Errorf("parse the index: %w", err)
	}
	return listed, nil
}

func writeIndex(dir string, listed index) error {
	content, err := yaml.Marshal(listed)
	if err != nil {
		return fmt.Errorf("encode the index: %w", err)
	}
	return replaceFile(filepath.Join(dir, indexFile), content)
}

// replaceFile puts the new content in place at once: a server may be reading.
func replaceFile(path string, content []byte) error {
	if err := os.WriteFile(path+".new", content, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("put %s in place: %w", filepath.Base(path), err)
	}
	return nil
}
