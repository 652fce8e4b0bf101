// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render"
)

// fleet gives the input of one of many Releases of five small objects.
func fleet(t *testing.T, n int) render.Input {
	name := fmt.Sprintf("release-%04d", n)
	in := input(t, "", map[string]string{"all.yaml": strings.ReplaceAll(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: NAME}
---
apiVersion: v1
kind: Secret
metadata: {name: NAME}
stringData: {token: NAME}
---
apiVersion: v1
kind: Service
metadata: {name: NAME}
spec: {selector: {app: NAME}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME}
data: {value: NAME}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME-1}
data: {value: NAME}
`, "NAME", name)})
	in.Release.Name = name
	return in
}

func live() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// TestWhatIsHeldOfARender measures what is remembered of a Release with its render: once as maps,
// which take 336 bytes each, and next to nothing besides.
func TestWhatIsHeldOfARender(t *testing.T) {
	g := NewWithT(t)
	const many = 500
	r := render.New(render.Options{})
	before := live()
	for n := range many {
		_, err := r.Render(t.Context(), fleet(t, n))
		g.Expect(err).NotTo(HaveOccurred())
	}
	each := float64(live()-before) / many
	t.Logf("%.0f bytes for each Release", each)
	g.Expect(each).To(BeNumerically("<", 12<<10))
	runtime.KeepAlive(r)
}

// TestManyReleasesAreRemembered looks at more Releases in turn than fit into a small memory: the
// one that was not asked for the longest is always the next.
func TestManyReleasesAreRemembered(t *testing.T) {
	g := NewWithT(t)
	const many = 3000
	r := render.New(render.Options{})
	for range 2 {
		for n := range many {
			_, err := r.Render(t.Context(), fleet(t, n))
			g.Expect(err).NotTo(HaveOccurred())
		}
	}
	g.Expect(r.Stats().Renders).To(Equal(int64(many)))
}

// TestAnotherScopeIsRenderedAnew has a draft without objects asked for what only they tell.
func TestAnotherScopeIsRenderedAnew(t *testing.T) {
	g := NewWithT(t)
	r := render.New(render.Options{})
	in := fleet(t, 0)
	first, err := r.Render(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	in.Cluster = &scoped{}
	other, err := r.Render(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(other.Objects[0].Object.GetNamespace()).To(BeEmpty())
	g.Expect(first.Objects[0].Object.GetNamespace()).To(Equal("team"))
	g.Expect(r.Stats().Renders).To(Equal(int64(2)))

	// From then on both are known.
	for range 2 {
		for cluster, want := range map[render.Cluster]*render.Result{&cluster{}: first, &scoped{}: other} {
			in.Cluster = cluster
			result, err := r.Render(t.Context(), in)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result).To(BeIdenticalTo(want))
		}
	}
	g.Expect(r.Stats().Renders).To(Equal(int64(2)))
}

// TestAnotherScopeOfWhatIsNeverTheSame has a draft with its objects asked for by who does not know
// its secrets: what is random must be in both what it was at first.
func TestAnotherScopeOfWhatIsNeverTheSame(t *testing.T) {
	g := NewWithT(t)
	r := render.New(render.Options{})
	in := input(t, "{}", map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": configMap("a", `data: {v: {{ randAlphaNum 12 | quote }}}`)})
	first, err := r.Render(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	in.Cluster = &scoped{}
	other, err := r.Render(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(other.Objects[0].Object.GetNamespace()).To(BeEmpty())
	g.Expect(other.Objects[0].Object.Object["data"]).To(Equal(first.Objects[0].Object.Object["data"]))
	g.Expect(r.Stats().Renders).To(Equal(int64(1)))
}
