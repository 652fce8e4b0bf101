// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
)

// withTextPath refuses paths that are no text. Parts of paths end as labels of metrics, which
// must be: the library would panic.
func withTextPath(next http.Handler, serializer runtime.NegotiatedSerializer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !utf8.ValidString(req.URL.Path) {
			err := apierrors.NewBadRequest("the path of the request is not valid UTF-8")
			responsewriters.ErrorNegotiated(err, serializer, schema.GroupVersion{}, w, req)
			return
		}
		next.ServeHTTP(w, req)
	})
}
