// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestReasonIsTheSameEachTime(t *testing.T) {
	for name, texts := range map[string][2]string{
		"of certificates": {
			"x509: certificate has expired or is not yet valid: current time 2026-01-01T00:00:00Z is after 2025-01-01T00:00:00Z",
			"x509: certificate has expired or is not yet valid: current time 2026-01-02T10:20:30+02:00 is after 2025-01-01T00:00:00Z",
		},
		"of Go": {"expired at 2026-01-01 00:00:00.123 +0000 UTC", "expired at 2026-01-01 00:00:01 +0000 UTC"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Reason(errors.New(texts[0]))).To(Equal(Reason(errors.New(texts[1]))))
		})
	}
	NewWithT(t).Expect(len(Reason(errors.New(strings.Repeat("x ", 1000))))).To(BeNumerically("<", 420))
}
