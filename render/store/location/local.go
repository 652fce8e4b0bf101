// SPDX-License-Identifier: Apache-2.0

package location

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"

	"kumodo.io/convoy/render/store"
)

func openMemory(context.Context, *url.URL, bool) (store.Place, error) {
	return store.Place{Bucket: memblob.OpenBucket(nil)}, nil
}

// openDirectory opens a directory of this machine. The directories that are made are accessible
// to their owner only; the store sees to the files.
func openDirectory(_ context.Context, u *url.URL, readOnly bool) (store.Place, error) {
	if u.Host != "" || !filepath.IsAbs(u.Path) {
		return store.Place{}, errors.New("the URL must be file:// and an absolute path, without host")
	}
	bucket, err := fileblob.OpenBucket(filepath.FromSlash(u.Path), &fileblob.Options{
		CreateDir:   !readOnly,
		DirFileMode: 0o700,
		// A file is written beside its place and renamed into it: readers see all or nothing.
		NoTempDir: true,
		Metadata:  fileblob.MetadataDontWrite,
	})
	return store.Place{Bucket: bucket, Explain: explainDirectory(u.Path)}, err
}

// explainDirectory tells an absent file from an absent directory: a volume that is not
// mounted is not a store without renders.
func explainDirectory(path string) func(error) (code, request string) {
	return func(err error) (code, request string) {
		if !errors.Is(err, fs.ErrNotExist) {
			return "", ""
		}
		if _, err := os.Stat(filepath.FromSlash(path)); err != nil {
			return "NoSuchDirectory", ""
		}
		return "404", ""
	}
}
