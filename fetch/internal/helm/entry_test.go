// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/fault"
)

// repeated writes an item, with its number where it wants that, so many times.
func repeated(format string, times int) string {
	var b strings.Builder
	for i := range times {
		fmt.Fprintf(&b, strings.ReplaceAll(format, "#", "%[1]d"), i)
	}
	return b.String()
}

// urls are so many URLs of one length, in the flow style.
func urls(number, length int) string {
	return "['" + strings.Join(strings.Split(strings.Repeat(strings.Repeat("u", length)+" ", number)[:number*(length+1)-1], " "), "', '") + "']"
}

// nested are mappings into each of which the one before is merged eight times.
func nested(levels int) string {
	var b strings.Builder
	for i := range levels {
		fmt.Fprintf(&b, ", &m%d {<<: [%s], version: 0.0.%d}", i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*m%d, ", i), 8), ", "), i)
	}
	return b.String()
}

// TestIndexThatExpands is of indexes in which little text stands for much.
func TestIndexThatExpands(t *testing.T) {
	const aliased = ", {version: 0.0.#, urls: *u}"
	most := urls(maxURLs, maxURL)
	for name, tc := range map[string]struct{ given, want string }{
		"URLs, in the flow style":  {"entries: {web: [{version: 1.0.0, urls: &u " + most + "}" + repeated(aliased, 300) + "]}\n", "more than 24 MiB"},
		"URLs, in lines":           {"entries:\n" + strings.ReplaceAll(repeated("  web#: [{version: 1.0.0, urls: &u MOST}", 1), "MOST", most) + repeated(aliased, 300) + "]\n", "more than 24 MiB"},
		"URLs, in many lines":      {"entries:\n" + strings.ReplaceAll(repeated("  web#: [{version: 1.0.0, urls: &u MOST}, {version: 1.0.1, urls: *u}]\n", 150), "MOST", most), "more than 24 MiB"},
		"names of charts":          {"entries:\n" + repeated("  "+strings.Repeat("w", 5000)+"#:\n", 8_000), "more than 24 MiB"},
		"a list for many charts":   {"entries: {web: &w [" + repeated("#, ", 10_000) + "]" + repeated(", web#: *w", 1000) + "}\n", "stand for more than"},
		"what is merged into many": {"entries: {web: [&m {" + repeated("k#: v, ", 90) + "version: 1.0.0}" + repeated(", {<<: *m, version: 0.0.#}", 10_000) + "]}\n", "stand for more than"},
		"merged into each other":   {"entries: {web: [&m0 {version: 1.0.0}" + nested(7) + "]}\n", "stand for more than"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := parseIndex(t.Context(), strings.NewReader(tc.given))
			g.Expect(errors.Is(err, fault.ErrLimit)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

// TestEntryThatIsTooMuch has broken entries, which do not matter to their neighbours.
func TestEntryThatIsTooMuch(t *testing.T) {
	for name, tc := range map[string]struct{ given, want string }{
		"long URL":         {"urls: " + urls(1, 1<<20), "a URL of more than 8192 bytes"},
		"many URLs":        {"urls: " + urls(1000, 10), "more than 16 URLs"},
		"many keys":        {"urls: [u], " + repeated("k#: v, ", maxKeys), "has no version 0.0.7"},
		"merged with self": {"urls: [u], <<: *e", "has no version 0.0.7"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			broken := "{version: 0.0.#, " + tc.given + "}"
			x := parse(t, "entries: {web: [{version: 1.0.0, urls: "+urls(maxURLs, maxURL)+"}, &e "+repeated(broken, 1)+", {version: 0.0.7, "+tc.given+"}]}\n")
			_, err := x.find("web", "0.0.7")
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
			g.Expect(x.skipped).To(Equal(2))
			e, err := x.find("web", "")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(e.Version).To(Equal("1.0.0"))
			g.Expect(e.URLs).To(HaveLen(maxURLs))
			g.Expect(x.size).To(BeNumerically("<", 2*maxURLs*maxURL))
		})
	}
	x := parse(t, "entries:\n  web:\n  - {version: "+strings.Repeat("v", maxVersion+1)+", urls: [u]}\n")
	NewWithT(t).Expect(x.size).To(BeNumerically("<", maxVersion), "a long version is not kept")
}
