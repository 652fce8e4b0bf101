// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"math"
	"testing"

	. "github.com/onsi/gomega"
)

func TestSize(t *testing.T) {
	const mib = 1 << 20
	for bytes, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 1000: "1000 bytes", mib - 1: "1048575 bytes", mib: "1 MiB", 64 * mib: "64 MiB", 64*mib + 1: "64.1 MiB",
		65*mib - 1: "65.0 MiB", 64*mib + mib/2: "64.5 MiB", 2048 * mib: "2048 MiB", math.MaxInt64: "8796093022208.0 MiB",
	} {
		NewWithT(t).Expect(Size(bytes)).To(Equal(want))
	}
}
