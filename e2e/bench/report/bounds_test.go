// SPDX-License-Identifier: Apache-2.0

package report

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestCheck(t *testing.T) {
	document := &Document{Reports: []*Report{{Figures: []Figure{{Of: "sync", What: "objects read", Value: 3}}}, {Figures: []Figure{{Of: "sync", What: "renders"}}}}}
	for _, test := range []struct {
		name  string
		bound Bound
		want  string
	}{
		{"below", Bound{"sync", "objects read", 4}, ""},
		{"at the bound", Bound{"sync", "objects read", 3}, ""},
		{"none", Bound{"sync", "renders", 0}, ""},
		{"above", Bound{"sync", "objects read", 2}, "sync, objects read: 3.00, the bound is 2.00"},
		{"not measured", Bound{"change", "objects read", 2}, "change, objects read: was not measured, and has a bound"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			err := document.Check([]Bound{test.bound})
			if test.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(test.want))
		})
	}
}

func TestReadBounds(t *testing.T) {
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "bounds.yaml")
	g.Expect(os.WriteFile(path, []byte("- {of: sync, what: renders, most: 2}\n"), 0o600)).To(Succeed())
	g.Expect(ReadBounds(path)).To(Equal([]Bound{{"sync", "renders", 2}}))
	g.Expect(os.WriteFile(path, []byte("- {of: sync, what: renders, least: 2}\n"), 0o600)).To(Succeed())
	_, err := ReadBounds(path)
	g.Expect(err).To(MatchError(ContainSubstring("least")))
	_, err = ReadBounds("/does/not/exist")
	g.Expect(err).To(MatchError(ContainSubstring("/does/not/exist")))
}
