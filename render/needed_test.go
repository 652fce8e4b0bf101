// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// twoWays is an engine whose result tells whether it was an installation.
type twoWays struct{ install, upgrade string }

func (e twoWays) Render(_ context.Context, in Input) (*Result, error) {
	if in.Upgrade {
		return &Result{Digest: e.upgrade}, nil
	}
	return &Result{Digest: e.install}, nil
}

func TestAsNeeded(t *testing.T) {
	entry := func(render string) corev1alpha1.HistoryEntry {
		return corev1alpha1.HistoryEntry{Render: render, Outcome: corev1alpha1.OutcomeHealthy}
	}
	cases := []struct {
		name    string
		applied string
		history []corev1alpha1.HistoryEntry
		want    string
	}{
		{"nothing was applied", "", nil, "install"},
		{"the installation stays what it is", "install", []corev1alpha1.HistoryEntry{entry("install")}, "install"},
		{"other content is an upgrade", "older", []corev1alpha1.HistoryEntry{entry("older")}, "upgrade"},
		{"an upgrade stays one", "upgrade", []corev1alpha1.HistoryEntry{entry("upgrade"), entry("install")}, "upgrade"},
		{"back to what was installed is an upgrade too", "install", []corev1alpha1.HistoryEntry{entry("install"), entry("older")}, "upgrade"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			release := &corev1alpha1.Release{Status: corev1alpha1.ReleaseStatus{History: c.history}}
			if c.applied != "" {
				release.Status.Applied = &corev1alpha1.AppliedStatus{Render: c.applied}
			}
			result, err := AsNeeded(t.Context(), twoWays{"install", "upgrade"}, Input{Release: release})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.Digest).To(Equal(c.want))
		})
	}
}
