// SPDX-License-Identifier: Apache-2.0

// Package delivery tests what arrives in clusters: content of every kind of source, in
// order, with hooks; changes, drift, pruning, deletion.
package delivery

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/suites/scenario"
)

var suite *scenario.Suite

func TestDelivery(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Delivery")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	// What is not done for a reason is done at a resync: none helps out here.
	suite = scenario.Start(ctx, map[string][]string{installation.ControllerManager: {"--resync=1h"}})
}, NodeTimeout(scenario.StartTimeout))

var _ = AfterEach(scenario.KeepLogsOfFailures)
