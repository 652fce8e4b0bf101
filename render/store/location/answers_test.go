// SPDX-License-Identifier: Apache-2.0

//go:build !convoy_without_s3

package location

import (
	"fmt"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/store"
	"kumodo.io/convoy/render/store/internal/storetest"
)

// sayS3 answers as S3 does when it refuses.
func sayS3(w http.ResponseWriter, status int, code, words string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>%s</Message></Error>`, code, words)
}

func answeringS3(t *testing.T, answer http.HandlerFunc) *store.Store {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIACANARY")
	t.Setenv("AWS_SECRET_ACCESS_KEY", canary)
	t.Setenv("AWS_SESSION_TOKEN", canary)
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	return opened(t, urlOf("http://"+serve(t, answer), "renders"), store.Options{})
}

// A server, or a proxy before it, that quotes the request shows no credentials to anybody.
func TestAnswersThatQuoteTheRequestS3(t *testing.T) {
	request := func(r *http.Request) string {
		return r.Header.Get("Authorization") + " " + r.Header.Get("X-Amz-Security-Token")
	}
	tests := []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"in its words", func(w http.ResponseWriter, r *http.Request) { sayS3(w, 403, "AccessDenied", request(r)) }, "AccessDenied; the credentials lack a right"},
		{"in its code", func(w http.ResponseWriter, r *http.Request) { sayS3(w, 403, request(r), "no") }, "no code that can be shown"},
		{"instead of HTTP", func(w http.ResponseWriter, r *http.Request) {
			connection, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = connection.Write([]byte(request(r) + "\r\n\r\n"))
				_ = connection.Close()
			}
		}, "malformed HTTP"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			at := answeringS3(t, test.answer)
			r := storetest.Record(t)
			_, getting := at.Get(t.Context(), "team", "web", r.Result.Digest)
			g.Expect(getting).To(MatchError(ContainSubstring(test.want)))
			errs := []error{getting, at.Put(t.Context(), r)}
			for _, err := range at.Walk(t.Context()) {
				errs = append(errs, err)
			}
			for _, err := range errs {
				g.Expect(err).To(MatchError(store.ErrUnavailable))
				g.Expect(err.Error()).NotTo(Or(ContainSubstring(canary), ContainSubstring("AKIACANARY"), ContainSubstring("Signature=")))
			}
		})
	}
}

// A render is not stored because the server says that something is there: it must be.
func TestARefusalOfWhatIsNotThereS3(t *testing.T) {
	g := NewWithT(t)
	at := answeringS3(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			sayS3(w, http.StatusPreconditionFailed, "PreconditionFailed", "")
			return
		}
		sayS3(w, http.StatusNotFound, "NoSuchKey", "")
	})
	err := at.Put(t.Context(), storetest.Record(t))
	g.Expect(err).To(MatchError(store.ErrUnavailable))
	g.Expect(err.Error()).To(ContainSubstring("PreconditionFailed"))
}
