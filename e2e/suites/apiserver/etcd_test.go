// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("While etcd is away", func() {
	It("a replica is not ready, answers that it cannot, and is not restarted for it; then it goes on", func(ctx SpecContext) {
		DeferCleanup(func(ctx SpecContext) { suite.restored(ctx) })
		namespace := suite.namespace(ctx)
		suite.createRelease(ctx, namespace, "app")
		one := suite.replicas[0]
		probe, asker := suite.anonymous().at(one), suite.admin.at(one)
		pid := one.PID()
		Expect(suite.etcd.Stop(ctx)).To(Succeed())
		down := time.Now()

		Eventually(ctx, func() string { return probe.get(ctx, "/readyz").String() }).Should(And(HavePrefix("500"), ContainSubstring("[-]etcd failed")))
		AddReportEntry("/readyz failed after", time.Since(down).Round(10*time.Millisecond).String())
		Expect(probe.get(ctx, "/livez?exclude=etcd").code).To(Equal(http.StatusOK), "as the shipped Deployment asks")
		cached := asker.get(ctx, releasesPath(namespace)+"?resourceVersion=0")
		Expect(cached.code).To(Equal(http.StatusOK), "what may be old comes from memory: %s", cached)
		for _, request := range []call{
			{method: http.MethodPost, path: releasesPath(namespace), body: newRelease(namespace, "late")},
			{method: http.MethodPatch, path: releasePath(namespace, "app"), body: `{"spec":{"wave":3}}`, contentType: mergePatch},
			{method: http.MethodPost, path: releasePath(namespace, "app", "sync")},
			{method: http.MethodGet, path: releasePath(namespace, "app")},
		} {
			got, err := asker.tryFor(ctx, time.Second, request)
			Expect(err).To(HaveOccurred(), "%s %s: %s", request.method, request.path, got)
		}

		Expect(suite.etcd.ensure(ctx)).To(Succeed())
		up := time.Now()
		Eventually(ctx, func() int { return probe.get(ctx, "/readyz").code }).Should(Equal(http.StatusOK))
		// The client of etcd waits longer and longer between two attempts to connect.
		Eventually(ctx, func() int {
			got, _ := asker.tryFor(ctx, 5*time.Second, call{method: http.MethodPatch, path: releasePath(namespace, "app"), body: `{"spec":{"wave":4}}`, contentType: mergePatch})
			return got.code
		}).Should(Equal(http.StatusOK))
		AddReportEntry("it served again after", time.Since(up).Round(10*time.Millisecond).String())
		Expect(suite.admin.get(ctx, releasePath(namespace, "late")).code).To(Equal(http.StatusNotFound), "who gave up has not written")
		Expect(one.PID()).To(Equal(pid))
		Expect(one.Err()).To(Succeed())
	}, NodeTimeout(4*time.Minute))
})
