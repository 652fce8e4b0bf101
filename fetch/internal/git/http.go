// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"kumodo.io/convoy/fetch/internal/access"
	"kumodo.io/convoy/fetch/internal/fault"
)

const service = "git-upload-pack"

// httpRemote speaks the smart HTTP protocol, see gitprotocol-http(5).
type httpRemote struct {
	backend *Backend
	client  *access.Client
	// at is where the repository is; a redirect of the first request moves it.
	at     *url.URL
	bodies []io.Closer
}

func (b *Backend) openHTTP(ctx context.Context) (remote, error) {
	client, err := b.access.Connect(ctx, b.url, b.options.Tokens)
	if err != nil {
		return nil, err
	}
	return &httpRemote{backend: b, client: client, at: b.url}, nil
}

func (r *httpRemote) close() {
	for _, body := range r.bodies {
		_ = body.Close()
	}
	r.client.Close()
}

func (r *httpRemote) advertise(ctx context.Context) (io.Reader, error) {
	at := r.at.JoinPath("info/refs")
	at.RawQuery = url.Values{"service": {service}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, fault.New(fault.ErrInvalid, "the url is unusable")
	}
	response, err := r.do(request, "application/x-"+service+"-advertisement")
	if err != nil {
		return nil, err
	}
	moved := *response.Request.URL
	path, ok := strings.CutSuffix(moved.Path, "/info/refs")
	if !ok {
		return nil, fault.New(fault.ErrUnreachable, "the server redirects to %s, which is no Git repository", fault.URL(moved.String()))
	}
	moved.Path, moved.RawPath, moved.RawQuery = path, strings.TrimSuffix(moved.RawPath, "/info/refs"), ""
	r.at = &moved
	return access.Decoded(response)
}

func (r *httpRemote) upload(ctx context.Context, message []byte) (io.Reader, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.at.JoinPath(service).String(), bytes.NewReader(message))
	if err != nil {
		return nil, fault.New(fault.ErrInvalid, "the url is unusable")
	}
	request.Header.Set("Content-Type", "application/x-"+service+"-request")
	response, err := r.do(request, "application/x-"+service+"-result")
	if err != nil {
		return nil, err
	}
	return access.Decoded(response)
}

func (r *httpRemote) do(request *http.Request, contentType string) (*http.Response, error) {
	request.Header.Set("Accept", contentType)
	access.AcceptGzip(request)
	response, err := r.client.Do(request)
	if err != nil {
		return nil, fault.FromRequest(err, r.backend.scrubber())
	}
	r.bodies = append(r.bodies, response.Body)
	if response.StatusCode == http.StatusUnauthorized && r.backend.github {
		r.backend.options.Tokens.Forget(r.backend.access)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fault.FromStatus(response.StatusCode, "the repository", r.client.Credentials())
	}
	if got := response.Header.Get("Content-Type"); got != contentType {
		return nil, fault.New(fault.ErrNotFound, "there is no Git repository at the url: the server's answer is of the type %q", r.backend.scrubber().Clean(got))
	}
	return response, nil
}
