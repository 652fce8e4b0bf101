// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// format is how an answer is written.
type format string

const (
	formatJSON format = "json"
	formatYAML format = "yaml"
	// formatText is for people.
	formatText format = "text"
	// formatPatch is what differs as JSON patches (RFC 6902), for a diff.
	formatPatch format = "patch"
)

var formats = []format{formatJSON, formatYAML, formatText, formatPatch}

// byMediaType are the formats by what an Accept header names.
var byMediaType = map[string]format{
	"application/json": formatJSON, "application/yaml": formatYAML, "text/plain": formatText, "application/json-patch+json": formatPatch,
	"*/*": formatJSON, "application/*": formatJSON, "text/*": formatText,
}

// formatOf is the format that a request asks for: by its query, else by the first of its
// Accept headers that there is. Without either, and for what is accepted and not there, it is
// JSON, as errors are.
func formatOf(accept []string, output, kind string) (format, error) {
	wanted := format(output)
	if output == "" {
		wanted = formatJSON
		for text := range strings.SplitSeq(strings.Join(accept, ","), ",") {
			mediaType, _, err := mime.ParseMediaType(text)
			found, ok := byMediaType[mediaType]
			if err == nil && ok && (found != formatPatch || kind == "ReleaseDiff") {
				wanted = found
				break
			}
		}
	}
	if !slices.Contains(formats, wanted) || wanted == formatPatch && kind != "ReleaseDiff" {
		return "", apierrors.NewBadRequest(fmt.Sprintf("output=%s is none of json, yaml, text and, of a diff, patch", output))
	}
	return wanted, nil
}

func (f format) contentType() string {
	switch f {
	case formatYAML:
		return "application/yaml"
	case formatText:
		return "text/plain; charset=utf-8"
	}
	return "application/json"
}

// encode writes an answer.
func (f format) encode(object reply) ([]byte, error) {
	switch f {
	case formatYAML:
		return yaml.Marshal(object)
	case formatText:
		var out bytes.Buffer
		if err := writeText(&out, object); err != nil {
			return nil, err
		}
		return out.Bytes(), nil
	case formatPatch:
		if diff, ok := object.(*corev1alpha1.ReleaseDiff); ok {
			return json.Marshal(diff.JSONPatches())
		}
	}
	return json.Marshal(object)
}
