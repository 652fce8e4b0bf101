// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"k8s.io/klog/v2"

	"kumodo.io/convoy/fetch/internal/access"
	"kumodo.io/convoy/fetch/internal/archive"
	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/budget"
	"kumodo.io/convoy/fetch/internal/chartfile"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/provenance"
	"kumodo.io/convoy/fetch/internal/tree"
)

// download is a chart's archive, unpacked.
type download struct {
	digest string
	tree   *tree.Tree
}

func (b *Backend) archiveKey(e entry) string {
	return "archive/" + b.want.Chart + " " + e.Version + " " + strings.Join(e.URLs, " ")
}

// undigested downloads an archive to learn its digest, and keeps what it holds.
func (b *Backend) undigested(ctx context.Context, ops backend.Ops, e entry) (*download, error) {
	answer, err := ops.Ask(ctx, backend.Question{Key: b.archiveKey(e), Ask: func(ctx context.Context, _ any) (backend.Answer, error) {
		got, err := b.download(ctx, e, "")
		if err != nil {
			return backend.Answer{}, err
		}
		return backend.Answer{Value: got, Size: got.tree.Bytes() + got.tree.Overhead()}, nil
	}})
	if err != nil {
		return nil, err
	}
	return answer.(*download), nil
}

// download gets the archive of an entry from the first of its URLs that has it. digest is
// the one that it must have, "" when any will do.
func (b *Backend) download(ctx context.Context, e entry, digest string) (*download, error) {
	client, err := b.access.NewClient(b.url, access.Options{SendCredentials: true})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var failure error
	for _, raw := range e.URLs {
		u, err := b.resolve(raw)
		if err != nil {
			failure = err
			continue
		}
		data, err := b.get(ctx, client, u, "the chart at", b.limits.DownloadBytes)
		if errors.Is(err, fault.ErrLimit) {
			err = fault.Rewrite(err, err.Error()+". "+tree.WayOut(backend.FlagDownloadBytes))
		}
		if err != nil {
			failure = err
			if ctx.Err() != nil {
				break
			}
			continue
		}
		got := sha256.Sum256(data)
		d := &download{digest: hex.EncodeToString(got[:])}
		if digest != "" && d.digest != digest {
			return nil, b.otherDigest(e, d.digest, digest)
		}
		// Before anything of it is believed.
		if err := b.verify(ctx, client, e, u, d.digest); err != nil {
			return nil, err
		}
		d.tree, err = b.unpack(ctx, e, data)
		return d, err
	}
	return nil, failure
}

// verify checks the provenance file beside an archive, if that is demanded.
func (b *Backend) verify(ctx context.Context, client *access.Client, e entry, archive *url.URL, digest string) error {
	if b.provenance == nil {
		return nil
	}
	what := "the chart " + b.want.Chart + " " + e.Version
	beside := *archive
	beside.Path += ".prov"
	if beside.RawPath != "" {
		beside.RawPath += ".prov"
	}
	file, err := b.get(ctx, client, &beside, "the provenance file", provenance.MaxBytes)
	if errors.Is(err, fault.ErrNotFound) {
		return provenance.Missing(what, "at "+fault.URL(beside.String()))
	}
	if err != nil {
		return err
	}
	key, err := b.provenance.Verify(ctx, what, file, provenance.Chart{Name: path.Base(b.want.Chart), Version: e.Version, File: path.Base(archive.Path), Digest: digest})
	if err != nil {
		return err
	}
	klog.FromContext(ctx).V(2).Info("Verified a signature", "chart", b.want.Chart, "version", e.Version, "key", key)
	return nil
}

// otherDigest tells apart an archive that is not what the index promises, and one that was
// replaced since the revision was resolved.
func (b *Backend) otherDigest(e entry, got, wanted string) error {
	if strings.EqualFold(e.Digest, wanted) {
		return fault.New(fault.ErrContent, "the archive of %s %s has the digest sha256:%s, but the index promises sha256:%s", b.want.Chart, e.Version, got, wanted)
	}
	return fault.New(fault.ErrNotFound, "the repository replaced %s %s: its digest is now sha256:%s, not sha256:%s", b.want.Chart, e.Version, got, wanted)
}

// unpack reads an archive, which has to hold the chart that the index says. A proxy of
// several repositories puts their names before those of the charts, with a slash.
func (b *Backend) unpack(ctx context.Context, e entry, data []byte) (*tree.Tree, error) {
	t, err := archive.Unpack(ctx, data, archive.Options{StripTop: true, Limits: b.limits})
	if err != nil {
		return nil, fault.Rewrite(err, "the chart "+b.want.Chart+" "+e.Version+": "+err.Error())
	}
	if err := chartfile.Check(t, "the archive", path.Base(b.want.Chart), e.Version); err != nil {
		return nil, err
	}
	return t, nil
}

// get downloads what is at a URL that the index names. what names it for messages.
func (b *Backend) get(ctx context.Context, client *access.Client, u *url.URL, what string, limit int64) ([]byte, error) {
	if b.pass {
		ctx = client.Trust(ctx, u)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fault.New(fault.ErrContent, "the index names the unusable URL %s", fault.URL(u.String()))
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fault.FromRequest(err, b.scrubber())
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fault.FromStatus(response.StatusCode, what+" "+fault.URL(u.String()), client.Credentials())
	}
	data, err := access.ReadAll(budget.Reader(ctx, response.Body, limit), response.ContentLength, limit, what+" "+fault.URL(u.String()))
	if err != nil {
		return nil, fault.FromRequest(err, b.scrubber())
	}
	return data, nil
}

// resolve makes a full URL of one in the index, which is relative to the repository's. A
// query of the repository's URL is carried over to relative ones.
func (b *Backend) resolve(raw string) (*url.URL, error) {
	ref, err := url.Parse(raw)
	if err != nil || ref.User != nil {
		return nil, fault.New(fault.ErrContent, "the index names an unusable URL")
	}
	u := ref
	if !ref.IsAbs() {
		base := *b.url
		base.Path, base.RawPath = strings.TrimSuffix(base.Path, "/")+"/", ""
		u = base.ResolveReference(ref)
		if ref.RawQuery == "" {
			u.RawQuery = b.url.RawQuery
		}
	}
	switch u.Scheme {
	case "http", "https":
	case "oci":
		return nil, fault.New(fault.ErrContent, "the index refers to an OCI registry, %s; use a HelmRegistry with an oci:// url", fault.URL(u.String()))
	default:
		return nil, fault.New(fault.ErrContent, "the index names a URL with the unusable scheme %q", u.Scheme)
	}
	// Object stores read a plus in a path as a space.
	u.RawPath = strings.ReplaceAll(u.EscapedPath(), "+", "%2B")
	return u, nil
}
