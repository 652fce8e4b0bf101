// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/versions"
)

// maxTags bounds the tags of a repository.
const maxTags = 200_000

// Resolve returns the revision that is wanted now. A digest, and a pin with one, is
// returned without asking.
func (b *Backend) Resolve(ctx context.Context, ops backend.Ops) (string, error) {
	if err := b.named(); err != nil {
		return "", err
	}
	want := b.want
	if want.Pin != "" {
		if r, err := backend.ParseRevision(want.Pin); err == nil {
			return r.String(), nil
		}
		want = Want{Tag: want.Pin, Chart: want.Chart, Version: want.Pin}
	}
	if want.Digest != "" {
		r, err := backend.ParseRevision(want.Digest)
		if err == nil && (r.Name != "" || !slices.Contains(algorithms, r.Algorithm)) {
			err = fault.New(fault.ErrInvalid, "%q is no digest: sha256:<64 hex digits> is expected, or one of sha384 or sha512", want.Digest)
		}
		return r.String(), err
	}
	tag, shown := want.Tag, want.Tag
	switch {
	case want.Chart:
		found, err := b.pick(ctx, ops, func(c []versions.Candidate) (versions.Candidate, error) {
			return versions.Pick(want.Version, "the chart", c)
		})
		if err != nil {
			return "", err
		}
		tag, shown = found.Name, strings.ReplaceAll(found.Name, "_", "+")
	case want.Range != "":
		found, err := b.pick(ctx, ops, func(c []versions.Candidate) (versions.Candidate, error) {
			return versions.PickRange(want.Range, "the repository", c)
		})
		if err != nil {
			return "", err
		}
		tag, shown = found.Name, strings.ReplaceAll(found.Name, "_", "+")
	case tag == "":
		tag, shown = "latest", "latest"
	}
	found, err := b.digest(ctx, ops, tag)
	if err != nil {
		return "", err
	}
	return shown + "@" + found, nil
}

// pick chooses among the tags that are versions.
func (b *Backend) pick(ctx context.Context, ops backend.Ops, choose func([]versions.Candidate) (versions.Candidate, error)) (versions.Candidate, error) {
	answer, err := ops.Ask(ctx, backend.Question{
		Key: "tags/" + b.reference().Repository,
		Ask: func(ctx context.Context, _ any) (backend.Answer, error) { return b.tags(ctx) },
		Accept: func(answer any) bool {
			_, err := choose(answer.([]versions.Candidate))
			return !errors.Is(err, fault.ErrNotFound)
		},
	})
	if err != nil {
		return versions.Candidate{}, err
	}
	return choose(answer.([]versions.Candidate))
}

func (b *Backend) tags(ctx context.Context) (backend.Answer, error) {
	s, err := b.open(ctx)
	if err != nil {
		return backend.Answer{}, err
	}
	defer s.close()
	candidates, size, seen := []versions.Candidate{}, int64(0), 0
	err = s.repository().Tags(ctx, "", func(page []string) error {
		if seen += len(page); seen > maxTags {
			return fault.New(fault.ErrLimit, "the repository has more than %d tags", maxTags)
		}
		for _, tag := range page {
			if v := versions.ParseStrict(tag); v != nil {
				candidates = append(candidates, versions.Candidate{Name: tag, Version: v})
				size += int64(len(tag)) + 200
			}
		}
		return nil
	})
	if err != nil {
		return backend.Answer{}, s.failed(ctx, "repository "+b.reference().Repository, err)
	}
	return backend.Answer{Value: candidates, Size: size}, nil
}

// digest returns the digest of the manifest that a tag stands for.
func (b *Backend) digest(ctx context.Context, ops backend.Ops, tag string) (string, error) {
	ref := b.reference()
	ref.Reference = tag
	if ref.ValidateReferenceAsTag() != nil {
		return "", fault.New(fault.ErrInvalid, "%q is not a tag", tag)
	}
	answer, err := ops.Ask(ctx, backend.Question{
		Key: "tag/" + ref.Repository + ":" + tag,
		Ask: func(ctx context.Context, _ any) (backend.Answer, error) {
			s, err := b.open(ctx)
			if err != nil {
				return backend.Answer{}, err
			}
			defer s.close()
			descriptor, err := s.repository().Resolve(ctx, tag)
			if ctx.Err() == nil && knowsNoHead(err) {
				descriptor, err = s.described(ctx, tag)
			}
			if err != nil {
				return backend.Answer{}, s.failed(ctx, ref.Repository+":"+tag, err)
			}
			if descriptor.Digest.Validate() != nil {
				return backend.Answer{}, fault.New(fault.ErrContent, "the registry gives %s:%s the digest %q, which is none", ref.Repository, tag, descriptor.Digest)
			}
			return backend.Answer{Value: descriptor.Digest.String(), Size: 200}, nil
		},
	})
	if err != nil {
		return "", err
	}
	return answer.(string), nil
}

// knowsNoHead says whether a registry answered a HEAD request with what does not do, although
// it may have the manifest: with status 405, or without a digest.
func knowsNoHead(err error) bool {
	var response *errcode.ErrorResponse
	var request *url.Error
	switch {
	case err == nil || fault.Kind(err) != nil || errors.Is(err, errdef.ErrNotFound) || errors.Is(err, auth.ErrBasicCredentialNotFound):
		return false
	case errors.As(err, &response):
		return response.StatusCode == http.StatusMethodNotAllowed
	}
	return !errors.As(err, &request)
}

// described reads the manifest of a tag for what describes it.
func (s *clients) described(ctx context.Context, tag string) (ocispec.Descriptor, error) {
	descriptor, body, err := s.repository().Manifests().FetchReference(ctx, tag)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	return descriptor, body.Close()
}
