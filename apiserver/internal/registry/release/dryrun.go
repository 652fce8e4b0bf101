// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"net/http"

	"k8s.io/apiserver/pkg/admission"
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

// AdmitSyncDryRun tells admission of the dry runs that WithSyncDryRun hides from the library:
// webhooks and policies are to see them as they see others.
func AdmitSyncDryRun(chain admission.Interface) admission.Interface {
	return syncAdmission{chain}
}

type syncAdmission struct{ admission.Interface }

var (
	_ admission.MutationInterface   = syncAdmission{}
	_ admission.ValidationInterface = syncAdmission{}
)

// Admit implements admission.MutationInterface.
func (a syncAdmission) Admit(ctx context.Context, attributes admission.Attributes, o admission.ObjectInterfaces) error {
	if mutates, ok := a.Interface.(admission.MutationInterface); ok {
		return mutates.Admit(ctx, told(ctx, attributes), o)
	}
	return nil
}

// Validate implements admission.ValidationInterface.
func (a syncAdmission) Validate(ctx context.Context, attributes admission.Attributes, o admission.ObjectInterfaces) error {
	if validates, ok := a.Interface.(admission.ValidationInterface); ok {
		return validates.Validate(ctx, told(ctx, attributes), o)
	}
	return nil
}

// told gives the attributes of a request with what its dry run is told by.
func told(ctx context.Context, attributes admission.Attributes) admission.Attributes {
	values := dryRunFrom(ctx)
	options, ok := attributes.GetObject().(*corev1alpha1.ReleaseSyncOptions)
	if len(values) == 0 || !ok {
		return attributes
	}
	options.DryRun = values
	return dryRun{attributes}
}

// dryRun are attributes of a dry run.
type dryRun struct{ admission.Attributes }

// IsDryRun implements admission.Attributes.
func (dryRun) IsDryRun() bool { return true }
