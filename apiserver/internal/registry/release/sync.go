// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/utils/clock"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// updater updates Releases.
type updater interface {
	Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
		updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions,
	) (runtime.Object, bool, error)
}

// syncREST is POST …/sync: it asks for a sync by writing the time into an annotation, and
// answers with the Release. It is a Connecter for the sake of its query parameter. Admission
// sees a CONNECT of releases/sync, and no UPDATE of the Release.
type syncREST struct {
	releases updater
	clock    clock.PassiveClock
}

var (
	_ rest.Connecter       = &syncREST{}
	_ rest.StorageMetadata = &syncREST{}
)

// New gives the options, not a Release: they are what admission gets to see of a CONNECT.
func (*syncREST) New() runtime.Object { return &corev1alpha1.ReleaseSyncOptions{} }

// Destroy does nothing.
func (*syncREST) Destroy() {}

// NewConnectOptions gives what the query is decoded into.
func (*syncREST) NewConnectOptions() (runtime.Object, bool, string) {
	return &corev1alpha1.ReleaseSyncOptions{}, false, ""
}

// ConnectMethods is POST only.
func (*syncREST) ConnectMethods() []string { return []string{http.MethodPost} }

// ProducesMIMETypes is JSON only.
func (*syncREST) ProducesMIMETypes(string) []string { return []string{runtime.ContentTypeJSON} }

// ProducesObject is the Release.
func (*syncREST) ProducesObject(string) any { return corev1alpha1.Release{} }

// Connect asks for the sync once the request is admitted.
func (s *syncREST) Connect(ctx context.Context, name string, options runtime.Object, responder rest.Responder) (http.Handler, error) {
	sync := options.(*corev1alpha1.ReleaseSyncOptions).DeepCopy()
	if values := dryRunFrom(ctx); len(values) > 0 {
		sync.DryRun = values
	}
	if errs := metav1validation.ValidateDryRun(field.NewPath("dryRun"), sync.DryRun); len(errs) > 0 {
		return nil, apierrors.NewInvalid(corev1alpha1.Kind("ReleaseSyncOptions"), name, errs)
	}
	return http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		if err := checkSyncRequest(req); err != nil {
			responder.Error(err)
			return
		}
		release, err := s.request(ctx, name, sync)
		if err != nil {
			responder.Error(err)
			return
		}
		if release.Spec.Suspend {
			warning.AddWarning(ctx, "", "the Release is suspended: nothing is synced before spec.suspend is false")
		}
		responder.Object(http.StatusOK, release)
	}), nil
}

// syncParameters are what may stand in the query; all but the first are of any request.
var syncParameters = sets.New("force", "dryRun", "fieldManager", "fieldValidation", "pretty", "timeout")

// checkSyncRequest refuses what would be taken for something else: a force that is neither
// true nor false, which decoding takes for true, a parameter that is none, and a body.
func checkSyncRequest(req *http.Request) error {
	query := req.URL.Query()
	for name := range query {
		if !syncParameters.Has(name) {
			return apierrors.NewBadRequest(fmt.Sprintf("sync has no parameter %q: force and dryRun are those that it has", name))
		}
	}
	for _, value := range query["force"] {
		if _, err := strconv.ParseBool(value); err != nil {
			return apierrors.NewBadRequest(fmt.Sprintf("force must be true or false, not %q", value))
		}
	}
	if n, _ := io.ReadFull(req.Body, make([]byte, 1)); n > 0 {
		return apierrors.NewBadRequest("sync takes no body: what it asks for is in the path and the query")
	}
	return nil
}

// signRequest writes who asked for a sync, by the subresource or by an annotation: nobody asks
// in another's name.
func signRequest(ctx context.Context, r, old *corev1alpha1.Release) {
	asked := func(r *corev1alpha1.Release) [2]string {
		return [2]string{r.Annotations[corev1alpha1.AnnotationSyncRequestedAt], r.Annotations[corev1alpha1.AnnotationSyncForceRequestedAt]}
	}
	by := ""
	switch user, ok := genericapirequest.UserFrom(ctx); {
	case old != nil && asked(r) == asked(old):
		by = old.Annotations[corev1alpha1.AnnotationSyncRequestedBy]
	case ok && asked(r) != [2]string{}:
		by = user.GetName()
	}
	if by == "" {
		delete(r.Annotations, corev1alpha1.AnnotationSyncRequestedBy)
		return
	}
	metav1.SetMetaDataAnnotation(&r.ObjectMeta, corev1alpha1.AnnotationSyncRequestedBy, by)
}

// request writes the annotations. It cannot conflict with other writers: the store runs the
// change again on what they wrote.
func (s *syncREST) request(ctx context.Context, name string, options *corev1alpha1.ReleaseSyncOptions) (*corev1alpha1.Release, error) {
	// With its nanoseconds, two requests in the same second are two.
	now := s.clock.Now().UTC().Format(time.RFC3339Nano)
	mark := func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		release := old.DeepCopyObject().(*corev1alpha1.Release)
		metav1.SetMetaDataAnnotation(&release.ObjectMeta, corev1alpha1.AnnotationSyncRequestedAt, now)
		if options.Force {
			metav1.SetMetaDataAnnotation(&release.ObjectMeta, corev1alpha1.AnnotationSyncForceRequestedAt, now)
		}
		return release, nil
	}
	updated, _, err := s.releases.Update(ctx, name, rest.DefaultUpdatedObjectInfo(nil, mark),
		rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{DryRun: options.DryRun})
	if err != nil {
		return nil, err
	}
	release, ok := updated.(*corev1alpha1.Release)
	if !ok {
		return nil, fmt.Errorf("the storage of Releases answered with a %T", updated)
	}
	return release, nil
}
