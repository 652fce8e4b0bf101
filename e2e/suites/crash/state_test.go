// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// state is all that there is of a world.
type state struct {
	objects     []unstructured.Unstructured // of the target
	releases    []corev1alpha1.Release
	inventories []corev1alpha1.ReleaseInventory
}

// read reads the state, the inventories before the objects that they are to name.
func (r *rig) read(ctx context.Context, w *world) (*state, error) {
	s := &state{}
	releases, err := w.API.CoreV1alpha1().Releases(w.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	inventories, err := w.API.CoreV1alpha1().ReleaseInventories(w.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	s.releases, s.inventories = releases.Items, inventories.Items
	for _, resource := range []schema.GroupVersionResource{
		{Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "secrets"}, {Version: "v1", Resource: "services"},
		{Version: "v1", Resource: "serviceaccounts"}, {Group: "batch", Version: "v1", Resource: "jobs"},
		{Group: w.group(), Version: "v1", Resource: "things"},
	} {
		if err := s.add(ctx, r.target.Resource(resource).Namespace(w.Name), metav1.ListOptions{}); err != nil {
			return nil, err
		}
	}
	definitions := r.target.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if err := s.add(ctx, definitions, metav1.ListOptions{FieldSelector: "metadata.name=things." + w.group()}); err != nil {
		return nil, err
	}
	return s, nil
}

// add reads objects, without those that are in every namespace.
func (s *state) add(ctx context.Context, client dynamic.ResourceInterface, options metav1.ListOptions) error {
	list, err := client.List(ctx, options)
	if apierrors.IsNotFound(err) {
		return nil // the kind is not served
	}
	if err != nil {
		return err
	}
	for _, object := range list.Items {
		if name := object.GetName(); name != "default" && name != "kube-root-ca.crt" {
			s.objects = append(s.objects, object)
		}
	}
	return nil
}

func keyOf(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetName()
}

// uncovered names the objects that bear the mark of a Release whose inventory does not name them.
func (s *state) uncovered() []string {
	covered := map[string]bool{}
	for _, page := range s.inventories {
		for _, entry := range page.Spec.Entries {
			covered[page.Spec.ReleaseRef.Name+" "+entry.Kind+" "+entry.Namespace+"/"+entry.Name] = true
		}
	}
	var uncovered []string
	for _, object := range s.objects {
		if _, marked := object.GetLabels()[corev1alpha1.LabelOwner]; !marked {
			continue
		}
		_, _, release, _ := corev1alpha1.ParseReleaseAnnotation(object.GetAnnotations()[corev1alpha1.AnnotationRelease])
		if name := release + " " + object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName(); !covered[name] {
			uncovered = append(uncovered, name)
		}
	}
	return uncovered
}

// uids gives the UIDs of the objects of the target but those of hooks.
func (s *state) uids() map[string]types.UID {
	uids := map[string]types.UID{}
	for _, object := range s.objects {
		if object.GetKind() != "Job" {
			uids[keyOf(&object)] = object.GetUID()
		}
	}
	return uids
}

// lines gives the state as lines that are the same in every world that fared the same.
func (s *state) lines(w *world) ([]string, error) {
	content := map[string]any{}
	for _, object := range s.objects {
		content[keyOf(&object)] = withoutChance(object.DeepCopy()).Object
	}
	for _, release := range s.releases {
		plain := release.DeepCopy()
		if plain.Status.Source != nil {
			plain.Status.Source.CheckedAt = nil
		}
		if err := put(content, "Release "+release.Name, plain); err != nil {
			return nil, err
		}
	}
	for _, inventory := range s.inventories {
		plain := inventory.DeepCopy()
		plain.Generation, plain.Status.ObservedGeneration = 0, 0
		for i := range plain.Spec.Entries {
			plain.Spec.Entries[i].ResourceVersion = ""
		}
		if err := put(content, "ReleaseInventory "+inventory.Name, plain); err != nil {
			return nil, err
		}
	}
	var lines []string
	flatten(&lines, "", content)
	text := s.renamed(w, strings.Join(lines, "\n"))
	return strings.Split(text, "\n"), nil
}

func put(content map[string]any, name string, object any) error {
	plain, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return err
	}
	content[name] = withoutChance(&unstructured.Unstructured{Object: plain}).Object
	return nil
}

// withoutChance takes off an object what differs from time to time. Of the objects of the
// target, the status is not convoy's either.
func withoutChance(object *unstructured.Unstructured) *unstructured.Unstructured {
	object.SetResourceVersion("")
	object.SetCreationTimestamp(metav1.Time{})
	var ours []any
	for _, entry := range object.GetManagedFields() {
		if entry.Manager == corev1alpha1.FieldManager && entry.FieldsV1 != nil {
			ours = append(ours, fmt.Sprintf("%s %s %s", entry.Operation, entry.Subresource, entry.FieldsV1.GetRawString()))
		}
	}
	object.SetManagedFields(nil)
	if object.GroupVersionKind().Group != corev1alpha1.GroupName {
		delete(object.Object, "status")
		object.Object["applied"] = ours
	}
	return object
}

func flatten(lines *[]string, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			flatten(lines, path+"/"+key, value[key])
		}
	case []any:
		for i, item := range value {
			flatten(lines, fmt.Sprintf("%s/%d", path, i), item)
		}
	default:
		text, _ := json.Marshal(value) // of what was decoded
		*lines = append(*lines, path+" = "+string(text))
	}
}

var (
	uidPattern    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	digestPattern = regexp.MustCompile(`sha256:[0-9a-f]{64}`)
	runPattern    = regexp.MustCompile(`"([a-z-]+)/[0-9a-f]{16}"`) // the mark of a hook's run
	timePattern   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
)

// renamed gives what is a world's own the names that it has in all worlds.
func (s *state) renamed(w *world, text string) string {
	names := map[string]string{}
	for _, object := range s.objects {
		names[string(object.GetUID())] = "<uid of " + keyOf(&object) + ">"
		if installation, namespace, name, ok := corev1alpha1.ParseReleaseAnnotation(object.GetAnnotations()[corev1alpha1.AnnotationRelease]); ok {
			text = strings.ReplaceAll(text, corev1alpha1.OwnerLabelValue(installation, namespace, name), "<mark of "+name+">")
		}
	}
	for _, release := range s.releases {
		names[string(release.UID)] = "<uid of " + release.Name + ">"
		if applied := release.Status.Applied; applied != nil {
			names[applied.Render] = "<render of " + release.Name + ">"
		}
	}
	for _, inventory := range s.inventories {
		names[string(inventory.UID)] = "<uid of inventory " + inventory.Name + ">"
	}
	name := func(what string) func(string) string {
		return func(found string) string {
			if name, ok := names[found]; ok {
				return name
			}
			return what
		}
	}
	text = uidPattern.ReplaceAllStringFunc(text, name("<uid>"))
	text = digestPattern.ReplaceAllStringFunc(text, name("<digest>"))
	text = runPattern.ReplaceAllString(text, `"$1/<run>"`)
	text = timePattern.ReplaceAllString(text, "<time>")
	for i, commit := range w.commits {
		text = regexp.MustCompile(commit[:7]+`[0-9a-f]*`).ReplaceAllString(text, fmt.Sprintf("<commit %d>", i+1))
	}
	return strings.ReplaceAll(text, w.Name, "<world>")
}

// difference gives the lines that only one of two states has.
func difference(want, got []string) []string {
	var lines []string
	for _, line := range want {
		if !slices.Contains(got, line) {
			lines = append(lines, "- "+line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			lines = append(lines, "+ "+line)
		}
	}
	return lines
}
