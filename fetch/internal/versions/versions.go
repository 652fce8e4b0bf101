// SPDX-License-Identifier: Apache-2.0

// Package versions chooses one version out of many, by the rules of Helm: an exact version
// means itself, everything else is a range of Masterminds semver, which excludes
// pre-releases unless the range itself names one.
package versions

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"

	"kumodo.io/convoy/fetch/internal/fault"
)

// Candidate is one version on offer.
type Candidate struct {
	// Name is the version or tag as the source writes it.
	Name string
	// Version is the parsed form.
	Version *semver.Version
	// Index is the caller's, to find its own record again.
	Index int
}

// Parse reads a version leniently, as Helm does for charts; nil for what is none. An
// underscore stands for the plus that tags cannot hold.
func Parse(name string) *semver.Version {
	v, err := semver.NewVersion(plus(name))
	if err != nil {
		return nil
	}
	return v
}

// ParseStrict reads a version of three numbers, with or without a leading v; nil for what
// is none. Tags are read this way, among which dates and names abound.
func ParseStrict(name string) *semver.Version {
	v, err := semver.StrictNewVersion(strings.TrimPrefix(plus(name), "v"))
	if err != nil {
		return nil
	}
	return v
}

func plus(name string) string { return strings.ReplaceAll(name, "_", "+") }

// Same says whether two texts are one version as Helm compares them: a leading v, numbers
// that are left out, and the underscore in place of the plus do not matter, nor does a build
// that only one of them names. Two different builds are two versions, though, as they are
// for Pick. Texts that are no versions are compared as such.
func Same(a, b string) bool {
	x, y := Parse(a), Parse(b)
	if x == nil || y == nil {
		return a == b
	}
	return x.Equal(y) && (x.Metadata() == "" || y.Metadata() == "" || x.Metadata() == y.Metadata())
}

// Pick returns the version that is wanted. what names the thing that has versions, for
// messages. The errors are fault.ErrNotFound and fault.ErrInvalid.
func Pick(wanted, what string, candidates []Candidate) (Candidate, error) {
	ordered := slices.Clone(candidates)
	slices.SortStableFunc(ordered, func(a, b Candidate) int { return Compare(b.Version, a.Version) })
	if wanted == "" {
		return pickRange("*", what, ordered)
	}
	for _, c := range ordered {
		if plus(c.Name) == plus(wanted) {
			return c, nil
		}
	}
	if exact := ParseStrict(wanted); exact != nil {
		return pickExact(exact, wanted, what, ordered)
	}
	return pickRange(wanted, what, ordered)
}

// PickRange is Pick without exact names: wanted is a range, whatever it looks like. Only a
// version with a build is itself, as no range can tell builds apart.
func PickRange(wanted, what string, candidates []Candidate) (Candidate, error) {
	ordered := slices.Clone(candidates)
	slices.SortStableFunc(ordered, func(a, b Candidate) int { return Compare(b.Version, a.Version) })
	if exact := ParseStrict(wanted); exact != nil && exact.Metadata() != "" {
		return pickExact(exact, wanted, what, ordered)
	}
	return pickRange(wanted, what, ordered)
}

// pickExact finds a version written differently: with or without v, or, when no build was
// asked for, its newest build. A build that was asked for is never replaced by another.
func pickExact(exact *semver.Version, wanted, what string, ordered []Candidate) (Candidate, error) {
	for _, c := range ordered {
		if c.Version.Equal(exact) && (exact.Metadata() == "" || exact.Metadata() == c.Version.Metadata()) {
			return c, nil
		}
	}
	return Candidate{}, fault.New(fault.ErrNotFound, "%s has no version %s%s", what, wanted, nearest(exact, ordered))
}

func pickRange(wanted, what string, ordered []Candidate) (Candidate, error) {
	constraint, err := semver.NewConstraint(plus(wanted))
	if err != nil {
		return Candidate{}, fault.New(fault.ErrInvalid, "%q is neither a semantic version nor a range of them", wanted)
	}
	for _, c := range ordered {
		if constraint.Check(c.Version) {
			return c, nil
		}
	}
	hint := ""
	for _, c := range ordered {
		if c.Version.Prerelease() != "" {
			hint = "; pre-releases are left out unless the range names one, as in >=1.0.0-0"
			break
		}
	}
	return Candidate{}, fault.New(fault.ErrNotFound, "%s has no version in the range %q%s%s", what, wanted, nearest(nil, ordered), hint)
}

// nearest names the versions around the wanted one, or the newest ones.
func nearest(wanted *semver.Version, ordered []Candidate) string {
	const shown = 5
	if len(ordered) == 0 {
		return "; it has no usable version at all"
	}
	from := 0
	if wanted != nil {
		at, _ := slices.BinarySearchFunc(ordered, wanted, func(c Candidate, v *semver.Version) int { return Compare(v, c.Version) })
		from = max(0, min(at-shown/2, len(ordered)-shown))
	}
	var names []string
	for _, c := range ordered[from:min(from+shown, len(ordered))] {
		names = append(names, plus(c.Name))
	}
	return fmt.Sprintf("; of %d, the nearest are %s", len(ordered), strings.Join(names, ", "))
}

// Compare orders versions by precedence. Those of equal precedence are ordered by their
// build metadata, identifier by identifier as pre-releases are, so that the order never
// depends on that of a listing.
func Compare(a, b *semver.Version) int {
	if c := a.Compare(b); c != 0 {
		return c
	}
	if c := compareMetadata(a.Metadata(), b.Metadata()); c != 0 {
		return c
	}
	return cmp.Compare(a.Original(), b.Original())
}

func compareMetadata(a, b string) int {
	as, bs := split(a), split(b)
	for i := range min(len(as), len(bs)) {
		x, errX := strconv.ParseUint(as[i], 10, 64)
		y, errY := strconv.ParseUint(bs[i], 10, 64)
		c := 0
		switch {
		case errX == nil && errY == nil:
			c = cmp.Compare(x, y)
		case errX == nil:
			c = -1
		case errY == nil:
			c = 1
		default:
			c = cmp.Compare(as[i], bs[i])
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(as), len(bs))
}

func split(metadata string) []string {
	if metadata == "" {
		return nil
	}
	return strings.Split(metadata, ".")
}
