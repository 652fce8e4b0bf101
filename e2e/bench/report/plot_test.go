// SPDX-License-Identifier: Apache-2.0

package report

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestPlot(t *testing.T) {
	g := NewWithT(t)
	folder := filepath.Join(t.TempDir(), "plots")
	document := &Document{Reports: []*Report{{Name: "growth", Series: []Series{
		{What: "applied", Unit: "s", Of: "Releases", X: []float64{10, 20, 40}, Y: []float64{1, 2, 4}},
		{What: "removed", Unit: "s", Of: "Releases", X: []float64{10, 20, 40}, Y: []float64{2, 5, 10}},
		{What: "held", Unit: "% of a core", Of: "Releases", X: []float64{10, 20}, Y: []float64{30, 50}},
		{What: "nothing", Unit: "MiB", Of: "Releases", X: []float64{10, 20}, Y: []float64{0, 1}},
	}}}}
	g.Expect(document.Plot(folder)).To(Succeed())
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(ConsistOf(filepath.Join(folder, "growth-s.svg"), filepath.Join(folder, "growth-ofacore.svg")))
	drawn, err := os.ReadFile(filepath.Join(folder, "growth-s.svg"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, text := range []string{"<svg", ">applied<", ">removed<", ">Releases<"} {
		g.Expect(string(drawn)).To(ContainSubstring(text))
	}
}
