// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/framework/process"
)

// A replica with another number of shards works on nothing, and is to be seen not to: it ends.
var _ = DescribeTable("a replica with another --shards than the others", func(ctx SpecContext, name string, listens string) {
	ports, err := process.FreePorts(2)
	Expect(err).NotTo(HaveOccurred())
	args := []string{"--kubeconfig=" + accountOf(ctx, name), "--shards=3", "--metrics-addr=127.0.0.1:" + strconv.Itoa(ports[0])}
	if listens != "" {
		args = append(args, listens+"127.0.0.1:"+strconv.Itoa(ports[1]))
	}
	command := exec.CommandContext(ctx, filepath.Join(suite.Bin, name), args...)
	output, err := command.CombinedOutput()
	Expect(ctx.Err()).NotTo(HaveOccurred(), "it ends by itself: %s", output)
	Expect(err).To(HaveOccurred())
	Expect(string(output)).To(And(ContainSubstring("was started with --shards=3"), ContainSubstring("with --shards=1")))
},
	Entry("convoy-controller-manager", installation.ControllerManager, "", NodeTimeout(time.Minute)),
	Entry("convoy-observer", installation.Observer, "--serve-addr=", NodeTimeout(time.Minute)),
)
