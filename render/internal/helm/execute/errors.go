// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"errors"
	"fmt"
	"strings"
	"text/template"

	"kumodo.io/convoy/render/internal/limit"
)

// message is what a chart says by itself through `fail` or `required`.
type message string

func (m message) Error() string { return string(m) }

// readError is what Options.Lookup says.
type readError struct{ error }

func (e *readError) Unwrap() error { return e.error }

// executionError makes an error of one of the text/template library. What a chart says by
// itself, and a limit, are said without the way through all includes that led to it.
func executionError(name string, err error) error {
	var said message
	var stopped *limit.Error
	var failed *readError
	switch {
	case errors.As(err, &failed):
		return located("execution error", name, failed, err)
	case errors.As(err, &said):
		return located("execution error", name, said, err)
	case errors.As(err, &stopped):
		return located("execution error", name, stopped, err)
	}
	if exec, ok := errors.AsType[template.ExecError](err); ok && !strings.HasPrefix(exec.Error(), "template: ") {
		return fmt.Errorf("execution error in (%s): %w", name, err)
	}
	return err
}

// located gives "<what> at (<template>:<line>:<column>): <shown>". The place is taken from
// the last of the errors, which is what text/template says.
func located(what, name string, shown error, from ...error) error {
	place, text := name, shown
	whole := shown.Error()
	if len(from) > 0 {
		whole = from[len(from)-1].Error()
	}
	// "template: <place>: <the rest>"
	if rest, ok := strings.CutPrefix(whole, "template: "); ok {
		if at, problem, ok := strings.Cut(rest, ": "); ok {
			place = at
			if len(from) == 0 {
				text = errors.New(problem)
			}
		}
	}
	return fmt.Errorf("%s at (%s): %w", what, place, text)
}
