// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"k8s.io/klog/v2"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/access"
	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/git/signing"
)

// Modes of verification.
const (
	// verifyHead demands that the commit is signed.
	verifyHead = "head"
	// verifyTag demands that the tag is signed through which the commit was found.
	verifyTag = "tag"
)

// policy is what has to be signed, and by whom; nil demands nothing.
type policy struct {
	mode     string
	verifier signing.Verifier
	now      func() time.Time
}

func newPolicy(spec *sourcev1alpha1.GitVerification, a *access.Access, now func() time.Time) (*policy, error) {
	if spec == nil {
		return nil, nil
	}
	if spec.Mode != verifyHead && spec.Mode != verifyTag {
		return nil, fault.New(fault.ErrInvalid, "spec.verify.mode %q is neither %s nor %s", spec.Mode, verifyHead, verifyTag)
	}
	verifier, err := signing.NewVerifier(spec.Provider, a.TrustName(), a.Trusted)
	if err != nil {
		return nil, err
	}
	return &policy{mode: spec.Mode, verifier: verifier, now: now}, nil
}

// byTag says whether the name of a tag is part of what is verified, so that what one tag
// vouches for is not taken for what another one does.
func (p *policy) byTag() bool { return p != nil && p.mode == verifyTag }

// signedTag finds the annotated tag through which a revision was found. It has to lead to
// the revision's commit still: which tag object was signed is not written in a revision. What
// the server says here is held to the tag itself when that is at hand, see signedByTag.
func (p *policy) signedTag(refs *packp.AdvRefs, r backend.Revision) (plumbing.Hash, error) {
	name := tagName(r)
	if name == "" {
		return plumbing.ZeroHash, fault.New(fault.ErrVerification, "spec.verify.mode is tag, and the revision %s was not found through a tag; name a tag or semver in the ref, or use mode head", r)
	}
	id, ok := refs.References[tags+name]
	if !ok {
		return plumbing.ZeroHash, fault.New(fault.ErrVerification, "spec.verify.mode is tag, and the repository has no tag %q", name)
	}
	peeled, annotated := refs.Peeled[tags+name]
	switch {
	case !annotated && id.String() == r.Hex:
		return plumbing.ZeroHash, fault.New(fault.ErrVerification, "spec.verify.mode is tag, and the tag %q is a lightweight one, which cannot be signed", name)
	case peeled.String() != r.Hex:
		return plumbing.ZeroHash, fault.New(fault.ErrVerification, "the tag %q does not lead to the commit %s any more, so that nothing vouches for it", name, r.Hex)
	}
	return id, nil
}

func tagName(r backend.Revision) string { return strings.TrimPrefix(r.Name, tags) }

// verify checks what a policy demands of a revision whose objects are at hand. tag is the
// annotated tag, for mode tag.
func (b *Backend) verify(ctx context.Context, from objects, r backend.Revision, tag plumbing.Hash) error {
	if b.policy == nil {
		return nil
	}
	what, signed, err := b.signed(from, r, tag)
	if err != nil {
		return err
	}
	key, err := b.policy.verifier.Verify(ctx, what, signed, b.policy.now())
	if errors.Is(err, fault.ErrVerification) && b.policy.byTag() {
		// The tag can be signed anew and lead to the same commit.
		return fault.New(fault.ErrVerification, "%s", err.Error())
	}
	if err == nil {
		klog.FromContext(ctx).V(2).Info("Verified a signature", "object", what, "key", key)
	}
	return err
}

func (b *Backend) signed(from objects, r backend.Revision, tag plumbing.Hash) (what string, signed signing.Signed, err error) {
	if b.policy.byTag() {
		what = "the tag " + tagName(r)
		signed, err = signedByTag(from, r, tag)
		return what, signed, err
	}
	what = "the commit " + r.Hex
	o, ok, err := from.object(plumbing.NewHash(r.Hex))
	switch {
	case err != nil:
		return what, signed, err
	case !ok:
		return what, signed, lacksSigned(what)
	case o.kind != plumbing.CommitObject:
		return what, signed, &noCommitError{o.kind}
	}
	signed, err = signing.Commit(o.data)
	return what, signed, err
}

// signedByTag takes an annotated tag apart, after it has followed what the tag itself says to the
// revision. That the server says of the tag that it leads there proves nothing. The tag may be
// one of another tag: each names the next one by its id, so that the first one's signature is
// good for all.
func signedByTag(from objects, r backend.Revision, tag plumbing.Hash) (signed signing.Signed, err error) {
	what := "the tag " + tagName(r)
	id := tag
	for depth := range nestedTags {
		o, ok, err := from.object(id)
		isTag := ok && o.kind == plumbing.TagObject
		switch {
		case err != nil:
			return signed, err
		case !isTag && depth == 0:
			return signed, lacksSigned(what)
		case !isTag:
			return signed, fault.New(fault.ErrVerification, "%s itself leads to %s, but the server says that it leads to the commit %s, for which nothing vouches", what, id, r.Hex)
		}
		header, ok := signing.ParseTag(o.data)
		switch {
		case !ok || !backend.IsHex(header.Object, 40):
			return signed, fault.New(fault.ErrVerification, "%s is damaged: the tag object %s has not the form that Git gives it", what, id)
		case depth == 0 && header.Name != tagName(r):
			// Else whoever may push could give a signed tag a second, newer-looking name.
			return signed, fault.New(fault.ErrVerification, "%s was made and signed under another name, %q", what, header.Name)
		case depth == 0:
			signed = signing.Tag(o.data)
		}
		if id = plumbing.NewHash(header.Object); id == plumbing.NewHash(r.Hex) {
			return signed, nil
		}
	}
	return signed, fault.New(fault.ErrVerification, "%s is a tag of a tag more than %d times", what, nestedTags)
}

func lacksSigned(what string) error {
	return fault.New(fault.ErrVerification, "the repository lacks %s, so that nothing vouches for the content", what)
}
