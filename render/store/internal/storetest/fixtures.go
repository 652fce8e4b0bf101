// SPDX-License-Identifier: Apache-2.0

// Package storetest has what every place of a render store must do, and renders to do it
// with. Only tests import it.
package storetest

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/store"
)

// Object makes an object with fields beside its name.
func Object(kind, name string, fields map[string]any) render.Object {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name, "namespace": "ns"},
	}}
	for key, value := range fields {
		o.Object[key] = value
	}
	return render.Object{Object: o, Stage: -1, Origin: "a.yaml", Keep: true}
}

// ConfigMap makes a ConfigMap that says something.
func ConfigMap(says string) render.Object {
	return Object("ConfigMap", "a", map[string]any{"data": map[string]any{"says": says}})
}

// Record makes a render of Release team/web with two hooks.
func Record(t *testing.T, objects ...render.Object) store.Record {
	t.Helper()
	result := &render.Result{
		Inputs: "sha256:inputs", Objects: objects,
		Hooks: []render.Hook{{
			Name: "h", On: corev1alpha1.HookPreSync, Weight: -3, Timeout: time.Minute, Object: Object("Pod", "h", nil),
			DeletePolicy: []corev1alpha1.HookDeletePolicy{corev1alpha1.HookDeleteSucceeded}, FailurePolicy: corev1alpha1.HookFailureIgnore,
		}},
		OtherHooks:       []render.Hook{{Name: "o", On: corev1alpha1.HookPostSync, When: render.OnUpgrade, Object: Object("Pod", "o", nil)}},
		NonDeterministic: []corev1alpha1.ObjectKey{{Version: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "a"}},
	}
	var err error
	result.Digest, err = result.ComputeDigest()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return store.Record{Namespace: "team", Name: "web", UID: "u", Revision: "main@sha1:0", Result: result}
}
