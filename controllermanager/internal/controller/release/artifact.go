// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/content"
)

// fetchArtifact gets the content of the revision. The coordinator fetches it once for all
// Releases of the process that want it.
func (c *Controller) fetchArtifact(ctx context.Context, s *scope) outcome {
	if s.source == nil {
		return next()
	}
	artifact, err := c.config.Fetcher.Fetch(ctx, s.want, s.revision)
	if err != nil {
		return fail(corev1alpha1.ConditionSourceReady, content.Reason(err), err)
	}
	s.artifact = artifact
	s.release.Status.Source.Digest = artifact.Digest
	message := short(s.revision)
	if artifact.Path != "" && artifact.Path != "." {
		message = fmt.Sprintf("%s, path %s", short(s.revision), artifact.Path)
	}
	return holds(corev1alpha1.ConditionSourceReady, corev1alpha1.ReasonFetched, message)
}
