// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"net/http"

	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// dryRunParameter is the query parameter of a dry run.
const dryRunParameter = "dryRun"

type dryRunKey struct{}

// WithSyncDryRun lets POST …/sync be a dry run. The library refuses the parameter for every
// subresource that is connected to, because most have effects that it knows nothing of; this
// one has not, so that its parameter is taken out of the library's sight.
func WithSyncDryRun(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		query := req.URL.Query()
		values, isDryRun := query[dryRunParameter]
		info, ok := genericapirequest.RequestInfoFrom(req.Context())
		if !isDryRun || !ok || info.APIGroup != corev1alpha1.GroupName || info.Resource != "releases" || info.Subresource != "sync" {
			next.ServeHTTP(w, req)
			return
		}
		delete(query, dryRunParameter)
		seen := req.Clone(context.WithValue(req.Context(), dryRunKey{}, values))
		seen.URL.RawQuery = query.Encode()
		next.ServeHTTP(w, seen)
	})
}

func dryRunFrom(ctx context.Context) []string {
	values, _ := ctx.Value(dryRunKey{}).([]string)
	return values
}
