// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render"
)

// TestKnownRendersNothing of engines of all kinds: it gives what Render gave, and failures.
func TestKnownRendersNothing(t *testing.T) {
	for name, files := range engines {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := render.New(render.Options{})
			in := input(t, richSpec, files)
			_, ok, err := r.Known(t.Context(), in)
			g.Expect(ok, err).To(BeFalse())
			g.Expect(r.Stats().Renders).To(BeZero())
			want, err := r.Render(t.Context(), in)
			g.Expect(err).NotTo(HaveOccurred())

			for _, release := range []string{in.Release.Name, "another-of-the-same"} {
				asked := in
				asked.Release = in.Release.DeepCopy()
				asked.Release.Name = release
				got, ok, err := r.Known(t.Context(), asked)
				g.Expect(err).NotTo(HaveOccurred())
				if release == in.Release.Name {
					g.Expect(ok).To(BeTrue())
				}
				if ok {
					g.Expect(got.Digest).To(Equal(want.Digest))
				}
			}
			g.Expect(r.Stats().Renders).To(BeEquivalentTo(1))
		})
	}
}

func TestKnownFailures(t *testing.T) {
	g := NewWithT(t)
	r := render.New(render.Options{})
	in := input(t, "", map[string]string{"a.yaml": "kind: [\n"})
	_, failure := r.Render(t.Context(), in)
	g.Expect(failure).To(HaveOccurred())
	_, _, err := r.Known(t.Context(), in)
	g.Expect(err).To(MatchError(failure.Error()))
	g.Expect(r.Stats().Renders).To(BeEquivalentTo(1))
}
