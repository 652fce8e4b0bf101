// SPDX-License-Identifier: Apache-2.0

// Package git reads Git repositories over HTTP, SSH and, where the operator allows it,
// from disk.
//
// A reference is resolved from the list that the server sends first, without cloning. A
// commit is fetched alone, without its history, into memory. The protocol's messages and
// packs are go-git's; the connections are ours, so that credentials, redirects, time
// limits and sizes are under one roof with the other kinds of source.
//
// Not done: submodules (a submodule is an empty directory), Git LFS (a pointer is an error
// when it is read), repositories with SHA-256 ids.
package git

import (
	"context"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/access"
	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
)

// Backend reads one repository.
type Backend struct {
	url    *url.URL
	access *access.Access
	limits backend.Limits
	want   corev1alpha1.GitSource
	pin    string
}

// New returns the backend of a repository. want is what a Release asks for, pin the
// revision it is pinned to, if any. The error is fault.ErrInvalid.
func New(spec sourcev1alpha1.GitRepositorySpec, a *access.Access, limits backend.Limits, want corev1alpha1.GitSource, pin string, allowFiles bool) (*Backend, error) {
	u, err := ParseURL(spec.URL)
	if err != nil {
		return nil, err
	}
	switch {
	case u.Scheme == "file" && !allowFiles:
		return nil, fault.New(fault.ErrInvalid, "file addresses are not allowed; the operator can allow them with --allow-file-sources")
	case spec.Verify != nil:
		return nil, fault.New(fault.ErrInvalid, "spec.verify is not built yet, and content that should be verified is not used unverified")
	case spec.RecurseSubmodules:
		return nil, fault.New(fault.ErrInvalid, "spec.recurseSubmodules is not built yet")
	case spec.Provider != "" && spec.Provider != sourcev1alpha1.GitProviderGeneric:
		return nil, fault.New(fault.ErrInvalid, "spec.provider %q is not built yet; generic is", spec.Provider)
	case u.Scheme == "ssh" && spec.ProxySecretRef != nil:
		return nil, fault.New(fault.ErrInvalid, "spec.proxySecretRef is not built yet for ssh addresses")
	}
	return &Backend{url: u, access: a, limits: limits, want: want, pin: pin}, nil
}

// scpLike is user@host:path, the short form of an ssh address.
var scpLike = regexp.MustCompile(`^(?:([A-Za-z0-9._-]+)@)?([A-Za-z0-9][A-Za-z0-9.-]*):([^:-].*)$`)

// ParseURL reads the address of a repository. Only an ssh address may name a user, none a
// password. The error is fault.ErrInvalid and shows no credentials.
func ParseURL(raw string) (*url.URL, error) {
	if err := access.CheckAddress(raw); err != nil {
		return nil, err
	}
	if m := scpLike.FindStringSubmatch(raw); m != nil && !strings.Contains(raw, "://") {
		u := &url.URL{Scheme: "ssh", Host: m[2], Path: m[3]}
		if m[1] != "" {
			u.User = url.User(m[1])
		}
		return u, nil
	}
	u, err := access.ParseURL(raw)
	if err != nil {
		return nil, err
	}
	_, hasPassword := u.User.Password()
	switch {
	case hasPassword || (u.User != nil && u.Scheme != "ssh"):
		return nil, fault.New(fault.ErrInvalid, "the url holds credentials; they belong into a Secret")
	case u.Scheme == "file" && (u.Host != "" || !path.IsAbs(u.Path)):
		return nil, fault.New(fault.ErrInvalid, "a file url has the form file:///absolute/path")
	case u.Scheme == "file":
		return u, nil
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "ssh":
		return nil, fault.New(fault.ErrInvalid, "the url's scheme %q is none of https, http, ssh", u.Scheme)
	case u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-"):
		return nil, fault.New(fault.ErrInvalid, "the url names no host")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fault.New(fault.ErrInvalid, "the url of a repository has neither query nor fragment")
	}
	return u, nil
}

// HostKey names what a limit per host counts.
func (b *Backend) HostKey() string { return access.HostKey(b.url) }

func (b *Backend) scrubber() *fault.Scrubber { return b.access.Scrubber() }

// path of the repository on an ssh server. ~ stands for a home directory there.
func (b *Backend) path() string {
	if strings.HasPrefix(b.url.Path, "/~") {
		return b.url.Path[1:]
	}
	return b.url.Path
}

func (b *Backend) open() (remote, error) {
	if b.url.Scheme == "ssh" {
		return b.openSSH()
	}
	return b.openHTTP()
}

// references is the answer of a repository to what it has.
type references struct {
	*packp.AdvRefs
	defaultBranch string
}

// ask returns the question for the repository's references. accept says whether a
// remembered answer will do.
func (b *Backend) ask(accept func(references) bool) backend.Question {
	q := backend.Question{Key: "references", Ask: func(ctx context.Context, _ any) (backend.Answer, error) {
		adv, err := b.list(ctx)
		if err != nil {
			return backend.Answer{}, err
		}
		size := int64(1024)
		for name := range adv.References {
			size += int64(len(name)) + 100
		}
		return backend.Answer{Value: references{adv, defaultBranch(adv)}, Size: size + int64(len(adv.Peeled))*100}, nil
	}}
	if accept != nil {
		q.Accept = func(answer any) bool { return accept(answer.(references)) }
	}
	return q
}

func (b *Backend) list(ctx context.Context) (*packp.AdvRefs, error) {
	if b.url.Scheme == "file" {
		return b.listFile()
	}
	r, err := b.open()
	if err != nil {
		return nil, err
	}
	defer r.close()
	return b.advertised(ctx, r)
}

// Check asks the repository what it has.
func (b *Backend) Check(ctx context.Context, ops backend.Ops) (backend.CheckResult, error) {
	answer, err := ops.Ask(ctx, b.ask(nil))
	if err != nil {
		return backend.CheckResult{}, err
	}
	refs := answer.(references)
	return backend.CheckResult{DefaultBranch: refs.defaultBranch, Refs: len(refs.References)}, nil
}
