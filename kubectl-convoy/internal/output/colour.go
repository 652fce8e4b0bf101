// SPDX-License-Identifier: Apache-2.0

package output

import (
	"io"
	"os"

	"golang.org/x/term"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Colour is how a word is shown on a terminal.
type Colour string

// Colours, by what they say. The zero value is none.
const (
	Good    Colour = "\x1b[32m"
	Waiting Colour = "\x1b[33m"
	Bad     Colour = "\x1b[31m"
	Faint   Colour = "\x1b[2m"
	Bold    Colour = "\x1b[1m"

	endOfColour = "\x1b[0m"
)

// TakesColour tells whether w is a terminal that is not said to be without colour.
func TakesColour(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return false
	}
	_, plain := os.LookupEnv("NO_COLOR")
	return !plain && os.Getenv("TERM") != "dumb"
}

// IsTerminal tells whether r is a terminal, so that somebody can be asked.
func IsTerminal(r io.Reader) bool {
	file, ok := r.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// paint gives text in a colour, if it has one and colours are wanted.
func paint(text string, colour Colour, wanted bool) string {
	if !wanted || colour == "" || text == "" {
		return text
	}
	return string(colour) + text + endOfColour
}

func healthColour(status corev1alpha1.HealthStatus) Colour {
	switch status {
	case corev1alpha1.HealthHealthy:
		return Good
	case corev1alpha1.HealthDegraded, corev1alpha1.HealthMissing:
		return Bad
	}
	return Waiting
}

func conditionColour(status metav1.ConditionStatus) Colour {
	switch status {
	case metav1.ConditionTrue:
		return Good
	case metav1.ConditionFalse:
		return Bad
	}
	return Waiting
}
