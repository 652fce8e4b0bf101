// SPDX-License-Identifier: Apache-2.0

// Package access is how a source is reached: the credentials that its Secrets hold, and
// the HTTP and SSH clients that send them to the source itself and to nobody else.
package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/keybound"
)

// Secrets reads the data of a Secret. An absent one is an apierrors.IsNotFound error.
type Secrets interface {
	Secret(ctx context.Context, namespace, name string) (map[string][]byte, error)
}

// References names the Secrets of a source; an empty name is none.
type References struct {
	Namespace       string
	Auth, CA, Proxy string
	// Trust names the Secret with the keys whose signatures are trusted.
	Trust string
	// GitHubApp says that the Secret with the credentials is a GitHub App's.
	GitHubApp bool
}

// Access is what the Secrets of a source hold.
type Access struct {
	// Username and Password, or BearerToken, are for HTTP.
	Username, Password, BearerToken string
	// Identity is a private key for SSH and KnownHosts the keys of its servers; Password
	// opens the key.
	Identity, KnownHosts []byte
	// DockerConfig is the content of a .dockerconfigjson key.
	DockerConfig []byte
	// Insecure accepts any certificate of the source's host.
	Insecure bool
	// Trusted is the content of the Secret with the keys whose signatures are trusted.
	Trusted map[string][]byte

	certificate, key []byte
	authorities      []bundle
	proxy            *url.URL
	proxyName        string
	gitHub           *gitHubApp
	appKey           []byte

	name      string
	trustName string
	digest    string
	scrubber  atomic.Pointer[fault.Scrubber]
}

// bundle is a ca.crt, and the namespace/name of the Secret that holds it.
type bundle struct {
	pem    []byte
	secret string
}

// Load reads the Secrets of a source. The errors are fault.ErrSecret, or whatever reading
// a Secret met.
func Load(ctx context.Context, secrets Secrets, refs References) (*Access, error) {
	l := loader{ctx: ctx, secrets: secrets, namespace: refs.Namespace, access: &Access{}, gitHubApp: refs.GitHubApp}
	if refs.GitHubApp && refs.Auth == "" {
		return nil, fault.New(fault.ErrInvalid, "spec.provider github needs a secretRef to a Secret with the keys %s, %s and %s",
			sourcev1alpha1.SecretKeyGitHubAppID, sourcev1alpha1.SecretKeyGitHubAppInstallationID, sourcev1alpha1.SecretKeyGitHubAppPrivateKey)
	}
	digest := sha256.New()
	for _, step := range []struct {
		role, name string
		take       func(name string, data map[string][]byte) error
	}{{"auth", refs.Auth, l.auth}, {"ca", refs.CA, l.ca}, {"proxy", refs.Proxy, l.proxy}, {"trust", refs.Trust, l.trust}} {
		content, err := l.load(step.name, step.take)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(digest, "%s=%s\n", step.role, content)
	}
	a := l.access
	a.digest = hex.EncodeToString(digest.Sum(nil))
	a.scrubber.Store(fault.NewScrubber(a.secrets()...))
	return a, nil
}

// For returns what may be used at another address that a source at base refers to: a itself
// at the same scheme, host and port, else no credentials at all. Authorities and the proxy
// stay.
func (a *Access) For(base, u *url.URL) *Access {
	if originOf(base) == originOf(u) {
		return a
	}
	return a.anonymous(strings.EqualFold(base.Hostname(), u.Hostname()))
}

func (a *Access) anonymous(sameHost bool) *Access {
	digest := sha256.New()
	fmt.Fprintf(digest, "proxy=%s\n", a.proxy)
	for _, ca := range a.authorities {
		fmt.Fprintf(digest, "ca=%x\n", sha256.Sum256(ca.pem))
	}
	other := &Access{Insecure: a.Insecure && sameHost, authorities: a.authorities, proxy: a.proxy, proxyName: a.proxyName, digest: hex.EncodeToString(digest.Sum(nil))}
	other.scrubber.Store(a.Scrubber())
	return other
}

// Digest identifies the content of all Secrets together.
func (a *Access) Digest() string { return a.digest }

// Scrubber knows the secrets.
func (a *Access) Scrubber() *fault.Scrubber {
	if a == nil {
		return nil
	}
	return a.scrubber.Load()
}

// Hide makes the Scrubber know secrets that were made just now.
func (a *Access) Hide(secrets ...string) { a.scrubber.Store(a.Scrubber().With(secrets...)) }

// SecretName is the namespace/name of the Secret with the credentials, for messages.
func (a *Access) SecretName() string { return a.name }

// TrustName is the namespace/name of the Secret with the keys whose signatures are
// trusted, for messages.
func (a *Access) TrustName() string { return a.trustName }

// secrets lists every text that may not be shown.
func (a *Access) secrets() []string {
	list := []string{a.Password, a.BearerToken}
	// A token is often given as the user's name.
	if len(a.Username) >= 16 {
		list = append(list, a.Username)
	}
	if a.Username != "" || a.Password != "" {
		list = append(list, a.Username+":"+a.Password)
	}
	for _, pem := range [][]byte{a.Identity, a.key, a.appKey} {
		for line := range strings.Lines(string(pem)) {
			if line = strings.TrimSpace(line); len(line) > 16 && !strings.HasPrefix(line, "-----") {
				list = append(list, line)
			}
		}
	}
	if a.proxy != nil && a.proxy.User != nil {
		password, _ := a.proxy.User.Password()
		list = append(list, password)
	}
	return append(list, dockerSecrets(a.DockerConfig)...)
}

type loader struct {
	ctx       context.Context
	secrets   Secrets
	namespace string
	access    *Access
	gitHubApp bool
}

// load reads a Secret and returns the digest of its content, "" for none.
func (l *loader) load(name string, take func(string, map[string][]byte) error) (string, error) {
	if name == "" {
		return "", nil
	}
	full := l.namespace + "/" + name
	if l.secrets == nil {
		return "", fault.New(fault.ErrSecret, "the Secret %s cannot be read: no reader of Secrets is configured", full)
	}
	data, err := l.secrets.Secret(l.ctx, l.namespace, name)
	if apierrors.IsNotFound(err) {
		return "", fault.NewSecretNotFound(full)
	}
	if err != nil {
		return "", fault.Rewrite(err, "reading the Secret "+full+": "+(*fault.Scrubber)(nil).Clean(err.Error()))
	}
	digest := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		// Before anybody reads a key: to tell a private one's numbers right takes long too.
		most := keybound.MaxBits
		if key == sourcev1alpha1.SecretKeyIdentity {
			most = keybound.MaxIdentityBits
		}
		if err := keybound.Check(data[key], most); err != nil {
			return "", fault.New(fault.ErrSecret, "the key %s of the Secret %s cannot be used: %s", key, full, err)
		}
		entry := sha256.Sum256(data[key])
		digest.Write([]byte(key + "\x00"))
		digest.Write(entry[:])
	}
	return hex.EncodeToString(digest.Sum(nil)), take(full, data)
}

// text returns a value without the line break that encoding by hand often leaves.
func text(data map[string][]byte, key string) string {
	return strings.TrimRight(string(data[key]), "\r\n")
}

func (l *loader) auth(name string, data map[string][]byte) error {
	a := l.access
	a.name = name
	a.Username, a.Password = text(data, sourcev1alpha1.SecretKeyUsername), text(data, sourcev1alpha1.SecretKeyPassword)
	a.BearerToken = text(data, sourcev1alpha1.SecretKeyBearerToken)
	a.Identity, a.KnownHosts = data[sourcev1alpha1.SecretKeyIdentity], data[sourcev1alpha1.SecretKeyKnownHosts]
	a.DockerConfig = data[sourcev1alpha1.SecretKeyDockerConfig]
	a.certificate, a.key = data[sourcev1alpha1.SecretKeyTLSCert], data[sourcev1alpha1.SecretKeyTLSKey]
	if ca := data[sourcev1alpha1.SecretKeyCACert]; len(ca) > 0 {
		a.authorities = append(a.authorities, bundle{ca, name})
	}
	if l.gitHubApp {
		return l.app(name, data)
	}
	switch {
	case (len(a.certificate) == 0) != (len(a.key) == 0):
		return fault.New(fault.ErrSecret, "the Secret %s must hold both %s and %s", name, sourcev1alpha1.SecretKeyTLSCert, sourcev1alpha1.SecretKeyTLSKey)
	case strings.ContainsFunc(a.BearerToken, unicode.IsControl):
		return fault.New(fault.ErrSecret, "the key %s of the Secret %s holds a line break or another control character, which cannot be sent", sourcev1alpha1.SecretKeyBearerToken, name)
	case a.Username != "" && a.BearerToken != "":
		return fault.New(fault.ErrSecret, "the Secret %s holds both %s and %s; which one is meant?", name, sourcev1alpha1.SecretKeyUsername, sourcev1alpha1.SecretKeyBearerToken)
	case a.Username == "" && a.Password != "" && len(a.Identity) == 0:
		return fault.New(fault.ErrSecret, "the Secret %s holds %s but no %s", name, sourcev1alpha1.SecretKeyPassword, sourcev1alpha1.SecretKeyUsername)
	case a.Username != "" && a.Password == "":
		return fault.New(fault.ErrSecret, "the Secret %s holds %s but no %s", name, sourcev1alpha1.SecretKeyUsername, sourcev1alpha1.SecretKeyPassword)
	}
	if a.Username == "" && a.BearerToken == "" && len(a.Identity) == 0 && len(a.DockerConfig) == 0 && len(a.key) == 0 && len(a.authorities) == 0 {
		return fault.New(fault.ErrSecret, "the Secret %s holds no credentials: keys such as %s and %s are expected, found are [%s]",
			name, sourcev1alpha1.SecretKeyUsername, sourcev1alpha1.SecretKeyPassword, strings.Join(slices.Sorted(maps.Keys(data)), " "))
	}
	return nil
}

func (l *loader) ca(name string, data map[string][]byte) error {
	ca := data[sourcev1alpha1.SecretKeyCACert]
	if len(ca) == 0 {
		return fault.New(fault.ErrSecret, "the Secret %s has no key %s", name, sourcev1alpha1.SecretKeyCACert)
	}
	l.access.authorities = append(l.access.authorities, bundle{ca, name})
	return nil
}

func (l *loader) trust(name string, data map[string][]byte) error {
	l.access.trustName, l.access.Trusted = name, data
	return nil
}

func (l *loader) proxy(name string, data map[string][]byte) error {
	address := text(data, sourcev1alpha1.SecretKeyProxy)
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		// The address is not shown: it may hold a password.
		return fault.New(fault.ErrSecret, "the key %s of the Secret %s is no URL of an http, https or socks5 proxy", sourcev1alpha1.SecretKeyProxy, name)
	}
	if username := text(data, sourcev1alpha1.SecretKeyUsername); username != "" {
		u.User = url.UserPassword(username, text(data, sourcev1alpha1.SecretKeyPassword))
	}
	l.access.proxy, l.access.proxyName = u, name
	return nil
}
