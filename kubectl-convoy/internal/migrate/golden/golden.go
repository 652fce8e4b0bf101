// SPDX-License-Identifier: Apache-2.0

// Package golden holds conversions against files: for each testdata/*.yaml, of which the first
// object is converted with the others around it, testdata/*.want has what comes of it, with the
// findings before.
package golden

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
)

// updateVariable, when set, makes Test write the files instead of comparing them.
const updateVariable = "CONVOY_UPDATE_GOLDEN"

// Convert is a conversion.
type Convert func(old *unstructured.Unstructured, reader migrate.Reader) (*migrate.Migration, error)

// Test holds a conversion against the files in testdata.
func Test(t *testing.T, convert Convert) {
	t.Helper()
	names, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no files in testdata: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".yaml"), func(t *testing.T) {
			objects := read(t, name)
			m, err := convert(objects[0], objects)
			if err != nil {
				t.Fatal(err)
			}
			got := written(t, m)
			wanted := strings.TrimSuffix(name, ".yaml") + ".want"
			if os.Getenv(updateVariable) != "" {
				if err := os.WriteFile(wanted, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(wanted)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s says otherwise (%s=1 writes it); got:\n%s", wanted, updateVariable, got)
			}
		})
	}
}

// read reads the objects of a file.
func read(t *testing.T, name string) migrate.Snapshot {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var all migrate.Snapshot
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fold(object)
		all = append(all, object)
	}
}

// fold does with stringData what a server does.
func fold(object *unstructured.Unstructured) {
	texts, found, _ := unstructured.NestedStringMap(object.Object, "stringData")
	if !found {
		return
	}
	data := map[string]any{}
	for key, text := range texts {
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	delete(object.Object, "stringData")
	object.Object["data"] = data
}

// written gives what came of a conversion.
func written(t *testing.T, m *migrate.Migration) string {
	t.Helper()
	var out strings.Builder
	for _, finding := range m.Findings {
		word := "note"
		if finding.Unmapped {
			word = "not mapped"
		}
		fmt.Fprintf(&out, "# %s: %s: %s\n", word, finding.Field, finding.Message)
	}
	var objects []runtime.Object
	objects = append(objects, m.Support...)
	for _, release := range m.Releases {
		objects = append(objects, release)
	}
	for _, object := range objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			t.Fatal(err)
		}
		delete(content, "status")
		unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
		data, err := yaml.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "---\n%s", data)
	}
	return out.String()
}

// Object reads an object.
func Object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), object); err != nil {
		t.Fatal(err)
	}
	return object
}

// HelmRecord is a Secret as Helm writes it for a release.
func HelmRecord(t *testing.T, namespace, name, version, manifest string) *unstructured.Unstructured {
	t.Helper()
	content, err := json.Marshal(map[string]string{"name": name, "namespace": namespace, "manifest": manifest})
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	packer := gzip.NewWriter(&packed)
	if _, err := packer.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := packer.Close(); err != nil {
		t.Fatal(err)
	}
	once := base64.StdEncoding.EncodeToString(packed.Bytes())
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
		"metadata": map[string]any{
			"namespace": namespace, "name": "sh.helm.release.v1." + name + ".v" + version,
			"labels": map[string]any{"owner": "helm", "name": name, "version": version, "status": "deployed"},
		},
		"data": map[string]any{"release": base64.StdEncoding.EncodeToString([]byte(once))},
	}}
}
