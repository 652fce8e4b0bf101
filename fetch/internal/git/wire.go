// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"

	"kumodo.io/convoy/fetch/internal/access"
	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/budget"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/tree"
)

// remote is one conversation with a server about one repository: what it has, then at most
// one pack of it.
type remote interface {
	// advertise returns the server's first message: its references and capabilities.
	advertise(ctx context.Context) (io.Reader, error)
	// upload sends a request and returns the server's answer.
	upload(ctx context.Context, request []byte) (io.Reader, error)
	close()
}

// errRefused means that the server does not hand out a commit by its id alone.
var errRefused = errors.New("the server does not hand out the commit by its id")

// advertised reads the server's references. An empty repository has none.
func (b *Backend) advertised(ctx context.Context, r remote) (*packp.AdvRefs, error) {
	stream, err := r.advertise(ctx)
	if err != nil {
		return nil, err
	}
	adv, beginning := packp.NewAdvRefs(), &beginning{}
	most := int64(b.options.Limits.References) * 256
	err = adv.Decode(io.TeeReader(access.Limited(budget.Reader(ctx, stream, most), most, "the list of references", ""), beginning))
	var line *pktline.ErrorLine
	switch {
	case errors.Is(err, packp.ErrEmptyAdvRefs):
		return packp.NewAdvRefs(), nil
	case errors.As(err, &line):
		return nil, fault.New(fault.ErrNotFound, "the server answered: %s", b.scrubber().Clean(line.Text))
	case err != nil && bytes.Contains(beginning.text, []byte("object-format=sha256")):
		return nil, errSHA256("the repository")
	case err != nil:
		return nil, b.broken(ctx, "the server's list of references cannot be read", err)
	}
	if len(adv.References) > b.options.Limits.References {
		return nil, fault.New(fault.ErrLimit, "the repository has more than %d references", b.options.Limits.References)
	}
	return adv, nil
}

// beginning keeps the first bytes of a stream, where a server says what it can do.
type beginning struct{ text []byte }

func (b *beginning) Write(p []byte) (int, error) {
	const enough = 4096
	b.text = append(b.text, p[:min(len(p), enough-len(b.text))]...)
	return len(p), nil
}

// errSHA256 is the error for ids that go-git cannot hold: it is built for one kind of them.
func errSHA256(what string) error {
	return fault.New(fault.ErrInvalid, "%s has SHA-256 commit ids, which are not supported", what)
}

// extent is how much is asked for of a commit.
type extent int

const (
	// deep is with what it holds and its history.
	deep extent = iota
	// shallow is without its history.
	shallow
	// only is without either, where the server can leave out what it holds.
	only
	// probe is the same of an object that may be no commit.
	probe
	// alone are objects by their ids, each without what it holds; below are they with it, but
	// for files that are too large. Both need servers that can leave out; see parts.
	alone
	below
)

// parts says whether a server can give parts of a commit.
func parts(offered *capability.List) bool {
	return offered.Supports(capability.Filter) && offered.Supports(capability.AllowReachableSHA1InWant)
}

// pack asks for commits and returns the stream of a pack with them.
func (b *Backend) pack(ctx context.Context, r remote, adv *packp.AdvRefs, wants []plumbing.Hash, e extent) (io.Reader, error) {
	request, err := newRequest(adv.Capabilities, wants, e, b.options.Limits.FileBytes)
	if err != nil {
		return nil, fault.New(fault.ErrUnreachable, "the server's capabilities do not suffice: %s", b.scrubber().Clean(err.Error()))
	}
	var message bytes.Buffer
	encoder := pktline.NewEncoder(&message)
	if err := errors.Join(request.UploadRequest.Encode(&message), encoder.EncodeString("done\n")); err != nil {
		return nil, fault.New(fault.ErrInvalid, "the request cannot be written: %s", b.scrubber().Clean(err.Error()))
	}
	answer, err := r.upload(ctx, message.Bytes())
	if err != nil {
		return nil, err
	}
	response := packp.NewUploadPackResponse(request)
	err = response.Decode(io.NopCloser(access.Limited(answer, b.options.Limits.DownloadBytes, "the pack", tree.WayOut(backend.FlagDownloadBytes))))
	var line *pktline.ErrorLine
	switch {
	case errors.As(err, &line):
		return nil, errors.Join(errRefused, fault.New(fault.ErrNotFound, "the server answered: %s", b.scrubber().Clean(line.Text)))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.Join(errRefused, fault.New(fault.ErrUnreachable, "the server ended the conversation"))
	case err != nil:
		return nil, b.broken(ctx, "the server's answer cannot be read", err)
	}
	switch {
	case request.Capabilities.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, response), nil
	case request.Capabilities.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, response), nil
	}
	return response, nil
}

func newRequest(offered *capability.List, wants []plumbing.Hash, e extent, file int64) (*packp.UploadPackRequest, error) {
	// Taken without multi_ack a clone fails at servers that insist on it; with it, the
	// answer to a request without haves is the same.
	request := packp.NewUploadPackRequestFromCapabilities(offered)
	request.Wants = wants
	// A thin pack would refer to objects that are not in it.
	request.Capabilities.Delete(capability.ThinPack)
	for _, wanted := range []capability.Capability{capability.NoProgress, capability.Shallow} {
		if offered.Supports(wanted) {
			if err := request.Capabilities.Set(wanted); err != nil {
				return nil, err
			}
		}
	}
	if offered.Supports(capability.Agent) {
		if err := request.Capabilities.Set(capability.Agent, "convoy"); err != nil {
			return nil, err
		}
	}
	if (e == shallow || e == only || e == probe) && offered.Supports(capability.Shallow) {
		request.Depth = packp.DepthCommits(1)
	}
	if (e == only || e == probe || e == alone || e == below) && offered.Supports(capability.Filter) {
		request.Filter = packp.FilterTreeDepth(0)
		if e == below {
			request.Filter = packp.FilterBlobLimit(uint64(file)+1, packp.BlobLimitPrefixNone)
		}
		if err := request.Capabilities.Set(capability.Filter); err != nil {
			return nil, err
		}
	}
	return request, request.Validate()
}

// broken gives an error in the middle of a conversation a kind.
func (b *Backend) broken(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return fault.FromRequest(ctx.Err(), nil)
	}
	if fault.Kind(err) != nil {
		return fault.FromRequest(err, b.scrubber())
	}
	return fault.New(fault.ErrUnreachable, "%s: %s", what, b.scrubber().Clean(err.Error()))
}
