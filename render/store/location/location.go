// SPDX-License-Identifier: Apache-2.0

// Package location opens the render store that a URL names:
//
//	file:///var/lib/convoy/renders   a directory, made when it does not exist
//	s3://bucket/prefix               Amazon S3, and what speaks its protocol
//	gs://bucket/prefix               Google Cloud Storage
//	azblob://container/prefix        Azure Blob Storage
//	mem://                           the memory of this process, for tests
//
// Credentials come from where each cloud's own tools take them: environment, files, web
// identity, metadata service. A URL that holds any is refused.
//
// It links the libraries of the three clouds. Each can be left out with a build tag:
// convoy_without_s3, convoy_without_gs, convoy_without_azblob.
package location

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gocloud.dev/blob"

	"kumodo.io/convoy/render/store"
)

const supported = "file:///an/absolute/path, s3://bucket, gs://bucket, azblob://container and mem://"

// scheme is a kind of URL.
type scheme struct {
	// parameters of the query that are understood.
	parameters []string
	open       func(ctx context.Context, u *url.URL, readOnly bool) (store.Place, error)
	// whole tells that the path belongs to the place, rather than being a prefix in it.
	whole bool
}

func schemes() map[string]scheme {
	return map[string]scheme{
		"file":   {open: openDirectory, whole: true},
		"mem":    {open: openMemory},
		"s3":     {open: openS3, parameters: []string{"region", "endpoint", "use_path_style", "ssetype", "kmskeyid"}},
		"gs":     {open: openGS},
		"azblob": {open: openAzure, parameters: []string{"storage_account", "domain", "protocol", "localemu"}},
	}
}

// Open opens the store at a URL. It sends nothing to the place yet: one that is not there
// shows when it is used. No error shows a query or a password of the URL.
func Open(ctx context.Context, storeURL string, o store.Options) (*store.Store, error) {
	u, err := url.Parse(storeURL)
	if err != nil {
		// The parser's error would show the URL.
		return nil, fmt.Errorf("the render store's URL cannot be parsed; supported are %s", supported)
	}
	kind, known := schemes()[u.Scheme]
	if !known {
		return nil, fmt.Errorf("render stores of the scheme %q are not known; supported are %s", u.Scheme, supported)
	}
	if err := check(u, kind); err != nil {
		return nil, err
	}
	name := u.Scheme + "://" + u.Host + u.Path
	place, err := kind.open(ctx, u, o.ReadOnly)
	if err != nil {
		return nil, fmt.Errorf("opening the render store %s: %w", name, err)
	}
	place.Name = name
	if prefix := strings.Trim(u.Path, "/"); prefix != "" && !kind.whole {
		place.Bucket = blob.PrefixedBucket(place.Bucket, prefix+"/")
	}
	return store.New(place, o), nil
}

// check refuses URLs with what would be ignored, or should not be there.
func check(u *url.URL, kind scheme) error {
	if u.User != nil {
		return errors.New("the render store's URL holds credentials: take them out, and give them as the cloud's own tools take them, such as by environment variables")
	}
	parameters, err := url.ParseQuery(u.RawQuery)
	if err != nil || u.Fragment != "" || u.Opaque != "" {
		return fmt.Errorf("the render store's URL has a part that is not understood; supported are %s", supported)
	}
	for name, values := range parameters {
		if !slices.Contains(kind.parameters, name) {
			return fmt.Errorf("the render store's URL has the parameter %q, which is not known; known for %s:// are: %s",
				name, u.Scheme, strings.Join(kind.parameters, ", "))
		}
		if len(values) > 1 {
			return fmt.Errorf("the render store's URL has the parameter %q twice", name)
		}
	}
	for _, segment := range strings.Split(strings.Trim(u.Path, "/"), "/") {
		if u.Path != "" && u.Path != "/" && (segment == "" || segment == "." || segment == "..") {
			return errors.New("the path of the render store's URL has an empty segment, . or ..")
		}
	}
	return nil
}

// named refuses a URL without the name of a bucket.
func named(u *url.URL) error {
	if u.Host == "" || u.Port() != "" {
		return fmt.Errorf("the URL must be %s:// and the name of the bucket", u.Scheme)
	}
	return nil
}
