// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"
)

// Open opens the store at a URL:
//
//	file:///var/lib/convoy/renders   a directory, made when it does not exist
//	mem://                           the memory of this process, for tests
//
// Directories that are made here are accessible to their owner only.
func Open(_ context.Context, storeURL string, o Options) (*Store, error) {
	parsed, err := url.Parse(storeURL)
	if err != nil {
		// The parser's error would show the URL, which may hold credentials.
		return nil, fmt.Errorf("the render store's URL cannot be parsed; supported are %s", supported)
	}
	var bucket *blob.Bucket
	switch parsed.Scheme {
	case "file":
		bucket, err = openDirectory(parsed, o)
	case "mem":
		bucket = memblob.OpenBucket(nil)
	default:
		err = fmt.Errorf("render stores of the scheme %q are not built yet; supported are %s", parsed.Scheme, supported)
	}
	if err != nil {
		return nil, err
	}
	return &Store{bucket: bucket, options: o}, nil
}

const supported = "file:///an/absolute/path and mem://"

func openDirectory(u *url.URL, o Options) (*blob.Bucket, error) {
	if u.Host != "" || u.RawQuery != "" || !filepath.IsAbs(u.Path) {
		return nil, fmt.Errorf("the render store's URL must be file:// and an absolute path, without host and query")
	}
	bucket, err := fileblob.OpenBucket(filepath.FromSlash(u.Path), &fileblob.Options{
		CreateDir:   !o.ReadOnly,
		DirFileMode: 0o700,
		// A file is written beside its place and renamed into it: readers see all or nothing.
		NoTempDir: true,
		Metadata:  fileblob.MetadataDontWrite,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the render store: %w", err)
	}
	return bucket, nil
}
