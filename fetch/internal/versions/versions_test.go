// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"errors"
	"math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/fault"
)

func candidates(names ...string) []Candidate {
	var list []Candidate
	for i, name := range names {
		if v := Parse(name); v != nil {
			list = append(list, Candidate{Name: name, Version: v, Index: i})
		}
	}
	// The order of a listing means nothing.
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func TestPick(t *testing.T) {
	builds := []string{"109.0.0_up1.0.0", "109.0.1_up1.0.2", "109.0.1_up1.0.10", "latest", "sha256-abc.sig"}
	plain := []string{"1.0.0", "1.1.0", "v1.2.0", "1.3.0-rc.1", "2.0.0", "1.10.0"}
	for _, tc := range []struct {
		name, wanted string
		given        []string
		want         string
		wantErr      error
		wantText     string
	}{
		{name: "newest stable", given: plain, want: "2.0.0"},
		{name: "exact", wanted: "1.1.0", given: plain, want: "1.1.0"},
		{name: "exact, v added", wanted: "v1.1.0", given: plain, want: "1.1.0"},
		{name: "exact, v left out", wanted: "1.2.0", given: plain, want: "v1.2.0"},
		{name: "exact pre-release", wanted: "1.3.0-rc.1", given: plain, want: "1.3.0-rc.1"},
		{name: "numbers are numbers", wanted: "~1", given: plain, want: "1.10.0"},
		{name: "pre-releases are left out", wanted: ">=1.2.0 <1.4.0", given: plain, want: "v1.2.0"},
		{name: "pre-releases are asked for", wanted: ">=1.2.0-0 <1.4.0-0", given: plain, want: "1.3.0-rc.1"},
		{name: "two numbers are a range", wanted: "1.1", given: plain, want: "1.1.0"},
		{name: "build in the tag's form", wanted: "109.0.1_up1.0.2", given: builds, want: "109.0.1_up1.0.2"},
		{name: "build in the version's form", wanted: "109.0.1+up1.0.2", given: builds, want: "109.0.1_up1.0.2"},
		{name: "newest build", wanted: "109.0.1", given: builds, want: "109.0.1_up1.0.10"},
		{name: "newest build of a range", wanted: "~109.0", given: builds, want: "109.0.1_up1.0.10"},
		{name: "another build is not taken", wanted: "109.0.1+up9", given: builds, wantErr: fault.ErrNotFound, wantText: "109.0.1+up1.0.10, 109.0.1+up1.0.2"},
		{name: "none", wanted: "3.0.0", given: plain, wantErr: fault.ErrNotFound, wantText: "of 6, the nearest are 2.0.0, 1.10.0"},
		{name: "none in the range", wanted: ">=3", given: plain, wantErr: fault.ErrNotFound, wantText: "pre-releases are left out"},
		{name: "nothing at all", wanted: "1.0.0", wantErr: fault.ErrNotFound, wantText: "no usable version"},
		{name: "no range", wanted: "newest please", given: plain, wantErr: fault.ErrInvalid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := Pick(tc.wanted, "the chart", candidates(tc.given...))
			if tc.wantErr != nil {
				g.Expect(errors.Is(err, tc.wantErr)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(ContainSubstring(tc.wantText))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Name).To(Equal(tc.want))
		})
	}
}

func TestPickRange(t *testing.T) {
	given := []string{"1.2", "1.2.0", "v1.2.5", "109.0.1_up1.0.2", "109.0.1_up1.0.10", "109.0.0_up1.0.0"}
	for _, tc := range []struct {
		name, wanted, want string
		wantErr            error
		wantText           string
	}{
		{name: "what looks like a name", wanted: "1.2", want: "v1.2.5"},
		{name: "what looks like a version", wanted: "1.2.0", want: "1.2.0"},
		{name: "newest build", wanted: "109.0.1", want: "109.0.1_up1.0.10"},
		{name: "a build", wanted: "109.0.1+up1.0.2", want: "109.0.1_up1.0.2"},
		{name: "a build that is not there", wanted: "109.0.1+up2", wantErr: fault.ErrNotFound, wantText: "has no version 109.0.1+up2"},
		{name: "no range", wanted: "newest", wantErr: fault.ErrInvalid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := PickRange(tc.wanted, "the repository", candidates(given...))
			if tc.wantErr != nil {
				g.Expect(errors.Is(err, tc.wantErr)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(ContainSubstring(tc.wantText))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Name).To(Equal(tc.want))
		})
	}
}

func TestParseStrict(t *testing.T) {
	for given, want := range map[string]bool{
		"1.2.3": true, "v1.2.3": true, "1.2.3_up1": true, "1.2": false, "2024-09-22-test": false, "latest": false, "9.9.9.9": false, "": false, "vv1.2.3": false,
	} {
		NewWithT(t).Expect(ParseStrict(given) != nil).To(Equal(want), given)
	}
}

func TestSame(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"1.2.3", "1.2.3", true},
		{"v1.2.3", "1.2.3", true},
		{"1.2.3+up.1", "1.2.3_up.1", true},
		{"v1.2.3_up.1", "1.2.3+up.1", true},
		{"1.2.3+up.1", "1.2.3", true},
		{"1.2", "1.2.0", true},
		{"1.2.3+up.1", "1.2.3+up.2", false},
		{"1.2.3-rc.1", "1.2.3", false},
		{"1.2.3", "1.2.4", false},
		{"latest", "latest", true},
		{"latest", "1.2.3", false},
		{"", "1.2.3", false},
	} {
		NewWithT(t).Expect(Same(tc.a, tc.b)).To(Equal(tc.want), "%s and %s", tc.a, tc.b)
		NewWithT(t).Expect(Same(tc.b, tc.a)).To(Equal(tc.want), "%s and %s", tc.b, tc.a)
	}
}
