// SPDX-License-Identifier: Apache-2.0

// Package argocd maps Argo CD's Applications, with the repositories, clusters and projects that
// they name, to convoy's objects.
package argocd

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
)

const group = "argoproj.io"

// The kinds that deliver something.
var (
	ApplicationKind    = schema.GroupKind{Group: group, Kind: "Application"}
	ApplicationSetKind = schema.GroupKind{Group: group, Kind: "ApplicationSet"}
	projectKind        = schema.GroupKind{Group: group, Kind: "AppProject"}
)

// FieldManagers are those with which Argo CD writes to a cluster.
const FieldManagers = "argocd-controller,argocd-application-controller"

// annotationWave orders Applications and objects.
const annotationWave = "argocd.argoproj.io/sync-wave"

// Was is what a migration changes of an Application, as it was.
type Was struct {
	Automated  map[string]any `json:"automated,omitempty"`
	Finalizers []string       `json:"finalizers,omitempty"`
}

// WasOf tells how an Application was before a migration; as it is when there was none.
func WasOf(old *unstructured.Unstructured) (Was, error) {
	var was Was
	text := old.GetAnnotations()[migrate.AnnotationWas]
	if text == "" {
		was.Automated, _, _ = unstructured.NestedMap(old.Object, "spec", "syncPolicy", "automated")
		for _, finalizer := range old.GetFinalizers() {
			if Cascades(finalizer) {
				was.Finalizers = append(was.Finalizers, finalizer)
			}
		}
		return was, nil
	}
	if err := json.Unmarshal([]byte(text), &was); err != nil {
		return was, fmt.Errorf("annotation %s of Application %s/%s: %w", migrate.AnnotationWas, old.GetNamespace(), old.GetName(), err)
	}
	return was, nil
}

// Parent names the Application that delivers an Application itself, as the annotation or the
// label says by which Argo CD knows what it delivers; "" when none does.
func Parent(old *unstructured.Unstructured) string {
	if name, _, tracked := strings.Cut(old.GetAnnotations()["argocd.argoproj.io/tracking-id"], ":"); tracked {
		return name[strings.LastIndex(name, "_")+1:] // <namespace>_<name> where it is in another namespace
	}
	return old.GetLabels()["app.kubernetes.io/instance"]
}

// Cascades tells whether a finalizer of an Application has what it delivered deleted with it,
// or hooks run after that.
func Cascades(finalizer string) bool {
	return strings.HasPrefix(finalizer, "resources-finalizer.argocd.argoproj.io") ||
		strings.HasPrefix(finalizer, "post-delete-finalizer.argocd.argoproj.io") ||
		strings.HasPrefix(finalizer, "pre-delete-finalizer.argocd.argoproj.io")
}

// Convert maps an Application. home is the namespace in which Argo CD has its Secrets and
// settings. What cannot be mapped is in the result's findings; the error is that of a read.
func Convert(old *unstructured.Unstructured, home string, reader migrate.Reader) (*migrate.Migration, error) {
	c := &conversion{Migration: &migrate.Migration{Old: old}, reader: reader, home: home}
	if c.Kind() != ApplicationKind {
		return nil, fmt.Errorf("%s is no Application", c.Name())
	}
	was, err := WasOf(old)
	if err != nil {
		return nil, err
	}
	spec, _ := old.Object["spec"].(map[string]any)
	f := migrate.Read("spec", spec, &c.Findings)
	if err := c.destination(f.In("destination")); err != nil {
		return nil, err
	}
	c.policy(f.In("syncPolicy"), was)
	c.ignored(f.Each("ignoreDifferences"))
	if limit := f.Int("revisionHistoryLimit"); limit != nil && *limit > 0 {
		kept := int32(min(*limit, 100))
		c.template.History = &corev1alpha1.HistorySpec{Limit: &kept}
	}
	if err := c.project(f.Text("project")); err != nil {
		return nil, err
	}
	f.Drop("info")
	c.waves()
	if err := c.sources(f); err != nil {
		return nil, err
	}
	f.Rest()
	c.aside()
	if c.template.ClusterRef.Name == "" || len(c.Releases) == 0 {
		c.Releases, c.Support = nil, nil
	}
	return c.Migration, nil
}

// conversion is an Application on its way.
type conversion struct {
	*migrate.Migration
	reader migrate.Reader
	home   string
	// template is what the Releases of all sources have.
	template corev1alpha1.ReleaseSpec
}

// release adds the Release of a source.
func (c *conversion) release(name string, source corev1alpha1.ReleaseSource, render *corev1alpha1.RenderSpec, mutations []corev1alpha1.Mutation) {
	r := &corev1alpha1.Release{
		TypeMeta:   metav1.TypeMeta{APIVersion: corev1alpha1.SchemeGroupVersion.String(), Kind: "Release"},
		ObjectMeta: c.Meta(c.Old.GetNamespace(), name),
	}
	r.Annotations[corev1alpha1.AnnotationAdoptFrom] = FieldManagers
	for key, value := range c.Old.GetLabels() {
		if !strings.Contains(key, group+"/") && key != "app.kubernetes.io/instance" {
			if r.Labels == nil {
				r.Labels = map[string]string{}
			}
			r.Labels[key] = value
		}
	}
	c.template.DeepCopyInto(&r.Spec)
	r.Spec.Source, r.Spec.Render = source, render
	r.Spec.Mutations = append(mutations, r.Spec.Mutations...)
	c.Releases = append(c.Releases, r)
}

// ignored maps ignoreDifferences.
func (c *conversion) ignored(all []*migrate.Fields) {
	for _, f := range all {
		target := corev1alpha1.ObjectSelector{Group: f.Text("group"), Kind: f.Text("kind"), Name: f.Text("name"), Namespace: f.Text("namespace")}
		switch target.Group {
		case "":
			target.Group = "core"
		case "*":
			target.Group = ""
		}
		if target.Kind == "*" {
			target.Kind = ""
		}
		if paths := f.Texts("jsonPointers"); len(paths) > 0 {
			if c.template.Drift == nil {
				c.template.Drift = &corev1alpha1.DriftSpec{}
			}
			c.template.Drift.Ignore = append(c.template.Drift.Ignore, corev1alpha1.DriftIgnore{Target: target, Paths: paths})
		}
		f.Unmapped("jqPathExpressions", "fields are named by JSON pointers only: write them into spec.drift.ignore")
		f.Note("managedFieldsManagers", "fields that others write and the source does not have are no drift anyway; others name in spec.drift.ignore")
		f.Rest()
	}
}

// waves maps the orders of Applications and of objects.
func (c *conversion) waves() {
	if text := c.Old.GetAnnotations()[annotationWave]; text != "" {
		wave, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			c.Unmapped("metadata.annotations", fmt.Sprintf("%s: %q is no number", annotationWave, text))
		} else if wave != 0 {
			c.template.Wave = int32(wave)
			c.Note("metadata.annotations", annotationWave+" becomes spec.wave, which orders all Releases of the Cluster")
		}
	}
	resources, _, _ := unstructured.NestedSlice(c.Old.Object, "status", "resources")
	seen := map[int64]bool{}
	for _, item := range resources {
		resource, _ := item.(map[string]any)
		f := migrate.Read("status.resources", resource, &c.Findings)
		if hook, _ := f.Bool("hook"); hook {
			c.Unmapped("status.resources", fmt.Sprintf("%s %s is a hook of Argo CD: make it a hook of Helm in the chart, or one of spec.lifecycle.hooks, and take it out of the source", f.Text("kind"), f.Text("name")))
		}
		wave := f.Int("syncWave")
		if wave == nil || *wave == 0 || seen[*wave] && *wave > 0 {
			continue
		}
		seen[*wave] = true
		target := corev1alpha1.ObjectSelector{AnnotationSelector: fmt.Sprintf("%s=%d", annotationWave, *wave)}
		name := fmt.Sprintf("wave-%d", *wave)
		if *wave < 0 { // a selector cannot say that
			target = corev1alpha1.ObjectSelector{Group: f.Text("group"), Kind: f.Text("kind"), Name: f.Text("name")}
			if target.Group == "" {
				target.Group = "core"
			}
			name = fmt.Sprintf("wave-minus-%d-%s-%s", -*wave, strings.ToLower(target.Kind), target.Name)
		}
		c.template.Mutations = append(c.template.Mutations, migrate.Annotate(name, target, corev1alpha1.AnnotationStage, strconv.FormatInt(*wave, 10)))
	}
}

// aside tells of what stands beside the spec.
func (c *conversion) aside() {
	for key := range c.Old.GetAnnotations() {
		switch {
		case strings.HasPrefix(key, "notifications.argoproj.io/"):
			c.Note("metadata.annotations", "notifications.argoproj.io: nobody is notified: events and metrics of convoy take that place")
		case strings.HasPrefix(key, "argocd-image-updater.argoproj.io/"):
			c.Note("metadata.annotations", "argocd-image-updater.argoproj.io: images are not updated: let the updater write to Git")
		}
	}
	if parent := Parent(c.Old); parent != "" && parent != c.Old.GetName() {
		c.Note("metadata", fmt.Sprintf("the Application itself is delivered by Application %s: put the objects of convoy in its place there", parent))
	}
	for _, owner := range c.Old.GetOwnerReferences() {
		if owner.Kind == ApplicationSetKind.Kind {
			c.Note("metadata.ownerReferences", fmt.Sprintf("ApplicationSet %s makes the Application, and is not mapped: make the Releases by a tool for templates, and take the ApplicationSet away after its Applications", owner.Name))
		}
	}
}
