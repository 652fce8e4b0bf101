// SPDX-License-Identifier: Apache-2.0

// Package doctest lets a binary's tests hold the page of its documentation against its
// flags.
package doctest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// updateVariable, when set, makes Reference write the page instead of comparing it.
const updateVariable = "CONVOY_UPDATE_DOCS"

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
// intro, and a table for each section. With CONVOY_UPDATE_DOCS set it writes the page.
func Reference(t *testing.T, page, intro string, sections []Section) {
	t.Helper()
	var want strings.Builder
	want.WriteString(intro)
	for _, section := range sections {
		table(&want, section)
	}
	if os.Getenv(updateVariable) != "" {
		root, err := root()
		if err == nil {
			err = os.WriteFile(filepath.Join(root, page), []byte(want.String()), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := read(page)
	if err != nil {
		t.Fatal(err)
	}
	if got != want.String() {
		t.Errorf("%s is not what the flags say: run this test with %s=1 and commit the page", page, updateVariable)
	}
}

func table(out *strings.Builder, section Section) {
	fmt.Fprintf(out, "\n## %s\n\n| flag | default | meaning |\n|---|---|---|\n", section.Title)
	cell := strings.NewReplacer("\n", " ", "|", "\\|", "<", "&lt;")
	section.Flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden {
			return
		}
		shown := ""
		if flag.DefValue != "" && flag.DefValue != "[]" {
			shown = "`" + cell.Replace(flag.DefValue) + "`"
		}
		_, usage := pflag.UnquoteUsage(flag)
		fmt.Fprintf(out, "| `--%s` | %s | %s |\n", flag.Name, shown, cell.Replace(strings.Join(strings.Fields(usage), " ")))
	})
}

func read(page string) (string, error) {
	root, err := root()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(root, page))
	return string(text), err
}

// root finds the repository, which has the go.work.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.work above the working directory")
		}
		dir = parent
	}
}
