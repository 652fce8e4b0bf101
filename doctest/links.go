// SPDX-License-Identifier: Apache-2.0

package doctest

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	// linkPattern finds where links and pictures lead.
	linkPattern    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	headingPattern = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	anchorPattern  = regexp.MustCompile(`<a id="([^"]+)">`)
	linkText       = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// brokenLinks tells of each link within the repository that leads nowhere. exists tells
// whether there is a file or folder.
func brokenLinks(pages map[string]string, exists func(path string) bool) []string {
	var faults []string
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		text := inlineCode.ReplaceAllString(prose(pages[page]), "")
		for _, place := range linkPattern.FindAllStringSubmatchIndex(text, -1) {
			target := text[place[2]:place[3]]
			if fault := broken(pages, page, target, exists); fault != "" {
				faults = append(faults, fmt.Sprintf("%s:%d: %s: %s", page, 1+strings.Count(text[:place[0]], "\n"), target, fault))
			}
		}
	}
	return faults
}

func broken(pages map[string]string, page, target string, exists func(string) bool) string {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return ""
	}
	file, anchor, hasAnchor := strings.Cut(target, "#")
	if file == "" {
		file = page
	} else {
		file = path.Join(path.Dir(page), file)
	}
	if !exists(file) {
		return "there is no such file"
	}
	if hasAnchor && !slices.Contains(anchors(pages[file]), anchor) {
		return "there is no such heading"
	}
	return ""
}

// anchors are the names under which the headings of a page can be linked to, as GitHub gives
// them, and those that the page gives itself.
func anchors(text string) []string {
	var found []string
	text = prose(text)
	times := map[string]int{}
	for _, heading := range headingPattern.FindAllStringSubmatch(text, -1) {
		name := slug(linkText.ReplaceAllString(heading[1], "$1"))
		if n := times[name]; n > 0 {
			found = append(found, fmt.Sprintf("%s-%d", name, n))
		} else {
			found = append(found, name)
		}
		times[name]++
	}
	for _, anchor := range anchorPattern.FindAllStringSubmatch(text, -1) {
		found = append(found, anchor[1])
	}
	return found
}

func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// existsBelow tells what there is in a folder.
func existsBelow(root string) func(string) bool {
	return func(name string) bool {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
		return err == nil
	}
}
