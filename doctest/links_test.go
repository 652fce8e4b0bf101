// SPDX-License-Identifier: Apache-2.0

package doctest

import (
	"path"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestLinksOfTheTree(t *testing.T) {
	g := NewWithT(t)
	root, err := Root()
	g.Expect(err).NotTo(HaveOccurred())
	pages, err := Pages()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(pages)).To(BeNumerically(">", 40))
	g.Expect(brokenLinks(pages, existsBelow(root))).To(BeEmpty())
}

func TestEveryPageIsOnTheMap(t *testing.T) {
	g := NewWithT(t)
	pages, err := Pages()
	g.Expect(err).NotTo(HaveOccurred())
	linked := map[string]bool{"docs/README.md": true}
	follow(pages, "docs/README.md", linked)
	for page := range pages {
		if inDocs(page) && !linked[page] {
			t.Errorf("no page that docs/README.md leads to links to %s", page)
		}
	}
}

// follow notes the pages that a page links to, by themselves or with their folder, and those
// that these link to.
func follow(pages map[string]string, page string, seen map[string]bool) {
	for _, link := range linkPattern.FindAllStringSubmatch(prose(pages[page]), -1) {
		file, _, _ := strings.Cut(link[1], "#")
		if file == "" {
			continue
		}
		target := path.Join(path.Dir(page), file)
		for other := range pages {
			if (other == target || path.Dir(other) == target) && !seen[other] && inDocs(other) {
				seen[other] = true
				follow(pages, other, seen)
			}
		}
	}
}

func inDocs(page string) bool { return strings.HasPrefix(page, "docs/") }

func TestBrokenLinks(t *testing.T) {
	const other = "# One `thing` & [another](../a/page.md)\n\n## Twice\n\n## Twice\n\n<a id=\"own\"></a>\n```sh\n# no heading\n```\n"
	for _, test := range []struct {
		name, given string
		want        []string
	}{
		{"all is there", "[a](../b/other.md) [b\nb](../b/other.md#one-thing--another) [c](../b/other.md#twice-1) [d](../b/other.md#own) [`e`](#here) [f](https://example.com/x#y) [g](../b)\n# Here\n", nil},
		{"a file that is not there", "\n[a](nowhere.md)", []string{"a/page.md:2: nowhere.md: there is no such file"}},
		{"a heading that is not there", "[a](../b/other.md#three)", []string{"a/page.md:1: ../b/other.md#three: there is no such heading"}},
		{"a comment of a block is none", "[a](../b/other.md#no-heading)", []string{"a/page.md:1: ../b/other.md#no-heading: there is no such heading"}},
		{"one of its own", "[a](#three)", []string{"a/page.md:1: #three: there is no such heading"}},
		{"a picture", "![a](a.svg)", []string{"a/page.md:1: a.svg: there is no such file"}},
		{"in the second line of an item", "- b\n    [a](nowhere.md)", []string{"a/page.md:2: nowhere.md: there is no such file"}},
		{"code has no links", "`[a](nowhere.md)`\n```\n[a](nowhere.md)\n```\n\n    [a](nowhere.md)\n    [a](nowhere.md)\n", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			pages := map[string]string{"a/page.md": test.given, "b/other.md": other}
			exists := func(path string) bool { return pages[path] != "" || path == "b" }
			NewWithT(t).Expect(brokenLinks(pages, exists)).To(Equal(test.want))
		})
	}
}
