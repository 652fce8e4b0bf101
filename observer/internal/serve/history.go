// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/observer/internal/compare"
)

// history tells the past renders; with an id, one of them whole.
func (s *Server) history(ctx context.Context, release *corev1alpha1.Release, q query) (reply, error) {
	history := &corev1alpha1.ReleaseHistory{Entries: release.Status.History}
	if history.Entries == nil {
		history.Entries = []corev1alpha1.HistoryEntry{}
	}
	if q["id"] == "" {
		return history, nil
	}
	entry, err := historyEntry(release, q["id"])
	if err != nil {
		return nil, err
	}
	past, err := s.past(ctx, release, q["id"])
	if err != nil {
		return nil, err
	}
	history.Entries = []corev1alpha1.HistoryEntry{*entry}
	size := 0
	for _, object := range planned(past) {
		if size > maxAnswer {
			return nil, tooLong()
		}
		raw, err := json.Marshal(compare.MaskObject(object.Object.Object.Object))
		if err != nil {
			return nil, err
		}
		size += len(raw)
		history.Objects = append(history.Objects, runtime.RawExtension{Raw: raw})
	}
	return history, nil
}
