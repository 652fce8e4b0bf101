// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func replicasDrift(name, value string) []drifted {
	return []drifted{{
		key:     corev1alpha1.ObjectKey{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "ns", Name: name},
		changes: []corev1alpha1.FieldChange{{Path: "/spec/replicas", From: value, To: "2"}},
		live: map[string]any{"metadata": map[string]any{"managedFields": []any{
			map[string]any{"manager": "convoy", "time": "2026-01-02T00:00:09Z"},
			map[string]any{"manager": "older", "time": "2026-01-02T00:00:01Z"},
			map[string]any{"manager": "autoscaler", "time": "2026-01-02T00:00:05Z"},
		}}},
	}}
}

func TestContested(t *testing.T) {
	g := NewWithT(t)
	m := &memory{corrections: map[string]*correction{}}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range contestedAfter {
		_, contested := m.contested(replicasDrift("web", "4"), now)
		g.Expect(contested).To(BeNil(), "correction %d is made", i+1)
		m.corrected(replicasDrift("web", string(rune('4'+i))), now)
		now = now.Add(time.Minute)
	}
	wait, contested := m.contested(replicasDrift("web", "9"), now)
	g.Expect(contested).NotTo(BeNil(), "the values differ, the fight is the same")
	g.Expect(contested.count).To(Equal(contestedAfter))
	g.Expect(wait).To(Equal(contestWindow - contestedAfter*time.Minute))

	_, contested = m.contested(replicasDrift("api", "4"), now)
	g.Expect(contested).To(BeNil(), "another object is another drift")

	_, contested = m.contested(replicasDrift("web", "4"), now.Add(contestWindow))
	g.Expect(contested).To(BeNil(), "after the window it is tried again")
}

func TestDescribe(t *testing.T) {
	one := replicasDrift("web", "4")[0]
	two := one
	two.changes = append(two.changes, corev1alpha1.FieldChange{Path: "/spec/paused"})
	gone := drifted{key: corev1alpha1.ObjectKey{Version: "v1", Kind: "Namespace", Name: "ns"}, missing: true}
	cases := []struct {
		name  string
		found []drifted
		want  string
	}{
		{"one field", []drifted{one}, "Deployment ns/web differs in /spec/replicas"},
		{"several fields", []drifted{two}, "Deployment ns/web differs in /spec/replicas and 1 more fields"},
		{"a missing object", []drifted{gone}, "Namespace ns is missing"},
		{"more objects than are named", []drifted{gone, gone, gone, one, one}, "Namespace ns is missing, Namespace ns is missing, Namespace ns is missing, 2 more"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			NewWithT(t).Expect(describe(c.found)).To(Equal(c.want))
		})
	}
}

func TestRivalIsTheLastForeignManager(t *testing.T) {
	g := NewWithT(t)
	g.Expect(rival(replicasDrift("web", "4"))).To(Equal(" (field manager autoscaler)"))
	g.Expect(rival([]drifted{{missing: true}})).To(BeEmpty())
}
