// SPDX-License-Identifier: Apache-2.0

// Package flux maps Flux's Kustomizations and HelmReleases, with the sources that they name, to
// convoy's objects.
package flux

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
)

const sourceGroup = "source.toolkit.fluxcd.io"

// The kinds that deliver something.
var (
	KustomizationKind = schema.GroupKind{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization"}
	HelmReleaseKind   = schema.GroupKind{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"}
)

// FieldManagers are those with which Flux, and Helm in it, write to a cluster.
const FieldManagers = "kustomize-controller,helm-controller"

// Convert maps a Kustomization or a HelmRelease. What cannot be mapped is in the result's
// findings; the error is that of a read.
func Convert(old *unstructured.Unstructured, reader migrate.Reader) (*migrate.Migration, error) {
	c := &conversion{Migration: &migrate.Migration{Old: old}, reader: reader}
	spec, _ := old.Object["spec"].(map[string]any)
	fields := migrate.Read("spec", spec, &c.Findings)
	name, err := releaseName(old, reader)
	if err != nil {
		return nil, err
	}
	c.release = &corev1alpha1.Release{
		TypeMeta:   metav1.TypeMeta{APIVersion: corev1alpha1.SchemeGroupVersion.String(), Kind: "Release"},
		ObjectMeta: c.Meta(old.GetNamespace(), name),
	}
	c.release.Annotations[corev1alpha1.AnnotationAdoptFrom] = FieldManagers
	c.release.Labels = labelsOf(old)
	switch c.Kind() {
	case KustomizationKind:
		err = c.kustomization(fields)
	case HelmReleaseKind:
		err = c.helmRelease(fields)
	default:
		err = fmt.Errorf("%s is neither a Kustomization nor a HelmRelease", c.Name())
	}
	if err != nil {
		return nil, err
	}
	fields.Rest()
	c.parent()
	if c.release.Spec.Source == (corev1alpha1.ReleaseSource{}) {
		c.Support = nil // nothing needs it
		return c.Migration, nil
	}
	c.Releases = []*corev1alpha1.Release{c.release}
	return c.Migration, nil
}

// conversion is one object on its way.
type conversion struct {
	*migrate.Migration
	reader  migrate.Reader
	release *corev1alpha1.Release
}

// common maps what both kinds have.
func (c *conversion) common(f *migrate.Fields) error {
	spec := &c.release.Spec
	spec.TargetNamespace = f.Text("targetNamespace")
	if spec.TargetNamespace == c.release.Namespace {
		spec.TargetNamespace = ""
	}
	spec.Sync.Interval = f.Duration("interval")
	spec.Sync.Timeout = f.Duration("timeout")
	spec.Suspend = f.True("suspend") && c.Old.GetAnnotations()[migrate.AnnotationTo] == ""
	if spec.Suspend {
		c.Note("spec.suspend", "is true, and so it is for the Release: it takes nothing over until it is resumed")
	}
	metadata := f.In("commonMetadata")
	spec.Mutations = append(spec.Mutations, migrate.Metadata("common-metadata", metadata.TextMap("labels"), metadata.TextMap("annotations"))...)
	metadata.Rest()
	if err := c.dependsOn(f.Each("dependsOn")); err != nil {
		return err
	}
	return c.cluster(f)
}

func (c *conversion) dependsOn(all []*migrate.Fields) error {
	for _, f := range all {
		name, namespace := f.Text("name"), f.Text("namespace")
		f.Unmapped("readyExpr", "speaks of Flux's objects: write spec.dependsOn[].readyExpr of the Release, over `release`")
		f.Rest()
		if namespace != "" && namespace != c.release.Namespace {
			c.Unmapped(f.Path("namespace"), fmt.Sprintf("is %s, and Releases wait for those of their own namespace only: order them by spec.wave", namespace))
			continue
		}
		other := &unstructured.Unstructured{}
		other.SetGroupVersionKind(c.Kind().WithVersion(""))
		other.SetNamespace(c.release.Namespace)
		other.SetName(name)
		release, err := releaseName(other, c.reader)
		if err != nil {
			return err
		}
		c.release.Spec.DependsOn = append(c.release.Spec.DependsOn, corev1alpha1.Dependency{Name: release})
	}
	return nil
}

// cluster maps kubeConfig and serviceAccountName.
func (c *conversion) cluster(f *migrate.Fields) error {
	spec, name := corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeInCluster}, migrate.HostCluster
	access := f.In("kubeConfig")
	access.Unmapped("configMapRef", "takes credentials from a cloud's identity, for which convoy has no authenticator: make the Cluster with 'kubectl convoy cluster add'")
	if secret := access.In("secretRef"); secret.Has("name") {
		c.Remote = true
		of, key := secret.Text("name"), secret.Text("key")
		if key == "" {
			key = "value"
			object, err := c.reader.Get(migrate.SecretKind, c.release.Namespace, of)
			if err != nil {
				return err
			}
			if object != nil && !has(object, "value") && has(object, "value.yaml") {
				key = "value.yaml"
			}
		}
		spec, name = migrate.ByKubeconfig(of, key), migrate.ClusterNamed(of)
		secret.Rest()
	}
	access.Rest()
	if account := f.Text("serviceAccountName"); account != "" {
		if c.release.Spec.TargetNamespace == "" {
			c.release.Spec.ServiceAccountName = account
		} else { // a Release's is one of the namespace that it delivers to
			spec.Impersonate = &corev1alpha1.Impersonation{ServiceAccount: corev1alpha1.ServiceAccountReference{Namespace: c.release.Namespace, Name: account}}
			name += "-as-" + account
		}
	}
	name, err := c.Cluster(c.reader, c.release.Namespace, name, spec)
	c.release.Spec.ClusterRef.Name = name
	return err
}

func has(secret *unstructured.Unstructured, key string) bool {
	_, found, _ := unstructured.NestedString(secret.Object, "data", key)
	return found
}

// releaseName gives the name of the Release for an object: its own, but for a Kustomization
// beside which there is a HelmRelease of its name.
func releaseName(old *unstructured.Unstructured, reader migrate.Reader) (string, error) {
	if old.GroupVersionKind().GroupKind() != KustomizationKind {
		return old.GetName(), nil
	}
	other, err := reader.Get(HelmReleaseKind, old.GetNamespace(), old.GetName())
	if err != nil || other == nil {
		return old.GetName(), err
	}
	return old.GetName() + "-kustomization", nil
}

// labelsOf gives the labels that people put on an object.
func labelsOf(old *unstructured.Unstructured) map[string]string {
	labels := map[string]string{}
	for key, value := range old.GetLabels() {
		if !strings.Contains(key, "toolkit.fluxcd.io/") {
			labels[key] = value
		}
	}
	if len(labels) == 0 {
		return nil
	}
	return labels
}

// Parent tells which Kustomization delivers an object itself; "" when none does.
func Parent(old *unstructured.Unstructured) (namespace, name string) {
	labels := old.GetLabels()
	namespace, name = labels[KustomizationKind.Group+"/namespace"], labels[KustomizationKind.Group+"/name"]
	if old.GroupVersionKind().GroupKind() == KustomizationKind && name == old.GetName() && namespace == old.GetNamespace() {
		return "", ""
	}
	return namespace, name
}

func (c *conversion) parent() {
	if namespace, name := Parent(c.Old); name != "" {
		c.Note("metadata.labels", fmt.Sprintf("the object itself is delivered by Kustomization %s/%s: put the objects of convoy in its place there, or a change of it there counts again", namespace, name))
	}
}
