// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render"
)

// endless has the input of a Release of a tenant whose chart takes as long as it may.
func endless(t *testing.T, tenant, name string) render.Input {
	files := doublingSchema(40)
	files["templates/b.yaml"] = "# " + name
	in := input(t, "", files)
	in.Release.Namespace, in.Release.Name = tenant, name
	return in
}

// TestTenantWithEndlessChartsLeavesASlot renders for one tenant while all that another wants
// takes for ever.
func TestTenantWithEndlessChartsLeavesASlot(t *testing.T) {
	g := NewWithT(t)
	r := render.New(render.Options{Workers: true, MaxConcurrent: 2})
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error)
	for i := range 6 {
		go func() {
			_, err := r.Render(ctx, endless(t, "evil", fmt.Sprint("evil", i)))
			ended <- err
		}()
	}
	g.Eventually(r.Stats).Should(HaveField("Renders", int64(1)))
	for i := range 3 {
		_, err := r.Render(t.Context(), input(t, "", map[string]string{"a.yaml": configMap(fmt.Sprint("a", i))}))
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(r.Stats().Renders).To(Equal(int64(4)), "the others have not had a turn meanwhile")

	leave()
	for range 6 {
		g.Expect(<-ended).To(MatchError(context.Canceled))
	}
	// What ran is ended, what waited never runs, and both slots are free.
	evil := endless(t, "evil", "again")
	evil.Artifact = input(t, "", template(configMap("a"))).Artifact
	_, err := r.Render(t.Context(), evil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Stats()).To(And(HaveField("Renders", int64(5)), HaveField("Failures", int64(0)), HaveField("EndedByTime", int64(0))))
}
