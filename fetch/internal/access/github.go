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
	"time"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/expiring"
	"kumodo.io/convoy/fetch/internal/fault"
)

// gitHubAPI is where an App asks for tokens unless githubAppBaseURL says otherwise.
const gitHubAPI = "https://api.github.com"

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
	app := &gitHubApp{id: text(data, sourcev1alpha1.SecretKeyGitHubAppID), installation: text(data, sourcev1alpha1.SecretKeyGitHubAppInstallationID)}
	for _, key := range []string{sourcev1alpha1.SecretKeyGitHubAppID, sourcev1alpha1.SecretKeyGitHubAppInstallationID, sourcev1alpha1.SecretKeyGitHubAppPrivateKey} {
		if len(data[key]) == 0 {
			return fault.New(fault.ErrSecret, "the Secret %s has no key %s, which spec.provider github needs", name, key)
		}
	}
	if strings.Trim(app.installation, "0123456789") != "" {
		return fault.New(fault.ErrSecret, "the key %s of the Secret %s is no number", sourcev1alpha1.SecretKeyGitHubAppInstallationID, name)
	}
	l.access.appKey = data[sourcev1alpha1.SecretKeyGitHubAppPrivateKey]
	if app.key = parseRSA(data[sourcev1alpha1.SecretKeyGitHubAppPrivateKey]); app.key == nil {
		return fault.New(fault.ErrSecret, "the key %s of the Secret %s is no RSA private key in PEM form", sourcev1alpha1.SecretKeyGitHubAppPrivateKey, name)
	}
	base := text(data, sourcev1alpha1.SecretKeyGitHubAppBaseURL)
	if base == "" {
		base = gitHubAPI
	}
	u, err := ParseURL(base)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" {
		return fault.New(fault.ErrSecret, "the key %s of the Secret %s is no https URL such as https://github.example.com/api/v3", sourcev1alpha1.SecretKeyGitHubAppBaseURL, name)
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
	now  func() time.Time
	kept *expiring.Cache[string]
}

// NewTokens returns Tokens without any; now tells the time.
func NewTokens(now func() time.Time) *Tokens {
	return &Tokens{now: now, kept: expiring.New[string](now)}
}

// authorization returns what a request of the App to the Git host carries.
func (t *Tokens) authorization(ctx context.Context, a *Access) (string, error) {
	// Another operation may be asking for it already.
	ended := watchOf(ctx).waits()
	defer ended()
	token, err := t.kept.Get(ctx, a.digest, func(ctx context.Context) (string, time.Time, error) {
		value, until, err := a.askGitHub(ctx, t.now())
		return value, until.Add(-tokenMargin), err
	})
	if err != nil {
		return "", fault.FromRequest(err, nil)
	}
	a.hideToken(token)
	return basic(tokenUser, token), nil
}

// Forget drops the token of an App that the Git host does not accept.
func (t *Tokens) Forget(a *Access) { t.kept.Forget(a.digest) }

func (a *Access) hideToken(token string) { a.Hide(token, tokenUser+":"+token) }

// askGitHub makes a token of the installation.
func (a *Access) askGitHub(ctx context.Context, now time.Time) (value string, until time.Time, err error) {
	app := a.gitHub
	jwt, err := app.jwt(now)
	if err != nil {
		return "", until, fault.New(fault.ErrSecret, "the key %s of the Secret %s cannot sign", sourcev1alpha1.SecretKeyGitHubAppPrivateKey, a.name)
	}
	a.hideToken(jwt)
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
		return "", until, fault.New(fault.ErrSecret, "the key %s of the Secret %s is no usable URL", sourcev1alpha1.SecretKeyGitHubAppBaseURL, a.name)
	}
	request.Header.Set("Accept", "application/vnd.github+json")
	response, err := client.Do(request)
	if err != nil {
		return "", until, fault.Rewrite(fault.FromRequest(err, a.Scrubber()), "asking "+fault.URL(app.api.String())+" for a token: "+fault.FromRequest(err, a.Scrubber()).Error())
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		return "", until, a.gitHubRefused(response, now)
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

// gitHubRefused says why there is no token. now is when it was asked for by this machine's clock.
func (a *Access) gitHubRefused(response *http.Response, now time.Time) error {
	status, header := response.StatusCode, response.Header
	limited := status == http.StatusTooManyRequests || status == http.StatusForbidden && (header.Get("X-RateLimit-Remaining") == "0" || header.Get("Retry-After") != "")
	theirs, err := http.ParseTime(header.Get("Date"))
	switch skew := now.Sub(theirs).Abs(); {
	case limited:
		return fault.New(fault.ErrUnreachable, "the GitHub API was asked too often with the App of the Secret %s or from this address (status %d); it answers again after a while", a.name, status)
	case status == http.StatusUnauthorized && err == nil && skew > jwtSkew:
		return fault.New(fault.ErrUnauthorized, "the GitHub API does not accept the App of the Secret %s (status 401), and its clock and this machine's are more than %s apart; set this one's right", a.name, jwtSkew)
	case status == http.StatusUnauthorized:
		return fault.New(fault.ErrUnauthorized, "the GitHub API does not accept the App of the Secret %s (status 401): %s and %s do not belong together, or the App or its key was deleted",
			a.name, sourcev1alpha1.SecretKeyGitHubAppID, sourcev1alpha1.SecretKeyGitHubAppPrivateKey)
	case status == http.StatusForbidden:
		return fault.New(fault.ErrUnauthorized, "the GitHub API makes no token for the App of the Secret %s (status 403): its installation may be suspended, or may not be used from this address", a.name)
	case status == http.StatusNotFound:
		return fault.New(fault.ErrUnauthorized, "the GitHub API knows no installation of the App with the %s of the Secret %s (status 404)", sourcev1alpha1.SecretKeyGitHubAppInstallationID, a.name)
	}
	return fault.FromStatus(status, "the GitHub API", a.Credentials())
}
