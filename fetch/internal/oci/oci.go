// SPDX-License-Identifier: Apache-2.0

// Package oci reads artifacts of OCI registries, Helm charts among them.
package oci

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/access"
	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/cloud"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/provenance"
	"kumodo.io/convoy/fetch/internal/verify"
)

// Want is what a Release asks for. Tag, Range, Version and Digest exclude one another.
type Want struct {
	// Repository inside of the registry's prefix.
	Repository string
	// Tag is an exact tag, Range a range over the tags, Digest a manifest's digest.
	Tag, Range, Digest string
	// Chart says that a Helm chart is wanted, of the Version by Helm's rules.
	Chart   bool
	Version string
	// MediaType selects the layer; empty selects the only one that can hold content.
	MediaType string
	// Pin is the revision, digest or tag that the Release is pinned to, if any.
	Pin string
}

// Source is the registry.
type Source struct {
	// URL is oci://host[/prefix].
	URL string
	// Insecure accepts plain HTTP.
	Insecure bool
	// Provider makes the credentials; generic, or empty, takes them from the Secret.
	Provider sourcev1alpha1.OCIProvider
	// Verifier checks the signatures that are demanded; nil demands none.
	Verifier verify.Verifier
	// Provenance checks the provenance of charts if that is demanded.
	Provenance *provenance.Verifier
}

// Options hold for all registries.
type Options struct {
	Limits backend.Limits
	// Clouds makes the credentials of clouds.
	Clouds *cloud.Clouds
}

// Backend reads one registry.
type Backend struct {
	url      *url.URL // with the scheme https
	insecure bool
	// provider is empty for generic.
	provider   sourcev1alpha1.OCIProvider
	verifier   verify.Verifier
	provenance *provenance.Verifier
	access     *access.Access
	options    Options
	want       Want
}

// New returns the backend of a registry. The error is fault.ErrInvalid.
func New(s Source, a *access.Access, want Want, o Options) (*Backend, error) {
	u, err := access.ParseURL(s.URL)
	if err != nil {
		return nil, err
	}
	switch {
	case u.User != nil:
		return nil, fault.New(fault.ErrInvalid, "the url holds credentials; they belong into a Secret")
	case u.Scheme != "oci" || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return nil, fault.New(fault.ErrInvalid, "the url of a registry has the form oci://host[/prefix]")
	}
	u.Scheme = "https"
	b := &Backend{url: u, insecure: s.Insecure, verifier: s.Verifier, provenance: s.Provenance, access: a, options: o, want: want}
	if s.Provider == "" || s.Provider == sourcev1alpha1.OCIProviderGeneric {
		return b, nil
	}
	if s.Insecure {
		return nil, fault.New(fault.ErrInvalid, "spec.insecure would send the token of spec.provider %s in the clear; take one of them out", s.Provider)
	}
	b.provider = s.Provider
	return b, cloud.Check(s.Provider, u.Host)
}

// named says whether the repository that is wanted can be one. The error is
// fault.ErrInvalid.
func (b *Backend) named() error {
	if b.reference().ValidateRepository() != nil {
		return fault.New(fault.ErrInvalid, "%q is not the name of a repository in a registry", b.reference().Repository)
	}
	return nil
}

// HostKey names what a limit per host counts.
func (b *Backend) HostKey() string { return strings.ToLower(b.reference().Host()) }

func (b *Backend) scrubber() *fault.Scrubber { return b.access.Scrubber() }

// reference of the repository.
func (b *Backend) reference() registry.Reference {
	path := strings.Trim(b.url.Path, "/") + "/" + strings.Trim(b.want.Repository, "/")
	return registry.Reference{Registry: b.url.Host, Repository: strings.Trim(path, "/")}
}

// clients are what one operation asks the registry with.
type clients struct {
	backend   *Backend
	transport *access.Client
	client    *auth.Client
	plain     bool
	anonymous bool
}

func (b *Backend) open(ctx context.Context) (*clients, error) {
	// The registry says where tokens are made, and the library sends the credentials there,
	// though never in the clear if the registry itself has TLS.
	transport, err := b.access.NewClient(b.url, access.Options{})
	if err != nil {
		return nil, err
	}
	credential, err := b.credential(ctx, transport)
	if err != nil {
		transport.Close()
		return nil, err
	}
	s := &clients{backend: b, transport: transport, anonymous: credential == auth.EmptyCredential}
	host := b.reference().Host()
	asking := *transport.Client
	asking.Transport = challenged{asking.Transport}
	s.client = &auth.Client{Client: &asking, Cache: auth.NewCache(), ClientID: "convoy",
		Credential: func(_ context.Context, asking string) (auth.Credential, error) {
			if asking != host {
				return auth.EmptyCredential, nil
			}
			return credential, nil
		}}
	if b.insecure {
		if s.plain, err = s.speaksHTTP(ctx); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// credentials names what the registry is asked with.
func (s *clients) credentials() string {
	switch {
	case s.anonymous:
		return s.transport.Credentials()
	case s.backend.provider != "":
		return fault.SomeCredentials + " of spec.provider " + string(s.backend.provider)
	}
	return s.backend.access.Credentials()
}

func (s *clients) close() { s.transport.Close() }

// speaksHTTP finds out whether a registry that may be insecure has TLS all the same.
func (s *clients) speaksHTTP(ctx context.Context) (bool, error) {
	u := s.backend.url.JoinPath("/")
	u.Path, u.RawPath = "/v2/", ""
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return false, fault.New(fault.ErrInvalid, "the url is unusable")
	}
	response, err := s.transport.Do(request)
	if err == nil {
		return false, response.Body.Close()
	}
	if access.SpeaksHTTP(u, err) {
		return true, nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		// Servers hang up on what they take for nonsense, too.
		u.Scheme = "http"
		if request, e := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil); e == nil {
			if response, e := s.transport.Do(request); e == nil {
				return true, response.Body.Close()
			}
		}
	}
	return false, fault.FromRequest(err, s.backend.scrubber())
}

// credential returns what the cloud gives for the registry, or what the Secret holds.
func (b *Backend) credential(ctx context.Context, client *access.Client) (auth.Credential, error) {
	a := b.access
	switch {
	case b.provider != "":
		ended := access.Waits(ctx)
		made, err := b.options.Clouds.Credential(ctx, b.provider, b.url.Host, client.Client)
		ended()
		a.Hide(made.Password, made.Username+":"+made.Password, made.RefreshToken)
		return auth.Credential{Username: made.Username, Password: made.Password, RefreshToken: made.RefreshToken}, err
	case len(a.DockerConfig) > 0:
		entry, err := a.DockerAuth(b.url.Host, b.reference().Repository)
		return auth.Credential{Username: entry.Username, Password: entry.Password,
			RefreshToken: entry.IdentityToken, AccessToken: entry.RegistryToken}, err
	case a.BearerToken != "":
		return auth.Credential{AccessToken: a.BearerToken}, nil
	}
	return auth.Credential{Username: a.Username, Password: a.Password}, nil
}

func (s *clients) repository() *remote.Repository {
	return &remote.Repository{Client: s.client, Reference: s.backend.reference(), PlainHTTP: s.plain, TagListMaxPages: 1000, ReferrerListMaxPages: 100}
}

// failed gives an error of a request a kind. what names what was asked for.
func (s *clients) failed(ctx context.Context, what string, err error) error {
	var response *errcode.ErrorResponse
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fault.FromRequest(ctx.Err(), nil)
	case fault.Kind(err) != nil:
		return fault.FromRequest(err, s.backend.scrubber())
	case errors.Is(err, errdef.ErrNotFound):
		return fault.New(fault.ErrNotFound, "the registry has no %s", what)
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return fault.FromStatus(http.StatusUnauthorized, what, "")
	case errors.As(err, &response):
		if s.backend.provider != "" && (response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden) {
			s.backend.options.Clouds.Forget(s.backend.provider, s.backend.url.Host)
		}
		return fault.FromStatus(response.StatusCode, what, s.credentials())
	case access.SpeaksHTTP(s.backend.url, err) && !errors.Is(err, syscall.ECONNREFUSED):
		return fault.New(fault.ErrUnreachable, "the registry speaks plain HTTP; spec.insecure allows that")
	}
	return fault.FromRequest(err, s.backend.scrubber())
}

// Check asks the registry whether it is there and accepts the credentials.
func (b *Backend) Check(ctx context.Context, ops backend.Ops) (backend.CheckResult, error) {
	return backend.CheckResult{}, ops.Do(ctx, func(ctx context.Context) error {
		s, err := b.open(ctx)
		if err != nil {
			return err
		}
		defer s.close()
		r := &remote.Registry{RepositoryOptions: remote.RepositoryOptions{Client: s.client, Reference: registry.Reference{Registry: b.url.Host}, PlainHTTP: s.plain}}
		err = r.Ping(ctx)
		if errors.Is(err, errdef.ErrNotFound) {
			return fault.New(fault.ErrUnreachable, "there is no OCI registry at the url: it does not know /v2/")
		}
		var response *errcode.ErrorResponse
		if s.anonymous && errors.As(err, &response) && response.StatusCode == http.StatusUnauthorized {
			// A registry that hands out tokens may still let everyone read some of its
			// repositories. Whether those that are wanted are among them shows later.
			return nil
		}
		return s.failed(ctx, "the registry", err)
	})
}
