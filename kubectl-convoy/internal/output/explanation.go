// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kumodo.io/convoy/kubectl-convoy/internal/explain"
)

// maxCauses is how many causes of one finding are listed; the rest is counted.
const maxCauses = 10

// Explanation writes why a Release is not further.
func Explanation(w io.Writer, e *explain.Explanation) error {
	story := &storyWriter{lineWriter: lineWriter{w: w}, colour: TakesColour(w)}
	head := "Release " + e.Namespace + "/" + e.Name
	switch {
	case len(e.Blockers) == 0 && e.Ready == metav1.ConditionTrue:
		story.print("%s", head+" is "+paint("Ready", Good, story.colour)+": nothing blocks it")
	case e.Ready == metav1.ConditionTrue:
		story.print("%s", head+" is "+paint("Ready", Good, story.colour)+", and something newer waits")
	default:
		story.print("%s", head+" is "+paint("not Ready", Bad, story.colour)+lasting(e.Since))
	}
	story.findings("", e.Blockers)
	if len(e.Remarks) > 0 {
		story.print("\nNote")
		story.findings("", e.Remarks)
	}
	return story.err
}

// storyWriter writes findings one below the other, with causes indented.
type storyWriter struct {
	lineWriter
	colour bool
}

func (s *storyWriter) findings(indent string, findings []explain.Finding) {
	for i, finding := range findings {
		if i == maxCauses {
			s.print("%s", fmt.Sprintf("%sand %d more", indent+"  ", len(findings)-i))
			return
		}
		s.finding(indent+"  ", finding)
	}
}

func (s *storyWriter) finding(indent string, finding explain.Finding) {
	head := paint(finding.Subject, Bold, s.colour)
	if finding.Reason != "" {
		head += ": " + paint(finding.Reason, Waiting, s.colour)
	}
	s.print("%s", indent+head+lasting(finding.Since))
	if finding.Message != "" {
		s.print("%s", indent+"  "+oneLine(finding.Message))
	}
	s.findings(indent, finding.Causes)
	for _, way := range finding.Do {
		s.print("%s", indent+"  → "+way)
	}
}

// lasting says for how long, when that is known.
func lasting(since *metav1.Time) string {
	if since.IsZero() {
		return ""
	}
	return ", for " + strings.TrimSpace(ago(*since))
}
