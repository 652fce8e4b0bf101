// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"

	"kumodo.io/convoy/render/internal/digest"
	"kumodo.io/convoy/render/internal/manifest"
)

// markUnstable marks the documents of a template that are not among those that it gave the
// second time.
func markUnstable(first []manifest.Document, name, secondText string) error {
	second, err := manifest.Decode(name, []byte(secondText))
	if err != nil {
		return fmt.Errorf("rendering a second time: %w", err)
	}
	again := map[string]bool{}
	for _, d := range second {
		sum, err := digest.Of(d.Object.Object)
		if err != nil {
			return err
		}
		again[sum] = true
	}
	for i, d := range first {
		sum, err := digest.Of(d.Object.Object)
		if err != nil {
			return err
		}
		first[i].Unstable = !again[sum]
	}
	return nil
}
