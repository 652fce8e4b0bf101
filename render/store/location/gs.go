// SPDX-License-Identifier: Apache-2.0

//go:build !convoy_without_gs

package location

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strconv"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"
	"google.golang.org/api/googleapi"

	"kumodo.io/convoy/render/store"
)

func openGS(ctx context.Context, u *url.URL, _ bool) (store.Place, error) {
	if err := named(u); err != nil {
		return store.Place{}, err
	}
	client, err := clientGS(ctx)
	if err != nil {
		return store.Place{}, err
	}
	bucket, err := gcsblob.OpenBucket(ctx, client, u.Host, nil)
	return store.Place{Bucket: bucket, Explain: explainGS}, err
}

// clientGS gives a client with the default credentials; emulators ask for none.
func clientGS(ctx context.Context) (*gcp.HTTPClient, error) {
	if os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		return gcp.NewAnonymousHTTPClient(gcp.DefaultTransport()), nil
	}
	// The credentials renew their tokens long after this call.
	credentials, err := gcp.DefaultCredentials(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	return gcp.NewHTTPClient(gcp.DefaultTransport(), credentials.TokenSource)
}

// explainGS gives the HTTP status, which is all the code there is, and Cloud Storage's name of
// the request.
func explainGS(err error) (code, request string) {
	var known *googleapi.Error
	switch {
	case errors.As(err, &known):
		return strconv.Itoa(known.Code), known.Header.Get("X-Guploader-Uploadid")
	case errors.Is(err, storage.ErrObjectNotExist):
		return "404", ""
	}
	return "", ""
}
