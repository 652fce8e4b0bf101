// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"kumodo.io/convoy/fetch/internal/access"
	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/budget"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/tree"
)

const (
	lfsType = "application/vnd.git-lfs+json"
	// lfsBatch is the number of objects that are asked for at a time, as git-lfs does.
	lfsBatch = 100
	// lfsAnswerBytes bounds the answer to such a question.
	lfsAnswerBytes = 4 << 20
	lfsConfigFile  = ".lfsconfig"
)

// Download is the content of an object, or why there is none.
type Download struct {
	Content []byte
	Err     error
}

// Download brings objects of Git LFS that a tree of the repository points to. Each has the
// size and the digest that its pointer says.
func (b *Backend) Download(ctx context.Context, ops backend.Ops, t *tree.Tree, objects []LFSObject) map[LFSObject]Download {
	found := map[LFSObject]Download{}
	l, err := b.newLFS(ctx, ops, t)
	if err == nil {
		defer l.client.Close()
	}
	for len(objects) > 0 {
		part := objects[:min(lfsBatch, len(objects))]
		objects = objects[len(part):]
		actions := map[LFSObject]lfsAction{}
		if err == nil {
			err = ops.Do(ctx, func(ctx context.Context) (err error) {
				actions, err = l.batch(ctx, part)
				return err
			})
		}
		for _, o := range part {
			d := Download{Err: err}
			if action, ok := actions[o]; ok && err == nil {
				d = l.take(ctx, ops, o, action)
			}
			found[o] = d
		}
	}
	return found
}

// lfs is where the objects of a repository are.
type lfs struct {
	backend  *Backend
	client   *access.Client
	endpoint *url.URL
	// header goes to the endpoint in place of the repository's credentials.
	header http.Header
}

func (b *Backend) newLFS(ctx context.Context, ops backend.Ops, t *tree.Tree) (*lfs, error) {
	l := &lfs{backend: b}
	err := l.locate(ctx, ops, t)
	if err != nil {
		return nil, err
	}
	credentials := b.access
	if b.url.Scheme == "ssh" {
		// The key for ssh is none for HTTP.
		credentials = b.access.For(b.url, l.endpoint)
	}
	err = ops.Do(ctx, func(ctx context.Context) (err error) {
		l.client, err = credentials.Connect(ctx, b.lfsBase(l.endpoint), b.options.Tokens)
		return err
	})
	return l, err
}

// lfsBase is the address whose origin may see the repository's credentials.
func (b *Backend) lfsBase(endpoint *url.URL) *url.URL {
	if b.url.Scheme == "ssh" {
		return endpoint
	}
	return b.url
}

// locate finds the server: where the file .lfsconfig says, else beside the repository.
func (l *lfs) locate(ctx context.Context, ops backend.Ops, t *tree.Tree) error {
	b := l.backend
	if configured, err := configuredLFS(t); err != nil || configured != nil {
		if err == nil && b.url.Scheme == "https" && configured.Scheme != "https" {
			err = fault.New(fault.ErrContent, "the file %s names a server without TLS, and the repository has one with it", lfsConfigFile)
		}
		l.endpoint = configured
		return err
	}
	switch b.url.Scheme {
	case "file":
		return fault.New(fault.ErrInvalid, "Git LFS is not supported for repositories on disk")
	case "ssh":
		return ops.Do(ctx, func(ctx context.Context) (err error) {
			l.endpoint, l.header, err = b.authenticateLFS(ctx)
			return err
		})
	}
	at := *b.url
	at.Path, at.RawPath = strings.TrimRight(at.Path, "/"), ""
	if !strings.HasSuffix(at.Path, ".git") {
		at.Path += ".git"
	}
	l.endpoint = at.JoinPath("info/lfs")
	return nil
}

// configuredLFS returns lfs.url of the file .lfsconfig, nil when there is none.
func configuredLFS(t *tree.Tree) (*url.URL, error) {
	data, ok := t.Regular(lfsConfigFile)
	if !ok {
		return nil, nil
	}
	settings, err := parseConfig(lfsConfigFile, data)
	if err != nil {
		return nil, err
	}
	raw := ""
	for _, s := range settings {
		if s.section == "lfs" && s.subsection == "" && s.key == "url" {
			raw = s.value
		}
	}
	if raw == "" {
		return nil, nil
	}
	return parseLFSURL(raw, "the file "+lfsConfigFile)
}

// parseLFSURL reads an address of a server or of an object; who names where it stands.
func parseLFSURL(raw, who string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "" || u.User != nil || access.CheckAddress(raw) != nil {
		return nil, fault.New(fault.ErrContent, "%s names a Git LFS address that is no http or https url without credentials", who)
	}
	return u, nil
}

// lfsAction says where to get an object.
type lfsAction struct {
	at     *url.URL
	header http.Header
	// authenticated says that the server wants no other credentials than the header.
	authenticated bool
	err           error
}

type lfsRequest struct {
	Operation string      `json:"operation"`
	Transfers []string    `json:"transfers"`
	Objects   []lfsObject `json:"objects"`
	HashAlgo  string      `json:"hash_algo"`
}

type lfsObject struct {
	OID           string `json:"oid"`
	Size          int64  `json:"size"`
	Authenticated bool   `json:"authenticated,omitempty"`
	Actions       *struct {
		Download *struct {
			Href   string            `json:"href"`
			Header map[string]string `json:"header"`
		} `json:"download"`
	} `json:"actions,omitempty"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

type lfsAnswer struct {
	Transfer string      `json:"transfer"`
	Objects  []lfsObject `json:"objects"`
}

// batch asks where objects are.
func (l *lfs) batch(ctx context.Context, objects []LFSObject) (map[LFSObject]lfsAction, error) {
	question := lfsRequest{Operation: "download", Transfers: []string{"basic"}, HashAlgo: "sha256"}
	for _, o := range objects {
		question.Objects = append(question.Objects, lfsObject{OID: o.OID, Size: o.Size})
	}
	message, err := json.Marshal(question)
	if err != nil {
		return nil, fault.New(fault.ErrInvalid, "the question for Git LFS objects cannot be written")
	}
	if len(l.header) > 0 {
		ctx = access.WithHeader(ctx, l.endpoint, l.header)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.endpoint.JoinPath("objects/batch").String(), bytes.NewReader(message))
	if err != nil {
		return nil, fault.New(fault.ErrInvalid, "the address of the Git LFS server is unusable")
	}
	request.Header.Set("Accept", lfsType)
	request.Header.Set("Content-Type", lfsType)
	response, err := l.client.Do(request)
	if err != nil {
		return nil, fault.FromRequest(err, l.backend.scrubber())
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, l.refused(response, "the Git LFS server", l.header)
	}
	body, err := access.ReadAll(response.Body, response.ContentLength, lfsAnswerBytes, "the answer of the Git LFS server")
	if err != nil {
		return nil, fault.FromRequest(err, l.backend.scrubber())
	}
	return l.backend.parseBatch(body, objects, l.endpoint.Scheme)
}

// parseBatch reads the answer. An object that it does not speak of has an error.
func (b *Backend) parseBatch(body []byte, asked []LFSObject, scheme string) (map[LFSObject]lfsAction, error) {
	var answer lfsAnswer
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fault.New(fault.ErrUnreachable, "the answer of the Git LFS server cannot be read")
	}
	if answer.Transfer != "" && answer.Transfer != "basic" {
		return nil, fault.New(fault.ErrUnreachable, "the Git LFS server insists on the transfer %q; basic is supported", b.scrubber().Clean(answer.Transfer))
	}
	actions := map[LFSObject]lfsAction{}
	for _, o := range asked {
		actions[o] = lfsAction{err: fault.New(fault.ErrNotFound, "the Git LFS server says nothing of the object %s", o.OID)}
	}
	for _, told := range answer.Objects {
		o := LFSObject{OID: told.OID, Size: told.Size}
		if _, ok := actions[o]; ok {
			actions[o] = b.action(told, scheme)
		}
	}
	return actions, nil
}

func (b *Backend) action(told lfsObject, scheme string) lfsAction {
	switch {
	case told.Error != nil:
		kind := fault.ErrUnreachable
		if told.Error.Code == http.StatusNotFound || told.Error.Code == http.StatusGone {
			kind = fault.ErrNotFound
		}
		return lfsAction{err: fault.New(kind, "the Git LFS server does not give the object %s: %s (code %d)", told.OID, b.scrubber().Clean(told.Error.Message), told.Error.Code)}
	case told.Actions == nil || told.Actions.Download == nil:
		return lfsAction{err: fault.New(fault.ErrNotFound, "the Git LFS server does not have the object %s", told.OID)}
	}
	at, err := parseLFSURL(told.Actions.Download.Href, "the Git LFS server")
	if err == nil && scheme == "https" && at.Scheme != "https" {
		err = fault.New(fault.ErrContent, "the Git LFS server leads from https to http")
	}
	action := lfsAction{at: at, header: http.Header{}, authenticated: told.Authenticated, err: err}
	for name, value := range told.Actions.Download.Header {
		action.header.Set(name, value)
	}
	return action
}

// take downloads one object. An action's own header takes the place of the credentials,
// which only the repository's own origin sees anyway.
func (l *lfs) take(ctx context.Context, ops backend.Ops, o LFSObject, action lfsAction) Download {
	if action.err != nil {
		return Download{Err: action.err}
	}
	var d Download
	d.Err = ops.Do(ctx, func(ctx context.Context) (err error) {
		if len(action.header) > 0 || action.authenticated {
			ctx = access.WithHeader(ctx, action.at, action.header)
		}
		d.Content, err = l.get(ctx, o, action)
		return err
	})
	return d
}

func (l *lfs) get(ctx context.Context, o LFSObject, action lfsAction) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, action.at.String(), nil)
	if err != nil {
		return nil, fault.New(fault.ErrContent, "the address of the object %s is unusable", o.OID)
	}
	response, err := l.client.Do(request)
	if err != nil {
		return nil, fault.FromRequest(err, l.scrubber(action))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, l.refused(response, "the Git LFS object "+o.OID, action.header)
	}
	content, err := access.ReadAll(budget.Reader(ctx, response.Body, o.Size), -1, o.Size, "the object")
	if errors.Is(err, fault.ErrLimit) {
		return nil, fault.New(fault.ErrContent, "the Git LFS object %s has more than the %s that its pointer says", o.OID, fault.Size(o.Size))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fault.New(fault.ErrUnreachable, "the server ended the transfer of the Git LFS object %s", o.OID)
	}
	if err != nil {
		return nil, fault.FromRequest(err, l.scrubber(action))
	}
	if int64(len(content)) != o.Size || sha256.Sum256(content) != o.Sum() {
		return nil, fault.New(fault.ErrContent, "the server gave %d bytes for the Git LFS object %s that are not what its pointer says", len(content), o.OID)
	}
	return bytes.Clone(content), nil
}

// refused gives an answer that is not a success a kind. header is what was sent in place of the
// repository's credentials.
func (l *lfs) refused(response *http.Response, what string, header http.Header) error {
	status, at := response.StatusCode, response.Request.URL
	asks := status == http.StatusUnauthorized || status == http.StatusForbidden
	switch {
	case len(header) > 0:
		return fault.FromStatus(status, what, fault.SomeCredentials+" that came with its address")
	case asks && l.client.Credentials() != "" && l.client.CredentialsAt(at) == "":
		return fault.New(fault.ErrUnauthorized, "%s: the server at %s asks for credentials (status %d), and those of the repository go to its own scheme, host and port only", what, at.Scheme+"://"+at.Host, status)
	}
	return fault.FromStatus(status, what, l.client.CredentialsAt(at))
}

// scrubber knows what the server gave for one object too.
func (l *lfs) scrubber(action lfsAction) *fault.Scrubber {
	var secrets []string
	for _, values := range action.header {
		secrets = append(secrets, values...)
	}
	return l.backend.scrubber().With(secrets...)
}
