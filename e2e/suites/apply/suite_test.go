// SPDX-License-Identifier: Apache-2.0

// Package apply tests what Releases do to a target cluster: a table of cases, each a set of
// manifests, what is done next, and what the target has to show for it. Nothing inside convoy
// is called; what was sent, and what never was, is in the target's audit log.
//
// Cases play at the same time, each in a namespace of its own. A case is an entry of a table
// (see prune_test.go for short ones): a name, and a function that gets a *scene.
package apply

import (
	"fmt"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var suite *rig

func TestApply(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Apply")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	dir, err := os.MkdirTemp("", "convoy-apply-")
	Expect(err).NotTo(HaveOccurred())
	suite = &rig{dir: dir}
	DeferCleanup(func(ctx SpecContext) {
		Expect(suite.stop(ctx)).To(Succeed())
		if suite.failed {
			fmt.Fprintf(os.Stderr, "the logs of the failed suite are in %s\n", dir)
			return
		}
		Expect(os.RemoveAll(dir)).To(Succeed())
	}, NodeTimeout(2*time.Minute))
	suite.failed = true // until it is known to stand
	suite.start(ctx)
	suite.failed = false
	go playAll(suite)
}, NodeTimeout(15*time.Minute))

var _ = AfterEach(func() { suite.failed = suite.failed || CurrentSpecReport().Failed() })
