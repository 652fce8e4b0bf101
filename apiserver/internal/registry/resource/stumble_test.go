// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func TestUpdatesThatPanic(t *testing.T) {
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		verb string
		make rest.TransformFunc
		want func(error) bool
	}{
		"a patch that panics":   {"patch", func(context.Context, runtime.Object, runtime.Object) (runtime.Object, error) { panic("nil") }, apierrors.IsBadRequest},
		"an update that panics": {"update", func(context.Context, runtime.Object, runtime.Object) (runtime.Object, error) { panic("nil") }, apierrors.IsInternalError},
		"an update that fails":  {"update", func(context.Context, runtime.Object, runtime.Object) (runtime.Object, error) { return nil, failed }, func(err error) bool { return errors.Is(err, failed) }},
		"a patch that conflicts": {"patch", func(context.Context, runtime.Object, runtime.Object) (runtime.Object, error) {
			return nil, apierrors.NewConflict(corev1alpha1.Resource("releases"), "app", failed)
		}, apierrors.IsConflict},
		"a patch that fails":    {"patch", func(context.Context, runtime.Object, runtime.Object) (runtime.Object, error) { return nil, failed }, apierrors.IsBadRequest},
		"a patch that succeeds": {"patch", func(_ context.Context, o, _ runtime.Object) (runtime.Object, error) { return o, nil }, func(err error) bool { return err == nil }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ctx := genericapirequest.WithRequestInfo(t.Context(), &genericapirequest.RequestInfo{Verb: c.verb})
			release := &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Name: "app"}}
			updated, err := caught{rest.DefaultUpdatedObjectInfo(release, c.make)}.UpdatedObject(ctx, release)
			g.Expect(c.want(err)).To(BeTrue(), "%v", err)
			g.Expect(updated != nil).To(Equal(err == nil))
		})
	}
}
