// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"strings"
)

// object writes a manifest: "apps/v1 Deployment", the metadata but for the braces ("web,
// annotations: {a: b}"), and the rest.
func object(kind, metadata, rest string) string {
	apiVersion, kind, _ := strings.Cut(kind, " ")
	text := fmt.Sprintf("apiVersion: %s, kind: %s, metadata: {name: %s}", apiVersion, kind, metadata)
	if rest != "" {
		text += ", " + rest
	}
	return "{" + text + "}"
}

// configMap has one value v.
func configMap(metadata, value string) string {
	return object("v1 ConfigMap", metadata, fmt.Sprintf("data: {v: %q}", value))
}

// many are ConfigMaps cm-000, cm-001, …
func many(n int, value string) string {
	var texts []string
	for i := range n {
		texts = append(texts, configMap(fmt.Sprintf("cm-%03d", i), value))
	}
	return strings.Join(texts, "\n---\n")
}

// deployment has one pod, whose container has more fields if they are given.
func deployment(metadata, image string, more ...string) string {
	return object("apps/v1 Deployment", metadata, fmt.Sprintf(
		"spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: %q%s}]}}}",
		image, prefixed(more)))
}

// slowDeployment is ready after a time.
func slowDeployment(metadata, image, delay string) string {
	return object("apps/v1 Deployment", metadata, fmt.Sprintf(
		"spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}, annotations: {kwok.convoy.test/delay: %s}}, spec: {containers: [{name: c, image: %q}]}}}",
		delay, image))
}

// job has a pod that behaves as its annotations say, "kwok.convoy.test/behaviour: fail".
func job(metadata, behaviour string, more ...string) string {
	return object("batch/v1 Job", metadata, fmt.Sprintf(
		"spec: {backoffLimit: 0%s, template: {metadata: {annotations: {%s}}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}",
		prefixed(more), behaviour))
}

func service(metadata, ports string) string {
	return object("v1 Service", metadata, "spec: {selector: {app: web}, ports: ["+ports+"]}")
}

func prefixed(more []string) string {
	if len(more) == 0 {
		return ""
	}
	return ", " + strings.Join(more, ", ")
}

const (
	// fails is the behaviour of a pod that fails, endless of one that never ends.
	failing = "kwok.convoy.test/behaviour: fail"
	endless = "kwok.convoy.test/behaviour: never-ready"
	kept    = "convoy.kumodo.io/prune: disabled"
	helmed  = "helm.sh/resource-policy: keep"
)

// definition is the CustomResourceDefinition widgets.$ns.test, of kind Widget, with versions
// such as "v1: true", the last one stored.
func definition(metadata string, versions ...string) string {
	if len(versions) == 0 {
		versions = []string{"v1: true"}
	}
	var texts []string
	for i, version := range versions {
		name, served, _ := strings.Cut(version, ": ")
		texts = append(texts, fmt.Sprintf("{name: %s, served: %s, storage: %v, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}",
			name, served, i == len(versions)-1))
	}
	return object("apiextensions.k8s.io/v1 CustomResourceDefinition", "widgets.$ns.test"+metadata, fmt.Sprintf(
		"spec: {group: $ns.test, scope: Namespaced, names: {kind: Widget, plural: widgets, singular: widget}, versions: [%s]}", strings.Join(texts, ", ")))
}

func widget(metadata string) string { return object("$ns.test/v1 Widget", metadata, "spec: {size: 1}") }

// volume is a PersistentVolume for claims of class $ns.
func volume(name string) string {
	return object("v1 PersistentVolume", name, "spec: {storageClassName: $ns, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /nowhere}}")
}

func claim(metadata string) string {
	return object("v1 PersistentVolumeClaim", metadata, "spec: {storageClassName: $ns, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}")
}

// statefulSet has one pod with a claim data-db-0.
func statefulSet(metadata, service, image, storage string) string {
	return object("apps/v1 StatefulSet", metadata, fmt.Sprintf(`spec: {replicas: 1, serviceName: %s, selector: {matchLabels: {app: db}},
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: %q}]}},
  volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: $ns, accessModes: [ReadWriteOnce], resources: {requests: {storage: %s}}}}]}`,
		service, image, storage))
}

// withRetention has the claims of a StatefulSet deleted with it.
func withRetention(set string) string {
	return strings.Replace(set, "replicas: 1,", "replicas: 1, persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete},", 1)
}
