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
	"kumodo.io/convoy/fetch/internal/fault"
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
	adv := packp.NewAdvRefs()
	err = adv.Decode(access.Limited(stream, int64(b.limits.References)*256, "the list of references"))
	var line *pktline.ErrorLine
	switch {
	case errors.Is(err, packp.ErrEmptyAdvRefs):
		return packp.NewAdvRefs(), nil
	case errors.As(err, &line):
		return nil, fault.New(fault.ErrNotFound, "the server answered: %s", b.scrubber().Clean(line.Text))
	case err != nil:
		return nil, b.broken(ctx, "the server's list of references cannot be read", err)
	}
	if len(adv.References) > b.limits.References {
		return nil, fault.New(fault.ErrLimit, "the repository has more than %d references", b.limits.References)
	}
	return adv, nil
}

// pack asks for commits and returns the stream of a pack with them and all they hold;
// shallow leaves their history out.
func (b *Backend) pack(ctx context.Context, r remote, adv *packp.AdvRefs, wants []plumbing.Hash, shallow bool) (io.Reader, error) {
	request, err := newRequest(adv.Capabilities, wants, shallow)
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
	err = response.Decode(io.NopCloser(access.Limited(answer, b.limits.DownloadBytes, "the pack")))
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

func newRequest(offered *capability.List, wants []plumbing.Hash, shallow bool) (*packp.UploadPackRequest, error) {
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
	if shallow && offered.Supports(capability.Shallow) {
		request.Depth = packp.DepthCommits(1)
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
