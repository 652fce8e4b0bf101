// SPDX-License-Identifier: Apache-2.0

package naming

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func TestObjects(t *testing.T) {
	g := NewWithT(t)
	key := corev1alpha1.ObjectKey{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	g.Expect(Object(key)).To(Equal("Deployment.apps shop/web"))
	g.Expect(Object(corev1alpha1.ObjectKey{Kind: "Namespace", Name: "shop"})).To(Equal("Namespace shop"))
	g.Expect(Path("apps", "Deployment", "web")).To(Equal("deployment.apps/web"))
	g.Expect(Path("", "ConfigMap", "cm")).To(Equal("configmap/cm"))
	other := key
	other.Version = "v1beta1"
	g.Expect(Identity(key)).To(Equal(Identity(other)))
}

func TestShort(t *testing.T) {
	for revision, want := range map[string]string{
		"main@sha1:0123456789abcdef0123456789abcdef01234567": "main@sha1:0123456789ab",
		"sha256:0123456789ab":                                "sha256:0123456789ab",
		"v1.2.0":                                             "v1.2.0",
		"":                                                   "",
	} {
		NewWithT(t).Expect(Short(revision)).To(Equal(want))
	}
}
