// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func TestKubeconfigRefused(t *testing.T) {
	type change = func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)
	where := `kubeconfig in key "kubeconfig" of Secret web/target: `
	for _, test := range []struct {
		name  string
		given change
		want  string
	}{
		{"exec", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Exec = &clientcmdapi.ExecConfig{Command: "/bin/" + canary, APIVersion: "client.authentication.k8s.io/v1"}
		}, "users[u].user.exec is refused: it would run a program"},
		{"auth-provider", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: "oidc", Config: map[string]string{"id-token": canary}}
		}, "users[u].user.auth-provider is refused: it would run a program"},
		{"tokenFile", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.TokenFile = "/etc/" + canary },
			"users[u].user.tokenFile is refused: it would read a file"},
		{"client-certificate", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.ClientCertificate = "/etc/" + canary },
			"users[u].user.client-certificate is refused: it would read a file"},
		{"client-key", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.ClientKey = "/etc/" + canary },
			"users[u].user.client-key is refused: it would read a file"},
		{"certificate-authority", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.CertificateAuthority = "/etc/" + canary },
			"clusters[c].cluster.certificate-authority is refused: it would read a file"},
		{"no server", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = "" },
			"clusters[c].cluster.server is not set"},
		{"server without scheme", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = "localhost:6443" },
			"clusters[c].cluster.server is not a URL with a host"},
		{"server of another scheme", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = "ftp://localhost" },
			"clusters[c].cluster.server must be a URL of scheme https or http"},
		{"server with credentials", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.Server = "https://u:" + canary + "@localhost"
		},
			"clusters[c].cluster.server must not hold credentials"},
		{"proxy with credentials", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.ProxyURL = "http://u:" + canary + "@localhost"
		}, "clusters[c].cluster.proxy-url must not hold credentials"},
		{"proxy that is no URL", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.ProxyURL = "http://%" + canary },
			"clusters[c].cluster.proxy-url is not a URL with a host"},
		{"token with a line break", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.Token = canary + "\n" },
			"users[u].user.token holds a line break"},
		{"CA that is none", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.CertificateAuthorityData = []byte(canary) },
			"unable to load root certificates"},
		{"CA and insecure", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.InsecureSkipTLSVerify = true },
			"insecure"},
		{"client certificate without key", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Token, u.ClientCertificateData = "", []byte(canary)
		}, "client"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			f := newFakeCluster(t)
			connector := New(Options{Secrets: kubeconfigSecret(f.kubeconfig(t, canary, test.given))})

			_, err := connector.Connect(t.Context(), agentless())

			g.Expect(err).To(MatchError(ErrInvalid))
			g.Expect(err.Error()).To(ContainSubstring(test.want))
			g.Expect(err.Error()).NotTo(ContainSubstring(canary))
			if strings.Contains(test.want, "[") {
				g.Expect(err.Error()).To(ContainSubstring(where))
			}
			g.Expect(f.asked()).To(BeEmpty())
		})
	}
}

func TestKubeconfigUnusable(t *testing.T) {
	contexts := "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
	clusters := "clusters: [{name: c, cluster: {server: 'https://localhost'}}]\n"
	for _, test := range []struct{ name, given, want string }{
		{"not YAML", "{" + canary, "cannot be parsed"},
		{"plain text", canary, "cannot be parsed"},
		{"wrong type", "clusters: " + canary, "cannot be parsed"},
		{"bad base64", "users: [{name: u, user: {client-key-data: '" + canary + "'}}]", "cannot be parsed"},
		{"another kind", "{apiVersion: v1, kind: Secret, stringData: {a: " + canary + "}}", "cannot be parsed"},
		{"no current context", contexts + clusters, "current-context is not set"},
		{"unknown context", "current-context: other\n" + contexts + clusters, `current-context "other" is not among contexts`},
		{"unknown cluster", "current-context: x\n" + contexts, `contexts[x].context.cluster "c" is not among clusters`},
		{"unknown user", "current-context: x\n" + contexts + clusters, `contexts[x].context.user "u" is not among users`},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := New(Options{Secrets: kubeconfigSecret([]byte(test.given))}).Connect(t.Context(), agentless())
			g.Expect(err).To(MatchError(ErrInvalid))
			g.Expect(err.Error()).To(ContainSubstring(test.want))
			g.Expect(err.Error()).NotTo(ContainSubstring(canary))
			g.Expect(err.Error()).NotTo(ContainSubstring(base64.StdEncoding.EncodeToString([]byte(canary))))
		})
	}
}

// What the current context does not use is not looked at.
func TestKubeconfigOtherContexts(t *testing.T) {
	g := NewWithT(t)
	kubeconfig := `
current-context: x
contexts: [{name: x, context: {cluster: c}}, {name: other, context: {cluster: d, user: v}}]
clusters:
- {name: c, cluster: {server: 'https://localhost:6443/prefix'}}
- {name: d, cluster: {server: 'https://localhost', certificate-authority: /ca.crt}}
users: [{name: v, user: {tokenFile: /token}}]
`
	connection, err := New(Options{Secrets: kubeconfigSecret([]byte(kubeconfig))}).Connect(t.Context(), agentless())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(connection.Server()).To(Equal("https://localhost:6443/prefix"))
}

func TestKubeconfigSecret(t *testing.T) {
	f := newFakeCluster(t)
	broken := errors.New("host is away")
	for _, test := range []struct {
		name         string
		secrets      Secrets
		cluster      *corev1alpha1.Cluster
		want         string
		wantInvalid  bool
		wantNotFound bool
	}{{
		name:         "no Secret",
		secrets:      &fakeSecrets{},
		cluster:      agentless(),
		want:         "cluster edge: invalid cluster configuration: Secret web/target does not exist",
		wantInvalid:  true,
		wantNotFound: true,
	}, {
		name:        "no such key",
		secrets:     &fakeSecrets{data: map[string]map[string][]byte{"target": {"value": []byte(canary), "a": nil}}},
		cluster:     agentless(),
		want:        `Secret web/target has no key "kubeconfig", its keys are ["a" "value"]`,
		wantInvalid: true,
	}, {
		name:    "another key",
		secrets: &fakeSecrets{data: map[string]map[string][]byte{"target": {"value": f.kubeconfig(t, canary)}}},
		cluster: agentless(func(c *corev1alpha1.Cluster) { c.Spec.Agentless.Auth.Kubeconfig.SecretRef.Key = "value" }),
	}, {
		name:    "Secrets cannot be read",
		secrets: failingSecrets{broken},
		cluster: agentless(),
		want:    "cluster edge: reading the kubeconfig: host is away",
	}, {
		name:        "no reference",
		secrets:     &fakeSecrets{},
		cluster:     agentless(func(c *corev1alpha1.Cluster) { c.Spec.Agentless.Auth.Kubeconfig = nil }),
		want:        "spec.agentless.auth.kubeconfig is required",
		wantInvalid: true,
	}} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := New(Options{Secrets: test.secrets}).Connect(t.Context(), test.cluster)
			g.Expect(errors.Is(err, ErrInvalid)).To(Equal(test.wantInvalid))
			g.Expect(apierrors.IsNotFound(err)).To(Equal(test.wantNotFound))
			if test.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(test.want)))
			g.Expect(err.Error()).NotTo(ContainSubstring(canary))
		})
	}
}
