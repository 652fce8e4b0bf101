// SPDX-License-Identifier: Apache-2.0

package doctest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Manual fails the test when the page is not what the commands below root say of themselves:
// intro, and for each command what it does, examples and its flags.
func Manual(t *testing.T, page, intro string, root *cobra.Command) {
	t.Helper()
	var want strings.Builder
	want.WriteString(intro)
	manual(&want, root)
	Page(t, page, want.String())
}

func manual(out *strings.Builder, cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.Hidden || sub.Name() == "help" {
			continue
		}
		fmt.Fprintf(out, "\n## %s\n", sub.CommandPath())
		if sub.Runnable() {
			fmt.Fprintf(out, "\n`%s`\n", strings.TrimSuffix(sub.UseLine(), " [flags]"))
		}
		text := sub.Long
		if text == "" {
			text = sub.Short + "."
		}
		fmt.Fprintf(out, "\n%s\n", asText(text))
		if sub.Example != "" {
			fmt.Fprintf(out, "\n```sh\n%s\n```\n", strings.ReplaceAll("\n"+sub.Example, "\n  ", "\n")[1:])
		}
		if flags := sub.NonInheritedFlags(); flags.HasAvailableFlags() {
			out.WriteString("\n")
			flagTable(out, flags)
		}
		manual(out, sub)
	}
}

// asText keeps a text of --help from being taken for Markdown.
func asText(text string) string {
	return strings.NewReplacer("<", "&lt;", "*", "\\*", "_", "\\_").Replace(strings.TrimSpace(text))
}

// CommandLines fails the test for each command line of a page that root would not understand:
// an unknown command or flag, or a value that does not fit, and in blocks of code too many or
// too few arguments. program is how the command is called, as in "kubectl convoy"; make gives
// a command that nobody has used.
func CommandLines(t *testing.T, program string, make func() *cobra.Command) {
	t.Helper()
	pages, err := Pages()
	if err != nil {
		t.Fatal(err)
	}
	for page, text := range pages {
		for _, line := range commandLines(text, program) {
			if err := understood(make(), line); err != nil {
				t.Errorf("%s:%d: %s %s: %v", page, line.number, program, strings.Join(line.args, " "), err)
			}
		}
	}
}

// understood tells whether a command takes a line.
func understood(root *cobra.Command, line commandLine) error {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(line.args...)
	cmd, args, err := root.Find(line.args)
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	var incomplete *pflag.ValueRequiredError
	if err := cmd.ParseFlags(args); err != nil && (!line.inText || !errors.As(err, &incomplete)) {
		return err
	}
	if !cmd.Runnable() && cmd.Flags().NArg() > 0 {
		return fmt.Errorf("unknown command %q for %q", cmd.Flags().Arg(0), cmd.CommandPath())
	}
	if line.inText || !cmd.Runnable() || asksForHelp(cmd) {
		return nil
	}
	return errors.Join(cmd.ValidateArgs(cmd.Flags().Args()), cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups())
}

func asksForHelp(cmd *cobra.Command) bool {
	help, err := cmd.Flags().GetBool("help")
	return err == nil && help
}
