// SPDX-License-Identifier: Apache-2.0

// Package apiserver tests convoy-apiserver as a server: what it admits and to whom, what it
// records, what is seen while it is away, how it ends, and what it makes of nonsense and of
// malice. Its identity and its rights are those of config/, its flags those of the shipped
// Deployment. Nothing acts on the objects but where a spec says so.
package apiserver

import (
	"fmt"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// suite is what all specs share. A spec that stops, breaks or replaces part of it puts it
// back.
var suite *rig

// failed is set by a failed spec, so that the logs are kept.
var failed bool

func TestAPIServer(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "API server")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	dir, err := os.MkdirTemp("", "convoy-apiserver-")
	Expect(err).NotTo(HaveOccurred())
	suite = &rig{dir: dir}
	DeferCleanup(func(ctx SpecContext) {
		Expect(suite.stop(ctx)).To(Succeed())
		if failed {
			fmt.Fprintf(os.Stderr, "the logs of the failed suite are in %s\n", dir)
			return
		}
		Expect(os.RemoveAll(dir)).To(Succeed())
	}, NodeTimeout(2*time.Minute))
	failed = true // until it is known to stand
	suite.start(ctx)
	failed = false
}, NodeTimeout(15*time.Minute))

var _ = AfterEach(func() { failed = failed || CurrentSpecReport().Failed() })
