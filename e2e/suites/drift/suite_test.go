// SPDX-License-Identifier: Apache-2.0

// Package drift tests what is taken for drift and what is not: a catalogue of manifests that
// API servers, webhooks and controllers change in every way they are known for, none of which
// is drift; what is drift is found and corrected; and convoy-observer only ever reads.
package drift

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/suites/scenario"
)

var suite *scenario.Suite

func TestDrift(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Drift")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	// What is not seen when it happens is not seen at all: nothing else helps out here.
	never := []string{"--resync=1h", "--drift-full-interval=0"}
	suite = scenario.Start(ctx, map[string][]string{installation.ControllerManager: {"--resync=1h"}, installation.Observer: never})
}, NodeTimeout(scenario.StartTimeout))

var _ = AfterEach(scenario.KeepLogsOfFailures)

// All that convoy-observer asked of the target, in all tests.
var _ = AfterSuite(func(ctx SpecContext) {
	if suite == nil {
		return
	}
	asked := 0
	for _, r := range requests(ctx, "convoy-observer/", 0) {
		asked++
		reads := r.Verb == "get" || r.Verb == "list" || r.Verb == "watch"
		Expect(reads || r.dryRun() && (r.Verb == "patch" || r.Verb == "create")).To(BeTrue(), "%s %s", r.Verb, r.RequestURI)
	}
	Expect(asked).To(BeNumerically(">", 100), "the log is the right one")
}, NodeTimeout(scenario.Timeout))
