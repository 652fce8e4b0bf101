// SPDX-License-Identifier: Apache-2.0

package fault

import "fmt"

// Size writes a number of bytes for people. What is larger than a limit reads as larger than
// it, so that parts of a MiB are rounded up.
func Size(bytes int64) string {
	const mib = 1 << 20
	switch {
	case bytes == 1:
		return "1 byte"
	case bytes < mib:
		return fmt.Sprintf("%d bytes", bytes)
	case bytes%mib == 0:
		return fmt.Sprintf("%d MiB", bytes/mib)
	}
	tenths := (bytes/mib)*10 + (bytes%mib*10+mib-1)/mib
	return fmt.Sprintf("%d.%d MiB", tenths/10, tenths%10)
}
