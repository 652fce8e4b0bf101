// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const (
	// maxPiece is how many bytes of JSON are written as YAML at once, and maxPieceValues how many
	// values and fields these may have: an encoder of YAML holds half a KiB for each of them.
	maxPiece       = 8 << 20
	maxPieceValues = 100_000
)

// yamlTurn is held while a piece is written as YAML: one at a time, whoever asks.
var yamlTurn = make(chan struct{}, 1)

// writeYAML writes a typed object as YAML, field by field and of a list item by item, so that
// what it takes besides is bounded by the largest of these. The error is that of a request for
// too much when one is too large.
func writeYAML(ctx context.Context, w io.Writer, object reply) error {
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	if len(data) > maxAnswer {
		return tooLong()
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if err := writeField(ctx, w, name, fields[name]); err != nil {
			return err
		}
	}
	return nil
}

// writeField writes a field of the answer.
func writeField(ctx context.Context, w io.Writer, name string, value json.RawMessage) error {
	var items []json.RawMessage
	if value[0] == '[' {
		if err := json.Unmarshal(value, &items); err != nil {
			return err
		}
	}
	if len(items) == 0 {
		return writePiece(ctx, w, name, fmt.Appendf(nil, "{%q:%s}", name, value))
	}
	if _, err := fmt.Fprintf(w, "%s:\n", name); err != nil {
		return err
	}
	for i, item := range items {
		if err := writePiece(ctx, w, fmt.Sprintf("%s[%d]", name, i), fmt.Appendf(nil, "[%s]", item)); err != nil {
			return err
		}
	}
	return nil
}

// writePiece writes JSON as YAML; what names it.
func writePiece(ctx context.Context, w io.Writer, what string, data []byte) error {
	if len(data) > maxPiece || valuesOf(data) > maxPieceValues {
		return &apierrors.StatusError{ErrStatus: *failure(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
			fmt.Sprintf("%s of the answer has more than %d values or %d bytes, and is not written as YAML: ask for JSON", what, maxPieceValues, maxPiece))}
	}
	select {
	case yamlTurn <- struct{}{}:
		defer func() { <-yamlTurn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	written, err := yaml.JSONToYAML(data)
	if err != nil {
		return err
	}
	_, err = w.Write(written)
	return err
}

// valuesOf counts the values in JSON, and the fields that have one.
func valuesOf(data []byte) int {
	values, quoted := 1, false
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			quoted = !quoted
		case ',', ':', '[', '{':
			if !quoted {
				values++
			}
		}
	}
	return values
}

// bounded keeps what is written, as long as somebody waits for it. For who does not look at the
// errors of his writes, err is the first.
type bounded struct {
	bytes.Buffer
	ctx   context.Context
	limit int // how many bytes there are at most
	err   error
}

// Write keeps all of data or nothing. Errors: that of an answer that is too long, and why the
// context has ended.
func (b *bounded) Write(data []byte) (int, error) {
	switch {
	case b.err != nil:
	case b.ctx.Err() != nil:
		b.err = context.Cause(b.ctx)
	case b.Len()+len(data) > b.limit:
		b.err = tooLong()
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.Buffer.Write(data)
}
