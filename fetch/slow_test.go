// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
)

// TestTimeLimit tells a server that says nothing from one that is not done.
func TestTimeLimit(t *testing.T) {
	for name, tc := range map[string]struct{ begins, want string }{
		"nothing":     {"", "no answer within the time limit of 100ms"},
		"a beginning": {"apiVersion: v1\nentries:\n", "the server answers, but what it sends was not received and read whole within the time limit of 100ms; raise spec.timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tc.begins != "" {
					_, _ = w.Write([]byte(tc.begins))
					w.(http.Flusher).Flush()
				}
				<-r.Context().Done()
			}))
			t.Cleanup(server.Close)
			want := helmWant(server.URL, "", "web", "")
			want.Source.(*sourcev1alpha1.HelmRegistry).Spec.Timeout = &metav1.Duration{Duration: 100 * time.Millisecond}
			_, err := newRig(t, fetch.Options{}).Check(t.Context(), "team", want.Source)
			g.Expect(errors.Is(err, fetch.ErrUnreachable)).To(BeTrue(), "%v", err)
			g.Expect(errors.Is(err, context.DeadlineExceeded)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(HaveSuffix(tc.want)))
		})
	}
}
