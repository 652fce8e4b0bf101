// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"kumodo.io/convoy/fetch/internal/fault"
)

// Keys of a Secret with the credentials of a GitHub App.
const (
	keyAppID             = "githubAppID"
	keyAppInstallationID = "githubAppInstallationID"
	keyAppPrivateKey     = "githubAppPrivateKey"
	keyAppBaseURL        = "githubAppBaseURL"
	// gitHubAPI is where an App asks for tokens unless githubAppBaseURL says otherwise.
	gitHubAPI = "https://api.github.com"
)

const (
	// tokenMargin is how long before its end a token is not used any more.
	tokenMargin = 5 * time.Minute
	// jwtLifetime is shorter than the ten minutes that GitHub allows, and jwtSkew how far
	// its clock may be behind.
	jwtLifetime = 8 * time.Minute
	jwtSkew     = time.Minute
	// tokenBytes bounds the answer of the API.
	tokenBytes = 1 << 20
	// tokenUser is the user as which a token of an App logs in to Git over HTTP.
	tokenUser = "x-access-token"
)

// gitHubApp is an App that makes tokens for one of its installations.
type gitHubApp struct {
	id, installation string
	key              *rsa.PrivateKey
	api              *url.URL
}

// app reads the keys of a GitHub App. The error is fault.ErrSecret.
func (l *loader) app(name string, data map[string][]byte) error {
	app := &gitHubApp{id: text(data, keyAppID), installation: text(data, keyAppInstallationID)}
	for _, key := range []string{keyAppID, keyAppInstallationID, keyAppPrivateKey} {
		if len(data[key]) == 0 {
			return fault.New(fault.ErrSecret, "the Secret %s has no key %s, which spec.provider github needs", name, key)
		}
	}
	if strings.Trim(app.installation, "0123456789") != "" {
		return fault.New(fault.ErrSecret, "the key %s of the Secret %s is no number", keyAppInstallationID, name)
	}
	l.access.appKey = data[keyAppPrivateKey]
	if app.key = parseRSA(data[keyAppPrivateKey]); app.key == nil {
		return fault.New(fault.ErrSecret, "the key %s of the Secret %s is no RSA private key in PEM form", keyAppPrivateKey, name)
	}
	base := text(data, keyAppBaseURL)
	if base == "" {
		base = gitHubAPI
	}
	u, err := ParseURL(base)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" {
		return fault.New(fault.ErrSecret, "the key %s of the Secret %s is no https URL such as https://github.example.com/api/v3", keyAppBaseURL, name)
	}
	app.api = u
	l.access.gitHub = app
	return nil
}

func parseRSA(data []byte) *rsa.PrivateKey {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if key, ok := parsed.(*rsa.PrivateKey); err == nil && ok {
		return key
	}
	return nil
}

// jwt returns the token with which the App says who it is, see RFC 7519.
func (app *gitHubApp) jwt(now time.Time) (string, error) {
	claims, err := json.Marshal(map[string]any{"iss": app.id, "iat": now.Add(-jwtSkew).Unix(), "exp": now.Add(jwtLifetime).Unix()})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(claims)
	digest := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, app.key, crypto.SHA256, digest[:])
	return signed + "." + encode(signature), err
}

// Tokens makes tokens of GitHub Apps and keeps them until shortly before they end. It is
// safe for concurrent use; a process has one.
type Tokens struct {
	now func() time.Time

	mu   sync.Mutex
	kept map[string]*keptToken
}

type keptToken struct {
	// turn is held by who asks for the token, so that one asks for all.
	turn  chan struct{}
	value string
	until time.Time
}

// NewTokens returns Tokens without any; now tells the time.
func NewTokens(now func() time.Time) *Tokens {
	return &Tokens{now: now, kept: map[string]*keptToken{}}
}

// entry returns the place of the token of an App, and forgets those that have ended.
func (t *Tokens) entry(digest string) *keptToken {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.kept[digest]
	if !ok {
		now := t.now()
		for key, other := range t.kept {
			select {
			case other.turn <- struct{}{}:
				if !now.Before(other.until) {
					delete(t.kept, key)
				}
				<-other.turn
			default:
			}
		}
		e = &keptToken{turn: make(chan struct{}, 1)}
		t.kept[digest] = e
	}
	return e
}

// authorization returns what a request of the App to the Git host carries.
func (t *Tokens) authorization(ctx context.Context, a *Access) (string, error) {
	e := t.entry(a.digest)
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return "", fault.FromRequest(ctx.Err(), nil)
	}
	if !t.now().Before(e.until) {
		value, until, err := a.askGitHub(ctx, t.now())
		if err != nil {
			return "", err
		}
		e.value, e.until = value, until.Add(-tokenMargin)
	}
	a.hide(e.value)
	return basic(tokenUser, e.value), nil
}

// Forget drops the token of an App that the Git host does not accept.
func (t *Tokens) Forget(a *Access) {
	e := t.entry(a.digest)
	e.turn <- struct{}{}
	e.until = time.Time{}
	<-e.turn
}

// askGitHub makes a token of the installation.
func (a *Access) askGitHub(ctx context.Context, now time.Time) (value string, until time.Time, err error) {
	app := a.gitHub
	jwt, err := app.jwt(now)
	if err != nil {
		return "", until, fault.New(fault.ErrSecret, "the key %s of the Secret %s cannot sign", keyAppPrivateKey, a.name)
	}
	a.hide(jwt)
	// The API is another host than that of the repository: no other credentials go there.
	client, err := a.anonymous(false).NewClient(app.api, Options{})
	if err != nil {
		return "", until, err
	}
	defer client.Close()
	ctx = WithHeader(ctx, app.api, http.Header{"Authorization": {"Bearer " + jwt}})
	at := app.api.JoinPath("app", "installations", app.installation, "access_tokens")
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at.String(), http.NoBody)
	if err != nil {
		return "", until, fault.New(fault.ErrSecret, "the key %s of the Secret %s is no usable URL", keyAppBaseURL, a.name)
	}
	request.Header.Set("Accept", "application/vnd.github+json")
	response, err := client.Do(request)
	if err != nil {
		return "", until, fault.Rewrite(fault.FromRequest(err, a.Scrubber()), "asking "+fault.URL(app.api.String())+" for a token: "+fault.FromRequest(err, a.Scrubber()).Error())
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		return "", until, a.gitHubRefused(response.StatusCode)
	}
	body, err := ReadAll(response.Body, response.ContentLength, tokenBytes, "the answer of the GitHub API")
	if err != nil {
		return "", until, fault.FromRequest(err, a.Scrubber())
	}
	var answer struct {
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Token == "" {
		return "", until, fault.New(fault.ErrUnreachable, "the answer of the GitHub API holds no token")
	}
	return answer.Token, answer.ExpiresAt, nil
}

func (a *Access) gitHubRefused(status int) error {
	switch status {
	case http.StatusUnauthorized:
		return fault.New(fault.ErrUnauthorized, "the GitHub API does not accept the App of the Secret %s (status 401): %s and %s do not belong together", a.name, keyAppID, keyAppPrivateKey)
	case http.StatusNotFound:
		return fault.New(fault.ErrUnauthorized, "the GitHub API knows no installation of the App with the %s of the Secret %s (status 404)", keyAppInstallationID, a.name)
	}
	return fault.FromStatus(status, "the GitHub API", true)
}
