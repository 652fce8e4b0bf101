// SPDX-License-Identifier: Apache-2.0

package release

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

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
		_, err := (&expressions{}).holds(expression, other("db"))
		for _, text := range texts {
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(text)))
		}
		NewWithT(t).Expect(len(err.Error())).To(BeNumerically("<", 600))
	}
}
