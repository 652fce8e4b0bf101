// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/observer/internal/observer"
)

// maxItem is how many bytes an object of a list may have: more than an API server stores.
const maxItem = 4 << 20

// lists gives the client that lists objects of a target: as whoever asks, where that is wanted
// and known, else as the Release.
func lists(ctx context.Context, target *observer.Target) (rest.Interface, error) {
	caller, ok := ctx.Value(callerKey{}).(rest.ImpersonationConfig)
	if !ok || caller.UserName == "" {
		return target.REST(), nil
	}
	config := target.Config()
	config.Impersonate = caller
	client, err := rest.UnversionedRESTClientFor(dynamic.ConfigFor(config))
	if err != nil {
		return nil, fmt.Errorf("a client for who asks: %w", err)
	}
	return client, nil
}

// page has each object of a page of a list taken as it comes, and gives where the next page
// begins, "" after the last one. No more than one object is held, as long as it is taken: a
// namespace may have many that nobody asked about.
func page(ctx context.Context, client rest.Interface, of schema.GroupVersionResource, namespace, from string, take func(raw []byte) error) (next string, err error) {
	path := []string{"/apis", of.Group, of.Version, "namespaces", namespace, of.Resource}
	if of.Group == "" {
		path = []string{"/api", of.Version, "namespaces", namespace, of.Resource}
	}
	body, err := client.Get().AbsPath(path...).SetHeader("Accept", "application/json").
		Param("limit", strconv.Itoa(ownedPage)).Param("continue", from).Stream(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	list := &list{left: maxItem, body: body}
	list.Decoder = json.NewDecoder(list)
	return list.read(take)
}

// list reads a list object by object.
type list struct {
	*json.Decoder
	body io.Reader
	left int
}

var errTooLong = apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the target answers with an object of more than %d bytes", maxItem))

// Read reads on in the body, as far as the object that is read may go.
func (l *list) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong
	}
	n, err := l.body.Read(p)
	l.left -= n
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) {
		err = fmt.Errorf("%w: reading a list: %w", clusterconn.ErrUnreachable, err)
	}
	return n, err
}

func (l *list) read(take func(raw []byte) error) (next string, err error) {
	if err := l.delimiter('{'); err != nil {
		return "", err
	}
	for l.More() {
		key, err := l.Token()
		if err != nil {
			return "", err
		}
		var metadata struct {
			Continue string `json:"continue"`
		}
		switch key {
		case "items":
			err = l.items(take)
		case "metadata":
			err = l.Decode(&metadata)
			next = metadata.Continue
		default:
			err = l.Decode(&json.RawMessage{})
		}
		if err != nil {
			return "", err
		}
	}
	return next, l.delimiter('}')
}

func (l *list) items(take func(raw []byte) error) error {
	switch token, err := l.Token(); {
	case err != nil:
		return err
	case token == nil: // there are none
		return nil
	case token != json.Delim('['):
		return fmt.Errorf("the target answers with %v in place of the objects of a list", token)
	}
	var raw json.RawMessage // whose memory serves one after the other
	for l.More() {
		l.left = maxItem
		if err := l.Decode(&raw); err != nil {
			return err
		}
		if err := take(raw); err != nil {
			return err
		}
	}
	return l.delimiter(']')
}

// delimiter reads what opens or closes a part of a list.
func (l *list) delimiter(want json.Delim) error {
	switch token, err := l.Token(); {
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	case token != want:
		return fmt.Errorf("the target answers with %v in place of %v in a list", token, want)
	}
	return nil
}
