// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"bytes"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

	"kumodo.io/convoy/render/internal/lossless"
	"kumodo.io/convoy/render/internal/manifest"
	"kumodo.io/convoy/render/internal/scrub"
)

// withoutSecrets takes out of an error what the build has read of Secrets: the library cites
// the objects, patches and generators that it fails at. An error that shows none stays what
// it is.
func (s *source) withoutSecrets(err error) error {
	var invalid *manifest.InvalidError
	if errors.As(err, &invalid) {
		return err // which shows no values
	}
	c := collector{source: s}
	for file, content := range s.files {
		c.file(file, content)
	}
	return scrub.New(c.texts).Error(err)
}

// collector gathers the texts of Secrets, and of what makes or changes them.
type collector struct {
	source *source
	texts  []string
}

func (c *collector) file(name string, content []byte) {
	for _, document := range manifest.Split(content) {
		value, err := lossless.YAML(document)
		if err != nil {
			continue // the library cannot read it either, and tells the line only
		}
		if fields, ok := value.(map[string]any); ok && slices.Contains(FileNames, path.Base(name)) {
			c.kustomization(path.Dir(name), fields)
			continue
		}
		c.object(path.Dir(name), value)
	}
}

func (c *collector) kustomization(dir string, fields map[string]any) {
	for _, generator := range lists(fields, "secretGenerator") {
		c.generator(dir, generator)
	}
	for _, field := range []string{"patches", "patchesJson6902", "patchesStrategicMerge"} {
		for _, patch := range lists(fields, field) {
			c.patch(patch)
		}
	}
	for _, field := range []string{"resources", "generators", "transformers", "validators"} {
		for _, inline := range lists(fields, field) {
			if text, ok := inline.(string); ok && strings.ContainsAny(text, "\n{") {
				c.file(path.Join(dir, field), []byte(text))
			}
		}
	}
}

// object looks at an object, which may configure the library, or at the operations of a
// patch.
func (c *collector) object(dir string, value any) {
	fields, ok := value.(map[string]any)
	if !ok {
		c.operations(value)
		return
	}
	for _, item := range list(fields["items"]) {
		c.object(dir, item)
	}
	switch kind, _ := fields["kind"].(string); kind {
	case "Secret":
		c.secret(fields)
	case "SecretGenerator":
		c.generator(dir, fields)
	case "PatchTransformer", "PatchJson6902Transformer", "PatchStrategicMergeTransformer":
		c.patch(fields)
	}
}

func (c *collector) secret(fields map[string]any) {
	c.texts = scrub.Scalars(fields["data"], scrub.Scalars(fields["stringData"], c.texts))
}

// generator takes the literals of a generator of Secrets, and the files that it reads.
func (c *collector) generator(dir string, value any) {
	fields, _ := value.(map[string]any)
	for _, literal := range lists(fields, "literals") {
		text, _ := literal.(string)
		if _, after, ok := strings.Cut(text, "="); ok {
			text = after
		}
		c.texts = append(c.texts, text)
	}
	named := slices.Concat(lists(fields, "files"), lists(fields, "envs"), every(fields, "env"))
	for _, file := range named {
		name, _ := file.(string)
		if _, after, ok := strings.Cut(name, "="); ok {
			name = after
		}
		content := c.source.files[path.Join(dir, name)]
		c.texts = append(c.texts, string(content))
		for line := range bytes.Lines(content) {
			if _, after, ok := bytes.Cut(line, []byte("=")); ok {
				c.texts = append(c.texts, string(after))
			}
		}
	}
}

// patch takes what a patch writes into Secrets. Of one that cannot be read, and may be for a
// Secret, nothing is shown.
func (c *collector) patch(value any) {
	fields, _ := value.(map[string]any)
	if !slices.ContainsFunc(kinds(fields), mayBeSecret) {
		return
	}
	written := slices.Concat(every(fields, "patch"), every(fields, "jsonOp"), every(fields, "patches"))
	for _, each := range slices.Concat(lists(fields, "paths"), []any{value}, written) {
		text, ok := each.(string)
		if !ok {
			continue
		}
		for _, document := range manifest.Split([]byte(text)) {
			decoded, err := lossless.YAML(document)
			patched, isObject := decoded.(map[string]any)
			kind, _ := patched["kind"].(string)
			switch {
			case err != nil, !isObject && !isList(decoded):
				c.texts = append(c.texts, text)
			case isObject && mayBeSecret(kind):
				c.secret(patched)
			default:
				c.operations(decoded)
			}
		}
	}
}

// kinds are those that a patch is for; "" means all.
func kinds(patch map[string]any) (kinds []string) {
	for _, target := range every(patch, "target") {
		fields, _ := target.(map[string]any)
		for _, kind := range every(fields, "kind") {
			text, _ := kind.(string)
			kinds = append(kinds, text)
		}
	}
	if len(kinds) == 0 {
		return []string{""}
	}
	return kinds
}

// mayBeSecret tells whether a kind, or a pattern of kinds, can mean Secrets; none means all.
func mayBeSecret(kind string) bool {
	pattern, err := regexp.Compile("^(?:" + kind + ")$")
	return kind == "" || err != nil || pattern.MatchString("Secret")
}

// operations takes the values of a JSON patch.
func (c *collector) operations(value any) {
	for _, operation := range list(value) {
		fields, _ := operation.(map[string]any)
		c.texts = scrub.Scalars(fields["value"], c.texts)
	}
}

// every gives the values of a field, whose name the library takes in any case.
func every(fields map[string]any, name string) (values []any) {
	for key, value := range fields {
		if strings.EqualFold(key, name) {
			values = append(values, value)
		}
	}
	return values
}

// lists gives the elements of a field that is a list.
func lists(fields map[string]any, name string) (elements []any) {
	for _, value := range every(fields, name) {
		elements = append(elements, list(value)...)
	}
	return elements
}

func list(value any) []any {
	items, _ := value.([]any)
	return items
}

func isList(value any) bool {
	_, ok := value.([]any)
	return ok
}
