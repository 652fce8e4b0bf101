// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestReadyExpression: an expression is checked by the fields of a Release and their types.
func TestReadyExpression(t *testing.T) {
	tests := []struct {
		expression string
		refused    string // part of the message
	}{
		{"true", ""},
		{"release.metadata.name == 'db'", ""},
		{"release.kind == 'Release' && release.metadata.generation == release.status.observedGeneration", ""},
		{"release.spec.wave > 5 && !release.spec.suspend", ""},
		{"release.status.conditions.exists(c, c.type == 'Healthy' && c.status == 'True')", ""},
		{"release.status.conditions[7].status == 'True'", ""},
		{"release.status.applied.objects == 1 && 'go' in release.metadata.labels", ""},
		{"release.metadata.labels.tier == 'db' || release.metadata.annotations['a/b'] == '1'", ""},
		{"int(release.metadata.labels['n']) > 3", ""},
		{"has(release.status.applied) && release.status.applied.revision.startsWith('main@')", ""},
		{"release.status.?applied.?revision.orValue('') == 'v1'", ""},
		{"timestamp(release.metadata.creationTimestamp) < timestamp('2030-01-01T00:00:00Z')", ""},
		{"duration(release.spec.sync.timeout) > duration('1m')", ""},
		{"release.spec.source.git.path == 'p' && release.spec.source.git.ref.branch == 'main'", ""},
		{"release.spec.render.helm.values.replicas > 1", ""},
		{"release.status.history.size() > 0 && release.status.history[0].outcome == 'healthy'", ""},
		{"release.status.lifecycle.hooks.all(h, h.phase == 'succeeded' && h.on != 'preSync')", ""},
		{"release.metadata.managedFields.exists(m, m.fieldsV1 == m.fieldsV1)", ""},
		{"release.metadata.name > 3", "found no matching overload for '_>_' applied to '(string, int)'"},
		{"release.metadata.generation > 'x'", "applied to '(int, string)'"},
		{"release.metadata.labels.tier == 3", "applied to '(string, int)'"},
		{"release.status.conditions.exists(c, c.status)", "expected type 'bool' but found 'string'"},
		{"release.spec.suspend == 'true'", "applied to '(bool, string)'"},
		{"release.status.phase == 'Ready'", "undefined field 'phase'"},
		{"release.x == 1", "undefined field 'x'"},
		{"release.metadata.name", "must be of type bool, is of type string"},
		{"release.status.applied", "must be of type bool"},
		{"other.metadata.name == 'db'", "undeclared reference to 'other'"},
	}
	for _, tt := range tests {
		t.Run(tt.expression, func(t *testing.T) {
			g := NewWithT(t)
			errs := readyExpression(field.NewPath("spec"), tt.expression)
			if tt.refused == "" {
				g.Expect(errs).To(BeEmpty())
				return
			}
			g.Expect(errs).To(HaveLen(1))
			g.Expect(errs[0].Error()).To(ContainSubstring(tt.refused))
		})
	}
}
