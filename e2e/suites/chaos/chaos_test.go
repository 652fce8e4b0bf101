// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/framework/installation"
)

var _ = Describe("Replicas that are killed, paused and restarted at random", func() {
	It("deliver every commit in the end, each what is its own", func(ctx SpecContext) {
		r := suite
		AddReportEntry("chaos", fmt.Sprintf("-ginkgo.seed=%d repeats it: %+v, scoped caches: %t", r.plan.seed, r.form, r.plan.scoped))
		w := r.newWorld(ctx)
		Eventually(ctx, w.settled(ctx, 0)).Should(Succeed(), "before anything happens")
		before := w.uids(ctx)

		By("disturbing them while commits come")
		errs := r.unleash(ctx, w)
		Expect(errors.Join(errs...)).NotTo(HaveOccurred())
		last := len(r.plan.commits) - 1
		began := time.Now()
		Eventually(ctx, w.settled(ctx, last)).Should(Succeed(), "all is delivered once nothing happens any more")
		AddReportEntry("last commit", fmt.Sprintf("everywhere %s after the end", time.Since(began).Round(100*time.Millisecond)))
		Expect(w.uids(ctx)).To(Equal(before), "objects that every commit has are those from the beginning")
		for _, one := range r.replicas {
			Eventually(ctx, one.ready).Should(Succeed(), one.String())
			Expect(one.process.Err()).To(Succeed(), "it ended by itself")
		}

		By("editing an object of each Release by hand")
		w.edit(ctx)
		Eventually(ctx, w.settled(ctx, last)).Should(Succeed(), "drift is corrected in every shard")

		By("judging what was written")
		r.judge(ctx, w)
	}, NodeTimeout(2*time.Hour))
})

// unleash has everything in the plan happen, and returns when it is over: all replicas are
// there, and the last commit is made.
func (r *rig) unleash(ctx context.Context, w *world) []error {
	var mu sync.Mutex
	var errs []error
	failed := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
	}
	began := time.Now()
	var all sync.WaitGroup
	for _, one := range r.replicas {
		all.Go(func() {
			for _, d := range r.plan.disturbances {
				if d.component != one.component || d.replica != one.number-1 {
					continue
				}
				wait(ctx, time.Until(began.Add(d.at)))
				if err := one.suffer(ctx, d); err != nil {
					failed(err)
					return
				}
			}
		})
	}
	all.Go(func() {
		for n, c := range r.plan.commits[1:] {
			wait(ctx, time.Until(began.Add(c.at)))
			if err := w.commit(ctx, n+1); err != nil {
				failed(fmt.Errorf("commit %d: %w", n+1, err))
				return
			}
		}
	})
	all.Wait()
	return errs
}

// judge reads the audit logs and fails for what must not be in them.
func (r *rig) judge(ctx context.Context, w *world) {
	GinkgoHelper()
	host := readAudit(ctx, r.hostKube, r.auditLog("host"), installation.Namespace)
	tenures, err := history(host)
	Expect(err).NotTo(HaveOccurred())
	Expect(tenures).To(HaveLen(2 * r.form.shards))
	j := &judge{tenures: tenures, shards: w.shards(ctx), judged: map[string]int{}, replica: r.describe}
	faults := j.ownership("host", host)
	for n, kube := range r.targetKubes {
		events := readAudit(ctx, kube, r.auditLog(targetName(n)), namespace)
		faults = append(faults, j.ownership(targetName(n), events)...)
		faults = append(faults, j.contents(targetName(n), events)...)
	}
	r.report(j)
	if len(faults) > 0 {
		Fail(strings.Join(faults, "\n"))
	}

	By("having seen what was to be seen")
	silent := 0
	for _, of := range tenures {
		for i, t := range of {
			if t.silent && i+1 < len(of) && of[i+1].source != t.source {
				silent++
			}
		}
	}
	Expect(silent).To(BeNumerically(">", 0), "no shard was taken from a replica that was silent")
	for n := range targets {
		Expect(j.judged).To(HaveKeyWithValue(installation.ControllerManager+" at "+targetName(n), BeNumerically(">", r.form.commits)))
	}
	for component := range components {
		Expect(j.judged).To(HaveKeyWithValue(component+" at host", BeNumerically(">", r.form.releases)))
	}
}

// describe tells of a write which replica made it, and what was done to that.
func (r *rig) describe(e *event) (component, text string, ok bool) {
	one, life, ok := r.replicaOf(e.source())
	if !ok {
		return "", "", false
	}
	return one.component, fmt.Sprintf("%s in its life %d (%s; %s)", one, life, e.source(), one.suffered(e.RequestReceivedTimestamp)), true
}

// report tells what there was.
func (r *rig) report(j *judge) {
	happened := map[string]int{}
	for _, one := range r.replicas {
		for _, a := range one.absences {
			happened[one.component+" "+string(a.action)]++
		}
	}
	AddReportEntry("happened", fmt.Sprintf("%d commits; %v", len(r.plan.commits), happened))
	AddReportEntry("writes judged", fmt.Sprint(j.judged))
	held, silent := 0, 0
	longest, of := time.Duration(0), ""
	for lease, tenures := range j.tenures {
		held += len(tenures)
		for i, t := range tenures {
			if t.silent {
				silent++
			}
			if i > 0 && t.from.Sub(tenures[i-1].to) > longest {
				longest, of = t.from.Sub(tenures[i-1].to), lease
			}
		}
	}
	AddReportEntry("tenures", fmt.Sprintf("%d, %d of them ended by silence; longest time between two %s (%s)", held, silent, longest.Round(time.Millisecond), of))
}
