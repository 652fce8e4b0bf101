// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/render"
)

const gadgetDefinition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gadgets.ex.test}, spec: {
  group: ex.test, scope: Namespaced, names: {kind: Gadget, plural: gadgets}, versions: [{name: v1, served: true}, {name: v1beta1, served: false}]}}`

func TestValidate(t *testing.T) {
	tests := []struct {
		name    string
		objects []string
		reason  string
		want    []string // a part of each problem's text
	}{
		{"nothing", nil, "", nil},
		{"served kinds", []string{
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}",
			"{apiVersion: v1, kind: Namespace, metadata: {name: shop}}",
		}, "", nil},
		{"a kind of a definition of the same render", []string{gadgetDefinition, "{apiVersion: ex.test/v1, kind: Gadget, metadata: {name: a, namespace: shop}}"}, "", nil},
		{"the order does not matter", []string{"{apiVersion: ex.test/v1, kind: Gadget, metadata: {name: a, namespace: shop}}", gadgetDefinition}, "", nil},
		{"unknown kinds, all of them", []string{
			"{apiVersion: ex.test/v1, kind: Gadget, metadata: {name: a, namespace: shop}}",
			"{apiVersion: ex.test/v9, kind: Widget, metadata: {name: b, namespace: shop}}",
		}, corev1alpha1.ReasonUnknownKind, []string{
			"Gadget.ex.test shop/a (app.yaml): the target cluster serves no kind Gadget in ex.test/v1",
			"Widget.ex.test shop/b (app.yaml): the target cluster serves no kind Widget in ex.test/v9",
		}},
		{"a version that the definition does not serve", []string{gadgetDefinition, "{apiVersion: ex.test/v1beta1, kind: Gadget, metadata: {name: a, namespace: shop}}"},
			corev1alpha1.ReasonUnknownKind, []string{"CustomResourceDefinition gadgets.ex.test serves: v1"}},
		{"scopes", []string{
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
			"{apiVersion: v1, kind: Namespace, metadata: {name: b, namespace: shop}}",
			gadgetDefinition, "{apiVersion: ex.test/v1, kind: Gadget, metadata: {name: c}}",
		}, corev1alpha1.ReasonInvalidObjects, []string{"names no namespace", `names namespace "shop", but its kind is cluster-scoped`, "names no namespace"}},
		{"the same environment variable twice", []string{`{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: shop}, spec: {template: {spec: {containers: [
			{name: ok, env: [{name: A}, {name: B}]}, {name: bad, env: [{name: A, value: x}, {name: B}, {name: A, value: "y"}]}]}}}}`},
			corev1alpha1.ReasonInvalidObjects,
			[]string{`spec.template.spec.containers[1].env[0] and spec.template.spec.containers[1].env[2] have the same name "A"`}},
		{"ports", []string{
			"{apiVersion: v1, kind: Service, metadata: {name: dns, namespace: shop}, spec: {ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}}",
			"{apiVersion: v1, kind: Service, metadata: {name: two, namespace: shop}, spec: {ports: [{name: a, port: 80}, {name: b, port: 80, protocol: TCP}]}}",
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: shop}, spec: {template: {spec: {initContainers: [{name: c, ports: [{containerPort: 80, hostPort: 1}, {containerPort: 80, hostPort: 2}]}]}}}}",
		}, corev1alpha1.ReasonInvalidObjects, []string{
			`Service shop/two (app.yaml): spec.ports[0] and spec.ports[1] have the same port "80" and protocol "TCP"`,
			`spec.template.spec.initContainers[0].ports[0] and spec.template.spec.initContainers[0].ports[1]`,
		}},
		{"reasons that differ", []string{
			"{apiVersion: ex.test/v1, kind: Gadget, metadata: {name: a, namespace: shop}}",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
		}, corev1alpha1.ReasonInvalidObjects, []string{"serves no kind", "names no namespace"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			var objects []render.Object
			for _, text := range tt.objects {
				objects = append(objects, rendered(text))
			}

			err := applier(s, release()).Validate(context.Background(), objects)

			g.Expect(s.asked()).To(BeEmpty(), "validation sends nothing")
			if tt.want == nil {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			var validation *ValidationError
			g.Expect(errors.As(err, &validation)).To(BeTrue())
			g.Expect(Reason(err)).To(Equal(tt.reason))
			g.Expect(Retryable(err)).To(BeFalse())
			g.Expect(validation.Problems).To(HaveLen(len(tt.want)))
			for i, want := range tt.want {
				g.Expect(validation.Problems[i].String()).To(ContainSubstring(want))
			}
		})
	}
}

// TestDuplicatesEverywhere walks all lists of all kinds that have a pod.
func TestDuplicatesEverywhere(t *testing.T) {
	for kind, path := range podSpecs {
		for _, list := range podLists {
			t.Run(kind.String()+" "+list.path, func(t *testing.T) {
				item := map[string]any{}
				for _, key := range list.keys {
					item[key] = "same"
				}
				obj := manifest("{apiVersion: v1, kind: X}")
				obj.SetGroupVersionKind(kind.WithVersion("v1"))
				nest(obj.Object, strings.Split(path+"."+list.path, "."), []any{item, item})
				NewWithT(t).Expect(duplicates(obj)).To(HaveLen(1))
			})
		}
	}
}

// nest puts value at path, with lists of one item where the path says *.
func nest(at map[string]any, path []string, value any) {
	switch {
	case len(path) == 1:
		at[path[0]] = value
	case path[1] == "*":
		item := map[string]any{"name": "x"}
		at[path[0]] = []any{item}
		nest(item, path[2:], value)
	default:
		next := map[string]any{}
		at[path[0]] = next
		nest(next, path[1:], value)
	}
}

// unreachable is a target whose kinds cannot be looked up.
type unreachable struct{ Target }

func (unreachable) Mapping(context.Context, schema.GroupVersionKind) (*meta.RESTMapping, error) {
	return nil, clusterconn.ErrUnreachable
}

func TestValidateOfUnreachableCluster(t *testing.T) {
	g := NewWithT(t)
	a := New(unreachable{}, Options{Installation: installation, Release: release()})

	err := a.Validate(context.Background(), []render.Object{settings("{}")})

	g.Expect(err).To(MatchError(clusterconn.ErrUnreachable))
	g.Expect(Reason(err)).To(Equal(corev1alpha1.ReasonTargetUnreachable))
	g.Expect(Retryable(err)).To(BeTrue())
}
