// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/observer/internal/testcluster"
	"kumodo.io/convoy/render"
)

// What the target cannot be asked yet is held against the definition in the same render.
func TestCustomResourcesOfKindsThatTheSameSyncDefines(t *testing.T) {
	const sized = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com, names: {kind: Widget},
  versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer, maximum: 3}}, RULES}}}}}]}}`
	definition := func(rules string) string { return strings.Replace(sized, "RULES", rules, 1) }
	widget := func(spec string) string {
		return "{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: ns, name: w}, spec: {" + spec + "}}"
	}
	for _, test := range []struct {
		name               string
		definition, widget string
		want               corev1alpha1.ObjectAction
		reason, message    string
	}{
		{"as the schema wants it", definition(""), widget("size: 3"), corev1alpha1.ActionCreate, "", "the kind is defined by the same sync"},
		{"with rules", definition("x-kubernetes-validations: [{rule: self.size > 1}]"), widget("size: 3"), corev1alpha1.ActionCreate, "",
			"the kind is defined by the same sync; the rules (x-kubernetes-validations) of its schema are evaluated by the sync"},
		{"too large", definition(""), widget("size: 4"), corev1alpha1.ActionError, corev1alpha1.ReasonInvalidObjects,
			`Widget.example.com "w" is invalid: spec.size: Invalid value: must be at most 3`},
		{"of a field that there is not", definition(""), widget("siez: 3"), corev1alpha1.ActionError, corev1alpha1.ReasonInvalidObjects,
			`Widget.example.com "w" is invalid: spec.siez: Invalid value: the schema declares no such field`},
		{"of a definition without a schema", crd, widget("size: 4"), corev1alpha1.ActionCreate, "", "the kind is defined by the same sync"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.cluster.Serve(testcluster.Resource{Group: "apiextensions.k8s.io", Version: "v1", Plural: "customresourcedefinitions", Kind: "CustomResourceDefinition", ClusterScoped: true})
			w.current = rendered("d", test.definition, test.widget)
			planned := answer[corev1alpha1.ReleasePreview](w, "/preview/ns/app").Objects[1]
			w.Expect(planned.Action).To(Equal(test.want))
			w.Expect(planned.Reason).To(Equal(test.reason))
			w.Expect(planned.Message).To(Equal(test.message))
			w.Expect(planned.Simulated).To(Equal(test.want == corev1alpha1.ActionCreate))
			differing := answer[corev1alpha1.ReleaseDiff](w, "/diff/ns/app").Objects[1]
			w.Expect(differing.Action).To(Equal(test.want))
			w.Expect(differing.Message).To(Equal(test.message))
		})
	}
}

// The target knows better where it has the kind.
func TestCustomResourcesOfKindsThatThereAre(t *testing.T) {
	w := newWorld(t)
	w.cluster.Serve(testcluster.Resource{Group: "apiextensions.k8s.io", Version: "v1", Plural: "customresourcedefinitions", Kind: "CustomResourceDefinition", ClusterScoped: true})
	w.cluster.Serve(testcluster.Resource{Group: "example.com", Version: "v1", Plural: "widgets", Kind: "Widget"})
	strict := strings.Replace(crd, "names: {kind: Widget}", "names: {kind: Widget}, versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object, required: [spec]}}}]", 1)
	w.current = rendered("d", strict, widget)
	planned := answer[corev1alpha1.ReleasePreview](w, "/preview/ns/app").Objects[1]
	w.Expect(planned.Action).To(Equal(corev1alpha1.ActionCreate), planned.Message)
	w.Expect(planned.Simulated).To(BeFalse())
}

// An object whose kind gets another version in the same sync is there already.
func TestCustomResourcesOfVersionsThatTheSameSyncDefines(t *testing.T) {
	const defined = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com, names: {kind: Widget},
  versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object}}}, {name: v2, served: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer, maximum: 3}, name: {type: string}}}}}}}]}}`
	const message = "version v2 of the kind is defined by the same sync"
	live := func(release string) string {
		object := testcluster.Object(`{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: ns, name: w,
  managedFields: [{manager: convoy, operation: Apply, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:size": {}, "f:old": {}}}}]}, spec: {size: 1, old: x, defaulted: z}}`)
		render.Mark(object, "inst", "ns", release)
		data, _ := object.MarshalJSON()
		return string(data)
	}
	const wanted = "{apiVersion: example.com/v2, kind: Widget, metadata: {namespace: ns, name: w}, spec: {size: 2}}"
	for _, test := range []struct {
		name, live, wanted string
		action             corev1alpha1.ObjectAction
		message            string
		changes            []string
		simulated          bool
	}{
		{"there", live("app"), wanted, corev1alpha1.ActionUpdate, message + ", and the object compared as version v1 has it",
			[]string{`/apiVersion "example.com/v1" "example.com/v2"`, `/spec/old "x" `, `/spec/size 1 2`}, true},
		{"not there", "", wanted, corev1alpha1.ActionCreate, message, nil, true},
		{"of another Release", live("web"), wanted, corev1alpha1.ActionError, "belongs to Release ns/web", nil, false},
		{"of another Release that is gone", live("gone"), wanted, corev1alpha1.ActionUpdate, "moves here from Release ns/gone; " + message + ", and the object compared as version v1 has it",
			[]string{
				`/metadata/annotations/convoy.kumodo.io~1release "inst/ns/gone" "inst/ns/app"`,
				`/metadata/labels/convoy.kumodo.io~1owner "` + corev1alpha1.OwnerLabelValue("inst", "ns", "gone") + `" "` + corev1alpha1.OwnerLabelValue("inst", "ns", "app") + `"`,
				`/apiVersion "example.com/v1" "example.com/v2"`, `/spec/old "x" `, `/spec/size 1 2`,
			}, true},
		{"not as the schema wants it", live("app"), strings.Replace(wanted, "size: 2", "size: 4", 1), corev1alpha1.ActionError,
			`Widget.example.com "w" is invalid: spec.size: Invalid value: must be at most 3`, nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.cluster.Serve(testcluster.Resource{Group: "apiextensions.k8s.io", Version: "v1", Plural: "customresourcedefinitions", Kind: "CustomResourceDefinition", ClusterScoped: true})
			w.cluster.Serve(testcluster.Widget)
			if test.live != "" {
				w.cluster.Put(test.live)
			}
			if strings.HasPrefix(test.name, "of another") {
				w.neighbour("web", rendered("web", test.wanted), func(*corev1alpha1.Release) {})
			}
			w.current = rendered("d", defined, test.wanted)
			planned := answer[corev1alpha1.ReleasePreview](w, "/preview/ns/app").Objects[1]
			w.Expect(planned.Action).To(Equal(test.action), planned.Message)
			w.Expect(planned.Message).To(Equal(test.message))
			w.Expect(planned.Simulated).To(Equal(test.simulated))
			var changes []string
			for _, change := range planned.Changes {
				changes = append(changes, change.Path+" "+change.From+" "+change.To)
			}
			w.Expect(changes).To(Equal(test.changes))
			differing := answer[corev1alpha1.ReleaseDiff](w, "/diff/ns/app").Objects[1]
			w.Expect(differing.Action).To(Equal(test.action))
			if test.action == corev1alpha1.ActionUpdate {
				w.Expect(differing.Unified).To(And(ContainSubstring("-  size: 1"), ContainSubstring("+  size: 2"), ContainSubstring("   defaulted: z")))
			}
		})
	}
}
