// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"regexp"

	"k8s.io/client-go/rest"

	"kumodo.io/convoy/e2e/bench/meter"
)

const (
	version   = "v1alpha1"
	resources = "releases"
	// manager owns the fields that the benchmarks write.
	manager = "bench"

	jsonType  = "application/json"
	mergeType = "application/merge-patch+json"
	applyType = "application/apply-patch+yaml"
	tableType = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
)

// subject is one of the two APIs that are compared, with a client of its own. The clients'
// settings are the same.
type subject struct {
	name   string
	group  string
	config *rest.Config
	client *http.Client
	wire   *meter.Wire
}

// newSubject gives a subject that is reached as config says.
func newSubject(name, group string, config *rest.Config) (*subject, error) {
	s := &subject{name: name, group: group, config: config, wire: &meter.Wire{}}
	var err error
	s.client, err = s.newClient()
	return s, err
}

// newClient gives a client with connections of its own. Answers stay compressed: what
// unpacking them costs is the same for all, and not the servers'.
func (s *subject) newClient() (*http.Client, error) {
	config := rest.CopyConfig(s.config)
	config.DisableCompression = true
	config.UserAgent = manager
	config.Dial = s.wire.Dial
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("build a client of %s: %w", s.name, err)
	}
	return client, nil
}

// path of the resource in a namespace, or of what is below it.
func (s *subject) path(namespace string, below ...string) string {
	return path.Join(append([]string{"/apis", s.group, version, "namespaces", namespace, resources}, below...)...)
}

// request is what a client asks; GET when nothing else is said.
type request struct {
	method, path, query string
	accept, contentType string
	body                []byte
}

// send sends a request and reads the answer into a buffer, which it empties first. An answer
// that is no success is an error.
func (s *subject) send(ctx context.Context, r request, answer *bytes.Buffer) error {
	response, err := s.open(ctx, s.client, r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer.Reset()
	if _, err := answer.ReadFrom(response.Body); err != nil {
		return fmt.Errorf("%s: %s %s: read the answer: %w", s.name, r.method, r.path, err)
	}
	return nil
}

// open sends a request and leaves the answer's body to the caller.
func (s *subject) open(ctx context.Context, client *http.Client, r request) (*http.Response, error) {
	if r.method == "" {
		r.method = http.MethodGet
	}
	url := s.config.Host + r.path
	if r.query != "" {
		url += "?" + r.query
	}
	out, err := http.NewRequestWithContext(ctx, r.method, url, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	out.Header.Set("Accept", jsonType)
	if r.accept != "" {
		out.Header.Set("Accept", r.accept)
	}
	out.Header.Set("Accept-Encoding", "gzip")
	if r.contentType != "" {
		out.Header.Set("Content-Type", r.contentType)
	}
	response, err := client.Do(out)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	if response.StatusCode/100 != 2 {
		defer response.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
		return nil, fmt.Errorf("%s: %s %s: %s: %s", s.name, r.method, r.path, response.Status, text)
	}
	return response, nil
}

var resourceVersion = regexp.MustCompile(`"resourceVersion":"(\d+)"`)

// versionOf gives the resource version of an object in JSON, or of a list.
func versionOf(object []byte) string {
	if match := resourceVersion.FindSubmatch(object); match != nil {
		return string(match[1])
	}
	return ""
}
