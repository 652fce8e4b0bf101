// SPDX-License-Identifier: Apache-2.0

// Package chaos kills, pauses and restarts replicas of both controllers at random while
// commits come, and then judges: every Release has the last commit, nothing is lost, and
// nothing was written for a shard by a replica that did not hold it.
//
// Who wrote what is in the audit logs of the clusters. All replicas have the same account and
// the same name there, so each reaches the clusters by a proxy of its own, which sends from an
// address of its own; the loopback of Linux has enough of them. A replica that is started anew
// gets another one.
//
// Who held which shard is in the audit log of the host, with the Leases as they were written. A
// watch would tell the same, but not when: only when this test got to know of it, and only
// that a Lease was written, not by whom. The log has all writes, in the order of their
// versions, each with the moments between which it happened, taken by the same clock as those
// of the writes to the targets, for all servers run on one machine.
package chaos

import (
	"fmt"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/suites/scenario"
)

// chaosVariable asks for the whole: 10m makes 500 commits under 4 replicas of each controller,
// for ten minutes. Without it there is less of everything. The seed of ginkgo chooses what
// happens; -ginkgo.seed repeats it.
const chaosVariable = "CONVOY_E2E_CHAOS"

// form says how much of everything there is.
type form struct {
	duration            time.Duration
	managers, observers int // replicas
	shards, clusters    int
	releases            int
	commits             int
	pace                time.Duration // from one disturbance of a controller to the next, on average
	longest             time.Duration // absence of a replica
	interval            time.Duration // at which Releases look for commits
}

var short = form{
	duration: 40 * time.Second, managers: 3, observers: 2, shards: 4, clusters: 6, releases: 12, commits: 30,
	pace: 3 * time.Second, longest: 20 * time.Second, interval: 2 * time.Second,
}

// formOf reads the value of the variable.
func formOf(value string) (form, error) {
	if value == "" {
		return short, nil
	}
	duration, err := time.ParseDuration(value)
	if err == nil && duration < short.duration {
		err = fmt.Errorf("less than %s", short.duration)
	}
	return form{
		duration: duration, managers: 4, observers: 4, shards: 8, clusters: 12, releases: 24, commits: int(50 * duration.Minutes()),
		pace: 6 * time.Second, longest: time.Minute, interval: 3 * time.Second,
	}, err
}

var suite *rig

func TestChaos(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Chaos")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultEventuallyTimeout(scenario.Timeout)
	SetDefaultEventuallyPollingInterval(scenario.Interval)
	f, err := formOf(os.Getenv(chaosVariable))
	Expect(err).NotTo(HaveOccurred(), chaosVariable)
	dir, err := os.MkdirTemp("", "convoy-chaos-")
	Expect(err).NotTo(HaveOccurred())
	suite = &rig{form: f, plan: newPlan(GinkgoRandomSeed(), f), dir: dir, failed: true} // until it is known to stand
	DeferCleanup(func(ctx SpecContext) {
		Expect(suite.stop(ctx)).To(Succeed())
		if suite.failed {
			fmt.Fprintf(os.Stderr, "the logs of the failed suite are in %s\n", dir)
			return
		}
		Expect(os.RemoveAll(dir)).To(Succeed())
	}, NodeTimeout(2*time.Minute))
	suite.start(ctx)
	suite.failed = false
}, NodeTimeout(scenario.StartTimeout))

var _ = AfterEach(func() { suite.failed = suite.failed || CurrentSpecReport().Failed() })
