// SPDX-License-Identifier: Apache-2.0

//go:build convoy_without_azblob

package location

import (
	"context"
	"net/url"

	"kumodo.io/convoy/render/store"
)

func openAzure(context.Context, *url.URL, bool) (store.Place, error) {
	return store.Place{}, errLeftOut
}
