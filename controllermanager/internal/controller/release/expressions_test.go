// SPDX-License-Identifier: Apache-2.0

package release

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Numbers and booleans that JSON leaves out are there.
func TestExpressionsOfZeros(t *testing.T) {
	r := other("db")
	r.Status.Sync = &corev1alpha1.SyncStatus{LastHandledAt: "x"}
	r.Spec.Mutations = []corev1alpha1.Mutation{{Name: "m"}}
	for expression, want := range map[string]bool{
		"release.spec.wave == 0": true, "release.spec.wave > 0": false, "!release.spec.suspend": true, "release.status.sync.attempts == 0": true,
		"release.spec.sync.allowEmpty == false": true, "!release.spec.mutations[0].optional": true,
		"has(release.status.sync.lastError)": false, "has(release.spec.pin)": false, "release.status.applied.generation == 0": false,
	} {
		holds, err := (&readyExpressions{}).holds(expression, r)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(holds).To(Equal(want), expression)
	}
}

// TestExpressionsThatCannotBeUsed: the error names the expression, the Release and the way out.
func TestExpressionsThatCannotBeUsed(t *testing.T) {
	long := "'" + strings.Repeat("x", 1000) + "' == '' || release.metadata.name > 3"
	tests := map[string][]string{
		"release.metadata.name > 3": {`"release.metadata.name > 3" cannot be evaluated of Release db: no such overload`, "change it; a text is compared with a text"},
		"release.metadata.name":     {`"release.metadata.name" must be a condition, gives a value of type string for Release db: compare it`},
		"release.":                  {`"release." cannot be used: `},
		long:                        {`xxx…" cannot be evaluated of Release db: no such overload`},
	}
	for expression, texts := range tests {
		_, err := (&readyExpressions{}).holds(expression, other("db"))
		for _, text := range texts {
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(text)))
		}
		NewWithT(t).Expect(len(err.Error())).To(BeNumerically("<", 600))
	}
}
