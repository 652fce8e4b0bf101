// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/observer/internal/testcluster"
	"kumodo.io/convoy/render"
)

func TestContains(t *testing.T) {
	for _, test := range []struct {
		name, live, desired string
		want                bool
	}{
		{"the same", "{a: 1, b: [x]}", "{a: 1, b: [x]}", true},
		{"fields more, at any depth", "{a: {b: 1, c: 2}, d: [{e: 1, f: 2}]}", "{a: {b: 1}, d: [{e: 1}]}", true},
		{"a field less", "{a: 1}", "{a: 1, b: 2}", false},
		{"another value", "{a: 1}", "{a: 2}", false},
		{"another type", `{a: "1"}`, "{a: 1}", false},
		{"another spelling", "{a: '1'}", "{a: 1000m}", false},
		{"an item more", "{a: [1, 2]}", "{a: [1]}", false},
		{"an item less", "{a: [1]}", "{a: [1, 2]}", false},
		{"items in another order", "{a: [2, 1]}", "{a: [1, 2]}", false},
		{"an empty map that is not there", "{}", "{a: {}}", false},
		{"an empty list that is not there", "{}", "{a: []}", false},
		{"nothing, which is not there", "{}", "{a: null}", true},
		{"nothing, and there is something", "{a: 1}", "{a: null}", false},
		{"a map where there is none", "{a: 1}", "{a: {b: 1}}", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			var live, desired map[string]any
			g.Expect(yaml.Unmarshal([]byte(test.live), &live)).To(Succeed())
			g.Expect(yaml.Unmarshal([]byte(test.desired), &desired)).To(Succeed())
			g.Expect(contains(live, desired)).To(Equal(test.want))
		})
	}
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
			answer := testcluster.Object(strings.Replace(spelled, "name: cm", "name: cm, annotations: {asked: '2'}", 1))
			render.Mark(answer, "inst", "ns", "app")
			data, _ := answer.MarshalJSON()
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(data)
		})
	}
	for _, test := range []struct {
		name    string
		do      func(b *bench)
		applied bool
		want    []string
		dryRuns int
	}{
		{"as desired", func(b *bench) { b.put(desired) }, true, nil, 0},
		{"as desired, for a preview", func(b *bench) { b.put(desired) }, false, nil, 1},
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
