// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const (
	// killVariable says at which points the process dies: at so many, spread evenly, at those
	// named, such as update/17/after or delete/*/late, or at "all" of them, which takes half an
	// hour or more: go test wants -timeout=3h -ginkgo.timeout=3h for it.
	killVariable = "CONVOY_E2E_KILL"
	killPoints   = 10
)

// point is where the process dies: at which write of which phase.
type point struct {
	phase  string
	number int
	moment moment
}

func (p point) String() string { return fmt.Sprintf("%s/%d/%s", p.phase, p.number, p.moment) }

// pointsOf gives all points of the story.
func pointsOf(undisturbed map[string]reference) []point {
	var points []point
	for _, phase := range whole {
		for i := range undisturbed[phase.name].writes {
			for _, moment := range []moment{before, after, late} {
				points = append(points, point{phase.name, i + 1, moment})
			}
		}
	}
	return points
}

// chosen gives the points at which the process is to die this time, and how they were chosen.
func chosen(all []point) (points []point, how string) {
	GinkgoHelper()
	wanted := os.Getenv(killVariable)
	if wanted == "all" {
		return all, wanted
	}
	n, err := strconv.Atoi(wanted)
	switch {
	case err == nil || wanted == "":
		if wanted == "" {
			n = killPoints
		}
		seed := GinkgoRandomSeed()
		random := rand.New(rand.NewPCG(uint64(seed), 0))
		for i := range n {
			from, to := i*len(all)/n, (i+1)*len(all)/n
			if from < to {
				points = append(points, all[from+random.IntN(to-from)])
			}
		}
		return points, fmt.Sprintf("spread evenly, -ginkgo.seed=%d chooses the same: %v", seed, points)
	}
	for name := range strings.SplitSeq(wanted, ",") {
		named := slices.DeleteFunc(slices.Clone(all), func(p point) bool {
			match, err := path.Match(name, p.String())
			Expect(err).NotTo(HaveOccurred(), "%s=%s", killVariable, name)
			return !match
		})
		Expect(named).NotTo(BeEmpty(), "%s=%s names no point; one is update/17/after", killVariable, name)
		points = append(points, named...)
	}
	return points, "as named"
}
