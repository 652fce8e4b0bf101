// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/bench/parallel"
	"kumodo.io/convoy/e2e/bench/stand"
	"kumodo.io/convoy/e2e/framework/manifests"
	"kumodo.io/convoy/e2e/framework/poll"
)

const (
	kind = "Release"
	// referenceGroup is the group of the CustomResourceDefinition.
	referenceGroup = "reference.bench.kumodo.io"
	// user makes the requests. RBAC gives it its rights, as it does to people and programs.
	user = "bench"

	servedTimeout = time.Minute
)

// sides are the two subjects.
type sides struct{ ours, reference *subject }

// both are the subjects in the order of a round: they take turns in going first.
func (s sides) both(round int) []*subject {
	if round%2 == 0 {
		return []*subject{s.ours, s.reference}
	}
	return []*subject{s.reference, s.ours}
}

// prepare makes the reference kind, namespaces and rights, and gives the two subjects when
// both are served.
func prepare(ctx context.Context, st *stand.Stand, v variants) (sides, error) {
	if err := installReference(ctx, st); err != nil {
		return sides{}, err
	}
	config := st.Admin()
	if !v.masters {
		kubeconfig, err := st.Host.KubeconfigFor(user)
		if err != nil {
			return sides{}, err
		}
		if config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
			return sides{}, fmt.Errorf("read the kubeconfig of %s: %w", filepath.Base(kubeconfig), err)
		}
	}
	toOurs := rest.CopyConfig(config)
	if v.direct {
		toOurs.Host = st.Convoy.APIServerURL()
	}
	var s sides
	var err error
	if s.ours, err = newSubject("convoy", corev1alpha1.GroupName, toOurs); err != nil {
		return sides{}, err
	}
	if s.reference, err = newSubject("CRD", referenceGroup, config); err != nil {
		return sides{}, err
	}
	return s, s.await(ctx)
}

// await returns when both answer.
func (s sides) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()
	for _, one := range s.both(0) {
		err := poll.Until(ctx, 100*time.Millisecond, func(ctx context.Context) error {
			return one.send(ctx, request{path: one.path(namespace)}, &bytes.Buffer{})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// installReference makes the CustomResourceDefinition from convoy-apiserver's own OpenAPI
// document, and the rest of what the subjects need on the host.
func installReference(ctx context.Context, st *stand.Stand) error {
	convoy, err := st.ConvoyServer()
	if err != nil {
		return err
	}
	subject := &subject{name: convoy.Name, config: &rest.Config{Host: convoy.URL}, client: convoy.Client}
	var document bytes.Buffer
	if err := subject.send(ctx, request{path: "/openapi/v3/apis/" + corev1alpha1.GroupName + "/" + version}, &document); err != nil {
		return err
	}
	structural, err := structuralSchema(document.Bytes(), kind)
	if err != nil {
		return err
	}
	admin := st.Admin()
	applier, err := manifests.NewApplier(admin)
	if err != nil {
		return err
	}
	crd := definition(structural)
	objects, err := manifests.Parse([]byte(surroundings))
	if err != nil {
		return err
	}
	if err := applier.Apply(ctx, append(objects, crd)...); err != nil {
		return err
	}
	return established(ctx, admin, crd.GetName())
}

// definition of the reference kind, with the columns that convoy-apiserver prints.
func definition(structural map[string]any) *unstructured.Unstructured {
	var columns []any
	for _, column := range [][3]string{
		{"Cluster", "string", ".spec.clusterRef.name"},
		{"Wave", "integer", ".spec.wave"},
		{"Revision", "string", ".status.source.revision"},
		{"Ready", "string", `.status.conditions[?(@.type=="Ready")].status`},
		{"Healthy", "string", `.status.conditions[?(@.type=="Healthy")].status`},
		{"InSync", "string", `.status.conditions[?(@.type=="InSync")].status`},
		{"Age", "date", ".metadata.creationTimestamp"},
	} {
		columns = append(columns, map[string]any{"name": column[0], "type": column[1], "jsonPath": column[2]})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": resources + "." + referenceGroup},
		"spec": map[string]any{
			"group": referenceGroup, "scope": "Namespaced",
			"names": map[string]any{"kind": kind, "listKind": kind + "List", "plural": resources, "singular": "release"},
			"versions": []any{map[string]any{
				"name": version, "served": true, "storage": true,
				"schema":                   map[string]any{"openAPIV3Schema": structural},
				"subresources":             map[string]any{"status": map[string]any{}},
				"additionalPrinterColumns": columns,
			}},
		},
	}}
}

// established returns when the kind of a CustomResourceDefinition is served.
func established(ctx context.Context, config *rest.Config, name string) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("build a client of the host: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()
	crds := client.Resource(apischema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	return poll.Until(ctx, 100*time.Millisecond, func(ctx context.Context) error {
		crd, err := crds.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
		for _, one := range conditions {
			if c, _ := one.(map[string]any); c["type"] == "Established" && c["status"] == "True" {
				return nil
			}
		}
		return fmt.Errorf("CustomResourceDefinition %s is not established: %v", name, conditions)
	})
}

// surroundings are the namespaces, and the same rights on both kinds.
const surroundings = `
{apiVersion: v1, kind: Namespace, metadata: {name: ` + namespace + `}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: ` + createdNamespace + `}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ` + user + `}
rules:
  - apiGroups: [` + corev1alpha1.GroupName + `, ` + referenceGroup + `]
    resources: [releases, releases/status]
    verbs: ["*"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ` + user + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ` + user + `}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ` + user + `}]
`

// populate gives a subject its objects, with their status.
func populate(ctx context.Context, s *subject, objects int) error {
	return parallel.DoWith(ctx, fillers, objects, newBuffer, func(ctx context.Context, answer *bytes.Buffer, n int) error {
		name := objectName(n)
		body, err := release(s.group, name, n)
		if err != nil {
			return err
		}
		r := request{method: http.MethodPost, path: s.path(namespace), query: "fieldManager=" + manager, contentType: jsonType, body: body}
		if err := s.send(ctx, r, answer); err != nil {
			return err
		}
		if r.body, err = status(name, n); err != nil {
			return err
		}
		r.method, r.path, r.query, r.contentType = http.MethodPatch, s.path(namespace, name, "status"), "fieldManager="+manager+"-status", mergeType
		return s.send(ctx, r, answer)
	})
}
