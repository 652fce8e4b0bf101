// SPDX-License-Identifier: Apache-2.0

// Package shards tests replicas that hold in memory only what is in their shards.
package shards

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/suites/scenario"
)

var suite *scenario.Suite

// flags are those of both controllers in this suite.
var flags = []string{"--shards=4", "--shard-scoped-cache"}

func TestShards(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Shards")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	suite = scenario.Start(ctx, map[string][]string{
		installation.APIServer: flags[:1], installation.ControllerManager: flags, installation.Observer: flags,
	})
}, NodeTimeout(scenario.StartTimeout))

var _ = AfterEach(scenario.KeepLogsOfFailures)
