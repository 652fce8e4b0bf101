// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// literal is a selector of kustomize, a regular expression, that means just what it says.
var literal = regexp.MustCompile(`^[A-Za-z0-9.-]*$`)

// Selector maps the target of a kustomize patch. ok is false when it selects by a regular
// expression, which is listed.
func Selector(f *Fields) (selector corev1alpha1.ObjectSelector, ok bool) {
	ok = true
	text := func(name string) string {
		value := strings.TrimSuffix(strings.TrimPrefix(f.Text(name), "^"), "$")
		if value == ".*" {
			return ""
		}
		if !literal.MatchString(value) {
			f.findings.Unmapped(f.Path(name), fmt.Sprintf("selects by the regular expression %q, convoy by whole names or labels: write a mutation for each object, or select by labels", value))
			ok = false
		}
		return value
	}
	selector = corev1alpha1.ObjectSelector{
		Group: text("group"), Version: text("version"), Kind: text("kind"), Namespace: text("namespace"), Name: text("name"),
		LabelSelector: f.Text("labelSelector"), AnnotationSelector: f.Text("annotationSelector"),
	}
	f.Rest()
	return selector, ok
}

// Patches maps a list of kustomize patches, each with patch and target, to mutations.
func Patches(name string, patches []*Fields) []corev1alpha1.Mutation {
	var all []corev1alpha1.Mutation
	for i, f := range patches {
		f.Drop("options", "path")
		f.Unmapped("path", "is a file of the source: put the patch into the kustomization there")
		if mutation, ok := patch(f, f.Any("patch")); ok {
			mutation.Name = fmt.Sprintf("%s-%d", name, i+1)
			all = append(all, mutation)
		}
	}
	return all
}

// patch maps a kustomize patch. A strategic one may say itself what it is for.
func patch(f *Fields, content any) (corev1alpha1.Mutation, bool) {
	text, isText := content.(string)
	if !isText {
		data, err := yaml.Marshal(content)
		if err != nil || content == nil {
			return corev1alpha1.Mutation{}, false
		}
		text = string(data)
	}
	mutation := corev1alpha1.Mutation{Patch: text, Type: corev1alpha1.MutationStrategic}
	var parsed any
	if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
		f.findings.Unmapped(f.Path("patch"), "is no YAML")
		return mutation, false
	}
	object, isObject := parsed.(map[string]any)
	switch {
	case !isObject:
		mutation.Type = corev1alpha1.MutationJSON
	case object["$patch"] == "delete":
		f.findings.Unmapped(f.Path("patch"), "deletes the object from what is delivered: take it out of the source")
		return mutation, false
	}
	if f.Has("target") {
		target, ok := Selector(f.In("target"))
		mutation.Target, mutation.Optional = target, true // to kustomize, a target that nothing fits is none
		return mutation, ok
	}
	f.Drop("target")
	if !isObject {
		f.findings.Unmapped(f.Path("target"), "is missing, which a JSON patch needs")
		return mutation, false
	}
	mutation.Target = targetOf(object)
	delete(object, "apiVersion")
	delete(object, "kind")
	metadata, _ := object["metadata"].(map[string]any)
	delete(metadata, "name")
	delete(metadata, "namespace")
	if len(metadata) == 0 {
		delete(object, "metadata")
	}
	data, err := yaml.Marshal(object)
	if err != nil {
		return mutation, false
	}
	mutation.Patch = string(data)
	return mutation, true
}

// targetOf gives what a strategic patch without a target is for.
func targetOf(object map[string]any) corev1alpha1.ObjectSelector {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)
	target := corev1alpha1.ObjectSelector{Kind: kind, Name: name, Namespace: namespace}
	if gv, err := schema.ParseGroupVersion(apiVersion); err == nil {
		target.Group, target.Version = gv.Group, gv.Version
		if gv.Group == "" && gv.Version != "" {
			target.Group = "core"
		}
	}
	return target
}

// Metadata is the mutation that puts labels and annotations on all objects; none when there
// are neither.
func Metadata(name string, labels, annotations map[string]string) []corev1alpha1.Mutation {
	metadata := map[string]any{}
	if len(labels) > 0 {
		metadata["labels"] = labels
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	if len(metadata) == 0 {
		return nil
	}
	return []corev1alpha1.Mutation{merge(name, corev1alpha1.ObjectSelector{}, map[string]any{"metadata": metadata})}
}

// Annotate is the mutation that puts an annotation on the objects that are selected, if there
// are any.
func Annotate(name string, target corev1alpha1.ObjectSelector, annotation, value string) corev1alpha1.Mutation {
	return merge(name, target, map[string]any{"metadata": map[string]any{"annotations": map[string]string{annotation: value}}})
}

// Replicas is the mutation that sets the replicas of a workload, if it is there.
func Replicas(name, kind, of string, count int64) corev1alpha1.Mutation {
	return merge(name, corev1alpha1.ObjectSelector{Group: "apps", Kind: kind, Name: of}, map[string]any{"spec": map[string]any{"replicas": count}})
}

func merge(name string, target corev1alpha1.ObjectSelector, content map[string]any) corev1alpha1.Mutation {
	data, err := yaml.Marshal(content)
	if err != nil {
		panic(fmt.Sprintf("texts and numbers as YAML: %v", err)) // they always are
	}
	return corev1alpha1.Mutation{Name: name, Target: target, Type: corev1alpha1.MutationMerge, Patch: string(data), Optional: true}
}

// StrategicPatches maps a list of strategic patches, texts or objects, that name their targets.
func StrategicPatches(name string, f *Fields, field string) []corev1alpha1.Mutation {
	items, _ := f.Any(field).([]any)
	var all []corev1alpha1.Mutation
	for i, item := range items {
		content := map[string]any{"patch": item}
		if mutation, ok := patch(Read(fmt.Sprintf("%s[%d]", f.Path(field), i), content, f.findings), item); ok {
			mutation.Name = fmt.Sprintf("%s-%d", name, i+1)
			all = append(all, mutation)
		}
	}
	return all
}

// Affixed has patches, which kustomize makes before it changes names, meet the changed names.
func Affixed(all []corev1alpha1.Mutation, prefix, suffix string) []corev1alpha1.Mutation {
	for i := range all {
		if target := &all[i].Target; target.Name != "" {
			target.Name = prefix + target.Name + suffix
		}
	}
	return all
}
