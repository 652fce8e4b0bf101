// SPDX-License-Identifier: Apache-2.0

// Package api tests that convoy's kinds behave under kubectl as built-in kinds do.
package api

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/suites/scenario"
)

var suite *scenario.Suite

func TestAPI(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "API")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	suite = scenario.Start(ctx, nil)
}, NodeTimeout(scenario.StartTimeout))

var _ = AfterEach(scenario.KeepLogsOfFailures)
