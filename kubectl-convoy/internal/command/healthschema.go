// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"strings"

	"kumodo.io/convoy/health/ruletest"
	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

// checkTypes holds rules against the schemas in files, if any are named. What it could not check
// it says; alone tells that nothing else is asked for, so that what it could is said too.
func (e *environment) checkTypes(sets []*ruletest.Set, names []string, alone bool) error {
	if len(names) == 0 {
		return nil
	}
	files, err := readFiles(e.In, names)
	if err != nil {
		return fmt.Errorf("--schema: %w", err)
	}
	schemas, err := ruletest.ReadSchemas(files...)
	if err != nil {
		return fmt.Errorf("--schema: %w", err)
	}
	checked, err := ruletest.CheckTypes(sets, schemas)
	if err != nil {
		return err
	}
	if checked.Rules == 0 {
		return fmt.Errorf("--schema: no rule is for a kind of which a schema is there; the kinds of the rules are %s", strings.Join(checked.Unknown, ", "))
	}
	if len(checked.Unknown) > 0 {
		fmt.Fprintf(e.ErrOut, "No schema, and no check, of %s.\n", strings.Join(checked.Unknown, ", "))
	}
	if alone {
		fmt.Fprintf(e.Out, "%s checked against the schemas of %s\n", output.Count(checked.Rules, "rule"), strings.Join(checked.Kinds, ", "))
	}
	return nil
}
