// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// format is how an answer is written.
type format string

const (
	formatJSON format = "json"
	formatYAML format = "yaml"
	// formatText is for people.
	formatText format = "text"
	// formatPatch is what differs as JSON patches (RFC 6902), for a diff. There is no media
	// type for a list of them.
	formatPatch format = "patch"
)

var formats = []format{formatJSON, formatYAML, formatText, formatPatch}

// negotiable are the formats that an Accept header may ask for, the one that is preferred here
// first.
var negotiable = []struct {
	format
	mediaType string
}{
	{formatJSON, "application/json"}, {formatYAML, "application/yaml"}, {formatText, "text/plain"},
}

// formatOf is the format that a request asks for: by its query, else by its Accept headers,
// else JSON. The error is that of a bad request, or of one that accepts nothing that there is.
func formatOf(accept []string, output, kind string) (format, error) {
	if output == "" {
		return negotiate(strings.Join(accept, ","))
	}
	wanted := format(output)
	if !slices.Contains(formats, wanted) || wanted == formatPatch && kind != "ReleaseDiff" {
		return "", apierrors.NewBadRequest(fmt.Sprintf("output=%s is none of json, yaml, text and, of a diff, patch", output))
	}
	return wanted, nil
}

// mediaRange is one of the ranges of media types that an Accept header lists.
type mediaRange struct {
	mediaType string
	quality   float64
}

// covers is how exactly a range names a type: 3 for a type, 2 for all of its kind, 1 for all; 0 when
// the type is not in it.
func (r mediaRange) covers(mediaType string) int {
	kind, _, _ := strings.Cut(mediaType, "/")
	switch r.mediaType {
	case mediaType:
		return 3
	case kind + "/*":
		return 2
	case "*/*", "*":
		return 1
	}
	return 0
}

// negotiate finds the format that is wanted most (RFC 9110, 12.5.1), of equals the one that is
// named more exactly, then earlier.
func negotiate(accept string) (format, error) {
	if accept == "" {
		return formatJSON, nil
	}
	ranges := rangesOf(accept)
	type candidate struct {
		format
		quality float64
		exact   int
		place   int
	}
	var candidates []candidate
	for _, offer := range negotiable {
		best := candidate{format: offer.format}
		for place, one := range ranges {
			if exact := one.covers(offer.mediaType); exact > best.exact {
				best.quality, best.exact, best.place = one.quality, exact, place
			}
		}
		if best.quality > 0 {
			candidates = append(candidates, best)
		}
	}
	if len(candidates) == 0 {
		return "", notAcceptable()
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.quality, a.quality), cmp.Compare(b.exact, a.exact), cmp.Compare(a.place, b.place))
	})
	return candidates[0].format, nil
}

// transformations are parameters by which Kubernetes is asked for another form of an object,
// as a table. There is none of these answers.
var transformations = []string{"as", "g", "v"}

// rangesOf reads an Accept header. What is not well formed, and what asks for a form of an
// answer that there is not, counts for nothing.
func rangesOf(accept string) []mediaRange {
	var ranges []mediaRange
	for text := range strings.SplitSeq(accept, ",") {
		mediaType, parameters, err := mime.ParseMediaType(text)
		if err != nil || slices.ContainsFunc(transformations, func(name string) bool { return parameters[name] != "" }) {
			continue
		}
		quality := 1.0
		if given, ok := parameters["q"]; ok {
			if quality, err = strconv.ParseFloat(given, 64); err != nil {
				continue
			}
		}
		ranges = append(ranges, mediaRange{mediaType, quality})
	}
	return ranges
}

func notAcceptable() error {
	var all []string
	for _, offer := range negotiable {
		all = append(all, offer.mediaType)
	}
	return &apierrors.StatusError{ErrStatus: *failure(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: "+strings.Join(all, ", "))}
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

// encode writes an answer. Errors: that of a request for too much, and why ctx has ended.
func (f format) encode(ctx context.Context, object reply) ([]byte, error) {
	switch f {
	case formatYAML, formatText:
		out := &bounded{ctx: ctx, limit: maxAnswer}
		write := writeYAML
		if f == formatText {
			write = writeText
		}
		if err := cmp.Or(write(ctx, out, object), out.err); err != nil {
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
