// SPDX-License-Identifier: Apache-2.0

// Package monitoring holds what config/monitoring asks of the metrics, alerts and dashboards,
// against what the processes tell: while all is well, and while much is not.
package monitoring

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/suites/scenario"
)

var suite *scenario.Suite

func TestMonitoring(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Monitoring")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	suite = scenario.Start(ctx, nil)
}, NodeTimeout(scenario.StartTimeout))

var _ = AfterEach(scenario.KeepLogsOfFailures)
