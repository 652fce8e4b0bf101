// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/fault"
)

const (
	userAgent = "convoy"
	// maxRedirects is the usual bound.
	maxRedirects = 10
	// readAhead is how much of a response HTTP/2 holds that nobody has read, which counts
	// for no budget: usually it is 4 MiB.
	readAhead = 512 << 10
)

// Options of an HTTP client.
type Options struct {
	// SendCredentials adds the Authorization header of the Secret. Off where another
	// layer negotiates authorization and adds the header itself.
	SendCredentials bool
}

// Client is an HTTP client for one source.
//
// Credentials and the client certificate go to the origin of the source only: the same
// scheme, host and port, default ports spelled out or not. A redirect to another origin
// loses them, and one from https to http is refused. The certificate authorities of the
// Secrets are trusted besides the system's for every host that is met on the way; that
// any certificate is accepted holds for the source's host only.
type Client struct {
	*http.Client
	transport *transport
}

// Connect returns a client with credentials that have to be asked for first, if they have
// to. Its errors are those of NewClient and of a request.
func (a *Access) Connect(ctx context.Context, base *url.URL, tokens *Tokens) (*Client, error) {
	client, err := a.NewClient(base, Options{SendCredentials: true})
	if err != nil || a.gitHub == nil {
		return client, err
	}
	client.transport.authorization, err = tokens.authorization(ctx, a)
	return client, err
}

// NewClient returns a client for the source at base. The error is fault.ErrSecret.
func (a *Access) NewClient(base *url.URL, o Options) (*Client, error) {
	roots, err := a.roots()
	if err != nil {
		return nil, err
	}
	t := &transport{base: base, credentials: a.Credentials()}
	if o.SendCredentials {
		t.authorization = a.authorization()
	}
	others := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	sameHost := others.Clone()
	sameHost.InsecureSkipVerify = a.Insecure
	own := sameHost.Clone()
	if len(a.key) > 0 {
		pair, err := tls.X509KeyPair(a.certificate, a.key)
		if err != nil {
			return nil, fault.New(fault.ErrSecret, "the Secret %s holds no usable client certificate: %s", a.name, a.Scrubber().Clean(err.Error()))
		}
		own.Certificates = []tls.Certificate{pair}
	}
	t.own, t.sameHost, t.others = a.dialer(own), a.dialer(sameHost), a.dialer(others)
	return &Client{Client: &http.Client{Transport: t, CheckRedirect: checkRedirect}, transport: t}, nil
}

// Close gives the idle connections back.
func (c *Client) Close() {
	for _, t := range []*http.Transport{c.transport.own, c.transport.sameHost, c.transport.others} {
		t.CloseIdleConnections()
	}
}

// Credentials names what the client authenticates with, "" when it has nothing.
func (c *Client) Credentials() string {
	if c.transport.authorization == "" && len(c.transport.own.TLSClientConfig.Certificates) == 0 {
		return ""
	}
	return c.transport.credentials
}

// CredentialsAt is Credentials for the server at an address: nothing where they do not go.
func (c *Client) CredentialsAt(u *url.URL) string {
	if originOf(u) != originOf(c.transport.base) {
		return ""
	}
	return c.Credentials()
}

// Credentials names the Secret with the credentials.
func (a *Access) Credentials() string { return fault.SomeCredentials + " of the Secret " + a.name }

func (a *Access) authorization() string {
	switch {
	case a.BearerToken != "":
		return "Bearer " + a.BearerToken
	case a.Username != "":
		return basic(a.Username, a.Password)
	}
	return ""
}

func basic(username, password string) string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(username, password)
	return r.Header.Get("Authorization")
}

func (a *Access) roots() (*x509.CertPool, error) {
	if len(a.authorities) == 0 {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	for _, ca := range a.authorities {
		if !pool.AppendCertsFromPEM(ca.pem) {
			return nil, fault.New(fault.ErrSecret, "the key %s of the Secret %s holds no certificate in PEM form", sourcev1alpha1.SecretKeyCACert, ca.secret)
		}
	}
	return pool, nil
}

func (a *Access) dialer(config *tls.Config) *http.Transport {
	proxy := http.ProxyFromEnvironment
	if a.proxy != nil {
		proxy = http.ProxyURL(a.proxy)
	}
	return &http.Transport{
		Proxy:               proxy,
		DialContext:         newDialer().DialContext,
		TLSClientConfig:     config,
		TLSHandshakeTimeout: 15 * time.Second,
		IdleConnTimeout:     30 * time.Second,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{MaxReceiveBufferPerStream: readAhead},
		// Archives are digested as they are stored at the source; who wants compression
		// of anything else asks for it.
		DisableCompression: true,
	}
}

func checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fault.New(fault.ErrUnreachable, "the server redirects more than %d times", maxRedirects)
	}
	if via[len(via)-1].URL.Scheme == "https" && r.URL.Scheme != "https" {
		return fault.New(fault.ErrUnreachable, "the server redirects from https to %s", r.URL.Scheme)
	}
	return nil
}

type trustedKey struct{}

// Trust lets a request with the context send the credentials to the origin of u as well as
// to the source's own. It does nothing for plain HTTP when the source itself speaks HTTPS.
func (c *Client) Trust(ctx context.Context, u *url.URL) context.Context {
	if c.transport.base.Scheme == "https" && u.Scheme != "https" {
		return ctx
	}
	return context.WithValue(ctx, trustedKey{}, originOf(u))
}

type headerKey struct{}

type ownHeader struct {
	origin string
	header http.Header
}

// WithHeader lets a request with the context send a header to the origin of u, and there
// in place of the credentials of the source. Wherever else the request is redirected to, the
// header stays behind.
func WithHeader(ctx context.Context, u *url.URL, header http.Header) context.Context {
	return context.WithValue(ctx, headerKey{}, ownHeader{origin: originOf(u), header: header})
}

// connectionHeaders say how a message is sent, which is not for others to say.
var connectionHeaders = []string{"Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// apply sets the header and says whether it takes the place of the credentials.
func (o ownHeader) apply(r *http.Request, origin string) bool {
	if o.origin != origin {
		return false
	}
	for name, values := range o.header {
		if !slices.Contains(connectionHeaders, http.CanonicalHeaderKey(name)) {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	return true
}

// transport decides for each request, so for each hop of a redirect, what it may carry.
type transport struct {
	base          *url.URL
	authorization string
	// credentials names the Secret that they are of.
	credentials string
	// own carries the client certificate; sameHost is for other ports of the source's
	// host, others for other hosts.
	own, sameHost, others *http.Transport
}

// RoundTrip sends a request with what its target may see.
func (t *transport) RoundTrip(original *http.Request) (*http.Response, error) {
	r := original.Clone(original.Context())
	r.Header.Set("User-Agent", userAgent)
	origin := originOf(r.URL)
	if first := firstRequest(r); first != r {
		// net/http keeps these for subdomains and other ports of the same host.
		r.Header.Del("Referer")
		if originOf(first.URL) != origin {
			r.Header.Del("Authorization")
			r.Header.Del("Cookie")
		}
	}
	trusted, _ := r.Context().Value(trustedKey{}).(string)
	own := origin == originOf(t.base) || origin == trusted
	replaced, _ := r.Context().Value(headerKey{}).(ownHeader)
	if !replaced.apply(r, origin) && t.authorization != "" && own {
		r.Header.Set("Authorization", t.authorization)
	}
	via := t.others
	switch {
	case own:
		via = t.own
	case strings.EqualFold(r.URL.Hostname(), t.base.Hostname()):
		via = t.sameHost
	}
	watch := watchOf(r.Context())
	ended := watch.waits()
	response, err := via.RoundTrip(r)
	ended()
	watch.exchanged(r, response, err)
	if response != nil {
		response.Request = original
	}
	return response, err
}

// firstRequest goes back to the request that a chain of redirects began with.
func firstRequest(r *http.Request) *http.Request {
	for r.Response != nil && r.Response.Request != nil {
		r = r.Response.Request
	}
	return r
}

// originOf returns scheme, host and port, with the port always spelled out.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "ssh": "22"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// HostKey names the host of an address, for limits that hold per host.
func HostKey(u *url.URL) string { return strings.ToLower(u.Host) }
