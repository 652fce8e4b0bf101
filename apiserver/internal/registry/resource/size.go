// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"encoding/json"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxStored is how many bytes etcd takes in one request unless it is told otherwise
// (--max-request-bytes).
const maxStored = 3 << 19

// tooLarge gives the error for an object that etcd does not take: it is told as that, and in a
// dry run too, which does not come as far as etcd. Other errors are given back.
func tooLarge(resource schema.GroupResource, name string, object runtime.Object, dryRun []string, err error) error {
	switch {
	case err == nil && len(dryRun) > 0:
		if data, failed := json.Marshal(object); failed == nil && len(data) > maxStored {
			return tooLargeError(resource, name, fmt.Sprintf("it has %d bytes", len(data)))
		}
	case err != nil && refusedForSize(err):
		return tooLargeError(resource, name, reason(err))
	}
	return err
}

// refusedForSize tells whether etcd, or the client on the way to it, refused a request for its
// size.
func refusedForSize(err error) bool {
	return errors.Is(err, rpctypes.ErrRequestTooLarge) || status.Code(err) == codes.ResourceExhausted // larger than the client sends
}

// reason is what etcd or its client say, without what the transport adds.
func reason(err error) string {
	var sent interface{ GRPCStatus() *status.Status }
	if errors.As(err, &sent) {
		return sent.GRPCStatus().Message()
	}
	return err.Error()
}

func tooLargeError(resource schema.GroupResource, name, why string) error {
	err := apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
		"%s %q is too large to be stored: %s; etcd takes %d bytes for an object unless it is configured otherwise. Put large values into ConfigMaps, Secrets or the source",
		resource, name, why, maxStored))
	err.ErrStatus.Details = &metav1.StatusDetails{Group: resource.Group, Kind: resource.Resource, Name: name}
	return err
}
