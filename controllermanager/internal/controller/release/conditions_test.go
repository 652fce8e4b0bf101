// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// scopeWith has the given conditions, "Type=Status" at generation 2, or at generation 1
// where the type is in old.
func scopeWith(old []string, given ...string) *scope {
	release := newRelease()
	release.Generation = 2
	for _, one := range given {
		conditionType, status, _ := strings.Cut(one, "=")
		generation := int64(2)
		for _, o := range old {
			if o == conditionType {
				generation = 1
			}
		}
		release.Status.Conditions = append(release.Status.Conditions, metav1.Condition{
			Type: conditionType, Status: metav1.ConditionStatus(status), Reason: conditionType + "Reason",
			Message: conditionType + " message", ObservedGeneration: generation,
		})
	}
	return &scope{release: release, before: release.Status.DeepCopy(), now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
}

func TestReadySumsUp(t *testing.T) {
	all := []string{"SourceReady=True", "Rendered=True", "Applied=True", "Healthy=True"}
	pass := outcome{kind: completes}
	waiting := wait(corev1alpha1.ConditionApplied, corev1alpha1.ReasonWaitingForWave, "waiting for base")
	tests := []struct {
		name  string
		old   []string
		given []string
		out   outcome
		want  string
		text  string
	}{
		{"all True", nil, all, pass, "True Ready", "Applied message; Healthy message"},
		{"all True, though something new waits", nil, all, waiting, "True Ready", "Applied message; Healthy message"},
		{"one False", nil, []string{"SourceReady=True", "Rendered=True", "Applied=True", "Healthy=False"}, pass, "False HealthyReason", "Healthy message"},
		{"the first False is the cause", nil, []string{"SourceReady=False", "Rendered=True", "Applied=False", "Healthy=False"}, pass, "False SourceReadyReason", "SourceReady message"},
		{"False goes before Unknown", nil, []string{"SourceReady=True", "Rendered=Unknown", "Applied=False", "Healthy=True"}, pass, "False AppliedReason", "Applied message"},
		{"one Unknown", nil, []string{"SourceReady=True", "Rendered=True", "Applied=True", "Healthy=Unknown"}, pass, "Unknown HealthyReason", "Healthy message"},
		{"one at an older generation", []string{"Applied"}, all, pass, "Unknown Progressing", "Applied is not known yet for the current spec"},
		{"one not there yet", nil, all[:3], pass, "Unknown Progressing", "Healthy is not known yet for the current spec"},
		{"what the pass waits for says more than what is unknown", nil, nil, waiting, "False WaitingForWave", "waiting for base"},
		{"InSync does not count", nil, append([]string{"InSync=False"}, all...), pass, "True Ready", "Applied message; Healthy message"},
		{"what concerns the whole goes before all", nil, all, wait(corev1alpha1.ConditionReady, corev1alpha1.ReasonSuspended, "suspended"), "False Suspended", "suspended"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			s := scopeWith(tt.old, tt.given...)
			s.summarize(tt.out)
			ready := meta.FindStatusCondition(s.release.Status.Conditions, corev1alpha1.ConditionReady)
			g.Expect(string(ready.Status) + " " + ready.Reason).To(Equal(tt.want))
			g.Expect(ready.Message).To(Equal(tt.text))
			g.Expect(ready.ObservedGeneration).To(Equal(int64(2)))
		})
	}
}

func TestConditionsOfOutcomes(t *testing.T) {
	applied := corev1alpha1.ConditionApplied
	tests := []struct {
		name           string
		given          string
		before         bool // something was applied, at generation 1
		out            outcome
		want           string
		wantGeneration int64
	}{
		{"a step that holds", "", false, holds(applied, "R", "m"), "True R", 2},
		{"a failure", "Applied=True", true, fail(applied, "R", errors.New("e")), "False R", 2},
		{"a wait before anything was applied", "", false, wait(applied, "R", "m"), "False R", 2},
		{"a wait with something applied", "Applied=True", true, wait(applied, "R", "m"), "True R", 1},
		{"a wait after a failure", "Applied=False", true, wait(applied, "R", "m"), "False R", 2},
		{"a wait in the middle of a sync", "Applied=True", true, waitUnderWay("R", "m", 0), "False R", 2},
		{"a pause", "Applied=False", true, outcome{kind: rests}, "False AppliedReason", 2},
		{"a wait for the source", "", true, wait(corev1alpha1.ConditionSourceReady, "R", "m"), "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			s := scopeWith(nil)
			if tt.given != "" {
				s = scopeWith(nil, tt.given)
			}
			if tt.before {
				s.release.Status.Applied = &corev1alpha1.AppliedStatus{Generation: 1}
			}
			s.setCondition(tt.out)
			condition := meta.FindStatusCondition(s.release.Status.Conditions, applied)
			if tt.want == "" {
				g.Expect(condition).To(BeNil())
				return
			}
			g.Expect(string(condition.Status) + " " + condition.Reason).To(Equal(tt.want))
			g.Expect(condition.ObservedGeneration).To(Equal(tt.wantGeneration))
		})
	}
}

func TestShorten(t *testing.T) {
	g := NewWithT(t)
	g.Expect(shorten("short")).To(Equal("short"))
	long := shorten(strings.Repeat("ä", maxMessage))
	g.Expect(len(long)).To(BeNumerically("<=", maxMessage))
	g.Expect(utf8.ValidString(long)).To(BeTrue())
	g.Expect(long).To(HaveSuffix("…"))
}

func TestListedNamesTheFirstFew(t *testing.T) {
	g := NewWithT(t)
	g.Expect(listed([]string{"a", "b"}, ", ")).To(Equal("a, b"))
	g.Expect(listed([]string{"a", "b", "c", "d", "e", "f", "g"}, ", ")).To(Equal("a, b, c, d, e, and 2 more"))
}

func TestShortRevision(t *testing.T) {
	tests := []struct{ name, given, want string }{
		{"a commit", "main@sha1:0123456789abcdef0123456789abcdef01234567", "main@sha1:0123456789ab"},
		{"a version with a digest", "1.2.3@sha256:" + strings.Repeat("a", 64), "1.2.3@sha256:aaaaaaaaaaaa"},
		{"something short", "main@1", "main@1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { NewWithT(t).Expect(short(tt.given)).To(Equal(tt.want)) })
	}
}
