// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/observer/internal/compare"
	"kumodo.io/convoy/observer/internal/observer"
)

type callerKey struct{}

// asCaller notes for whom objects of targets are read.
func asCaller(ctx context.Context, caller rest.ImpersonationConfig) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

func isCaller(ctx context.Context) bool {
	caller, ok := ctx.Value(callerKey{}).(rest.ImpersonationConfig)
	return ok && caller.UserName != ""
}

// concealed tells of each object why who asks is not shown what was read of it, "" when he is.
// The error is that of a target that does not answer.
func concealed(ctx context.Context, target *observer.Target, comparer *compare.Comparer, objects []corev1alpha1.ObjectHealthDetail) ([]string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	why := make([]string, len(objects))
	compare.Parallel(len(objects), func(i int) {
		// Without a UID: what is not served was not read either.
		_, _, err := comparer.Live(ctx, corev1alpha1.ObjectUID{ObjectKey: objects[i].ObjectKey})
		switch {
		case err == nil:
		case apierrors.IsForbidden(err):
			why[i] = "not shown: you may not read the object in the target cluster"
		case errors.Is(err, clusterconn.ErrUnreachable), errors.Is(err, clusterconn.ErrUnauthenticated):
			cancel(target.Blame(err))
		default:
			why[i] = "not shown: it could not be read as you: " + err.Error()
		}
	})
	return why, context.Cause(ctx)
}

// reads gives the client that reads objects of a target: as whoever asks, where that is
// wanted and known, else nil, which is as the Release.
func reads(ctx context.Context, target *observer.Target) (dynamic.Interface, error) {
	caller, ok := ctx.Value(callerKey{}).(rest.ImpersonationConfig)
	if !ok || caller.UserName == "" {
		return nil, nil
	}
	// The credentials of the Cluster impersonate the caller in place of the Release's identity.
	config := target.Config()
	config.Impersonate = caller
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("a client for who asks: %w", err)
	}
	return client, nil
}

// comparer compares objects of a Release with its target, for one answer.
func (s *Server) comparer(ctx context.Context, release *corev1alpha1.Release, target *observer.Target) (*compare.Comparer, error) {
	client, err := reads(ctx, target)
	if err != nil {
		return nil, err
	}
	return &compare.Comparer{Target: target, Reads: client, Installation: s.Host.Installation, Release: release}, nil
}
