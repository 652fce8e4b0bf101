// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// health tells the health of each object, with the rule that decided.
func (s *Server) health(ctx context.Context, release *corev1alpha1.Release, _ query) (reply, error) {
	report, err := s.Health.Report(ctx, release)
	if err != nil {
		return nil, err
	}
	return report, nil
}
