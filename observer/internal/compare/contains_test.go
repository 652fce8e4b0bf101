// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/observer/internal/testcluster"
	"kumodo.io/convoy/render"
)

func TestAsApplied(t *testing.T) {
	for _, test := range []struct {
		name, live, applied, owned string
		want                       bool
	}{
		{"the same", "{a: 1, b: [x]}", "{a: 1, b: [x]}", `{f:a: {}, f:b: {}}`, true},
		{"fields more, at any depth", "{a: {b: 1, c: 2}, d: [{name: x, e: 1, f: 2}]}", "{a: {b: 1}, d: [{name: x, e: 1}]}",
			`{f:a: {f:b: {}}, f:d: {'k:{"name":"x"}': {.: {}, f:name: {}, f:e: {}}}}`, true},
		{"an item with a key that was defaulted", "{ports: [{port: 80, protocol: TCP}]}", "{ports: [{port: 80}]}",
			`{f:ports: {'k:{"port":80,"protocol":"TCP"}': {.: {}, f:port: {}}}}`, true},
		{"an item of somebody else's", "{d: [{name: x}]}", "{d: [{name: x}]}", `{f:d: {'k:{"name":"y"}': {.: {}, f:name: {}}}}`, false},
		{"items of a set", "{a: [x, y]}", "{a: [x, y]}", `{f:a: {'v:"x"': {}, 'v:"y"': {}}}`, true},
		{"an item more in a set", "{a: [x, y, z]}", "{a: [x, y]}", `{f:a: {'v:"x"': {}, 'v:"y"': {}}}`, false},
		{"a field more in an atomic map", "{a: {b: 1, c: 2}}", "{a: {b: 1}}", "{f:a: {}}", false},
		{"a field that somebody else wrote to", "{a: 1}", "{a: 1}", "{f:b: {}}", false},
		{"a field that was owned and is not applied", "{a: 1, b: 2}", "{a: 1}", "{f:a: {}, f:b: {}}", false},
		{"one in a map", "{a: {b: 1, c: 2}}", "{a: {b: 1}}", "{f:a: {f:b: {}, f:c: {}}}", false},
		{"one in an item", "{d: [{name: x, e: 1, f: 2}]}", "{d: [{name: x, e: 1}]}",
			`{f:d: {'k:{"name":"x"}': {.: {}, f:name: {}, f:e: {}, f:f: {}}}}`, false},
		{"an annotation", "{metadata: {name: n, annotations: {a: x, b: y}}}", "{metadata: {name: n, annotations: {a: x}}}",
			"{f:metadata: {f:annotations: {f:a: {}, f:b: {}}}}", false},
		{"all labels", "{metadata: {name: n, labels: {a: x}}}", "{metadata: {name: n}}", "{f:metadata: {f:labels: {.: {}, f:a: {}}}}", false},
		{"a field that is owned by what says that there is none", "{a: 1}", "{a: 1, b: null}", "{f:a: {}, f:b: {}}", true},
		{"nothing is owned", "{a: 1}", "{a: 1}", "", false},
		{"a field less", "{a: 1}", "{a: 1, b: 2}", "{f:a: {}, f:b: {}}", false},
		{"another value", "{a: 1}", "{a: 2}", "{f:a: {}}", false},
		{"another type", `{a: "1"}`, "{a: 1}", "{f:a: {}}", false},
		{"another spelling", "{a: '1'}", "{a: 1000m}", "{f:a: {}}", false},
		{"an item more", "{a: [1, 2]}", "{a: [1]}", "{f:a: {}}", false},
		{"an item less", "{a: [1]}", "{a: [1, 2]}", "{f:a: {}}", false},
		{"items in another order", "{a: [2, 1]}", "{a: [1, 2]}", "{f:a: {}}", false},
		{"an empty map that is not there", "{}", "{a: {}}", "{f:a: {}}", false},
		{"an empty map that others wrote to", "{a: {b: 1}}", "{a: {}}", "{f:a: {}}", false},
		{"an empty list that is not there", "{}", "{a: []}", "{f:a: {}}", false},
		{"nothing, which is not there", "{}", "{a: null}", "{f:a: {}}", true},
		{"nothing, and there is something", "{a: 1}", "{a: null}", "{f:a: {}}", false},
		{"a map where there is none", "{a: 1}", "{a: {b: 1}}", "{f:a: {f:b: {}}}", false},
		{"a label", "{metadata: {name: n, labels: {a: x, b: y}}}", "{metadata: {name: n, labels: {a: x}}}", "{f:metadata: {f:labels: {f:a: {}}}}", true},
		{"a label less", "{metadata: {name: n}}", "{metadata: {name: n, labels: {a: x}}}", "{f:metadata: {f:labels: {f:a: {}}}}", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			live, applied := &unstructured.Unstructured{}, &unstructured.Unstructured{}
			g.Expect(yaml.Unmarshal([]byte(test.live), &live.Object)).To(Succeed())
			g.Expect(yaml.Unmarshal([]byte(test.applied), &applied.Object)).To(Succeed())
			if test.owned != "" {
				own(g, live, test.owned)
			}
			g.Expect(asApplied(live, applied)).To(Equal(test.want))
		})
	}
}

// own makes convoy the field manager of fields of an object, in the form of FieldsV1.
func own(g Gomega, object *unstructured.Unstructured, fields string) {
	data, err := yaml.YAMLToJSON([]byte(fields))
	g.Expect(err).NotTo(HaveOccurred())
	object.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: corev1alpha1.FieldManager, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(data)),
	}})
}

// What was applied last and has every desired value needs no dry run; where one is needed,
// what it changes besides is a webhook's.
func TestObjectsThatWereApplied(t *testing.T) {
	const spelled = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: cm}, data: {a: lower}}"
	desired := strings.Replace(spelled, "lower", "LOWER", 1)
	// webhook answers dry runs with the value in lower case and another annotation each time.
	webhook := func(b *bench, value string) {
		b.put(strings.Replace(strings.Replace(spelled, "name: cm", "name: cm, annotations: {asked: '1'}", 1), "lower", value, 1))
		b.cluster.Handle("PATCH "+b.cluster.Path(spelled), func(w http.ResponseWriter, _ *http.Request) {
			answer := testcluster.Object(spelled)
			render.Mark(answer, "inst", "ns", "app")
			testcluster.Own(answer)
			b.Expect(unstructured.SetNestedField(answer.Object, "2", "metadata", "annotations", "asked")).To(Succeed())
			data, _ := answer.MarshalJSON()
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(data)
		})
	}
	applied := func(b *bench, manifest string) {
		object := testcluster.Object(manifest)
		render.Mark(object, "inst", "ns", "app")
		testcluster.Own(object)
		data, err := object.MarshalJSON()
		b.Expect(err).NotTo(HaveOccurred())
		b.cluster.Put(string(data))
	}
	for _, test := range []struct {
		name    string
		do      func(b *bench)
		applied bool
		want    []string
		dryRuns int
	}{
		{"as desired", func(b *bench) { applied(b, desired) }, true, nil, 0},
		{"as desired, for a preview", func(b *bench) { applied(b, desired) }, false, nil, 1},
		{"as a webhook made it", func(b *bench) { webhook(b, "lower") }, true, nil, 1},
		{"as a webhook made it, for a preview", func(b *bench) { webhook(b, "lower") }, false, []string{"/metadata/annotations/asked"}, 1},
		{"changed besides", func(b *bench) { webhook(b, "by hand") }, true, []string{"/data/a"}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			test.do(b)
			b.cluster.Asked()
			c := b.comparer(t)
			c.Applied = test.applied
			outcome := c.Compare(t.Context(), render.Object{Object: testcluster.Object(desired)})
			b.Expect(outcome.Err).NotTo(HaveOccurred())
			var paths []string
			for _, change := range outcome.Changes {
				paths = append(paths, change.Path)
			}
			b.Expect(paths).To(Equal(test.want))
			b.Expect(outcome.Action == corev1alpha1.ActionUnchanged).To(Equal(test.want == nil))
			b.Expect(b.cluster.Asked()).To(HaveLen(1 + test.dryRuns))
		})
	}
}
