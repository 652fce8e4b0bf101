// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Installation returns the name of this convoy installation: the flag's value, or the UID
// of the host's namespace kube-system, which stays as long as the cluster does.
func Installation(ctx context.Context, client kubernetes.Interface, flagValue string) (string, error) {
	if flagValue != "" {
		return flagValue, nil
	}
	namespace, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("name of the installation (give --installation to set it): %w", err)
	}
	return string(namespace.UID), nil
}
