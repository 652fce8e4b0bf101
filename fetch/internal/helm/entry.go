// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"
)

const (
	// maxVersion bounds the text of a version, in bytes.
	maxVersion = 256
	// maxURL bounds a URL, in bytes, and maxURLs those of one entry. Each entry is kept with
	// its own, though an index may write them once for all.
	maxURL, maxURLs = 8 << 10, 16
	// maxKeys bounds the keys of an entry: YAML compares each with each.
	maxKeys = 100
	// maxAliases bounds how many aliases lead to a value.
	maxAliases = 10
)

// entry is one version of a chart.
type entry struct {
	Version string  `yaml:"version"`
	URLs    urlList `yaml:"urls"`
	// Digest is of the archive: 64 hex digits once the entry has been taken in, "" when the
	// index does not say.
	Digest string `yaml:"digest"`

	parsed *semver.Version
}

// urlList are the URLs of an entry.
type urlList []string

// UnmarshalYAML reads no more URLs than it takes to see that they are too many.
func (l *urlList) UnmarshalYAML(node *yaml.Node) error {
	first := *node
	first.Content = node.Content[:min(len(node.Content), maxURLs+1)]
	return first.Decode((*[]string)(l))
}

// weigh says whether a value can be an entry, and counts what it costs to decode it where
// it stands behind aliases. What is written out is bounded by its text.
func (p *indexParser) weigh(node *yaml.Node, aliases int) bool {
	if aliases > 0 {
		p.expanded += 1 + len(node.Content)
	}
	if node.Kind != yaml.MappingNode || len(node.Content) > 2*maxKeys || aliases > maxAliases || p.expanded > maxExpanded {
		return false
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == "<<" && !p.weighMerged(node.Content[i+1], aliases) {
			return false
		}
	}
	return true
}

// weighMerged is weigh for what is merged into an entry: a mapping or a list of some.
func (p *indexParser) weighMerged(merged *yaml.Node, aliases int) bool {
	if merged.Kind == yaml.AliasNode {
		merged, aliases = merged.Alias, aliases+1
	}
	if merged.Kind != yaml.SequenceNode {
		return p.weigh(merged, aliases)
	}
	if len(merged.Content) > maxAliases {
		return false
	}
	for _, each := range merged.Content {
		through := aliases
		if each.Kind == yaml.AliasNode {
			each, through = each.Alias, through+1
		}
		if !p.weigh(each, through) {
			return false
		}
	}
	return true
}
