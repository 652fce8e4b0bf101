// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/testsource"
)

type secrets map[string]map[string]string

func (s secrets) Secret(_ context.Context, _, name string) (map[string][]byte, error) {
	if name == "broken" {
		return nil, errors.New("the server is on fire at https://u:p@host")
	}
	data, ok := s[name]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
	}
	out := map[string][]byte{}
	for k, v := range data {
		out[k] = []byte(v)
	}
	return out, nil
}

func load(t *testing.T, data map[string]string) *Access {
	t.Helper()
	a, err := Load(t.Context(), secrets{"s": data}, References{Namespace: "team", Auth: "s"})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestLoad(t *testing.T) {
	for _, tc := range []struct {
		name     string
		refs     References
		given    map[string]string
		want     error
		wantText string
	}{
		{name: "none", refs: References{}},
		{name: "password", refs: References{Auth: "s"}, given: map[string]string{"username": "u", "password": "p\n"}},
		{name: "missing Secret", refs: References{Auth: "other"}, want: fault.ErrSecretNotFound, wantText: "team/other does not exist"},
		{name: "token with a line break", refs: References{Auth: "s"}, given: map[string]string{"bearerToken": "canary\nmore"}, want: fault.ErrSecret, wantText: "the key bearerToken of the Secret team/s holds a line break"},
		{name: "no keys that are known", refs: References{Auth: "s"}, given: map[string]string{"user": "u", "pass": "p"}, want: fault.ErrSecret, wantText: "found are [pass user]"},
		{name: "no password", refs: References{Auth: "s"}, given: map[string]string{"username": "u"}, want: fault.ErrSecret, wantText: "no password"},
		{name: "no username", refs: References{Auth: "s"}, given: map[string]string{"password": "p"}, want: fault.ErrSecret, wantText: "no username"},
		{name: "two ways", refs: References{Auth: "s"}, given: map[string]string{"username": "u", "password": "p", "bearerToken": "t"}, want: fault.ErrSecret, wantText: "which one"},
		{name: "half a client certificate", refs: References{Auth: "s"}, given: map[string]string{"tls.crt": "x"}, want: fault.ErrSecret, wantText: "tls.key"},
		{name: "no CA", refs: References{CA: "s"}, given: map[string]string{"ca.pem": "x"}, want: fault.ErrSecret, wantText: "no key ca.crt"},
		{name: "proxy", refs: References{Proxy: "s"}, given: map[string]string{"address": "http://proxy.test:3128"}},
		{name: "no proxy", refs: References{Proxy: "s"}, given: map[string]string{"address": "u:canary@proxy"}, want: fault.ErrSecret, wantText: "no URL of"},
		{name: "apiserver down", refs: References{Auth: "broken"}, wantText: "on fire at https://host"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			tc.refs.Namespace = "team"
			_, err := Load(t.Context(), secrets{"s": tc.given}, tc.refs)
			if tc.wantText == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(tc.wantText)))
			g.Expect(err.Error()).NotTo(ContainSubstring("canary"))
			if tc.want != nil {
				g.Expect(errors.Is(err, tc.want)).To(BeTrue())
			} else {
				g.Expect(fault.Kind(err)).To(BeNil(), "a passing failure is not the Secret's fault")
			}
		})
	}
}

func TestDigestTellsCredentialsApart(t *testing.T) {
	g := NewWithT(t)
	one := load(t, map[string]string{"username": "u", "password": "p"}).Digest()
	g.Expect(load(t, map[string]string{"username": "u", "password": "p"}).Digest()).To(Equal(one))
	g.Expect(load(t, map[string]string{"username": "u", "password": "q"}).Digest()).NotTo(Equal(one))
	g.Expect(load(t, map[string]string{"username": "up", "password": "" + "p", "ca.crt": "x"}).Digest()).NotTo(Equal(one))
}

func TestDockerAuth(t *testing.T) {
	auth := func(user string) string {
		return fmt.Sprintf(`{"auth":%q}`, base64.StdEncoding.EncodeToString([]byte(user+":pw")))
	}
	config := fmt.Sprintf(`{"auths":{"reg.test":%s,"https://reg.test/v2/":%s,"reg.test/team":%s,"https://index.docker.io/v1/":%s,"reg.test:5000":{"username":"port","password":"pw"}}}`,
		auth("host"), auth("host"), auth("team"), auth("hub"))
	a := load(t, map[string]string{".dockerconfigjson": config})
	for _, tc := range []struct{ name, host, repository, want string }{
		{"host", "reg.test", "other/app", "host"},
		{"longest path", "reg.test", "team/app", "team"},
		{"path ends at a slash", "reg.test", "teamster/app", "host"},
		{"port", "reg.test:5000", "app", "port"},
		{"Docker Hub", "registry-1.docker.io", "library/x", "hub"},
		{"Docker Hub by its short name", "docker.io", "library/x", "hub"},
		{"none", "elsewhere.test", "app", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := a.DockerAuth(tc.host, tc.repository)
			if tc.want == "" {
				g.Expect(errors.Is(err, fault.ErrSecret)).To(BeTrue())
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Username).To(Equal(tc.want))
			g.Expect(got.Password).To(Equal("pw"))
		})
	}
	_, err := load(t, map[string]string{".dockerconfigjson": "not json canary"}).DockerAuth("reg.test", "x")
	NewWithT(t).Expect(errors.Is(err, fault.ErrSecret)).To(BeTrue())
	NewWithT(t).Expect(err.Error()).NotTo(ContainSubstring("canary"))
}

// TestCredentialsGoToTheOriginOnly asks servers that record what they get.
func TestCredentialsGoToTheOriginOnly(t *testing.T) {
	elsewhere, seenElsewhere := recording(t, nil)
	home, seenHome := recording(t, map[string]string{
		"/to-elsewhere": elsewhere.URL + "/landed", "/to-self": "/landed", "/circle": "/circle",
	})
	base, err := url.Parse(home.URL)
	if err != nil {
		t.Fatal(err)
	}
	a := load(t, map[string]string{"username": "u", "password": "canary"})
	for _, tc := range []struct {
		name, given   string
		trust         bool
		home, foreign []string // Authorization received, in order
		wantErr       bool
	}{
		{name: "origin", given: home.URL + "/x", home: []string{"yes"}},
		{name: "redirect to itself", given: home.URL + "/to-self", home: []string{"yes", "yes"}},
		{name: "redirect to another port", given: home.URL + "/to-elsewhere", home: []string{"yes"}, foreign: []string{"no"}},
		{name: "redirect to another port, trusted source", given: home.URL + "/to-elsewhere", trust: true, home: []string{"yes"}, foreign: []string{"no"}},
		{name: "another origin", given: elsewhere.URL + "/x", foreign: []string{"no"}},
		{name: "another origin that is trusted", given: elsewhere.URL + "/x", trust: true, foreign: []string{"yes"}},
		{name: "redirects without end", given: home.URL + "/circle", home: []string{"yes", "yes", "yes", "yes", "yes", "yes", "yes", "yes", "yes", "yes"}, wantErr: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			*seenHome, *seenElsewhere = nil, nil
			client, err := a.NewClient(base, Options{SendCredentials: true})
			g.Expect(err).NotTo(HaveOccurred())
			defer client.Close()
			u, err := url.Parse(tc.given)
			g.Expect(err).NotTo(HaveOccurred())
			ctx := t.Context()
			if tc.trust {
				ctx = client.Trust(ctx, u)
			}
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, tc.given, nil)
			g.Expect(err).NotTo(HaveOccurred())
			response, err := client.Do(request)
			g.Expect(err != nil).To(Equal(tc.wantErr))
			if err == nil {
				_ = response.Body.Close()
			}
			g.Expect(*seenHome).To(Equal(tc.home))
			g.Expect(*seenElsewhere).To(Equal(tc.foreign))
		})
	}
}

// recording is a server that notes whether it is given credentials, and redirects.
func recording(t *testing.T, redirects map[string]string) (*httptest.Server, *[]string) {
	t.Helper()
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password == "canary" {
			seen = append(seen, "yes")
		} else {
			seen = append(seen, "no")
		}
		if to, ok := redirects[r.URL.Path]; ok {
			http.Redirect(w, r, to, http.StatusFound)
		}
	}))
	t.Cleanup(server.Close)
	return server, &seen
}

func TestTrustDoesNotReachDownToPlainHTTP(t *testing.T) {
	g := NewWithT(t)
	a := load(t, map[string]string{"username": "u", "password": "canary"})
	client, err := a.NewClient(&url.URL{Scheme: "https", Host: "charts.test"}, Options{SendCredentials: true})
	g.Expect(err).NotTo(HaveOccurred())
	plain, seen := recording(t, nil)
	u, err := url.Parse(plain.URL)
	g.Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(client.Trust(t.Context(), u), http.MethodGet, plain.URL, nil)
	g.Expect(err).NotTo(HaveOccurred())
	response, err := client.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	_ = response.Body.Close()
	g.Expect(*seen).To(Equal([]string{"no"}))
}

func TestOriginsWithDefaultPorts(t *testing.T) {
	g := NewWithT(t)
	origin := func(raw string) string {
		u, err := url.Parse(raw)
		g.Expect(err).NotTo(HaveOccurred())
		return originOf(u)
	}
	g.Expect(origin("https://charts.test/a")).To(Equal(origin("https://CHARTS.test:443/b")))
	g.Expect(origin("http://charts.test")).To(Equal(origin("http://charts.test:80")))
	g.Expect(origin("http://charts.test")).NotTo(Equal(origin("https://charts.test")))
	g.Expect(origin("https://charts.test")).NotTo(Equal(origin("https://charts.test:8443")))
}

// TestCredentialsAndDefaultPorts asks hosts that only a proxy knows, which records what they
// are sent.
func TestCredentialsAndDefaultPorts(t *testing.T) {
	g := NewWithT(t)
	seen := map[string]bool{}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		seen[r.URL.String()] = password == "canary"
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "http://"+r.URL.Query().Get("to")+"/landed", http.StatusFound)
		}
	}))
	t.Cleanup(proxy.Close)
	a, err := Load(t.Context(), secrets{"s": {"username": "u", "password": "canary"}, "p": {"address": proxy.URL}}, References{Namespace: "team", Auth: "s", Proxy: "p"})
	g.Expect(err).NotTo(HaveOccurred())
	for _, base := range []string{"http://charts.test/team", "http://charts.test:80/team"} {
		client, err := a.NewClient(&url.URL{Scheme: "http", Host: strings.TrimSuffix(strings.TrimPrefix(base, "http://"), "/team")}, Options{SendCredentials: true})
		g.Expect(err).NotTo(HaveOccurred())
		defer client.Close()
		for address, want := range map[string]bool{
			"http://charts.test/a": true, "http://charts.test:80/b": true, "http://CHARTS.test:80/c": true, "http://charts.test:8080/d": false,
			"http://sub.charts.test/e": false, "http://charts.test.evil.test/f": false, "http://cdn.test/g": false,
		} {
			response, err := client.Get(address)
			g.Expect(err).NotTo(HaveOccurred())
			_ = response.Body.Close()
			g.Expect(seen).To(HaveKeyWithValue(address, want), "from "+base)
		}
		for to, want := range map[string]bool{"charts.test:80": true, "charts.test:8080": false, "sub.charts.test": false} {
			response, err := client.Get("http://charts.test/moved?to=" + to)
			g.Expect(err).NotTo(HaveOccurred())
			_ = response.Body.Close()
			g.Expect(seen).To(HaveKeyWithValue("http://"+to+"/landed", want), "from "+base)
		}
	}
}

func TestTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	server.Config.ErrorLog = testsource.Quiet()
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	ca := testsource.Certificate(server)
	for _, tc := range []struct {
		name     string
		given    *Access
		wantText string
	}{
		{name: "unknown authority", given: &Access{}, wantText: "signed by an unknown authority; give its CA in caSecretRef"},
		{name: "known authority", given: &Access{authorities: []bundle{{pem: ca}}}},
		{name: "any certificate", given: &Access{Insecure: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			client, err := tc.given.NewClient(base, Options{})
			g.Expect(err).NotTo(HaveOccurred())
			defer client.Close()
			response, err := client.Get(server.URL)
			if tc.wantText != "" {
				g.Expect(fault.FromRequest(err, nil)).To(MatchError(ContainSubstring(tc.wantText)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			_ = response.Body.Close()
		})
	}
	t.Run("any certificate, but of the host only", func(t *testing.T) {
		g := NewWithT(t)
		client, err := (&Access{Insecure: true}).NewClient(&url.URL{Scheme: "https", Host: "elsewhere.test"}, Options{})
		g.Expect(err).NotTo(HaveOccurred())
		_, err = client.Get(server.URL)
		g.Expect(err).To(HaveOccurred())
	})
	t.Run("no certificate", func(t *testing.T) {
		_, err := (&Access{authorities: []bundle{{pem: ca, secret: "team/good"}, {pem: []byte("nonsense"), secret: "team/ca"}}}).NewClient(base, Options{})
		NewWithT(t).Expect(errors.Is(err, fault.ErrSecret)).To(BeTrue())
		NewWithT(t).Expect(err).To(MatchError("the key ca.crt of the Secret team/ca holds no certificate in PEM form"))
	})
}

func TestForAnotherAddress(t *testing.T) {
	g := NewWithT(t)
	parse := func(raw string) *url.URL {
		u, err := url.Parse(raw)
		g.Expect(err).NotTo(HaveOccurred())
		return u
	}
	base := parse("https://git.test/team/app.git")
	a := load(t, map[string]string{"username": "u", "password": "canary-one", "ca.crt": "x"})
	a.Insecure = true
	for _, same := range []string{"https://git.test/other.git", "https://GIT.test:443/x"} {
		g.Expect(a.For(base, parse(same))).To(BeIdenticalTo(a), same)
	}
	for other, insecure := range map[string]bool{
		"https://git.test:8443/x": true, "http://git.test/x": true, "ssh://git@git.test/x": true, "https://sub.git.test/x": false, "https://git.test.evil.test/x": false,
	} {
		b := a.For(base, parse(other))
		g.Expect(b.Username+b.Password+b.BearerToken).To(BeEmpty(), other)
		g.Expect(b.Insecure).To(Equal(insecure), other)
		g.Expect(b.authorities).To(Equal(a.authorities))
		g.Expect(b.Scrubber().Clean("canary-one")).To(Equal("***"))
		g.Expect(b.Digest()).NotTo(Equal(a.Digest()))
	}
	there := parse("https://elsewhere.test/x")
	second := load(t, map[string]string{"username": "u", "password": "canary-two", "ca.crt": "x"})
	third := load(t, map[string]string{"username": "u", "password": "canary-one", "ca.crt": "y"})
	g.Expect(second.For(base, there).Digest()).To(Equal(a.For(base, there).Digest()), "what is fetched without credentials is the same for all")
	g.Expect(third.For(base, there).Digest()).NotTo(Equal(a.For(base, there).Digest()))
}

// TestHeadersForOneHost: what a server wants sent to one host is sent to that host only, and
// in place of the credentials there.
func TestHeadersForOneHost(t *testing.T) {
	g := NewWithT(t)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s|%s", r.Header.Get("Authorization"), r.Header.Get("X-Token"))
	}))
	t.Cleanup(elsewhere.Close)
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
			return
		}
		_, _ = fmt.Fprintf(w, "%s|%s|%s", r.Header.Get("Authorization"), r.Header.Get("X-Token"), r.Host)
	}))
	t.Cleanup(home.Close)
	base, err := url.Parse(home.URL)
	g.Expect(err).NotTo(HaveOccurred())
	client, err := load(t, map[string]string{"bearerToken": "own"}).NewClient(base, Options{SendCredentials: true})
	g.Expect(err).NotTo(HaveOccurred())
	defer client.Close()
	get := func(address string, header http.Header) string {
		ctx := t.Context()
		if header != nil {
			ctx = WithHeader(ctx, base, header)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		g.Expect(err).NotTo(HaveOccurred())
		response, err := client.Do(request)
		g.Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		body, err := ReadAll(response.Body, -1, 1000, "it")
		g.Expect(err).NotTo(HaveOccurred())
		return string(body)
	}
	theirs := http.Header{"Authorization": {"theirs"}, "X-Token": {"t"}, "Host": {"evil.test"}}
	g.Expect(get(home.URL, nil)).To(Equal("Bearer own||" + base.Host))
	g.Expect(get(home.URL, theirs)).To(Equal("theirs|t|" + base.Host))
	g.Expect(get(home.URL, http.Header{})).To(Equal("||"+base.Host), "an empty one takes the place of the credentials too")
	g.Expect(get(home.URL+"/away", theirs)).To(Equal("|"))
	g.Expect(get(elsewhere.URL, theirs)).To(Equal("|"))
}

// TestAddressThatDoesNotAnswer leaves time for the next one within the usual time limit of a source.
func TestAddressThatDoesNotAnswer(t *testing.T) {
	NewWithT(t).Expect(newDialer().Timeout).To(And(BeNumerically(">", 0), BeNumerically("<", time.Minute)))
}
