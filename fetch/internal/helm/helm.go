// SPDX-License-Identifier: Apache-2.0

// Package helm reads Helm repositories: those with an index.yaml over HTTP, and those in
// an OCI registry through the oci package.
package helm

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/access"
	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/provenance"
	"kumodo.io/convoy/fetch/internal/tree"
)

// Want is what a Release asks for.
type Want struct {
	// Chart is the chart's name.
	Chart string
	// Version is a version or a range; empty is the newest stable version.
	Version string
	// Pin is the revision or version that the Release is pinned to, if any.
	Pin string
}

// Options are what the process says of all repositories, and what one demands.
type Options struct {
	Limits backend.Limits
	// Provenance checks the provenance of charts; nil demands none.
	Provenance *provenance.Verifier
}

// Backend reads one index repository.
type Backend struct {
	url        *url.URL
	pass       bool
	access     *access.Access
	limits     backend.Limits
	provenance *provenance.Verifier
	want       Want
}

// New returns the backend of an index repository. The error is fault.ErrInvalid.
func New(spec sourcev1alpha1.HelmRegistrySpec, a *access.Access, want Want, o Options) (*Backend, error) {
	u, err := access.ParseURL(spec.URL)
	if err != nil {
		return nil, err
	}
	switch {
	case u.User != nil:
		return nil, fault.New(fault.ErrInvalid, "the url holds credentials; they belong into a Secret")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fault.New(fault.ErrInvalid, "the url's scheme %q is none of https, http, oci", u.Scheme)
	case u.Hostname() == "":
		return nil, fault.New(fault.ErrInvalid, "the url names no host")
	}
	return &Backend{url: u, pass: spec.PassCredentials, access: a, limits: o.Limits, provenance: o.Provenance, want: want}, nil
}

// HostKey names what a limit per host counts.
func (b *Backend) HostKey() string { return access.HostKey(b.url) }

func (b *Backend) scrubber() *fault.Scrubber { return b.access.Scrubber() }

// Check reads the index.
func (b *Backend) Check(ctx context.Context, ops backend.Ops) (backend.CheckResult, error) {
	x, err := b.index(ctx, ops, nil)
	if err != nil {
		return backend.CheckResult{}, err
	}
	return backend.CheckResult{Charts: x.usable(), SkippedEntries: x.skipped, IndexDigest: x.digest}, nil
}

// Resolve returns the newest version that is wanted, with the digest of its archive.
func (b *Backend) Resolve(ctx context.Context, ops backend.Ops) (string, error) {
	wanted := b.want.Version
	if b.want.Pin != "" {
		if r, err := backend.ParseRevision(b.want.Pin); err == nil {
			if r.Name == "" {
				err = fault.New(fault.ErrInvalid, "the pin %q names no version", b.want.Pin)
			}
			return r.String(), err
		}
		wanted = b.want.Pin
	}
	x, err := b.index(ctx, ops, func(x *index) bool {
		_, err := x.find(b.want.Chart, wanted)
		return err == nil || errors.Is(err, fault.ErrInvalid)
	})
	if err != nil {
		return "", err
	}
	e, err := x.find(b.want.Chart, wanted)
	if err != nil {
		return "", err
	}
	revision := backend.Revision{Name: e.Version, Algorithm: "sha256", Hex: e.Digest}
	if e.Digest == "" {
		// The index does not say; only the archive itself does.
		a, err := b.undigested(ctx, ops, e)
		if err != nil {
			return "", err
		}
		revision.Hex = a.digest
	}
	return revision.String(), nil
}

// Key identifies the content of a revision. Its version counts: content that is published
// as two versions is right for one of them at most.
func (b *Backend) Key(revision string) (string, error) {
	r, err := backend.ParseRevision(revision)
	if err == nil && r.Algorithm != "sha256" {
		err = fault.New(fault.ErrInvalid, "%q is no revision of a chart", revision)
	}
	return b.want.Chart + "/" + r.String(), err
}

// Fetch downloads the chart of a revision.
func (b *Backend) Fetch(ctx context.Context, ops backend.Ops, revision string) (*tree.Tree, error) {
	r, err := backend.ParseRevision(revision)
	if err != nil {
		return nil, err
	}
	x, err := b.index(ctx, ops, func(x *index) bool {
		_, err := x.exactly(b.want.Chart, r.Name)
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	e, err := x.exactly(b.want.Chart, r.Name)
	if err != nil {
		return nil, err
	}
	if known, ok := ops.Recall(b.archiveKey(e)); ok && known.(*download).digest == r.Hex {
		return known.(*download).tree, nil
	}
	var got *download
	if err := ops.Do(ctx, func(ctx context.Context) error {
		got, err = b.download(ctx, e, r.Hex)
		return err
	}); err != nil {
		return nil, err
	}
	return got.tree, nil
}

// index returns the repository's index. accept says whether a remembered one will do.
func (b *Backend) index(ctx context.Context, ops backend.Ops, accept func(*index) bool) (*index, error) {
	q := backend.Question{Key: "index", Ask: b.ask}
	if accept != nil {
		q.Accept = func(answer any) bool { return accept(answer.(*index)) }
	}
	answer, err := ops.Ask(ctx, q)
	if err != nil {
		return nil, err
	}
	return answer.(*index), nil
}

func (b *Backend) ask(ctx context.Context, previous any) (backend.Answer, error) {
	client, err := b.access.NewClient(b.url, access.Options{SendCredentials: true})
	if err != nil {
		return backend.Answer{}, err
	}
	defer client.Close()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url.JoinPath("index.yaml").String(), nil)
	if err != nil {
		return backend.Answer{}, fault.New(fault.ErrInvalid, "the url is unusable")
	}
	last, _ := previous.(*index)
	if last != nil {
		setIf(request.Header, "If-None-Match", last.etag)
		setIf(request.Header, "If-Modified-Since", last.modified)
	}
	access.AcceptGzip(request)
	response, err := client.Do(request)
	if err != nil {
		return backend.Answer{}, fault.FromRequest(err, b.scrubber())
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotModified && last != nil {
		return backend.Answer{Value: last, Size: last.size}, nil
	}
	if response.StatusCode != http.StatusOK {
		return backend.Answer{}, fault.FromStatus(response.StatusCode, "the index "+fault.URL(request.URL.String()), client.Credentials())
	}
	return b.read(ctx, response)
}

func setIf(h http.Header, key, value string) {
	if value != "" {
		h.Set(key, value)
	}
}

func (b *Backend) read(ctx context.Context, response *http.Response) (backend.Answer, error) {
	body, err := access.Decoded(response)
	if err != nil {
		return backend.Answer{}, err
	}
	x, err := parseIndex(ctx, access.Limited(body, b.limits.IndexBytes, "the index", ""))
	if errors.Is(err, fault.ErrLimit) {
		return backend.Answer{}, fault.Rewrite(err, err.Error()+"; publish fewer versions in one index, or use a registry (oci)")
	}
	if err != nil {
		return backend.Answer{}, fault.FromRequest(err, b.scrubber())
	}
	x.etag, x.modified = response.Header.Get("ETag"), response.Header.Get("Last-Modified")
	return backend.Answer{Value: x, Size: x.size}, nil
}
