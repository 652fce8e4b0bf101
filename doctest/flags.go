// SPDX-License-Identifier: Apache-2.0

package doctest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// Flags fails the test for each flag of own that has no row in a table of the page, or one
// with another default, and for each flag that the page names and neither own nor all has.
// page is relative to the root of the repository.
func Flags(t *testing.T, page string, own, all *pflag.FlagSet) {
	t.Helper()
	text, err := read(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults(text, own, all) {
		t.Errorf("%s: %s", page, fault)
	}
}

var (
	rowPattern  = regexp.MustCompile("(?m)^\\| ((?:`-[^|]*)) \\|([^|]*)\\|")
	namePattern = regexp.MustCompile("`--([a-z][a-z0-9-]*)(…)?")
)

func faults(text string, own, all *pflag.FlagSet) []string {
	var faults []string
	defaults := map[string]string{}
	for _, row := range rowPattern.FindAllStringSubmatch(text, -1) {
		for _, name := range namePattern.FindAllStringSubmatch(row[1], -1) {
			defaults[name[1]] = strings.TrimSpace(row[2])
		}
	}
	own.VisitAll(func(flag *pflag.Flag) {
		shown, ok := defaults[flag.Name]
		switch {
		case flag.Hidden:
		case !ok:
			faults = append(faults, fmt.Sprintf("no row for --%s", flag.Name))
		case strings.HasPrefix(shown, "`") && strings.Trim(shown, "`") != strings.Trim(flag.DefValue, "[]"):
			faults = append(faults, fmt.Sprintf("the default of --%s is %q, not %s", flag.Name, flag.DefValue, shown))
		}
	})
	for _, name := range namePattern.FindAllStringSubmatch(text, -1) {
		if !known(name[1], name[2] != "", own) && !known(name[1], name[2] != "", all) {
			faults = append(faults, fmt.Sprintf("there is no flag --%s", name[1]))
		}
	}
	return faults
}

// known tells whether a set has a flag, or flags that begin so.
func known(name string, isBeginning bool, flags *pflag.FlagSet) bool {
	if !isBeginning {
		return flags.Lookup(name) != nil
	}
	found := false
	flags.VisitAll(func(flag *pflag.Flag) { found = found || strings.HasPrefix(flag.Name, name) })
	return found
}

// Section is a group of flags.
type Section struct {
	Title string
	Flags *pflag.FlagSet
}

// Reference fails the test when the page is not the list of all flags that it should be:
// intro, and a table for each section.
func Reference(t *testing.T, page, intro string, sections []Section) {
	t.Helper()
	var want strings.Builder
	want.WriteString(intro)
	for _, section := range sections {
		fmt.Fprintf(&want, "\n## %s\n\n", section.Title)
		flagTable(&want, section.Flags)
	}
	Page(t, page, want.String())
}

// flagTable writes a row for each flag that is not hidden.
func flagTable(out *strings.Builder, flags *pflag.FlagSet) {
	out.WriteString("| flag | default | meaning |\n|---|---|---|\n")
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden {
			return
		}
		name, shown := "`--"+flag.Name+"`", ""
		if flag.Shorthand != "" {
			name = "`-" + flag.Shorthand + "`, " + name
		}
		if flag.DefValue != "" && flag.DefValue != "[]" {
			shown = "`" + Cell(flag.DefValue) + "`"
		}
		_, usage := pflag.UnquoteUsage(flag)
		fmt.Fprintf(out, "| %s | %s | %s |\n", name, shown, Cell(usage))
	})
}
