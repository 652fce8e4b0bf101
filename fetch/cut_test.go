// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// TestHelmIndexThatIsCutOff is no index that is damaged: another try may bring all of it.
func TestHelmIndexThatIsCutOff(t *testing.T) {
	index := []byte("entries:\n  web:\n  - {version: 1.0.0, urls: [web.tgz]}\n")
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	_, err := w.Write(index)
	NewWithT(t).Expect(errors.Join(err, w.Close())).To(Succeed())
	for name, answer := range map[string]func(w http.ResponseWriter){
		"shorter than announced": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", strconv.Itoa(len(index)+100))
			_, _ = w.Write(index[:20])
		},
		"compressed": func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(compressed.Bytes()[:compressed.Len()-12])
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }))
			server.Config.ErrorLog = testsource.Quiet()
			server.Start()
			t.Cleanup(server.Close)
			_, err := newRig(t, fetch.Options{}).get(t, helmWant(server.URL, "", "web", "1.0.0"))
			g.Expect(errors.Is(err, fetch.ErrUnreachable)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring("ends too early")))
		})
	}
}
