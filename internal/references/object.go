// SPDX-License-Identifier: Apache-2.0

package references

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
)

// Kinds of objects that are referred to.
const (
	KindConfigMap = "ConfigMap"
	KindSecret    = "Secret"
)

var resources = map[string]schema.GroupVersionResource{
	KindConfigMap: {Version: "v1", Resource: "configmaps"},
	KindSecret:    {Version: "v1", Resource: "secrets"},
}

// Object names a ConfigMap or a Secret of the host cluster.
type Object struct {
	// Kind is one of the two above.
	Kind            string
	Namespace, Name string
}

// String gives the object as messages show it.
func (o Object) String() string { return o.Kind + " " + o.Namespace + "/" + o.Name }

// OfRelease gives the objects that the values of a Release come from. What its Cluster and
// its sources refer to is theirs.
func OfRelease(release *corev1alpha1.Release) []Object {
	if release.Spec.Render == nil || release.Spec.Render.Helm == nil {
		return nil
	}
	var objects []Object
	for _, from := range release.Spec.Render.Helm.ValuesFrom {
		if _, ok := resources[from.Kind]; ok {
			objects = Append(objects, Object{from.Kind, release.Namespace, from.Name})
		}
	}
	return objects
}

// OfCluster gives the Secrets that the connection to a cluster is made of.
func OfCluster(cluster *corev1alpha1.Cluster) []Object {
	if cluster.Spec.Agentless == nil || cluster.Spec.Agentless.Auth.Kubeconfig == nil {
		return nil
	}
	return secrets(cluster.Namespace, cluster.Spec.Agentless.Auth.Kubeconfig.SecretRef.Name)
}

// OfSource gives the Secrets of a *GitRepository, *HelmRegistry or *OCIRegistry.
func OfSource(source runtime.Object) []Object {
	switch s := source.(type) {
	case *sourcev1alpha1.GitRepository:
		names := []string{nameOf(s.Spec.SecretRef), nameOf(s.Spec.CASecretRef), nameOf(s.Spec.ProxySecretRef)}
		if s.Spec.Verify != nil {
			names = append(names, s.Spec.Verify.SecretRef.Name)
		}
		return secrets(s.Namespace, names...)
	case *sourcev1alpha1.HelmRegistry:
		names := []string{nameOf(s.Spec.SecretRef), nameOf(s.Spec.CASecretRef)}
		if s.Spec.Verify != nil {
			names = append(names, s.Spec.Verify.SecretRef.Name)
		}
		return secrets(s.Namespace, names...)
	case *sourcev1alpha1.OCIRegistry:
		names := []string{nameOf(s.Spec.SecretRef), nameOf(s.Spec.CASecretRef)}
		if s.Spec.Verify != nil {
			names = append(names, nameOf(s.Spec.Verify.SecretRef))
		}
		return secrets(s.Namespace, names...)
	}
	return nil
}

// Append adds objects to others, each once.
func Append(to []Object, objects ...Object) []Object {
	for _, object := range objects {
		if !slices.Contains(to, object) {
			to = append(to, object)
		}
	}
	return to
}

func secrets(namespace string, names ...string) []Object {
	var objects []Object
	for _, name := range names {
		if name != "" {
			objects = Append(objects, Object{KindSecret, namespace, name})
		}
	}
	return objects
}

func nameOf(reference *sourcev1alpha1.SecretReference) string {
	if reference == nil {
		return ""
	}
	return reference.Name
}
