// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/framework/installation"
)

// action is what is done to a replica.
type action string

const (
	kill    action = "killed"
	pause   action = "paused"
	restart action = "restarted"
)

// disturbance is something that happens to a replica, and when it is over.
type disturbance struct {
	at        time.Duration // since the beginning
	component string
	replica   int
	action    action
	away      time.Duration
}

func (d disturbance) String() string {
	return fmt.Sprintf("%s %s %d %s for %s", d.at.Round(time.Millisecond), d.component, d.replica, d.action, d.away.Round(time.Millisecond))
}

// plan is all that happens. It follows from the seed and the form alone.
type plan struct {
	seed         int64
	scoped       bool // the replicas have --shard-scoped-cache
	disturbances []disturbance
	commits      []commit
}

func newPlan(seed int64, f form) plan {
	random := func(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), stream)) }
	p := plan{seed: seed, scoped: random(0).IntN(2) == 0}
	p.disturbances = append(disturbances(random(1), f, installation.ControllerManager, f.managers),
		disturbances(random(2), f, installation.Observer, f.observers)...)
	p.commits = commits(random(3), f)
	return p
}

const (
	// outlasting is an absence after which the shards of a replica are another's.
	outlasting = 16 * time.Second
	// settling is how long a replica is left alone after an absence.
	settling = 2 * time.Second
)

// disturbances are those of the replicas of one controller. One of them at least is there at
// any time, and the first disturbance is a pause that outlasts the Leases.
func disturbances(random *rand.Rand, f form, component string, replicas int) []disturbance {
	between := func(from, to time.Duration) time.Duration { return from + time.Duration(random.Int64N(int64(to-from))) }
	var found []disturbance
	free := make([]time.Duration, replicas) // when each is there again
	for at := between(0, f.pace); at < f.duration-settling; at += between(f.pace/2, f.pace*3/2) {
		var present []int
		for replica, from := range free {
			if from <= at {
				present = append(present, replica)
			}
		}
		if len(present) < 2 {
			continue
		}
		d := disturbance{at: at, component: component, replica: present[random.IntN(len(present))], action: pause, away: between(outlasting, f.longest)}
		if len(found) > 0 {
			d.action = []action{kill, kill, restart, pause, pause}[random.IntN(5)]
			if random.IntN(2) == 0 {
				d.away = between(0, outlasting)
			}
			if d.action != pause {
				d.away /= 4
			}
		}
		d.away = min(d.away, f.duration-at)
		free[d.replica] = at + d.away + settling
		found = append(found, d)
	}
	return found
}

func TestPlansFollowFromTheirSeed(t *testing.T) {
	g := NewWithT(t)
	whole, err := formOf("10m")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(whole.commits).To(Equal(500))
	for _, f := range []form{short, whole} {
		for seed := range int64(5) {
			p := newPlan(seed, f)
			g.Expect(newPlan(seed, f)).To(Equal(p))
			g.Expect(newPlan(seed+1, f).disturbances).NotTo(Equal(p.disturbances))
			g.Expect(p.commits).To(HaveLen(f.commits))
			for _, of := range []struct {
				component string
				replicas  int
			}{{installation.ControllerManager, f.managers}, {installation.Observer, f.observers}} {
				own := slices.DeleteFunc(slices.Clone(p.disturbances), func(d disturbance) bool { return d.component != of.component })
				g.Expect(own[0].action).To(Equal(pause))
				g.Expect(own[0].away).To(BeNumerically(">=", outlasting))
				for _, d := range own {
					g.Expect(d.at + d.away).To(BeNumerically("<=", f.duration))
					away := 0
					for _, other := range own {
						if other.at <= d.at && d.at < other.at+other.away+settling {
							away++
						}
					}
					g.Expect(away).To(BeNumerically("<", of.replicas), "%s: %v", d, own)
				}
			}
		}
	}
}

func TestForms(t *testing.T) {
	g := NewWithT(t)
	g.Expect(formOf("")).To(Equal(short))
	for _, wrong := range []string{"all", "1s"} {
		_, err := formOf(wrong)
		g.Expect(err).To(HaveOccurred())
	}
}
