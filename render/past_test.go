// SPDX-License-Identifier: Apache-2.0

package render

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestPinnedRendersHaveTheHooksOfLaterSyncs(t *testing.T) {
	g := NewWithT(t)
	names := func(hooks []Hook) []string {
		var all []string
		for _, hook := range hooks {
			all = append(all, hook.Name)
		}
		return all
	}
	result := (&Result{
		Hooks:      []Hook{{Name: "install", When: OnInstall}, {Name: "always", Weight: 5}},
		OtherHooks: []Hook{{Name: "upgrade", When: OnUpgrade, Weight: 1}, {Name: "rollback", When: OnRollback}},
	}).ForLaterSync()
	g.Expect(names(result.Hooks)).To(Equal([]string{"upgrade", "always"}))
	g.Expect(names(result.OtherHooks)).To(Equal([]string{"install", "rollback"}))
}
