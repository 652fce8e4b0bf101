// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/suites/scenario"
)

// A Release has objects that every commit has, and others that come and go.
const (
	lastingOfOne = 8
	passingOfOne = 4
	// touched is how many Releases a commit changes; the first and the last change all.
	touched = 3
)

// commit is one commit to the repository, and what is asked for then.
type commit struct {
	at      time.Duration // since the beginning
	write   map[string]string
	remove  []string
	sync    []string       // Releases that a person wants to be synced
	objects map[string]int // all that there shall be, each with the number of the commit that changed it last
}

func releaseName(n int) string { return fmt.Sprintf("app-%02d", n) }

// objectName is the name of a ConfigMap, which tells its Release.
func objectName(release, kind string, n int) string { return fmt.Sprintf("%s.%s-%d", release, kind, n) }

// releaseOf is the Release of an object.
func releaseOf(object string) string {
	release, _, _ := strings.Cut(object, ".")
	return release
}

const (
	lasting = "lasting"
	passing = "passing"
)

// isLasting says whether an object is never to be removed.
func isLasting(object string) bool { return strings.Contains(object, "."+lasting+"-") }

// fileOf is where an object is in the repository.
func fileOf(object string) string { return releaseOf(object) + "/" + object + ".yaml" }

// key of the content of every object: the number of the commit that changed it last.
const key = "commit"

// commits are all commits. The first is there before anything else, and the last comes when the
// time is over; those between come in between.
func commits(random *rand.Rand, f form) []commit {
	var all []commit
	objects := map[string]int{}
	for number := range f.commits {
		c := commit{write: map[string]string{}}
		if number > 0 {
			c.at = f.duration * time.Duration(number) / time.Duration(f.commits-1)
		}
		releases := random.Perm(f.releases)
		if number > 0 && number < f.commits-1 {
			releases = releases[:touched]
		}
		for _, release := range releases {
			c.change(random, objects, releaseName(release), number)
		}
		if number > 0 && random.IntN(2) == 0 {
			c.sync = []string{releaseName(releases[0])}
		}
		c.objects = maps.Clone(objects)
		all = append(all, c)
	}
	return all
}

// change changes all objects of a Release, and adds and removes some.
func (c *commit) change(random *rand.Rand, objects map[string]int, release string, number int) {
	put := func(object string) {
		objects[object] = number
		c.write[fileOf(object)] = scenario.ConfigMap(object, key, fmt.Sprint(number))
	}
	for n := range lastingOfOne {
		put(objectName(release, lasting, n))
	}
	for n := range passingOfOne {
		object := objectName(release, passing, n)
		if random.IntN(2) == 0 {
			put(object)
		} else if _, is := objects[object]; is {
			delete(objects, object)
			c.remove = append(c.remove, fileOf(object))
		}
	}
}

func TestCommits(t *testing.T) {
	g := NewWithT(t)
	all := commits(rand.New(rand.NewPCG(1, 2)), short)
	files := map[string]string{}
	for number, c := range all {
		for _, gone := range c.remove {
			g.Expect(files).To(HaveKey(gone))
			delete(files, gone)
		}
		maps.Copy(files, c.write)
		g.Expect(c.objects).To(HaveLen(len(files)))
		for object, of := range c.objects {
			g.Expect(files[fileOf(object)]).To(ContainSubstring(fmt.Sprintf("%s: %q", key, fmt.Sprint(of))))
			g.Expect(of).To(BeNumerically("<=", number))
		}
		for release := range short.releases {
			g.Expect(c.objects).To(HaveKey(objectName(releaseName(release), lasting, 0)))
		}
	}
	last := all[len(all)-1]
	g.Expect(last.at).To(Equal(short.duration))
	g.Expect(last.objects).To(HaveEach(len(all)-1), "the last commit changes every object")
	g.Expect(releaseOf(objectName("app-01", passing, 3))).To(Equal("app-01"))
}
