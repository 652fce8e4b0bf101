// SPDX-License-Identifier: Apache-2.0

//go:build !convoy_without_acr

package cloud

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestEndOf reads when a token of a registry ends.
func TestEndOf(t *testing.T) {
	for token, want := range map[string]int64{
		"e30.eyJleHAiOjE4MDAwMDAwMDB9.x": 1800000000,
		"e30.e30.x":                      0,
		"e30.eyJleHAiOi0xfQ.x":           0,
		"a.b":                            0,
		"":                               0,
		"a.!.c":                          0,
	} {
		at := endOf(token)
		if at.IsZero() {
			NewWithT(t).Expect(want).To(BeZero(), token)
			continue
		}
		NewWithT(t).Expect(at.Unix()).To(Equal(want), token)
	}
}
