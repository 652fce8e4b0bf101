// SPDX-License-Identifier: Apache-2.0

package testsource

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// GitHub is the part of the API of GitHub in which an App asks for a token.
type GitHub struct {
	*httptest.Server
	// PrivateKey of the App 12, installed as 34, in PEM form.
	PrivateKey string
	// Lifetime of the tokens that it makes.
	Lifetime time.Duration
	// Status answers with an error instead, unless it is 0, and Header with these headers.
	Status int
	Header map[string]string

	key *rsa.PrivateKey
	now func() time.Time

	mu     sync.Mutex
	tokens []string
	valid  map[string]time.Time
}

// ServeGitHub serves the API over TLS below /api/v3; now tells the time.
func ServeGitHub(t testing.TB, now func() time.Time) *GitHub {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	g := &GitHub{key: key, now: now, Lifetime: time.Hour, valid: map[string]time.Time{},
		PrivateKey: string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))}
	g.Server = httptest.NewTLSServer(http.HandlerFunc(g.serve))
	g.Config.ErrorLog = Quiet()
	t.Cleanup(g.Close)
	return g
}

func (g *GitHub) serve(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w.Header().Set("Date", g.now().UTC().Format(http.TimeFormat))
	for name, value := range g.Header {
		w.Header().Set(name, value)
	}
	if g.Status != 0 {
		http.Error(w, "no: "+r.Header.Get("Authorization"), g.Status)
		return
	}
	if r.Method != http.MethodPost || r.URL.Path != "/api/v3/app/installations/34/access_tokens" {
		http.NotFound(w, r)
		return
	}
	if err := g.check(r.Header.Get("Authorization")); err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	token := fmt.Sprintf("ghs_canary%d", len(g.tokens))
	g.tokens = append(g.tokens, token)
	until := g.now().Add(g.Lifetime)
	g.valid[token] = until
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"token": token, "expires_at": until.UTC().Format(time.RFC3339)})
}

// check holds a JWT to what GitHub wants of one.
func (g *GitHub) check(authorization string) error {
	jwt, ok := strings.CutPrefix(authorization, "Bearer ")
	parts := strings.Split(jwt, ".")
	if !ok || len(parts) != 3 {
		return fmt.Errorf("no token in %q", authorization)
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return err
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err := rsa.VerifyPKCS1v15(&g.key.PublicKey, crypto.SHA256, digest[:], signature); err != nil {
		return err
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return err
	}
	var claims struct {
		Iss      string
		Iat, Exp int64
	}
	if err := json.Unmarshal(raw, &claims); err != nil {
		return err
	}
	now := g.now().Unix()
	if claims.Iss != "12" || claims.Iat > now || claims.Exp <= now || claims.Exp-claims.Iat > 600 {
		return fmt.Errorf("unusable claims %s", raw)
	}
	return nil
}

// Tokens returns the number of tokens that were made.
func (g *GitHub) Tokens() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.tokens)
}

// Revoke ends all tokens.
func (g *GitHub) Revoke() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.valid)
}

// Allow says whether a request to a Git host carries a token that is valid.
func (g *GitHub) Allow(r *http.Request) bool {
	user, token, _ := r.BasicAuth()
	g.mu.Lock()
	defer g.mu.Unlock()
	until, ok := g.valid[token]
	return ok && user == "x-access-token" && g.now().Before(until)
}
