// SPDX-License-Identifier: Apache-2.0

// Package ociregistry is the controller of OCIRegistries: it checks that they can be reached.
package ociregistry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/controllermanager/internal/controller/source"
	"kumodo.io/convoy/fetch"
)

// Controller is the controller of OCIRegistries.
type Controller = source.Controller[*sourcev1alpha1.OCIRegistry]

// New makes the controller. It must be called before the informer starts.
func New(config source.Config, client versioned.Interface, informer cache.SharedIndexInformer) (*Controller, error) {
	return source.New(config, source.Kind[*sourcev1alpha1.OCIRegistry]{
		Name:     "ociregistry",
		Informer: informer,
		Settings: func(o *sourcev1alpha1.OCIRegistry) source.Settings {
			return source.Settings{Interval: o.Spec.Interval, Suspend: o.Spec.Suspend}
		},
		Status: func(o *sourcev1alpha1.OCIRegistry) source.Status {
			return source.Status{
				ObservedGeneration: &o.Status.ObservedGeneration,
				Conditions:         &o.Status.Conditions,
				LastCheckTime:      &o.Status.LastCheckTime,
			}
		},
		Learn: learn,
		Copy:  (*sourcev1alpha1.OCIRegistry).DeepCopy,
		Update: func(ctx context.Context, o *sourcev1alpha1.OCIRegistry) (*sourcev1alpha1.OCIRegistry, error) {
			return client.SourceV1alpha1().OCIRegistries(o.Namespace).UpdateStatus(ctx, o, metav1.UpdateOptions{})
		},
	})
}

// learn has nothing to write: a registry as a whole tells only that it is there.
func learn(*sourcev1alpha1.OCIRegistry, fetch.CheckResult) {}
