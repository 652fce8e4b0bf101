// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
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

// concealed tells of each object whether who asks may not read it.
func concealed(ctx context.Context, comparer *compare.Comparer, objects []corev1alpha1.ObjectHealthDetail) []bool {
	hidden := make([]bool, len(objects))
	compare.Parallel(len(objects), func(i int) {
		// Without a UID: what is not served was not read either.
		_, _, err := comparer.Live(ctx, corev1alpha1.ObjectUID{ObjectKey: objects[i].ObjectKey})
		hidden[i] = err != nil
	})
	return hidden
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
