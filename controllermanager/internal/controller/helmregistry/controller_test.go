// SPDX-License-Identifier: Apache-2.0

package helmregistry

import (
	"testing"

	. "github.com/onsi/gomega"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
)

func TestLearn(t *testing.T) {
	registry := &sourcev1alpha1.HelmRegistry{}
	learn(registry, fetch.CheckResult{Charts: 7, SkippedEntries: 2, IndexDigest: "sha256:aa"})
	NewWithT(t).Expect(registry.Status).To(Equal(sourcev1alpha1.HelmRegistryStatus{Charts: 7, SkippedEntries: 2, IndexDigest: "sha256:aa"}))
}
