// SPDX-License-Identifier: Apache-2.0

package frontproxy

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	testingclock "k8s.io/utils/clock/testing"
)

// authority signs certificates of clients.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	a := authority{key: key}
	a.certificate = a.sign(t, template, template, key)
	return a
}

func (a authority) sign(t *testing.T, template, parent *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	g := NewWithT(t)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, a.key)
	g.Expect(err).NotTo(HaveOccurred())
	signed, err := x509.ParseCertificate(der)
	g.Expect(err).NotTo(HaveOccurred())
	return signed
}

// client gives a certificate to a client of that name.
func (a authority) client(t *testing.T, name string) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, a.certificate, key)
}

// published is what the host publishes: its authority.
type published struct {
	dynamiccertificates.CAContentProvider
	authority *x509.Certificate
	asked     int
}

func (p *published) VerifyOptions() (x509.VerifyOptions, bool) {
	p.asked++
	roots := x509.NewCertPool()
	roots.AddCert(p.authority)
	return x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, true
}

func headerConfig(p *published) *authenticatorfactory.RequestHeaderConfig {
	return &authenticatorfactory.RequestHeaderConfig{
		UsernameHeaders: headerrequest.StaticStringSlice{"X-Remote-User"}, UIDHeaders: headerrequest.StaticStringSlice{"X-Remote-Uid"},
		GroupHeaders: headerrequest.StaticStringSlice{"X-Remote-Group"}, ExtraHeaderPrefixes: headerrequest.StaticStringSlice{"X-Remote-Extra-"},
		AllowedClientNames: headerrequest.StaticStringSlice{"front-proxy-client"}, CAContentProvider: p,
	}
}

// somebody is who everybody is that the host does not vouch for.
var somebody = authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
	return &authenticator.Response{User: &user.DefaultInfo{Name: "somebody"}}, true, nil
})

func request(certificate *x509.Certificate) *http.Request {
	req := httptest.NewRequest(http.MethodGet, "/apis/core.convoy.kumodo.io/v1alpha1/namespaces/a/releases?labelSelector=x%3Dy", nil)
	req.Header.Set("X-Remote-User", "jane")
	req.Header.Set("X-Remote-Group", "people")
	if certificate != nil {
		req.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate}}
	}
	return req
}

func TestWhoTheHostVouchesFor(t *testing.T) {
	host, other := newAuthority(t, "host"), newAuthority(t, "other")
	for name, c := range map[string]struct {
		certificate *x509.Certificate
		user        string
		vouched     bool
	}{
		"the host":                             {host.client(t, "front-proxy-client"), "jane", true},
		"another client of the same authority": {host.client(t, "somebody"), "somebody", false},
		"a client of another authority":        {other.client(t, "front-proxy-client"), "somebody", false},
		"a client that shows no certificate":   {nil, "somebody", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			requests := newRequests(headerConfig(&published{authority: host.certificate}), somebody, testingclock.NewFakePassiveClock(time.Now()))
			for range 2 { // from memory, too
				req := request(c.certificate)
				response, ok, err := requests.AuthenticateRequest(req)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(ok).To(BeTrue())
				g.Expect(response.User.GetName()).To(Equal(c.user))
				_, isVouched := response.User.(vouched)
				g.Expect(isVouched).To(Equal(c.vouched))
				if c.vouched {
					g.Expect(response.User.GetGroups()).To(Equal([]string{"people", "system:authenticated"}))
					g.Expect(req.Header).NotTo(HaveKey("X-Remote-User"), "what was read is taken away")
				}
			}
		})
	}
}

func TestVerificationIsRememberedForAWhile(t *testing.T) {
	g := NewWithT(t)
	host, next := newAuthority(t, "host"), newAuthority(t, "next")
	source, clock := &published{authority: host.certificate}, testingclock.NewFakePassiveClock(time.Now())
	requests := newRequests(headerConfig(source), somebody, clock)
	certificate := host.client(t, "front-proxy-client")
	as := func() string {
		response, _, err := requests.AuthenticateRequest(request(certificate))
		g.Expect(err).NotTo(HaveOccurred())
		return response.User.GetName()
	}
	for range 5 {
		g.Expect(as()).To(Equal("jane"))
	}
	g.Expect(source.asked).To(Equal(1))
	source.authority = next.certificate
	clock.SetTime(clock.Now().Add(verifiedFor))
	g.Expect(as()).To(Equal("somebody"), "the host has another authority by now")
	certificate = next.client(t, "front-proxy-client")
	g.Expect(as()).To(Equal("jane"))
}

func TestOnlyTheRequestItselfIsNotAskedAgain(t *testing.T) {
	jane, vouchedJane := &user.DefaultInfo{Name: "jane"}, vouched{&user.DefaultInfo{Name: "jane"}}
	for name, c := range map[string]struct {
		user   user.Info
		change func(*authorizer.AttributesRecord)
		asks   bool
	}{
		"the request itself":                      {user: vouchedJane},
		"of somebody whom the host does not know": {user: jane, asks: true},
		"another verb":                            {user: vouchedJane, asks: true, change: func(a *authorizer.AttributesRecord) { a.Verb = "delete" }},
		"another resource":                        {user: vouchedJane, asks: true, change: func(a *authorizer.AttributesRecord) { a.Resource = "clusters" }},
		"another subresource":                     {user: vouchedJane, asks: true, change: func(a *authorizer.AttributesRecord) { a.Subresource = "status" }},
		"another namespace":                       {user: vouchedJane, asks: true, change: func(a *authorizer.AttributesRecord) { a.Namespace = "b" }},
		"a name":                                  {user: vouchedJane, asks: true, change: func(a *authorizer.AttributesRecord) { a.Name = "app" }},
		"more objects than those that it selects": {user: vouchedJane, asks: true, change: func(a *authorizer.AttributesRecord) { a.LabelSelectorRequirements = nil }},
		"a path": {user: vouchedJane, asks: true, change: func(a *authorizer.AttributesRecord) { a.ResourceRequest, a.Path = false, "/metrics" }},
		"whether somebody else may be impersonated": {user: vouchedJane, asks: true, change: func(a *authorizer.AttributesRecord) { a.Verb, a.Resource = "impersonate", "users" }},
		"about somebody else":                       {user: vouchedJane, asks: true, change: func(a *authorizer.AttributesRecord) { a.User = vouched{&user.DefaultInfo{Name: "joe"}} }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			asked := 0
			config := &genericapiserver.Config{}
			config.Authentication.RequestHeaderConfig = headerConfig(&published{})
			config.Authentication.Authenticator = somebody
			config.Authorization.Authorizer = authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
				asked++
				return authorizer.DecisionDeny, "asked", nil
			})
			Trust(config)

			req := request(nil)
			info, err := (&genericapirequest.RequestInfoFactory{APIPrefixes: sets.NewString("apis")}).NewRequestInfo(req)
			g.Expect(err).NotTo(HaveOccurred())
			ctx := genericapirequest.WithUser(genericapirequest.WithRequestInfo(t.Context(), info), c.user)
			of, err := filters.GetAuthorizerAttributes(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			attributes := of.(*authorizer.AttributesRecord)
			if c.change != nil {
				c.change(attributes)
			}
			decision, _, err := config.Authorization.Authorizer.Authorize(ctx, attributes)
			g.Expect(err).NotTo(HaveOccurred())
			aware := config.Authorization.Authorizer.ConditionsAwareAuthorize(ctx, attributes)
			g.Expect(decision == authorizer.DecisionAllow).To(Equal(!c.asks))
			g.Expect(aware.IsAllow()).To(Equal(!c.asks))
			g.Expect(asked > 0).To(Equal(c.asks))
		})
	}
}

func TestServersThatNoHostStandsBeforeAskAsEver(t *testing.T) {
	g := NewWithT(t)
	config := &genericapiserver.Config{}
	config.Authentication.Authenticator = somebody
	config.Authorization.Authorizer = authorizer.AuthorizerFunc(nil)
	Trust(config)
	g.Expect(config.Authorization.Authorizer).To(BeAssignableToTypeOf(authorizer.AuthorizerFunc(nil)))
}
