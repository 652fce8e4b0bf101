// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// fetchArtifact gets the content of the revision. While that of a new one is being fetched, the
// pass goes on with the last.
func (c *Controller) fetchArtifact(ctx context.Context, s *scope) outcome {
	if s.source == nil {
		return next()
	}
	artifact, err := c.fetch(ctx, s.release, s.want, s.revision)
	for err != nil {
		what := fmt.Sprintf("%s of %s is being fetched", short(s.revision), s.sourceName())
		if out := c.withoutSource(ctx, s, stepArtifact, what, err); out.kind != proceeds {
			return out
		}
		artifact, err = c.fetch(ctx, s.release, s.want, s.revision) // of the last one
	}
	s.artifact = artifact
	s.release.Status.Source.Digest = artifact.Digest
	if s.oldLook {
		return next() // SourceReady is for the newer one to say
	}
	c.questions.looks.keep(s.key, s.look, true)
	message := short(s.revision)
	if artifact.Path != "" && artifact.Path != "." {
		message = fmt.Sprintf("%s, path %s", short(s.revision), artifact.Path)
	}
	return holds(corev1alpha1.ConditionSourceReady, corev1alpha1.ReasonFetched, message)
}
