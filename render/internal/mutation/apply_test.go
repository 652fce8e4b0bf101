// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/limit"
	"kumodo.io/convoy/render/internal/manifest"
	"kumodo.io/convoy/render/internal/mutation"
)

// growing is a patch of n lines, each of which has the one before eight times. Where much is not
// behind aliases, the parser finds nothing wrong with those.
func growing(n int) string {
	var b strings.Builder
	b.WriteString("pad: [" + strings.Repeat("0, ", 4300) + "0]\n")
	b.WriteString("x0: &a0 [{a: 1}, {a: 1}, {a: 1}, {a: 1}, {a: 1}, {a: 1}, {a: 1}, {a: 1}]\n")
	for i := range n {
		fmt.Fprintf(&b, "x%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 7), i)
	}
	return b.String()
}

func TestCheckBoundsWhatPatchesAre(t *testing.T) {
	list := func(count int, patch string) (all []corev1alpha1.Mutation) {
		for i := range count {
			all = append(all, corev1alpha1.Mutation{Name: fmt.Sprint("m", i), Type: corev1alpha1.MutationMerge, Patch: patch})
		}
		return all
	}
	tests := []struct {
		name  string
		given []corev1alpha1.Mutation
		want  string
	}{
		{"aliases within bounds", list(1, growing(3)), ""},
		{"aliases beyond them", list(1, growing(5)), "spec.mutations[m0].patch: stopped: the aliases of a YAML document make more than 1 MiB of it"},
		{"all together", list(30, growing(3)), "].patch: stopped: it and those before it have more than 4 MiB together, each value counted with 16 bytes besides its text"},
		{"as many large patches as a Release has room for", list(23, "data: {a: "+strings.Repeat("x", 65_000)+"}"), ""},
		{"the largest patch, of small values", list(7, "a: ["+strings.Repeat("1,", 32_000)+"]"), ""},
		{"many of these", list(23, "a: ["+strings.Repeat("1,", 32_000)+"]"), "spec.mutations[m7].patch: stopped: it and those before it"},
		{"many of these in JSON", list(23, `{"a": [`+strings.Repeat("1,", 32_000)+"1]}"), "spec.mutations[m7].patch: stopped: it and those before it"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			err := mutation.Check(t.Context(), test.given)
			if test.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(test.want)))
			g.Expect(errors.As(err, new(*mutation.InvalidError))).To(BeTrue())
			g.Expect(errors.As(err, new(*limit.Error))).To(BeTrue())
		})
	}
}

// counted ends after it was asked for a number of times.
type counted struct {
	context.Context
	asked, most int
	err         error
}

func (c *counted) Err() error {
	if c.asked++; c.asked <= c.most {
		return nil
	}
	return c.err
}

// TestMutationsEndWithTheirContext has one that ends before each look at it.
func TestMutationsEndWithTheirContext(t *testing.T) {
	mutations := []corev1alpha1.Mutation{
		{Name: "a", Type: corev1alpha1.MutationJSON, Patch: "[{op: test, path: /metadata/name, value: web}, {op: test, path: /kind, value: Widget}]"},
		{Name: "b", Type: corev1alpha1.MutationMerge, Patch: "x: 1"},
	}
	objects := mutation.Objects{Documents: []manifest.Document{{Object: object(t, custom), Origin: "f.yaml"}, {Object: object(t, custom), Origin: "g.yaml"}}, Most: 1 << 20}
	looks := &counted{Context: t.Context(), most: 1000}
	_, err := objects.Apply(looks, mutations)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(looks.asked).To(Equal(2*(1+2) + 2))
	for most := range looks.asked {
		g := NewWithT(t)
		_, err := objects.Apply(&counted{Context: t.Context(), most: most, err: context.Canceled}, mutations)
		g.Expect(err).To(MatchError(context.Canceled))
		_, err = objects.Apply(&counted{Context: t.Context(), most: most, err: context.DeadlineExceeded}, mutations)
		g.Expect(err).To(MatchError(And(ContainSubstring("of Widget web ("), ContainSubstring(".yaml)"), ContainSubstring("rendering takes too long"))))
		var stopped *limit.Error
		g.Expect(errors.As(err, &stopped) && stopped.Passing).To(BeTrue())
	}
	_, err = (&mutation.Objects{}).Apply(t.Context(), []corev1alpha1.Mutation{{Name: "o", Optional: true}, {Name: "n"}})
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring(`mutation "n" matches no object`)))
	NewWithT(t).Expect(mutation.Check(&counted{Context: t.Context(), err: context.Canceled}, mutations)).To(MatchError(context.Canceled))
}

// TestObjectsKeepTheirPlace has mutations that change namespaces.
func TestObjectsKeepTheirPlace(t *testing.T) {
	g := NewWithT(t)
	cluster := object(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")
	inside := object(t, service)
	inside.SetNamespace("shop")
	var begun []string
	objects := mutation.Objects{
		Documents:  []manifest.Document{{Object: cluster, Origin: "a"}, {Object: inside, Origin: "b", Unstable: true}},
		Namespaced: map[schema.GroupKind]bool{{Kind: "Service"}: true}, Namespace: "team", Most: 1 << 20,
		Begin: func(name string) { begun = append(begun, name) },
	}
	apply := func(patch string) []manifest.Document {
		got, err := objects.Apply(t.Context(), []corev1alpha1.Mutation{{Name: "none", Optional: true, Target: corev1alpha1.ObjectSelector{Kind: "X"}, Patch: "a: b"}, {Name: "m", Type: corev1alpha1.MutationMerge, Patch: patch}})
		g.Expect(err).NotTo(HaveOccurred())
		return got
	}
	got := apply("metadata: {namespace: other}")
	g.Expect([]string{got[0].Object.GetNamespace(), got[1].Object.GetNamespace()}).To(Equal([]string{"", "other"}))
	got = apply("metadata: {namespace: null}")
	g.Expect([]string{got[0].Object.GetNamespace(), got[1].Object.GetNamespace()}).To(Equal([]string{"", "team"}))
	g.Expect(got[1]).To(And(HaveField("Origin", "b"), HaveField("Unstable", true)))
	g.Expect(begun).To(Equal([]string{"m", "m"}))
	g.Expect(inside.GetNamespace()).To(Equal("shop"))
}
