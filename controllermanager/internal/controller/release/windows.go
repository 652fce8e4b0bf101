// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"time"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/window"
)

// opening tells whether automatic syncs may start.
type opening struct {
	open bool
	// at is when they may next; the zero time: never, as far as can be seen.
	at time.Time
}

// windowsOf tells whether an automatic sync of the Release may start now. A sync that has
// begun goes on when its window closes.
func windowsOf(release *corev1alpha1.Release, now time.Time) (opening, error) {
	if len(release.Spec.Sync.Windows) == 0 || release.Status.Sync != nil && release.Status.Sync.StartedAt != nil {
		return opening{open: true}, nil
	}
	windows, err := window.Parse(release.Spec.Sync.Windows)
	if err != nil {
		return opening{}, err
	}
	at, _ := windows.Next(now)
	return opening{open: at.Equal(now), at: at}, nil
}

func awaitOpening(s *scope, next opening) outcome {
	when := "no window of spec.sync.windows will open"
	if !next.at.IsZero() {
		when = "the next window of spec.sync.windows opens at " + next.at.UTC().Format(time.RFC3339)
		s.wakeIn(next.at.Sub(s.now) + time.Second)
	}
	return wait(corev1alpha1.ConditionApplied, corev1alpha1.ReasonWaitingForSync,
		fmt.Sprintf("%s is not applied yet: %s; a requested sync does not wait for it", s.news(), when))
}
