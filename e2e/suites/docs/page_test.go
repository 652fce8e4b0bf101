// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("A page", func() {
	DescribeTable("is done in its order", func(text, want string, fails bool) {
		all, err := steps("a.md", text)
		Expect(err).NotTo(HaveOccurred())
		output, err := exec.Command("bash", "-c", script(all)).Output()
		Expect(err != nil).To(Equal(fails))
		Expect(string(output)).To(Equal(want))
	},
		Entry("each after the one before", "```sh\na=1\n```\n```sh\necho $a\n```\n", "\n@@ line 2\n\n@@ line 5\n1\n", false),
		Entry("until one fails", "```sh\nfalse\n```\n```sh\necho b\n```\n", "\n@@ line 2\n", true),
		Entry("with the status that is expected", "<!-- exit: 1 -->\n```sh\nfalse\n```\n```sh\necho b\n```\n", "\n@@ line 3\n\n@@ line 6\nb\n", false),
		Entry("and no other", "<!-- exit: 1 -->\n```sh\ntrue\n```\n```sh\necho b\n```\n", "\n@@ line 3\n", true),
	)
	DescribeTable("tells what is shown", func(output string, lines []string, want string) {
		Expect(missing(output, lines)).To(Equal(want))
	},
		Entry("as it is", "NAME   AGE\na      5s\n", []string{"NAME  AGE", "a  …"}, ""),
		Entry("with more lines between", "a\nb\nc\n", []string{"a", "c"}, ""),
		Entry("in another order", "c\na\n", []string{"a", "c"}, "c"),
		Entry("with something else", "a 5s\n", []string{"a"}, "a"),
	)
	It("has nothing but commands and their output", func() {
		_, err := steps("a.md", "```yaml\na: b\n```\n")
		Expect(err).To(MatchError(ContainSubstring("a.md:2:")))
	})
})
