// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// allowedAtObserver are the headers that may arrive at the observer.
var allowedAtObserver = []string{
	"Accept", "Accept-Encoding", "User-Agent", "Traceparent", "Tracestate",
	"X-Remote-User", "X-Remote-Group", "X-Remote-Uid", "X-Remote-Extra-Authentication.kubernetes.io%2fcredential-Id",
}

// allowedAtClient are the headers that may come back with what the observer answered.
var allowedAtClient = []string{
	"Audit-Id", "Cache-Control", "Content-Length", "Content-Type", "Date", "X-Content-Type-Options",
	"X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid", "Warning", "Connection", "Allow", "Retry-After", "Vary", "Transfer-Encoding",
}

var _ = Describe("Who may only preview Releases of one namespace", Ordered, ContinueOnFailure, func() {
	var mine, others string
	var attacker *client

	BeforeAll(func(ctx SpecContext) {
		mine, others = suite.namespace(ctx), suite.namespace(ctx)
		suite.createRelease(ctx, mine, "app")
		suite.createRelease(ctx, others, "app")
		suite.grant(ctx, mine, "mallory", "releases/preview", "get")
		attacker = suite.user("mallory", "thieves")
		Eventually(ctx, func() int { return attacker.get(ctx, releasePath(mine, "app", "preview")).code }).Should(Equal(http.StatusOK))
	})

	It("reaches the observer in its own name", func(ctx SpecContext) {
		for _, asker := range []*client{attacker, attacker.at(suite.replicas[0])} {
			suite.observer.take()
			got := asker.throw(ctx, http.MethodGet, attack{}.raw(strings.NewReplacer("/A/", "/"+mine+"/")))
			Expect(got).To(ContainSubstring(`"of":"/preview/` + mine + `/app"`))
			arrived := suite.observer.take()
			Expect(arrived).To(HaveLen(1))
			Expect(slices.Concat(faultsAtObserver(arrived, mine), faultsAtClient(got, others))).To(BeEmpty())
		}
	})

	for group, attacks := range map[string][]attack{"paths": paths(), "queries": queries(), "headers": headers(), "bodies": bodies(), "methods": methods()} {
		for place, direct := range map[string]bool{"at the host": false, "at convoy-apiserver itself": true} {
			It("gets nothing more by "+group+" "+place, func(ctx SpecContext) {
				asker := attacker
				if direct {
					asker = attacker.at(suite.replicas[0])
				}
				names := strings.NewReplacer("/A/", "/"+mine+"/", "/A;", "/"+mine+";", "/A%", "/"+mine+"%", "/B/", "/"+others+"/", "%2fB", "%2f"+others, ";B", ";"+others, "=B", "="+others, "OBSERVER", address(suite.observer.port))
				for _, a := range attacks {
					suite.observer.take()
					got := asker.throw(ctx, a.method, a.raw(names))
					faults := slices.Concat(faultsAtObserver(suite.observer.take(), mine), faultsAtClient(got, others))
					Expect(faults).To(BeEmpty(), "%s\nanswer: %.600s", a.name, got)
				}
				for _, one := range suite.replicas {
					Expect(one.Err()).To(Succeed())
				}
			})
		}
	}
})

// faultsAtObserver tells what arrived and should not have: everything but a GET of the
// attacker's own preview, in the attacker's own name.
func faultsAtObserver(arrived []seen, namespace string) []string {
	var faults []string
	for _, s := range arrived {
		uri, err := url.ParseRequestURI(s.uri)
		switch {
		case err != nil:
			faults = append(faults, "the observer was asked for "+s.uri)
			continue
		case s.method != http.MethodGet, s.body != "", uri.EscapedPath() != "/preview/"+namespace+"/app", s.host != address(suite.observer.port):
			faults = append(faults, "at the observer: "+s.method+" "+s.host+" "+s.uri+" "+s.body)
		}
		for name, values := range s.header {
			if !slices.Contains(allowedAtObserver, name) {
				faults = append(faults, "header at the observer: "+name+": "+strings.Join(values, ", "))
			}
		}
		if s.name != apiServer || !slices.Equal(s.header["X-Remote-User"], []string{"mallory"}) ||
			!slices.Equal(s.header["X-Remote-Group"], []string{"thieves", "system:authenticated"}) || s.header.Get("User-Agent") != "convoy-apiserver" {
			faults = append(faults, "in the name of "+strings.Join(s.header["X-Remote-User"], ",")+" of "+strings.Join(s.header["X-Remote-Group"], ","))
		}
	}
	return faults
}

// faultsAtClient tells what came back and should not have.
func faultsAtClient(got, others string) []string {
	var faults []string
	for _, secret := range []string{canary, observerHeader, `"of":"/preview/` + others, `"of":"/history`, `"of":"/diff`, "root:x:0"} {
		if strings.Contains(got, secret) {
			faults = append(faults, "the answer holds "+secret)
		}
	}
	if strings.Count(got, "HTTP/1.1 200") > 1 || strings.Contains(got, "HTTP/1.1 101") {
		faults = append(faults, "more than one good answer, or an upgrade")
	}
	if strings.HasPrefix(got, "HTTP/1.1 200") && strings.Contains(got, `"of":`) {
		head, _, _ := strings.Cut(got, "\r\n\r\n")
		for _, line := range strings.Split(head, "\r\n")[1:] {
			name, _, _ := strings.Cut(line, ":")
			if !slices.Contains(allowedAtClient, http.CanonicalHeaderKey(name)) {
				faults = append(faults, "header to the client: "+line)
			}
		}
	}
	if strings.HasPrefix(got, "HTTP/1.1 500") || strings.HasPrefix(got, "HTTP/1.1 502") {
		faults = append(faults, "a server error")
	}
	return faults
}
