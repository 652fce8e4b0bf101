// SPDX-License-Identifier: Apache-2.0

package references

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestReader(t *testing.T) {
	g := NewWithT(t)
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "a"}
	reader := &Reader{Client: fake.NewClientset(
		&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"k": []byte("v")}},
		&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"k": "v"}, BinaryData: map[string][]byte{"b": {0, 255}}},
	)}
	g.Expect(reader.Secret(t.Context(), "ns", "a")).To(Equal(map[string][]byte{"k": []byte("v")}))
	g.Expect(reader.ConfigMap(t.Context(), "ns", "a")).To(Equal(map[string]string{"k": "v", "b": "\x00\xff"}))
	_, err := reader.Secret(t.Context(), "ns", "none")
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
	g.Expect(err).To(MatchError(ContainSubstring("Secret ns/none")))
	_, err = reader.ConfigMap(t.Context(), "other", "a")
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
}
