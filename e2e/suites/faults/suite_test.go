// SPDX-License-Identifier: Apache-2.0

// Package faults tests what happens when input is bad, when something cannot be reached,
// and when convoy's own processes die.
package faults

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/suites/scenario"
)

var suite *scenario.Suite

func TestFaults(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Faults")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	suite = scenario.Start(ctx, nil)
}, NodeTimeout(scenario.StartTimeout))

var _ = AfterEach(scenario.KeepLogsOfFailures)
