// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// objectsOfOne is how many objects each of the many Releases has.
const objectsOfOne = 10

// resources are those of all objects.
var resources = []string{"configmaps", "secrets", "services", "serviceaccounts", "roles", "rolebindings"}

// manifests are the objects of one Release, of kinds that need no controller: a service
// with its identity, its rights and its configuration.
func manifests(name, value string) []string {
	list := []string{
		fmt.Sprintf("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: %s}\n", name),
		fmt.Sprintf("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: %s}\nrules: [{apiGroups: [''], resources: [configmaps], verbs: [get, list, watch]}]\n", name),
		fmt.Sprintf("apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: %s}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %s}\nsubjects: [{kind: ServiceAccount, name: %s}]\n", name, name, name),
		fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\nstringData: {token: %s}\n", name, name),
		fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %s}\nspec: {selector: {app: %s}, ports: [{name: http, port: 80, targetPort: 8080}]}\n", name, name),
		configMap(name, value),
	}
	for i := len(list); i < objectsOfOne; i++ {
		list = append(list, configMap(fmt.Sprintf("%s-%d", name, i), "unchanged"))
	}
	return list
}

// configMap has 1 KiB of content.
func configMap(name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {app: %s}}\ndata: {value: %q, text: %q}\n",
		name, name, value, strings.Repeat("0123456789abcdef", 64))
}

// releaseName of the n-th Release, whose folder in the repository has the same name.
func releaseName(n int) string { return fmt.Sprintf("release-%04d", n) }

// file is the one file of a Release.
func file(manifests []string) string { return strings.Join(manifests, "---\n") }

// decoded gives manifests as objects of a namespace.
func decoded(namespace string, manifests []string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, manifest := range manifests {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
			return nil, fmt.Errorf("decode a manifest: %w", err)
		}
		object.SetNamespace(namespace)
		objects = append(objects, object)
	}
	return objects, nil
}
