// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const (
	root        = "../.."
	chartFolder = root + "/charts/convoy"
)

// object is a manifest, as JSON would have it.
type object map[string]any

func (o object) field(keys ...string) any {
	var value any = map[string]any(o)
	for _, key := range keys {
		fields, _ := value.(map[string]any)
		value = fields[key]
	}
	return value
}

func (o object) text(keys ...string) string {
	text, _ := o.field(keys...).(string)
	return text
}

// id tells objects of one cluster apart.
func (o object) id() string {
	return strings.Join([]string{o.text("apiVersion"), o.text("kind"), o.text("metadata", "namespace"), o.text("metadata", "name")}, " ")
}

// parse reads a stream of manifests. Two of one name are a fault, and so is one without a name.
func parse(t *testing.T, stream string) map[string]object {
	t.Helper()
	objects := map[string]object{}
	for _, document := range releaseutil.SplitManifests(stream) { // as Helm cuts it
		var one object
		if err := yaml.UnmarshalStrict([]byte(document), &one); err != nil {
			t.Fatalf("%v in:\n%s", err, document)
		}
		if len(one) == 0 {
			continue
		}
		if one.text("apiVersion") == "" || one.text("kind") == "" || one.text("metadata", "name") == "" {
			t.Fatalf("an object without apiVersion, kind or name:\n%s", document)
		}
		if objects[one.id()] != nil {
			t.Fatalf("%s is there twice", one.id())
		}
		objects[one.id()] = one
	}
	return objects
}

// rendered are the objects of the chart, those of hooks included.
func rendered(t *testing.T, namespace, values string) map[string]object {
	t.Helper()
	given := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	made, err := renderTree(namespace, given)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, made.objects)
}

// renderTree renders the chart as it is in the tree.
func renderTree(namespace string, values map[string]any) (release, error) {
	one, err := load(chartFolder)
	if err != nil {
		return release{}, err
	}
	return render(one, namespace, values)
}

// kustomized are the objects of folders of config/.
func kustomized(t *testing.T, folders ...string) map[string]object {
	t.Helper()
	objects := map[string]object{}
	for _, folder := range folders {
		made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), root+"/config/"+folder)
		if err != nil {
			t.Fatal(err)
		}
		stream, err := made.AsYaml()
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(objects, parse(t, string(stream)))
	}
	return objects
}

// find is the one object of a kind and name.
func find(t *testing.T, objects map[string]object, kind, name string) object {
	t.Helper()
	for _, one := range objects {
		if one.text("kind") == kind && one.text("metadata", "name") == name {
			return one
		}
	}
	t.Fatalf("no %s %s among %v", kind, name, slices.Sorted(maps.Keys(objects)))
	return nil
}
