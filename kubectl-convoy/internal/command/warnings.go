// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"
	"os"

	"golang.org/x/term"
	"k8s.io/client-go/rest"
)

// warnings writes the warnings of the server to w as kubectl does: each text once, and with
// colour on a terminal.
func warnings(w io.Writer) rest.WarningHandler {
	return rest.NewWarningWriter(w, rest.WarningWriterOptions{Deduplicate: true, Color: takesColour(w)})
}

// takesColour tells whether w is a terminal that is not said to be without colour.
func takesColour(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return false
	}
	_, plain := os.LookupEnv("NO_COLOR")
	return !plain && os.Getenv("TERM") != "dumb"
}
