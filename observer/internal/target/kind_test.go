// SPDX-License-Identifier: Apache-2.0

package target

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// Who runs the target decides how many pages a list has, not how many are read, and not whether
// there are pages.
func TestList(t *testing.T) {
	for _, test := range []struct {
		name  string
		pages int
		want  OmegaMatcher
	}{
		{"of three pages", 3, Succeed()},
		{"without an end", 1 << 30, MatchError(ContainSubstring("has not ended after 400 pages"))},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			var asked []url.Values
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.URL.Query())
				next := ""
				if len(asked) < test.pages {
					next = "more"
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7","continue":"%s"},
					"items":[{"metadata":{"name":"object-%d","namespace":"shop","resourceVersion":"3"}}]}`, next, len(asked))
			}))
			t.Cleanup(server.Close)
			client, err := metadata.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
			g.Expect(err).NotTo(HaveOccurred())

			all, err := list(t.Context(), client.Resource(configMaps))

			g.Expect(err).To(test.want)
			g.Expect(asked).To(HaveLen(min(test.pages, maxPages)))
			g.Expect(asked).To(HaveEach(And(HaveKeyWithValue("limit", []string{"500"}), Not(HaveKey("resourceVersion")))))
			if err == nil {
				g.Expect(all.Items).To(HaveLen(test.pages))
				g.Expect(all.Items[1]).To(HaveField("Name", "object-2"))
				g.Expect(all.ResourceVersion).To(Equal("7"))
				g.Expect(all.Continue).To(BeEmpty())
			}
		})
	}
}
