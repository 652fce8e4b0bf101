// SPDX-License-Identifier: Apache-2.0

//go:build !convoy_without_gs && !convoy_without_azblob

package location

import (
	"io"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/store"
	"kumodo.io/convoy/render/store/internal/storetest"
)

// The libraries call "not found" what is a lack of rights, of a bucket or of a name server.
// These answers are written down here from the services' documentation; the services
// themselves were not asked.
func TestWhatIsNoAbsentRender(t *testing.T) {
	azure := func(code string, status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if code == "BlobNotFound" && r.URL.Query().Get("comp") == "list" {
				_, _ = io.WriteString(w, `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs/><NextMarker/></EnumerationResults>`)
				return
			}
			w.Header().Set("x-ms-error-code", code)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `<?xml version="1.0" encoding="utf-8"?><Error><Code>`+code+`</Code><Message>RequestId:1</Message></Error>`)
		}
	}
	google := func(status int, words string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error":{"message":"`+words+`"}}`)
		}
	}
	// Who is answered waits for that however long it takes; the libraries try again after the others.
	answered, hungUp := time.Minute, time.Second
	hangUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	tests := []struct {
		name, url string
		answer    http.HandlerFunc
		patience  time.Duration
		want      error
		says      string
	}{
		{"Azure: no blob", "azblob", azure("BlobNotFound", 404), answered, store.ErrNotFound, "sha256:"},
		{"Azure: no container", "azblob", azure("ContainerNotFound", 404), answered, store.ErrUnavailable, "ContainerNotFound; create it"},
		{"Azure: no rights", "azblob", azure("AuthorizationPermissionMismatch", 403), answered, store.ErrUnavailable, "AuthorizationPermissionMismatch"},
		{"Azure: it hangs up", "azblob", hangUp, hungUp, store.ErrUnavailable, "azblob://container"},
		{"Google: no rights", "gs", google(403, "denied"), answered, store.ErrUnavailable, "403"},
		{"Google: it hangs up", "gs", hangUp, hungUp, store.ErrUnavailable, "gs://container"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			address := serve(t, test.answer)
			t.Setenv("STORAGE_EMULATOR_HOST", address)
			t.Setenv("AZURE_STORAGE_ACCOUNT", "acct")
			t.Setenv("AZURE_STORAGE_KEY", "")
			t.Setenv("AZURE_STORAGE_SAS_TOKEN", "sv=2024&sig="+canary)
			url := test.url + "://container"
			if test.url == "azblob" {
				url += "?localemu=true&protocol=http&domain=" + address
			}
			s := opened(t, url, store.Options{Patience: test.patience})
			_, err := s.Get(t.Context(), "team", "web", storetest.Record(t).Result.Digest)
			g.Expect(err).To(MatchError(test.want))
			g.Expect(err.Error()).To(And(ContainSubstring(test.says), Not(ContainSubstring(canary))))
			if test.want != store.ErrNotFound {
				g.Expect(err).NotTo(MatchError(store.ErrNotFound))
			}
		})
	}
}
