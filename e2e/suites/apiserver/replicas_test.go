// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// settled is how long the load goes on after a replica came back: the balancer has given it
// connections by then.
const settled = 3 * endpointLag

var _ = Describe("One of two replicas", func() {
	var l *load
	var w *watcher
	var namespace string

	BeforeEach(func(ctx SpecContext) {
		DeferCleanup(func(ctx SpecContext) { suite.restored(ctx) })
		namespace = suite.namespace(ctx)
		version := field(suite.createRelease(ctx, namespace, "app"), "metadata.resourceVersion").(string)
		w = suite.startWatcher(namespace, version)
		l = suite.startLoad(namespace)
		DeferCleanup(func() { l.end(); w.stop(); w.done.Wait() })
		Eventually(ctx, l.sent.Load).Should(BeNumerically(">", 100))
		before := suite.balancer.given()
		DeferCleanup(func() {
			AddReportEntry("connections before and after", fmt.Sprint(before, " ", suite.balancer.given()))
		})
	})

	It("that is told to end fails no request, and its watches end cleanly and are taken up", func(ctx SpecContext) {
		for _, one := range suite.replicas {
			started := time.Now()
			one.signal(syscall.SIGTERM)
			Expect(one.ended(ctx)).To(Equal("exit status 0"))
			AddReportEntry(one.Name()+" ended after", time.Since(started).Round(10*time.Millisecond).String())
			one.ensure(ctx)
			keepOn(ctx, settled)
		}
		failures := l.end()
		AddReportEntry("load", l.String())
		w.end(ctx, l.written)
		AddReportEntry("watches", fmt.Sprint(w.watches))
		unsent, others := split(failures)
		AddReportEntry("writes that the host could not send again", fmt.Sprint(len(unsent)))
		Expect(texts(others)).To(BeEmpty())
		Expect(w.unclean).To(BeEmpty())
	}, NodeTimeout(3*time.Minute))

	It("that is killed fails what it had in hand, and nothing after a few seconds", func(ctx SpecContext) {
		for _, one := range suite.replicas {
			killed := time.Now()
			Expect(one.Kill()).To(Succeed())
			keepOn(ctx, settled)
			l.mu.Lock()
			known := len(l.failures)
			last := time.Duration(0)
			for _, f := range l.failures {
				last = max(last, f.at.Sub(killed))
			}
			l.mu.Unlock()
			AddReportEntry("after the kill of "+one.Name(), fmt.Sprintf("%d requests had failed, the last after %s", known, last.Round(time.Millisecond)))
			Expect(last).To(BeNumerically("<", settled))
			one.ensure(ctx)
			keepOn(ctx, settled)
		}
		failures := l.end()
		AddReportEntry("load", l.String())
		for _, text := range texts(failures) {
			GinkgoWriter.Println(text)
		}
		w.end(ctx, l.written)
	}, NodeTimeout(3*time.Minute))
})

// notSentAgain is what a kube-apiserver says of a write that was under way to a replica on a
// connection that the replica was just closing (HTTP/2 GOAWAY). It was not done; the host has
// not kept its body to send it to another replica, and no aggregated server can change that.
var notSentAgain = []string{"after Request.Body was written", "cannot rewind body after connection loss"}

// split separates failures for which only the host is to blame, and the deletions of what was
// not created for that reason.
func split(failures []failure) (unsent, others []failure) {
	missing := 0
	for _, f := range failures {
		switch {
		case slices.ContainsFunc(notSentAgain, func(text string) bool { return strings.Contains(f.text, text) }):
			unsent = append(unsent, f)
			missing++
		case missing > 0 && strings.HasPrefix(f.text, "DELETE ") && strings.Contains(f.text, ": 404 "):
			missing--
		default:
			others = append(others, f)
		}
	}
	return unsent, others
}

// keepOn lets the load go on for a while: nothing is waited for but time under load.
func keepOn(ctx context.Context, how time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(how):
	}
}
