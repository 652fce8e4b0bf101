// SPDX-License-Identifier: Apache-2.0

// Package helmregistry is the controller of HelmRegistries: it checks that they can be reached.
package helmregistry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/controllermanager/internal/controller/source"
	"kumodo.io/convoy/fetch"
)

// Controller is the controller of HelmRegistries.
type Controller = source.Controller[*sourcev1alpha1.HelmRegistry]

// New makes the controller. It must be called before the informer starts.
func New(config source.Config, client versioned.Interface, informer cache.SharedIndexInformer) (*Controller, error) {
	return source.New(config, source.Kind[*sourcev1alpha1.HelmRegistry]{
		Name:     "helmregistry",
		Informer: informer,
		Settings: func(o *sourcev1alpha1.HelmRegistry) source.Settings {
			return source.Settings{Interval: o.Spec.Interval, Suspend: o.Spec.Suspend}
		},
		Status: func(o *sourcev1alpha1.HelmRegistry) source.Status {
			return source.Status{
				ObservedGeneration: &o.Status.ObservedGeneration,
				Conditions:         &o.Status.Conditions,
				LastCheckTime:      &o.Status.LastCheckTime,
			}
		},
		Learn: learn,
		Copy:  (*sourcev1alpha1.HelmRegistry).DeepCopy,
		Update: func(ctx context.Context, o *sourcev1alpha1.HelmRegistry) (*sourcev1alpha1.HelmRegistry, error) {
			return client.SourceV1alpha1().HelmRegistries(o.Namespace).UpdateStatus(ctx, o, metav1.UpdateOptions{})
		},
	})
}

func learn(o *sourcev1alpha1.HelmRegistry, result fetch.CheckResult) {
	o.Status.Charts = int32(result.Charts)
	o.Status.SkippedEntries = int32(result.SkippedEntries)
	o.Status.IndexDigest = result.IndexDigest
}
