// SPDX-License-Identifier: Apache-2.0

// Package frontproxy takes the host's word for requests that come through its aggregation
// layer. The host has authorized each before it passes it on, by the same user, verb, resource
// and name. To ask it again, as an aggregated server does that knows nothing better, costs a
// request for each request: names differ, so that a memory of answers helps little.
//
// Only that one question is not asked again. Whatever else is to be authorized, as for
// impersonation or in the expressions of admission policies, is asked as before, and so is
// everything of clients that come past the host.
package frontproxy

import (
	"context"
	"crypto/x509"
	"net/http"
	"reflect"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

const (
	// verifiedFor is how long a certificate that was verified is not verified again: as long
	// may the host's old one be believed after the authority was replaced.
	verifiedFor = 10 * time.Second
	// connections whose certificates are remembered; a kube-apiserver keeps one or two open.
	connections = 256

	reason = "authorized by the host"
)

// Trust has a server take the host's word. Options for authentication and authorization must
// have been applied before. It does nothing to a server that no host stands before.
func Trust(generic *genericapiserver.Config) {
	headers := generic.Authentication.RequestHeaderConfig
	if headers == nil || generic.Authorization.Authorizer == nil {
		return
	}
	generic.Authentication.Authenticator = newRequests(headers, generic.Authentication.Authenticator, clock.RealClock{})
	generic.Authorization.Authorizer = authorizes{generic.Authorization.Authorizer}
}

// vouched is a user in whose name the host asks.
type vouched struct{ user.Info }

// requests authenticates the host by its client certificate, and else as rest does.
type requests struct {
	proxied  authenticator.Request // by certificate and headers
	headers  authenticator.Request // by headers alone
	rest     authenticator.Request
	verified *lru.Cache // *x509.Certificate, of a connection: time.Time until when it is believed
	clock    clock.PassiveClock
}

func newRequests(c *authenticatorfactory.RequestHeaderConfig, rest authenticator.Request, clock clock.PassiveClock) *requests {
	headers := headerrequest.NewDynamic(c.UsernameHeaders, c.UIDHeaders, c.GroupHeaders, c.ExtraHeaderPrefixes)
	return &requests{
		proxied:  group.NewAuthenticatedGroupAdder(x509request.NewDynamicCAVerifier(c.CAContentProvider.VerifyOptions, headers, c.AllowedClientNames)),
		headers:  group.NewAuthenticatedGroupAdder(headers),
		rest:     rest,
		verified: lru.New(connections),
		clock:    clock,
	}
}

// AuthenticateRequest implements authenticator.Request.
func (r *requests) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	if req.TLS == nil || len(req.TLS.PeerCertificates) == 0 {
		return r.rest.AuthenticateRequest(req)
	}
	certificate, by := req.TLS.PeerCertificates[0], r.proxied
	known := r.knows(certificate)
	if known {
		by = r.headers
	}
	response, ok, err := by.AuthenticateRequest(req)
	if err != nil || !ok {
		return r.rest.AuthenticateRequest(req)
	}
	if !known {
		r.verified.Add(certificate, r.clock.Now().Add(verifiedFor))
	}
	response.User = vouched{response.User}
	return response, true, nil
}

// knows tells whether the certificate of this very connection was verified a moment ago.
func (r *requests) knows(certificate *x509.Certificate) bool {
	until, ok := r.verified.Get(certificate)
	return ok && r.clock.Now().Before(until.(time.Time))
}

// authorizes allows what the host has authorized.
type authorizes struct{ authorizer.Authorizer }

// Authorize implements authorizer.Authorizer.
func (a authorizes) Authorize(ctx context.Context, asked authorizer.Attributes) (authorizer.Decision, string, error) {
	if isRequestItself(ctx, asked) {
		return authorizer.DecisionAllow, reason, nil
	}
	return a.Authorizer.Authorize(ctx, asked)
}

// ConditionsAwareAuthorize implements authorizer.Authorizer.
func (a authorizes) ConditionsAwareAuthorize(ctx context.Context, asked authorizer.Attributes) authorizer.ConditionsAwareDecision {
	if isRequestItself(ctx, asked) {
		return authorizer.ConditionsAwareDecisionFromParts(authorizer.DecisionAllow, reason, nil)
	}
	return a.Authorizer.ConditionsAwareAuthorize(ctx, asked)
}

// isRequestItself tells whether what is asked is whether the request may be made, and the
// host made it.
func isRequestItself(ctx context.Context, asked authorizer.Attributes) bool {
	if _, ok := asked.GetUser().(vouched); !ok {
		return false
	}
	request, err := filters.GetAuthorizerAttributes(ctx)
	return err == nil && reflect.DeepEqual(request, asked)
}
