// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"errors"
	"runtime/debug"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/klog/v2"
)

// caught is an update whose making may panic, as the libraries for patches do over some that
// make no sense, or may fail with an error that does not say whose fault it is. The client gets
// an answer then instead of an aborted connection, or of one that blames the server.
type caught struct{ rest.UpdatedObjectInfo }

// UpdatedObject implements rest.UpdatedObjectInfo. Errors are those of the update, and
// BadRequest for a patch that panics or cannot be understood.
func (c caught) UpdatedObject(ctx context.Context, old runtime.Object) (updated runtime.Object, err error) {
	info, known := genericapirequest.RequestInfoFrom(ctx)
	isPatch := known && info.Verb == "patch"
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		klog.FromContext(ctx).Error(nil, "Making an update panicked", "cause", cause, "stack", string(debug.Stack()))
		updated, err = nil, apierrors.NewInternalError(errors.New("the update cannot be made; the log of convoy-apiserver says why"))
		if isPatch {
			err = apierrors.NewBadRequest("the patch cannot be applied: a value in it is of a type that its operation or directive does not take")
		}
	}()
	updated, err = c.UpdatedObjectInfo.UpdatedObject(ctx, old)
	var status apierrors.APIStatus
	if err != nil && isPatch && !errors.As(err, &status) && ctx.Err() == nil {
		err = apierrors.NewBadRequest(err.Error())
	}
	return updated, err
}
