// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// awaitDependencies waits until every Release in spec.dependsOn is ready: by its
// expression, or else Applied and Healthy at its current generation.
func (c *Controller) awaitDependencies(ctx context.Context, s *scope) outcome {
	var blockers []blocker
	for i, dependency := range s.release.Spec.DependsOn {
		name := "Release " + dependency.Name
		other, err := c.releaseAnywhere(ctx, types.NamespacedName{Namespace: s.key.Namespace, Name: dependency.Name})
		if err != nil {
			return abort(err)
		}
		if other == nil {
			blockers = append(blockers, blocker{name, "does not exist"})
			continue
		}
		lack, ok, err := c.dependencyReady(dependency, other)
		if err != nil {
			return stuck(corev1alpha1.ConditionApplied, corev1alpha1.ReasonInvalidConfiguration,
				fmt.Sprintf("spec.dependsOn[%d].readyExpr: %v", i, err))
		}
		if !ok {
			blockers = append(blockers, blocker{name, lack})
		}
	}
	return c.toldCircle(ctx, s, blocked(corev1alpha1.ReasonDependency, blockers))
}

func (c *Controller) dependencyReady(dependency corev1alpha1.Dependency, other *corev1alpha1.Release) (lack string, ok bool, err error) {
	if dependency.ReadyExpr == "" {
		lack, ok = delivered(other)
		return lack, ok, nil
	}
	ok, err = c.expressions.holds(dependency.ReadyExpr, other)
	return "readyExpr is not true", ok, err
}
