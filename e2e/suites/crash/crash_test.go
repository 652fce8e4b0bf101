// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

// What the process dies in, and what comes before and after. A world that is to die while it
// is updated is told the whole story; the others are told a shorter one.
var (
	short = []phase{create, remove}
	whole = []phase{create, update, remove}
)

func storyOf(name string) []phase {
	if name == update.name {
		return whole
	}
	return short
}

// reference is how a phase ends that nothing happens in.
type reference struct {
	lines  []string
	writes []write
	world  string
}

var _ = Describe("convoy-controller-manager that dies at a write", func() {
	It("is continued by the next one as if nothing had happened", func(ctx SpecContext) {
		undisturbed := map[string]reference{} // by phase
		for name, got := range suite.tell(ctx, short) {
			undisturbed[name] = got
		}
		other := suite.tell(ctx, whole)
		Expect(difference(undisturbed[create.name].lines, other[create.name].lines)).To(BeEmpty(), "the story is not the same each time")
		undisturbed[update.name] = other[update.name]
		Expect(difference(undisturbed[remove.name].lines, other[remove.name].lines)).To(BeEmpty())

		all := pointsOf(undisturbed)
		points, seed := chosen(all)
		AddReportEntry("points", fmt.Sprintf("%d of %d, %s", len(points), len(all), seed))
		var failed []string
		missed := 0
		for i, p := range points {
			began := time.Now()
			err := InterceptGomegaFailure(func() { suite.die(ctx, p, undisturbed) })
			at, outcome := suite.ledger.died(), "passed"
			switch {
			case err != nil:
				outcome = "FAILED"
				failed = append(failed, fmt.Sprintf("%s (%s=%s tries it again), %s:\n%v", p, killVariable, p, at, err))
				fmt.Fprintln(GinkgoWriter, err)
			case at == nil:
				outcome = "was not reached"
				missed++
			}
			fmt.Fprintf(GinkgoWriter, "%d/%d %s %s after %s: %s\n", i+1, len(points), p, outcome, time.Since(began).Round(10*time.Millisecond), at)
			Expect(ctx.Err()).NotTo(HaveOccurred())
		}
		AddReportEntry("outcome", fmt.Sprintf("%d points, %d failed, %d not reached", len(points), len(failed), missed))
		if len(failed) > 0 {
			Fail(strings.Join(failed, "\n"))
		}
		Expect(missed).To(BeNumerically("<=", len(points)/4), "points that were not reached")
	}, NodeTimeout(6*time.Hour))
})

// tell tells a story in a world in which nobody dies.
func (r *rig) tell(ctx context.Context, story []phase) map[string]reference {
	GinkgoHelper()
	w := r.newWorld(ctx)
	told := map[string]reference{}
	for _, p := range story {
		r.ledger.begin(w.Name, nil)
		p.happen(ctx, w)
		Eventually(ctx, func() error { return p.done(ctx, w) }).Should(Succeed(), "%s, undisturbed", p.name)
		lines := r.settled(ctx, w)
		told[p.name] = reference{lines: lines, writes: r.ledger.sent(), world: w.Name}
		Expect(ambiguous(told[p.name].writes)).To(BeEmpty())
		fmt.Fprintf(GinkgoWriter, "%s: %d lines of state\n", p.name, len(lines))
		for i, write := range told[p.name].writes {
			fmt.Fprintf(GinkgoWriter, "%s/%d %s\n", p.name, i+1, &write)
		}
	}
	Expect(w.end(ctx)).To(Succeed())
	return told
}

// settled gives the state of a world as soon as it stays the same for a while.
func (r *rig) settled(ctx context.Context, w *world) []string {
	GinkgoHelper()
	var last []string
	same := 0
	Eventually(ctx, func(g Gomega) {
		now, err := r.lines(ctx, w)
		g.Expect(err).NotTo(HaveOccurred())
		if !slices.Equal(now, last) {
			last, same = now, 0
		}
		same++
		g.Expect(same).To(BeNumerically(">", 10))
	}).WithPolling(150 * time.Millisecond).Should(Succeed())
	return last
}

func (r *rig) lines(ctx context.Context, w *world) ([]string, error) {
	state, err := r.read(ctx, w)
	if err != nil {
		return nil, err
	}
	return state.lines(w)
}

// die tells the story with a death in it, if it comes to that.
func (r *rig) die(ctx context.Context, p point, undisturbed map[string]reference) {
	GinkgoHelper()
	w := r.newWorld(ctx)
	defer r.revive(ctx, w)
	var uids map[string]types.UID
	for _, phase := range storyOf(p.phase) {
		want := undisturbed[phase.name]
		if phase.name != p.phase {
			r.ledger.begin(w.Name, nil)
			phase.happen(ctx, w)
			r.await(ctx, w, want)
		} else {
			r.kill(ctx, w, phase, p, want)
			r.compareWrites(w, want)
		}
		state, err := r.read(ctx, w)
		Expect(err).NotTo(HaveOccurred())
		Expect(state.uncovered()).To(BeEmpty(), "objects that no inventory names")
		for key, uid := range state.uids() {
			if before, ok := uids[key]; ok {
				Expect(uid).To(Equal(before), "%s was deleted and created again", key)
			}
		}
		uids = state.uids()
	}
	Expect(w.end(ctx)).To(Succeed())
}

// kill lets a phase happen and the process die in it, unless there are fewer writes this time.
func (r *rig) kill(ctx context.Context, w *world, phase phase, p point, want reference) {
	GinkgoHelper()
	trap := newTrap(p.number, p.moment)
	r.ledger.begin(w.Name, trap)
	phase.happen(ctx, w)
	if !r.sprung(ctx, w, trap, want) {
		return
	}
	defer trap.deliver()
	Eventually(ctx, r.ledger.quiet).Should(BeTrue())
	state, err := r.read(ctx, w)
	Expect(err).NotTo(HaveOccurred())
	Expect(state.uncovered()).To(BeEmpty(), "objects that no inventory names")
	r.restart(ctx)
	r.await(ctx, w, want)
	if p.moment == late {
		trap.deliver()
		Eventually(ctx, trap.delivered).Should(BeClosed())
		r.await(ctx, w, want)
	}
}

// sprung waits until the process is dead, or the phase over without that.
func (r *rig) sprung(ctx context.Context, w *world, trap *trap, want reference) (dead bool) {
	GinkgoHelper()
	Eventually(ctx, func() ([]string, error) {
		select {
		case <-trap.sprung:
			dead = true
			return nil, nil
		default:
		}
		now, err := r.lines(ctx, w)
		missing := difference(want.lines, now)
		if err == nil && len(missing) == 0 && !r.ledger.disarm() {
			missing = []string{"the process, which is about to die"}
		}
		return missing, err
	}).Should(BeEmpty(), "neither is it dead, nor has it done its part")
	return dead
}

// await waits until a world is as one in which nobody died.
func (r *rig) await(ctx context.Context, w *world, want reference) {
	GinkgoHelper()
	Eventually(ctx, func() ([]string, error) {
		now, err := r.lines(ctx, w)
		return difference(want.lines, now), err
	}).WithTimeout(time.Minute).Should(BeEmpty(), "the world is another one; its manager's log: %s", r.manager.LogFile())
}

// compareWrites compares what was done with what is done when nobody dies.
func (r *rig) compareWrites(w *world, want reference) {
	GinkgoHelper()
	writes := r.ledger.sent()
	Expect(ambiguous(writes)).To(BeEmpty(), "objects that were applied with two contents")
	Expect(inAllWorlds(created(writes), w.Name)).To(Equal(inAllWorlds(created(want.writes), want.world)), "objects that were created")
	for path := range inAllWorlds(deleted(writes), w.Name) {
		Expect(inAllWorlds(deleted(want.writes), want.world)).To(HaveKey(path), "objects that were deleted")
	}
}

func inAllWorlds(counts map[string]int, world string) map[string]int {
	renamed := map[string]int{}
	for path, n := range counts {
		renamed[strings.ReplaceAll(path, world, "<world>")] += n
	}
	return renamed
}

// revive sees to it that after a failure too the process runs, and nothing goes on in the world.
func (r *rig) revive(ctx context.Context, w *world) {
	GinkgoHelper()
	r.ledger.begin("", nil)
	if !r.manager.Running() {
		r.restart(ctx)
	}
	deleteReleases(ctx, w)
}
