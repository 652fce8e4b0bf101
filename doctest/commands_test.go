// SPDX-License-Identifier: Apache-2.0

package doctest

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
)

func TestCommandLinesAreFound(t *testing.T) {
	for _, test := range []struct {
		name, given string
		want        []commandLine
	}{
		{"what is typed", "a\n```console\n$ kubectl convoy sync web --wait   # now\nkubectl convoy output\n```\n", []commandLine{{3, []string{"sync", "web", "--wait"}, false}}},
		{"a script", "```sh\nset -e\nfor x in a b; do kubectl convoy why \"$x\" > out; done\ncase $? in\n  0) kubectl convoy pin web --reason 'a b' \\\n    --render x | cat ;;\nesac\n```\n", []commandLine{
			{3, []string{"why", "$x"}, false}, {5, []string{"pin", "web", "--reason", "a b", "--render", "x"}, false},
		}},
		{"in another command", "```sh\neval \"$(true)\" && A=b kubectl convoy version 2>/dev/null\n```\n", []commandLine{{2, []string{"version", "2"}, false}}},
		{"within a sentence", "Run `kubectl convoy\nresume NAME`, not `kubectl convoy` or `kubectl`.", []commandLine{{1, []string{"resume", "NAME"}, true}}},
		{"another language", "```yaml\nkubectl convoy nonsense\n```\n", nil},
		{"as an argument", "```sh\necho kubectl convoy sync\n```\n", nil},
		{"a longer name", "```sh\nkubectl convoys x\nkubectl-convoy x\n```\n", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(commandLines(test.given, "kubectl convoy")).To(Equal(test.want))
		})
	}
}

// tool is a command with one below another.
func tool() *cobra.Command {
	root := &cobra.Command{Use: "tool"}
	group := &cobra.Command{Use: "group", Short: "Those"}
	leaf := &cobra.Command{Use: "leaf NAME", Args: cobra.ExactArgs(1), Long: "Does <it>.", Example: "  tool group leaf a\n  tool group leaf b", Run: func(*cobra.Command, []string) {}}
	leaf.Flags().IntP("number", "n", 1, "How many | of them.")
	leaf.Flags().String("hidden", "", "")
	_ = leaf.Flags().MarkHidden("hidden")
	group.AddCommand(leaf)
	root.AddCommand(group)
	return root
}

func TestCommandLinesAreUnderstood(t *testing.T) {
	for _, test := range []struct {
		name  string
		given commandLine
		want  string
	}{
		{"as it is", commandLine{args: []string{"group", "leaf", "x", "-n", "2"}}, ""},
		{"help", commandLine{args: []string{"group", "leaf", "--help"}}, ""},
		{"a group in a sentence", commandLine{args: []string{"group"}, inText: true}, ""},
		{"arguments are left out in a sentence", commandLine{args: []string{"group", "leaf"}, inText: true}, ""},
		{"and so are values", commandLine{args: []string{"group", "leaf", "--number"}, inText: true}, ""},
		{"and nowhere else", commandLine{args: []string{"group", "leaf"}}, "accepts 1 arg"},
		{"an unknown command", commandLine{args: []string{"grop"}}, "unknown command"},
		{"an unknown command of a group", commandLine{args: []string{"group", "lief"}}, `unknown command "lief" for "tool group"`},
		{"an unknown flag", commandLine{args: []string{"group", "leaf", "x", "--numbre=2"}, inText: true}, "unknown flag: --numbre"},
		{"a value is left out", commandLine{args: []string{"group", "leaf", "x", "-n"}}, "flag needs an argument"},
		{"a value that does not fit", commandLine{args: []string{"group", "leaf", "x", "-n", "two"}}, "invalid argument"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := understood(tool(), test.given)
			if test.want == "" {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
				return
			}
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(test.want)))
		})
	}
}

func TestManual(t *testing.T) {
	var out strings.Builder
	manual(&out, tool())
	NewWithT(t).Expect(out.String()).To(Equal("\n## tool group\n\nThose.\n\n## tool group leaf\n\n`tool group leaf NAME`\n\nDoes &lt;it>.\n\n" +
		"```sh\ntool group leaf a\ntool group leaf b\n```\n\n" +
		"| flag | default | meaning |\n|---|---|---|\n| `-n`, `--number` | `1` | How many \\| of them. |\n"))
}
