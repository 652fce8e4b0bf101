// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
)

// Applied gives the objects that Flux has applied for an object: those of its inventory, or of
// a HelmRelease without one those that Helm has on record in the host. known is false when
// neither tells.
func Applied(old *unstructured.Unstructured, reader migrate.Reader) (keys []corev1alpha1.ObjectKey, known bool, err error) {
	entries, found, _ := unstructured.NestedSlice(old.Object, "status", "inventory", "entries")
	if found {
		for _, item := range entries {
			entry, _ := item.(map[string]any)
			id, _ := entry["id"].(string)
			version, _ := entry["v"].(string)
			key, ok := keyOf(id)
			if !ok {
				return nil, false, fmt.Errorf("inventory of %s %s/%s: %q is no object", old.GetKind(), old.GetNamespace(), old.GetName(), id)
			}
			key.Version = version
			keys = append(keys, key)
		}
		return keys, true, nil
	}
	if old.GroupVersionKind().GroupKind() != HelmReleaseKind {
		return nil, false, nil
	}
	return recorded(old, reader)
}

// keyOf reads an id of an inventory: <namespace>_<name>_<group>_<kind>, with two underscores for
// a colon in the name.
func keyOf(id string) (corev1alpha1.ObjectKey, bool) {
	namespace, rest, ok := strings.Cut(id, "_")
	last := strings.LastIndex(rest, "_")
	if !ok || last < 0 {
		return corev1alpha1.ObjectKey{}, false
	}
	rest, kind := rest[:last], rest[last+1:]
	last = strings.LastIndex(rest, "_")
	if last < 0 {
		return corev1alpha1.ObjectKey{}, false
	}
	return corev1alpha1.ObjectKey{Namespace: namespace, Group: rest[last+1:], Kind: kind, Name: strings.ReplaceAll(rest[:last], "__", ":")}, true
}

// Record tells where Helm has its records of the release of a HelmRelease, and under what name.
func Record(old *unstructured.Unstructured) (namespace, name string) {
	c := &conversion{Migration: &migrate.Migration{Old: old}}
	spec, _ := old.Object["spec"].(map[string]any)
	f := migrate.Read("spec", spec, &c.Findings)
	namespace = old.GetNamespace()
	if of := f.Text("storageNamespace"); of != "" {
		namespace = of
	}
	return namespace, c.helmName(f)
}

// recorded reads what Helm has on record of the release of a HelmRelease.
func recorded(old *unstructured.Unstructured, reader migrate.Reader) ([]corev1alpha1.ObjectKey, bool, error) {
	if _, remote, _ := unstructured.NestedMap(old.Object, "spec", "kubeConfig"); remote {
		return nil, false, nil
	}
	namespace, name := Record(old)
	selector := labels.SelectorFromSet(labels.Set{"owner": "helm", "name": name, "status": "deployed"})
	secrets, err := reader.List(migrate.SecretKind, namespace, selector)
	if err != nil || len(secrets) == 0 {
		return nil, false, err
	}
	newest, version := secrets[0], 0
	for _, secret := range secrets {
		if v, err := strconv.Atoi(secret.GetLabels()["version"]); err == nil && v > version {
			newest, version = secret, v
		}
	}
	keys, err := decodeRecord(newest)
	if err != nil {
		return nil, false, fmt.Errorf("Helm's record of the release in Secret %s/%s: %w", namespace, newest.GetName(), err)
	}
	return keys, true, nil
}

// maxRecord is how large a record may be once it is decompressed.
const maxRecord = 64 << 20

// decodeRecord reads a record of Helm: base64 of gzip of JSON with the manifest of all objects.
func decodeRecord(secret *unstructured.Unstructured) ([]corev1alpha1.ObjectKey, error) {
	data, err := migrate.SecretData(secret)
	if err != nil {
		return nil, err
	}
	packed, err := base64.StdEncoding.DecodeString(string(data["release"]))
	if err != nil {
		return nil, errors.New("it is no base64")
	}
	if bytes.HasPrefix(packed, []byte{0x1f, 0x8b}) {
		unpacker, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, err
		}
		if packed, err = io.ReadAll(io.LimitReader(unpacker, maxRecord)); err != nil {
			return nil, err
		}
	}
	var record struct {
		Namespace string `json:"namespace"`
		Manifest  string `json:"manifest"`
	}
	if err := json.Unmarshal(packed, &record); err != nil {
		return nil, errors.New("it is no JSON")
	}
	return manifestKeys(record.Manifest)
}

// manifestKeys gives the objects of a manifest.
func manifestKeys(manifest string) ([]corev1alpha1.ObjectKey, error) {
	var keys []corev1alpha1.ObjectKey
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096)
	for {
		var object struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Name      string `json:"name"`
				Namespace string `json:"namespace"`
			} `json:"metadata"`
		}
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return keys, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the manifest: %w", err)
		}
		if object.Kind == "" {
			continue
		}
		gv, err := schema.ParseGroupVersion(object.APIVersion)
		if err != nil {
			return nil, err
		}
		keys = append(keys, corev1alpha1.ObjectKey{
			Group: gv.Group, Version: gv.Version, Kind: object.Kind, Namespace: object.Metadata.Namespace, Name: object.Metadata.Name,
		})
	}
}
