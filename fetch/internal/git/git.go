// SPDX-License-Identifier: Apache-2.0

// Package git reads Git repositories over HTTP, SSH and, where the operator allows it,
// from disk.
//
// A reference is resolved from the list that the server sends first, without cloning. A
// commit is fetched alone, without its history, into memory; a part of it where all would be
// too much. The protocol's messages and packs are go-git's; the connections are ours, so that
// credentials, redirects, time limits and sizes are under one roof with the other kinds of
// source.
//
// What a commit leaves to others, submodules and objects of Git LFS, is told apart from its
// tree: whoever puts a tree together asks for it.
//
// Not done: repositories with SHA-256 ids.
package git

import (
	"context"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

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
	// options hold for the submodules too.
	options Options
	want    Want
	policy  *policy
	// verification is what policy was made of.
	verification *sourcev1alpha1.GitVerification
	// recurse says that submodules are wanted, github that credentials are a GitHub App's.
	recurse, github bool
}

// Want is what a Release wants of a repository.
type Want struct {
	corev1alpha1.GitSource
	// Pin is the revision that the Release is pinned to, if any.
	Pin string
}

// Options hold for all repositories.
type Options struct {
	Limits backend.Limits
	// AllowFiles allows repositories on the disk of this process.
	AllowFiles bool
	// Now tells the time at which keys have to be valid.
	Now func() time.Time
	// Tokens makes the credentials of GitHub Apps.
	Tokens *access.Tokens
}

// New returns the backend of a repository. The errors are fault.ErrInvalid and
// fault.ErrSecret.
func New(spec sourcev1alpha1.GitRepositorySpec, a *access.Access, want Want, o Options) (*Backend, error) {
	u, err := ParseURL(spec.URL)
	if err != nil {
		return nil, err
	}
	github := spec.Provider == sourcev1alpha1.GitProviderGitHub
	switch {
	case u.Scheme == "file" && !o.AllowFiles:
		return nil, fault.New(fault.ErrInvalid, "file addresses are not allowed; the operator can allow them with --allow-file-sources")
	case spec.Provider != "" && spec.Provider != sourcev1alpha1.GitProviderGeneric && !github:
		return nil, fault.New(fault.ErrInvalid, "spec.provider %q is neither %s nor %s", spec.Provider, sourcev1alpha1.GitProviderGeneric, sourcev1alpha1.GitProviderGitHub)
	case github && u.Scheme != "https":
		return nil, fault.New(fault.ErrInvalid, "spec.provider %s needs an https url", sourcev1alpha1.GitProviderGitHub)
	}
	p, err := newPolicy(spec.Verify, a, o.Now)
	if err != nil {
		return nil, err
	}
	return &Backend{url: u, access: a, options: o, want: want, policy: p, verification: spec.Verify, recurse: spec.RecurseSubmodules, github: github}, nil
}

// Identity is what decides, besides the credentials, which content a commit has. What is
// demanded of signatures is part of it: content that one source has verified, another one
// has not.
func (b *Backend) Identity() []any {
	return []any{b.url.String(), b.access.Insecure, b.github, b.verification}
}

// ShownURL is the address as it may be shown.
func (b *Backend) ShownURL() string { return fault.URL(b.url.String()) }

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

func (b *Backend) open(ctx context.Context) (remote, error) {
	if b.url.Scheme == "ssh" {
		return b.openSSH()
	}
	return b.openHTTP(ctx)
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
	r, err := b.open(ctx)
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
