// SPDX-License-Identifier: Apache-2.0

// Package references is about the Secrets and ConfigMaps that convoy's objects refer to: it
// says which these are, reads them, and tells when they change. Each is read by name when it
// is needed; of what is watched, nothing is held but names and versions.
package references

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Reader reads from the host cluster.
type Reader struct {
	Client kubernetes.Interface
}

// Secret returns the data of a Secret; the caller owns it. Errors name the Secret and keep
// the API's kind of failure (apierrors.IsNotFound and its like).
func (r *Reader) Secret(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	secret, err := r.Client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("Secret %s/%s: %w", namespace, name, err)
	}
	return secret.Data, nil
}

// ConfigMap returns the data of a ConfigMap, binary data included as strings of the same
// bytes; the caller owns it. Errors are as those of Secret.
func (r *Reader) ConfigMap(ctx context.Context, namespace, name string) (map[string]string, error) {
	configMap, err := r.Client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s/%s: %w", namespace, name, err)
	}
	data := make(map[string]string, len(configMap.Data)+len(configMap.BinaryData))
	for key, value := range configMap.Data {
		data[key] = value
	}
	for key, value := range configMap.BinaryData {
		data[key] = string(value)
	}
	return data, nil
}
