// SPDX-License-Identifier: Apache-2.0

// Package crash tests that convoy-controller-manager may die at any write: the one that is
// started then brings about what would be without that, and the inventory names at any time
// whatever exists. Nothing is built into the binary for it: proxies before both clusters see
// the writes, and kill the process at one of them.
package crash

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/suites/scenario"
)

var suite *rig

func TestCrash(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Crash")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	suite = newRig(ctx)
}, NodeTimeout(scenario.StartTimeout))

var _ = AfterEach(scenario.KeepLogsOfFailures)
