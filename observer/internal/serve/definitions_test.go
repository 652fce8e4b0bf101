// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/observer/internal/testcluster"
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
