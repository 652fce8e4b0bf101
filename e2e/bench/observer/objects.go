// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"fmt"
	"strings"
)

// resources are those of all objects.
var resources = []string{"configmaps", "secrets", "services", "serviceaccounts", "pods"}

// manifests are so many objects of one Release, as files have them.
func manifests(name string, count int) string {
	list := []string{
		fmt.Sprintf("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: %s}\n", name),
		fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\nstringData: {token: %s}\n", name, name),
		fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %s}\nspec: {selector: {app: %s}, ports: [{name: http, port: 80, targetPort: 8080}]}\n", name, name),
		configMap(name),
	}
	for n := len(list); n < count; n++ {
		list = append(list, configMap(fmt.Sprintf("%s-%d", name, n)))
	}
	return strings.Join(list, "---\n")
}

// asApplied is the value of the field that is edited.
const asApplied = "as applied"

// configMap has 1 KiB of content.
func configMap(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {value: %s, text: %q}\n", name, asApplied, strings.Repeat("0123456789abcdef", 64))
}

// releaseName of the n-th Release, whose folder in the repository has the same name.
func releaseName(n int) string { return fmt.Sprintf("release-%04d", n) }

// burstName is the Release of pods.
const burstName = "burst"

func podName(n int) string { return fmt.Sprintf("pod-%03d", n) }

// pods are the manifests of the Release that much happens to.
func pods(count int) string {
	var list []string
	for n := range count {
		list = append(list, fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {automountServiceAccountToken: false, containers: [{name: c, image: example.com/c}]}\n", podName(n)))
	}
	return strings.Join(list, "---\n")
}
