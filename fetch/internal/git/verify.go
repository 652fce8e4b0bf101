// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
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
// the revision's commit still: which tag object was signed is not written in a revision.
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
	key, err := b.policy.verifier.Verify(what, signed, b.policy.now())
	if err != nil && b.policy.byTag() {
		// The tag can be signed anew and lead to the same commit.
		return fault.New(fault.ErrVerification, "%s", err.Error())
	}
	if err == nil {
		klog.FromContext(ctx).V(2).Info("Verified a signature", "object", what, "key", key)
	}
	return err
}

func (b *Backend) signed(from objects, r backend.Revision, tag plumbing.Hash) (what string, signed signing.Signed, err error) {
	id, kind, what := plumbing.NewHash(r.Hex), plumbing.CommitObject, "the commit "+r.Hex
	if b.policy.byTag() {
		id, kind, what = tag, plumbing.TagObject, "the tag "+tagName(r)
	}
	o, ok, err := from.object(id)
	switch {
	case err != nil:
		return what, signed, err
	case ok && kind == plumbing.CommitObject && o.kind != kind:
		return what, signed, &noCommitError{o.kind}
	case !ok || o.kind != kind:
		return what, signed, fault.New(fault.ErrVerification, "the repository lacks %s, so that nothing vouches for the content", what)
	case kind == plumbing.CommitObject:
		signed, err = signing.Commit(o.data)
		return what, signed, err
	}
	// Else whoever may push could give a signed tag a second, newer-looking name.
	if own := signing.TagName(o.data); own != tagName(r) {
		return what, signed, fault.New(fault.ErrVerification, "%s was made and signed under another name, %q", what, own)
	}
	return what, signing.Tag(o.data), nil
}
