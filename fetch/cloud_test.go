// SPDX-License-Identifier: Apache-2.0

//go:build !convoy_without_ecr && !convoy_without_gar && !convoy_without_acr

package fetch_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// TestMain lets this process reach the clouds through a proxy that leads every host to a
// server of the tests. Addresses of this machine are never reached through a proxy.
func TestMain(m *testing.M) {
	proxy := newDetour()
	_ = os.Setenv("HTTPS_PROXY", proxy.server.URL)
	_ = os.Setenv("NO_PROXY", ".invalid") // what must not resolve is not led anywhere
	detours = proxy
	code := m.Run()
	proxy.server.Close()
	os.Exit(code)
}

// detours is what TestMain has made.
var detours *detour

// detour is a proxy that leads hosts elsewhere.
type detour struct {
	server *httptest.Server
	mu     sync.Mutex
	to     map[string]string
}

func newDetour() *detour {
	d := &detour{to: map[string]string{}}
	d.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.Host)
		d.mu.Lock()
		address := d.to[host]
		d.mu.Unlock()
		there, err := net.Dial("tcp", address)
		if r.Method != http.MethodConnect || address == "" || err != nil {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		here, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			_ = there.Close()
			return
		}
		_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(there, here); _ = there.Close() }()
		_, _ = io.Copy(here, there)
		_ = here.Close()
	}))
	return d
}

// lead leads a host to a server with TLS that answers for it; the certificate is returned.
func (d *detour) lead(t *testing.T, host string, answer http.Handler) (ca string) {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	server := httptest.NewUnstartedServer(answer)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.Config.ErrorLog = testsource.Quiet()
	server.StartTLS()
	d.mu.Lock()
	d.to[host] = server.Listener.Addr().String()
	d.mu.Unlock()
	t.Cleanup(server.Close)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// cloudRegistry is a registry of a cloud that lets in who has the credentials.
type cloudRegistry struct {
	*testsource.Registry
	ca string
}

// serveCloudRegistry serves a registry under a cloud's host. exchange answers for its
// token exchange.
func serveCloudRegistry(t *testing.T, host string, exchange http.HandlerFunc) cloudRegistry {
	t.Helper()
	registry := testsource.ServeOCI(t, false)
	registry.Push("team/app", []testsource.Layer{{MediaType: contentLayer, Content: testsource.TarGz(t, map[string]string{"a.yaml": "a"})}}, "latest")
	behind, err := url.Parse(registry.URL)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	forward := httputil.NewSingleHostReverseProxy(behind)
	mux := http.NewServeMux()
	mux.Handle("/", forward)
	if exchange != nil {
		mux.Handle("/oauth2/", exchange)
	}
	return cloudRegistry{registry, detours.lead(t, host, mux)}
}

func cloudWant(provider sourcev1alpha1.OCIProvider, host string) fetch.Want {
	want := ociWant("oci://"+host, "", artifactRef("team/app", corev1alpha1.OCIRef{}))
	spec := &want.Source.(*sourcev1alpha1.OCIRegistry).Spec
	spec.Provider, spec.Insecure, spec.CASecretRef = provider, false, ref("ca")
	return want
}

// clearClouds takes what this machine may know of clouds away.
func clearClouds(t *testing.T) {
	t.Helper()
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		for _, prefix := range []string{"AWS_", "AZURE_", "GOOGLE_", "GCE_", "IDENTITY_", "MSI_"} {
			if strings.HasPrefix(name, prefix) {
				t.Setenv(name, "")
				_ = os.Unsetenv(name)
			}
		}
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

// TestCloudThatDoesNotAnswer keeps no slots: others are fetched meanwhile.
func TestCloudThatDoesNotAnswer(t *testing.T) {
	g := NewWithT(t)
	clearClouds(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "y")
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = silent.Close() })
	t.Setenv("AWS_ENDPOINT_URL_ECR", "http://"+silent.Addr().String())
	r := newRig(t, fetch.Options{MaxConcurrent: 2, Secrets: secrets{"ca": {"ca.crt": ""}}})
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	for i := range 4 {
		want := cloudWant(sourcev1alpha1.OCIProviderAWS, fmt.Sprintf("12345678901%d.dkr.ecr.eu-central-1.amazonaws.com", i))
		want.Source.(*sourcev1alpha1.OCIRegistry).Spec.CASecretRef = nil
		asking.Go(func() { _, _, _ = r.Resolve(ctx, want) })
	}
	t.Cleanup(asking.Wait)
	t.Cleanup(stop)
	g.Eventually(func() int { return r.Stats().Running }).WithTimeout(20 * time.Second).ShouldNot(BeZero())
	g.Eventually(func() int { return r.Stats().Running }).WithTimeout(20 * time.Second).Should(BeZero())
}

func TestAWS(t *testing.T) {
	const host = "123456789012.dkr.ecr.eu-central-1.amazonaws.com"
	token := base64.StdEncoding.EncodeToString([]byte("AWS:canary-ecr"))
	for _, tc := range []struct {
		name, host, target, endpoint string
		answer                       any
		status                       int
		want                         error
		wantText                     string
	}{
		{name: "private", host: host, target: "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken", endpoint: "AWS_ENDPOINT_URL_ECR",
			answer: map[string]any{"authorizationData": []any{map[string]any{"authorizationToken": token, "expiresAt": expiry()}}}},
		{name: "public", host: "public.ecr.aws", target: "SpencerFrontendService.GetAuthorizationToken", endpoint: "AWS_ENDPOINT_URL_ECR_PUBLIC",
			answer: map[string]any{"authorizationData": map[string]any{"authorizationToken": token, "expiresAt": expiry()}}},
		{name: "denied", host: host, endpoint: "AWS_ENDPOINT_URL_ECR", status: http.StatusBadRequest,
			answer: map[string]any{"__type": "AccessDeniedException", "message": "User arn:aws:iam::1:user/canary is not authorized"}, want: fetch.ErrUnauthorized, wantText: "(AccessDeniedException): allow it ecr:GetAuthorizationToken"},
		{name: "nothing", host: host, endpoint: "AWS_ENDPOINT_URL_ECR", answer: map[string]any{}, want: fetch.ErrUnreachable, wantText: "token"},
		{name: "odd", host: host, endpoint: "AWS_ENDPOINT_URL_ECR",
			answer: map[string]any{"authorizationData": []any{map[string]any{"authorizationToken": "canary!", "expiresAt": expiry()}}}, want: fetch.ErrUnreachable, wantText: "malformed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			clearClouds(t)
			registry := serveCloudRegistry(t, tc.host, nil)
			registry.Allow(testsource.BasicAuth("AWS", "canary-ecr"), "")
			var asked atomic.Int32
			endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				if tc.target != "" && r.Header.Get("X-Amz-Target") != tc.target || !strings.Contains(r.Header.Get("Authorization"), "Credential=AKIDEXAMPLE/") {
					w.WriteHeader(http.StatusBadRequest)
					return
				}
				w.Header().Set("Content-Type", "application/x-amz-json-1.1")
				if tc.status != 0 {
					w.WriteHeader(tc.status)
				}
				_ = json.NewEncoder(w).Encode(tc.answer)
			}))
			defer endpoint.Close()
			t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "canary-secret-key")
			t.Setenv(tc.endpoint, endpoint.URL)
			r := newRig(t, fetch.Options{Secrets: secrets{"ca": {"ca.crt": registry.ca}}})
			a, err := r.get(t, cloudWant("aws", tc.host))
			if tc.want != nil {
				g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(And(ContainSubstring(tc.wantText), Not(ContainSubstring("canary"))))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(read(a, "a.yaml")).To(Equal("a"))
			_, err = r.Check(t.Context(), "team", cloudWant("aws", tc.host).Source)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(asked.Load()).To(BeEquivalentTo(1), "a token is kept")
			// The rig's clock is behind the machine's: what AWS says ends in an hour ends later.
			r.clock.SetTime(time.Now().Add(time.Hour))
			_, err = r.Check(t.Context(), "team", cloudWant("aws", tc.host).Source)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(asked.Load()).To(BeEquivalentTo(2), "and renewed before it ends")
		})
	}
	t.Run("no identity", func(t *testing.T) {
		g := NewWithT(t)
		clearClouds(t)
		registry := serveCloudRegistry(t, host, nil)
		_, err := newRig(t, fetch.Options{Secrets: secrets{"ca": {"ca.crt": registry.ca}}}).get(t, cloudWant("aws", host))
		g.Expect(errors.Is(err, fetch.ErrUnreachable)).To(BeTrue(), "%v", err)
		g.Expect(err.Error()).To(ContainSubstring("from AWS with the identity of this process"))
	})
}

func expiry() int64 { return time.Now().Add(time.Hour).Unix() }

// TestTokenThatIsNotAccepted asks for another one the next time.
func TestTokenThatIsNotAccepted(t *testing.T) {
	g := NewWithT(t)
	clearClouds(t)
	const host = "123456789012.dkr.ecr.eu-central-1.amazonaws.com"
	registry := serveCloudRegistry(t, host, nil)
	var asked atomic.Int32
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		token := base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("AWS:canary-%d", asked.Add(1))))
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		_ = json.NewEncoder(w).Encode(map[string]any{"authorizationData": []any{map[string]any{"authorizationToken": token, "expiresAt": expiry()}}})
	}))
	defer endpoint.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "canary-secret-key")
	t.Setenv("AWS_ENDPOINT_URL_ECR", endpoint.URL)
	registry.Allow(testsource.BasicAuth("AWS", "canary-2"), "")
	r := newRig(t, fetch.Options{Secrets: secrets{"ca": {"ca.crt": registry.ca}}})
	_, err := r.get(t, cloudWant("aws", host))
	g.Expect(errors.Is(err, fetch.ErrUnauthorized)).To(BeTrue(), "%v", err)
	g.Expect(err.Error()).NotTo(ContainSubstring("canary"))
	_, err = r.get(t, cloudWant("aws", host))
	g.Expect(err).NotTo(HaveOccurred())
}

// TestCloudTokenIsNotShown lets a registry put the token into an address.
func TestCloudTokenIsNotShown(t *testing.T) {
	g := NewWithT(t)
	clearClouds(t)
	const host = "europe-docker.pkg.dev"
	registry := serveCloudRegistry(t, host, nil)
	registry.Allow(testsource.BasicAuth("oauth2accesstoken", "canary-google"), "")
	inner := registry.Config.Handler
	registry.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "canary-google"):
			_, _ = io.WriteString(w, "other")
		case strings.Contains(r.URL.Path, "/blobs/"):
			http.Redirect(w, r, "/canary-google", http.StatusTemporaryRedirect)
		default:
			inner.ServeHTTP(w, r)
		}
	})
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "canary-google", "expires_in": 3600, "token_type": "Bearer"})
	}))
	defer metadata.Close()
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(metadata.URL, "http://"))
	_, err := newRig(t, fetch.Options{Secrets: secrets{"ca": {"ca.crt": registry.ca}}}).get(t, cloudWant("gcp", host))
	g.Expect(err).To(HaveOccurred())
	g.Expect(err.Error()).To(And(ContainSubstring("***"), Not(ContainSubstring("canary"))))
}

func TestGoogle(t *testing.T) {
	const host = "europe-docker.pkg.dev"
	for _, tc := range []struct {
		name     string
		answer   http.HandlerFunc
		want     error
		wantText string
	}{
		{name: "metadata service", answer: func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Metadata-Flavor") != "Google" || !strings.HasSuffix(r.URL.Path, "/service-accounts/default/token") {
				http.NotFound(w, r)
				return
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "canary-google", "expires_in": 3600, "token_type": "Bearer"})
		}},
		{name: "forbidden", answer: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "canary", http.StatusForbidden) }, want: fetch.ErrUnauthorized, wantText: "status 403"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			clearClouds(t)
			registry := serveCloudRegistry(t, host, nil)
			registry.Allow(testsource.BasicAuth("oauth2accesstoken", "canary-google"), "")
			metadata := httptest.NewServer(tc.answer)
			defer metadata.Close()
			t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(metadata.URL, "http://"))
			a, err := newRig(t, fetch.Options{Secrets: secrets{"ca": {"ca.crt": registry.ca}}}).get(t, cloudWant("gcp", host))
			if tc.want != nil {
				g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(And(ContainSubstring(tc.wantText), Not(ContainSubstring("canary"))))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(read(a, "a.yaml")).To(Equal("a"))
		})
	}
}

// TestAzure takes the token of a managed identity to the registry's exchange, and what that
// gives to the registry's tokens.
func TestAzure(t *testing.T) {
	const host = "example.azurecr.io"
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the token went to %s", r.URL)
	}))
	defer elsewhere.Close()
	for _, tc := range []struct {
		name     string
		exchange http.HandlerFunc
		want     error
		wantText string
	}{
		{name: "exchanged", exchange: func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/oauth2/exchange" && r.FormValue("access_token") == "canary-azure" && r.FormValue("service") == host:
				_ = json.NewEncoder(w).Encode(map[string]any{"refresh_token": "canary-refresh"})
			case r.URL.Path == "/oauth2/token" && r.FormValue("refresh_token") == "canary-refresh":
				_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "canary-access"})
			default:
				http.Error(w, "no", http.StatusUnauthorized)
			}
		}},
		{name: "refused", exchange: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "canary-azure", http.StatusUnauthorized) }, want: fetch.ErrUnauthorized, wantText: "AcrPull"},
		{name: "redirected", exchange: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, want: fetch.ErrUnreachable, wantText: "status 307"},
		{name: "odd", exchange: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "canary-azure") }, want: fetch.ErrUnreachable, wantText: "gave no token"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			clearClouds(t)
			registry := serveCloudRegistry(t, host, tc.exchange)
			registry.Allow(func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer canary-access" },
				fmt.Sprintf(`Bearer realm="https://%s/oauth2/token",service="%s"`, host, host))
			identity := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-IDENTITY-HEADER") != "canary-header" || r.URL.Query().Get("resource") != "https://containerregistry.azure.net" {
					http.Error(w, "no", http.StatusBadRequest)
					return
				}
				_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "canary-azure", "expires_on": fmt.Sprint(expiry()), "resource": r.URL.Query().Get("resource"), "token_type": "Bearer"})
			}))
			defer identity.Close()
			t.Setenv("IDENTITY_ENDPOINT", identity.URL)
			t.Setenv("IDENTITY_HEADER", "canary-header")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r := newRig(t, fetch.Options{Secrets: secrets{"ca": {"ca.crt": registry.ca}}})
			revision, _, err := r.Resolve(ctx, cloudWant("azure", host))
			if tc.want != nil {
				g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(And(ContainSubstring(tc.wantText), Not(ContainSubstring("canary"))))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			a, err := r.Fetch(ctx, cloudWant("azure", host), revision)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(read(a, "a.yaml")).To(Equal("a"))
		})
	}
}
