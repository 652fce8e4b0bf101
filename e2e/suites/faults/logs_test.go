// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// readLog returns the log of one of convoy's processes.
func readLog(name string) string {
	GinkgoHelper()
	data, err := os.ReadFile(suite.Environment.Convoy.Process(name).LogFile())
	Expect(err).NotTo(HaveOccurred())
	return string(data)
}
