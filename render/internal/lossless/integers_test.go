// SPDX-License-Identifier: Apache-2.0

package lossless_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/internal/lossless"
)

// TestIntegers reads integers in all the ways in which YAML writes them; what is no integer
// of 64 bits is refused, and never another one.
func TestIntegers(t *testing.T) {
	const refused = "yaml: line 1: the integer does not fit into 64 bits"
	tests := []struct{ given, want string }{
		{"9223372036854775807", "9223372036854775807"},
		{"-9223372036854775808", "-9223372036854775808"},
		{"18446744073709551615", "18446744073709551615"},
		{"+9223372036854775807", "9223372036854775807"},
		{"+18446744073709551615", refused},
		{"18_446_744_073_709_551_615", "18446744073709551615"},
		{"18446744073709551616", refused},
		{"-9223372036854775809", refused},
		{"0777777777777777777777", "9223372036854775807"},
		{"01777777777777777777777", "18446744073709551615"},
		{"-01000000000000000000000", "-9223372036854775808"},
		{"0o777777777777777777777", "9223372036854775807"},
		{"0_777_777_777_777_777_777_777", "9223372036854775807"},
		{"02000000000000000000000", refused},
		{"0999999999999999999999", refused},
		{"0x7FFFFFFFFFFFFFFF", "9223372036854775807"},
		{"0b111111111111111111111111111111111111111111111111111111111111111", "9223372036854775807"},
		{"[00000000000000000000000000000007]", "[7]"},
	}
	for _, test := range tests {
		t.Run(test.given, func(t *testing.T) {
			g := NewWithT(t)
			value, err := lossless.YAML([]byte("a: " + test.given + "\n"))
			if test.want == refused {
				g.Expect(err).To(MatchError(HavePrefix(refused)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			written, err := json.Marshal(value)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(written)).To(Equal(`{"a":` + test.want + `}`))
		})
	}
}
