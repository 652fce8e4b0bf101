// SPDX-License-Identifier: Apache-2.0

package ruletest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// File is a text with manifests, in YAML with any number of documents or in JSON, and the
// name by which messages refer to it.
type File struct {
	Name string
	Data []byte
}

// document is one manifest: a whole document, or an item of a List.
type document struct {
	file string
	// line of the file that is before the first one of the text that root was read from.
	before int
	// root is the manifest in the text, which knows its lines; nil when it has none.
	root *yamlv3.Node
	// fields as JSON.
	fields []byte
	meta   unstructured.Unstructured
}

// position of a field, which is given by keys and indexes, as far as it is there.
func (d *document) position(path ...any) string {
	node := d.root
	line := d.before + 1
	for i := 0; node != nil; i++ {
		line = d.before + node.Line
		if i == len(path) {
			break
		}
		node = child(node, path[i])
	}
	return fmt.Sprintf("%s:%d", d.file, line)
}

func child(node *yamlv3.Node, key any) *yamlv3.Node {
	if node.Kind == yamlv3.AliasNode {
		node = node.Alias
	}
	switch key := key.(type) {
	case int:
		if node.Kind == yamlv3.SequenceNode && key < len(node.Content) {
			return node.Content[key]
		}
	case string:
		if node.Kind != yamlv3.MappingNode {
			return nil
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				return node.Content[i+1]
			}
		}
	}
	return nil
}

// read gives the manifests of files, the items of Lists in place of the Lists. A document
// without content is none. Errors name file and line; what could be read is returned too.
func read(files []File) ([]document, error) { return readAs(yaml.YAMLToJSONStrict, files...) }

// readAs is read with another reading of YAML.
func readAs(toJSON func([]byte) ([]byte, error), files ...File) ([]document, error) {
	var documents []document
	var faults []error
	for _, file := range files {
		for _, part := range split(file.Data) {
			found, err := parse(file.Name, part, toJSON)
			documents = append(documents, found...)
			faults = append(faults, err)
		}
	}
	return documents, errors.Join(faults...)
}

// part is the text of one document.
type part struct {
	before int
	text   []byte
}

// split divides a text at the lines that begin a document.
func split(data []byte) []part {
	parts := []part{{}}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		mark := strings.TrimRight(string(line), " \t\r\n")
		if mark == "---" || strings.HasPrefix(mark, "--- ") {
			parts = append(parts, part{before: number})
			line = []byte(strings.TrimPrefix(mark, "---") + "\n")
			parts[len(parts)-1].before--
		}
		last := &parts[len(parts)-1]
		last.text = append(last.text, line...)
	}
	return parts
}

func parse(file string, part part, toJSON func([]byte) ([]byte, error)) ([]document, error) {
	fields, err := toJSON(part.text)
	if err != nil {
		return nil, unreadable(file, part, err)
	}
	if string(fields) == "null" {
		return nil, nil
	}
	one := document{file: file, before: part.before, fields: fields}
	var root yamlv3.Node
	if yamlv3.Unmarshal(part.text, &root) == nil && len(root.Content) == 1 {
		one.root = root.Content[0] // else there are no lines to tell
	}
	return one.expand()
}

// lineOfError is how the YAML library says where in a text it stopped.
var lineOfError = regexp.MustCompile(`line (\d+): `)

// unreadable puts the line of the file before what the library says of a part's.
func unreadable(file string, part part, err error) error {
	line, message := part.before+1, err.Error()
	if found := lineOfError.FindStringSubmatch(message); found != nil {
		within, _ := strconv.Atoi(found[1])
		line, message = part.before+within, strings.Replace(message, found[0], "", 1)
	}
	return fmt.Errorf("%s:%d: %s", file, line, message)
}

// expand reads kind and name of a manifest, and takes a List apart.
func (d document) expand() ([]document, error) {
	if err := d.meta.UnmarshalJSON(d.fields); err != nil {
		return nil, fmt.Errorf("%s: no Kubernetes object: %w", d.position(), err)
	}
	if !strings.HasSuffix(d.meta.GetKind(), "List") || d.meta.Object["items"] == nil {
		return []document{d}, nil
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(d.fields, &list); err != nil {
		return nil, fmt.Errorf("%s: items of %s: %w", d.position("items"), d.meta.GetKind(), err)
	}
	var documents []document
	for i, item := range list.Items {
		one := document{file: d.file, before: d.before, fields: item}
		if d.root != nil {
			if items := child(d.root, "items"); items != nil {
				one.root = child(items, i)
			}
		}
		expanded, err := one.expand()
		if err != nil {
			return nil, err
		}
		documents = append(documents, expanded...)
	}
	return documents, nil
}
