// SPDX-License-Identifier: Apache-2.0

// Package docs does what the documentation says, word for word.
package docs

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestDocs(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Docs")
}
