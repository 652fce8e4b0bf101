// SPDX-License-Identifier: Apache-2.0

package render

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestOwnerName(t *testing.T) {
	for _, test := range []struct{ name, given, want string }{
		{"of the same installation", "home/team/shop", "Release team/shop"},
		{"of another one", "1f3a/team/shop", "Release team/shop of another convoy (installation 1f3a)"},
		{"in no form of ours", "somebody", `Release "somebody"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(OwnerName(test.given, "home")).To(Equal(test.want))
		})
	}
}
