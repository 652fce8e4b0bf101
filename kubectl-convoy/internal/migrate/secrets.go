// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"encoding/base64"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// SecretData gives the data of a Secret.
func SecretData(secret *unstructured.Unstructured) (map[string][]byte, error) {
	encoded, _, err := unstructured.NestedStringMap(secret.Object, "data")
	if err != nil {
		return nil, fmt.Errorf("Secret %s/%s: %w", secret.GetNamespace(), secret.GetName(), err)
	}
	data := make(map[string][]byte, len(encoded))
	for key, text := range encoded {
		if data[key], err = base64.StdEncoding.DecodeString(text); err != nil {
			return nil, fmt.Errorf("Secret %s/%s: its key %s is no base64", secret.GetNamespace(), secret.GetName(), key)
		}
	}
	return data, nil
}

// Secret adds a Secret to what is made, and gives its name.
func (m *Migration) Secret(namespace, name string, kind corev1.SecretType, data map[string][]byte) string {
	m.Support = append(m.Support, &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: m.Meta(namespace, name), Type: kind, Data: data,
	})
	return name
}
