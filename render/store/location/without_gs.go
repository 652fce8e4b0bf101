// SPDX-License-Identifier: Apache-2.0

//go:build convoy_without_gs

package location

import (
	"context"
	"net/url"

	"kumodo.io/convoy/render/store"
)

func openGS(context.Context, *url.URL, bool) (store.Place, error) {
	return store.Place{}, errLeftOut
}
