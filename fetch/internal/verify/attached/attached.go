// SPDX-License-Identifier: Apache-2.0

// Package attached reads what is attached to an artifact in its repository, such as
// signatures, and names the artifact in what is said of them.
package attached

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"kumodo.io/convoy/fetch/internal/fault"
)

const (
	// MaxSignatures bounds the signatures of an artifact that are looked at.
	MaxSignatures = 50
	// maxReferrers bounds what is attached to an artifact.
	maxReferrers = 1000
	// maxManifest and maxBlob bound what is read of one signature.
	maxManifest, maxBlob = 1 << 20, 4 << 20
)

// Subject is the manifest that has to be signed.
type Subject struct {
	// Registry and Repository are where it is.
	Registry, Repository string
	// Descriptor has the media type, digest and size of Manifest, and nothing else.
	Descriptor ocispec.Descriptor
	Manifest   []byte
}

// String names the artifact with its digest.
func (s Subject) String() string { return s.Name() + "@" + s.Descriptor.Digest.String() }

// Name is the registry and the repository.
func (s Subject) Name() string { return s.Registry + "/" + s.Repository }

// Unsigned is the error for an artifact without signature. missing is what was looked for.
func (s Subject) Unsigned(provider, missing string) error {
	return fault.New(fault.ErrVerification, "%s is not signed with %s, and spec.verify demands it: %s; sign it, or name a revision that is signed", s, provider, missing)
}

// Refused is the error for an artifact whose signatures are not accepted. why is about the
// last one.
func (s Subject) Refused(provider string, signatures int, secret string, why error) error {
	return fault.New(fault.ErrVerification, "%s has no trusted signature: of those with %s (%d found) the last one is refused because %s; sign it with a key or identity that spec.verify and the Secret %s trust, or correct those",
		s, provider, signatures, Reason(why), secret)
}

// instant is a time in the text of an error, which would make it another one each time.
var instant = regexp.MustCompile(`:? ?(?:current time )?[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+(?:Z|[+-][0-9:]+)?(?: [+-]?[A-Z0-9]+)*`)

// Reason returns the text of an error of a library as it may be shown: on one line, bounded,
// and the same for every repetition.
func Reason(err error) string {
	text := (*fault.Scrubber)(nil).Clean(instant.ReplaceAllString(err.Error(), " (at some time)"))
	if len(text) > 400 {
		text = strings.ToValidUTF8(text[:400], "") + "…"
	}
	return text
}

// Referrers lists the manifests of some types of artifact that refer to the subject. The
// errors are those of the repository, and fault.ErrLimit.
func Referrers(ctx context.Context, repository *remote.Repository, subject ocispec.Descriptor, types ...string) ([]ocispec.Descriptor, error) {
	found, err := referrers(ctx, repository, subject, types)
	var answered *errcode.ErrorResponse
	if !errors.As(err, &answered) || !slices.Contains(unknowing, answered.StatusCode) {
		return found, err
	}
	// The list may be under a tag, as for those that say rightly that they cannot list.
	if repository.SetReferrersCapability(false) != nil {
		return nil, err
	}
	return referrers(ctx, repository, subject, types)
}

// unknowing are the statuses with which registries answer to what they do not know, besides
// the right one, 404.
var unknowing = []int{http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusNotImplemented}

func referrers(ctx context.Context, repository *remote.Repository, subject ocispec.Descriptor, types []string) ([]ocispec.Descriptor, error) {
	var found []ocispec.Descriptor
	seen := 0
	err := repository.Referrers(ctx, subject, "", func(page []ocispec.Descriptor) error {
		if seen += len(page); seen > maxReferrers {
			return fault.New(fault.ErrLimit, "more than %d manifests refer to %s", maxReferrers, subject.Digest)
		}
		for _, r := range page {
			if slices.Contains(types, r.ArtifactType) {
				found = append(found, r)
			}
		}
		return nil
	})
	return found, err
}

// Manifest reads a manifest that was listed.
func Manifest(ctx context.Context, repository *remote.Repository, descriptor ocispec.Descriptor) (*ocispec.Manifest, error) {
	if descriptor.Size > maxManifest {
		return nil, fault.New(fault.ErrLimit, "the manifest %s of a signature has %s; %s are accepted", descriptor.Digest, fault.Size(descriptor.Size), fault.Size(maxManifest))
	}
	data, err := content.FetchAll(ctx, repository.Manifests(), descriptor)
	if err != nil {
		return nil, mismatch(err, descriptor)
	}
	return parse(descriptor, data)
}

// Tagged reads the manifest of a tag; nil when there is none.
func Tagged(ctx context.Context, repository *remote.Repository, tag string) (*ocispec.Manifest, error) {
	descriptor, body, err := repository.FetchReference(ctx, tag)
	if errors.Is(err, errdef.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer body.Close()
	if descriptor.Size > maxManifest {
		return nil, fault.New(fault.ErrLimit, "the manifest %s of signatures has %s; %s are accepted", tag, fault.Size(descriptor.Size), fault.Size(maxManifest))
	}
	data, err := content.ReadAll(body, descriptor)
	if err != nil {
		return nil, mismatch(err, descriptor)
	}
	return parse(descriptor, data)
}

// Blob reads a layer of the manifest of a signature.
func Blob(ctx context.Context, repository *remote.Repository, descriptor ocispec.Descriptor) ([]byte, error) {
	if descriptor.Size > maxBlob {
		return nil, fault.New(fault.ErrLimit, "a signature has %s; %s are accepted", fault.Size(descriptor.Size), fault.Size(maxBlob))
	}
	data, err := content.FetchAll(ctx, repository.Blobs(), descriptor)
	return data, mismatch(err, descriptor)
}

func parse(descriptor ocispec.Descriptor, data []byte) (*ocispec.Manifest, error) {
	var manifest ocispec.Manifest
	if json.Unmarshal(data, &manifest) != nil {
		return nil, fault.New(fault.ErrVerification, "the manifest %s of a signature is damaged", descriptor.Digest)
	}
	return &manifest, nil
}

// mismatch gives content that is absent, or not what its descriptor says, a kind.
func mismatch(err error, descriptor ocispec.Descriptor) error {
	if errors.Is(err, errdef.ErrNotFound) {
		return fault.New(fault.ErrVerification, "the registry lacks %s of a signature", descriptor.Digest)
	}
	for _, wrong := range []error{content.ErrMismatchedDigest, content.ErrTrailingData, content.ErrInvalidDescriptorSize} {
		if errors.Is(err, wrong) {
			return fault.New(fault.ErrVerification, "the registry sent other content than %s for a signature", descriptor.Digest)
		}
	}
	return err
}
