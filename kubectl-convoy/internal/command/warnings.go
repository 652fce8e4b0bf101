// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"

	"k8s.io/client-go/rest"

	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

// warnings writes the warnings of the server to w as kubectl does: each text once, and with
// colour on a terminal.
func warnings(w io.Writer) rest.WarningHandler {
	return rest.NewWarningWriter(w, rest.WarningWriterOptions{Deduplicate: true, Color: output.TakesColour(w)})
}
