// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// HostCluster is the name of a Cluster that is made for the host itself.
const HostCluster = "in-cluster"

var clusterKind = schema.GroupKind{Group: corev1alpha1.SchemeGroupVersion.Group, Kind: "Cluster"}

// Cluster makes a Release's Cluster: one of its namespace that is reached in the same way, or a
// new one of the given name. It gives the name to refer to.
func (m *Migration) Cluster(reader Reader, namespace, name string, spec corev1alpha1.ClusterSpec) (string, error) {
	existing, err := reader.List(clusterKind, namespace, labels.Everything())
	if err != nil {
		return "", fmt.Errorf("listing Clusters of namespace %s: %w", namespace, err)
	}
	for _, object := range existing {
		var cluster corev1alpha1.Cluster
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &cluster); err != nil {
			return "", fmt.Errorf("Cluster %s/%s: %w", namespace, object.GetName(), err)
		}
		if sameTarget(&cluster.Spec, &spec) {
			return cluster.Name, nil
		}
	}
	m.Support = append(m.Support, &corev1alpha1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: corev1alpha1.SchemeGroupVersion.String(), Kind: "Cluster"},
		ObjectMeta: m.Meta(namespace, name), Spec: spec,
	})
	return name, nil
}

// sameTarget tells whether two Clusters are reached in the same way, as the same account.
func sameTarget(a, b *corev1alpha1.ClusterSpec) bool {
	if (a.Agentless == nil) != (b.Agentless == nil) || !reflect.DeepEqual(a.Impersonate, b.Impersonate) {
		return false
	}
	if a.Agentless == nil {
		return true
	}
	left, right := a.Agentless.Auth.Kubeconfig, b.Agentless.Auth.Kubeconfig
	return left != nil && right != nil && left.SecretRef.Name == right.SecretRef.Name && keyOf(left) == keyOf(right)
}

func keyOf(auth *corev1alpha1.KubeconfigAuth) string {
	if auth.SecretRef.Key == "" {
		return corev1alpha1.DefaultKubeconfigKey
	}
	return auth.SecretRef.Key
}

// ByKubeconfig is a Cluster that is reached with the kubeconfig in a Secret.
func ByKubeconfig(secret, key string) corev1alpha1.ClusterSpec {
	return corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeAgentless, Agentless: &corev1alpha1.AgentlessAccess{
		Auth: corev1alpha1.ClusterAuth{
			Type:       corev1alpha1.ClusterAuthTypeKubeconfig,
			Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: secret, Key: key}},
		},
	}}
}

// ClusterNamed gives the name of a Cluster after that of its Secret.
func ClusterNamed(secret string) string {
	for _, suffix := range []string{"-kubeconfig", ".kubeconfig"} {
		if name := strings.TrimSuffix(secret, suffix); name != secret && name != "" {
			return name
		}
	}
	return secret
}
