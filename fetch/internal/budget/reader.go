// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"io"
)

// Reader reads what is held by who reads it: bytes are taken as they come, up to most of them. It
// ends with the context.
func Reader(ctx context.Context, r io.Reader, most int64) io.Reader {
	return &reader{Reader: r, left: most, take: func(bytes int64) error { return Take(ctx, bytes) }}
}

type reader struct {
	io.Reader
	left int64
	take func(bytes int64) error
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	held := min(int64(n), r.left)
	r.left -= held
	if e := r.take(held); e != nil {
		return 0, e
	}
	return n, err
}
