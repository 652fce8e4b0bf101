// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"context"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// health tells the health of each object, with the rule that decided; with tree, that of what
// the objects own in turn, too.
func (s *Server) health(ctx context.Context, release *corev1alpha1.Release, q query) (reply, error) {
	report, err := s.Health.Report(ctx, release)
	if err != nil {
		return nil, err
	}
	if err := s.conceal(ctx, release, report); err != nil {
		return nil, err
	}
	if q.flag("tree") {
		return report, s.grow(ctx, release, report)
	}
	return report, nil
}

// conceal takes out of a report what was read as the Release and may not be read by who asks:
// messages, which may quote what the objects say of themselves.
func (s *Server) conceal(ctx context.Context, release *corev1alpha1.Release, report *corev1alpha1.ReleaseHealth) error {
	if !isCaller(ctx) || len(report.Objects) == 0 {
		return nil
	}
	target, err := s.Host.Connect(ctx, release)
	if err != nil {
		return err
	}
	comparer, err := s.comparer(ctx, release, target)
	if err != nil {
		return err
	}
	hidden, err := concealed(ctx, target, comparer, report.Objects)
	if err != nil {
		return err
	}
	for i, why := range hidden {
		report.Objects[i].Message = cmp.Or(why, report.Objects[i].Message)
	}
	return nil
}
