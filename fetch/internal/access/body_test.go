// SPDX-License-Identifier: Apache-2.0

package access

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
)

func TestDecoded(t *testing.T) {
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	_, err := w.Write([]byte("text"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(w.Close()).To(Succeed())
	for encoding, content := range map[string]string{"": "text", "identity": "text", "gzip": compressed.String(), "GZIP": compressed.String(), "x-gzip": compressed.String(), " Gzip ": compressed.String()} {
		t.Run(encoding, func(t *testing.T) {
			g := NewWithT(t)
			body, err := Decoded(&http.Response{Header: http.Header{"Content-Encoding": {encoding}}, Body: io.NopCloser(bytes.NewReader([]byte(content)))})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(io.ReadAll(body)).To(BeEquivalentTo("text"))
		})
	}
}
