// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
)

func TestSelect(t *testing.T) {
	api := Benchmark{ID: "B8", Name: "api", Works: []string{"get", "list", "list-paged"}}
	for _, test := range []struct {
		given string
		want  []string // works of api
	}{
		{given: "", want: []string{"get", "list", "list-paged"}},
		{given: "api", want: []string{"get", "list", "list-paged"}},
		{given: "B8", want: []string{"get", "list", "list-paged"}},
		{given: "api/list", want: []string{"list", "list-paged"}},
		{given: "api/^list$|get", want: []string{"get", "list"}},
		{given: "/get", want: []string{"get"}},
		{given: "apply"},
		{given: "api/watch"},
	} {
		t.Run(test.given, func(t *testing.T) {
			g := NewWithT(t)
			s, err := Select(test.given)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(s.Includes(api)).To(Equal(len(test.want) > 0))
			if s.Includes(api) {
				g.Expect(slices.DeleteFunc(slices.Clone(api.Works), func(w string) bool { return !s.Work(w) })).To(Equal(test.want))
			}
		})
	}
}

func TestSelectRefusesWhatIsNoExpression(t *testing.T) {
	for _, text := range []string{"(", "api/["} {
		_, err := Select(text)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(text)))
	}
}
