// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// identityServer answers with the user and groups of the client certificate.
func identityServer(t *testing.T, ca *CA, hosts ...string) *httptest.Server {
	t.Helper()
	pair, err := ca.Server("serving", hosts...)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	cert, err := tls.LoadX509KeyPair(pair.CertFile, pair.KeyFile)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		subject := r.TLS.PeerCertificates[0].Subject
		groups := slices.Sorted(slices.Values(subject.Organization)) // a set in the certificate
		_, _ = io.WriteString(w, subject.CommonName+"/"+strings.Join(groups, ","))
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool()}
	server.Config.ErrorLog = log.New(t.Output(), "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func get(config *rest.Config, url string) (string, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return "", err
	}
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func TestClientCertificateThroughKubeconfig(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	ca, err := NewCA(dir, "ca", "test-ca")
	g.Expect(err).NotTo(HaveOccurred())
	server := identityServer(t, ca, "127.0.0.1", "localhost")
	client, err := ca.Client("alice", "alice", "devs", "ops")
	g.Expect(err).NotTo(HaveOccurred())

	path := filepath.Join(dir, "kubeconfigs", "alice.kubeconfig")
	g.Expect(Kubeconfig{Cluster: "test", Server: server.URL, CA: ca.Bundle(), Client: &client}.Write(path)).To(Succeed())
	info, err := os.Stat(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))

	config, err := clientcmd.BuildConfigFromFlags("", path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(get(config, server.URL)).To(Equal("alice/devs,ops"))
}

func TestAuthoritiesDoNotTrustEachOther(t *testing.T) {
	g := NewWithT(t)
	ca, err := NewCA(t.TempDir(), "ca", "test-ca")
	g.Expect(err).NotTo(HaveOccurred())
	other, err := NewCA(t.TempDir(), "ca", "test-ca")
	g.Expect(err).NotTo(HaveOccurred())
	server := identityServer(t, ca, "127.0.0.1")
	client, err := other.Client("mallory", "mallory")
	g.Expect(err).NotTo(HaveOccurred())

	config := &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: ca.Bundle(), CertData: client.Cert, KeyData: client.Key}}
	_, err = get(config, server.URL)
	g.Expect(err).To(HaveOccurred())
}

func TestServerCertificateNames(t *testing.T) {
	ca, err := NewCA(t.TempDir(), "ca", "test-ca")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, test := range []struct {
		name  string
		given []string
		host  string
		want  bool
	}{
		{name: "a service name", given: []string{"api.convoy-system.svc", "127.0.0.1"}, host: "api.convoy-system.svc", want: true},
		{name: "an address", given: []string{"api.convoy-system.svc", "127.0.0.1"}, host: "127.0.0.1", want: true},
		{name: "another name", given: []string{"api.convoy-system.svc"}, host: "other.convoy-system.svc", want: false},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			pair, err := ca.Server("serving", test.given...)
			g.Expect(err).NotTo(HaveOccurred())
			loaded, err := tls.X509KeyPair(pair.Cert, pair.Key)
			g.Expect(err).NotTo(HaveOccurred())
			leaf, err := x509.ParseCertificate(loaded.Certificate[0])
			g.Expect(err).NotTo(HaveOccurred())
			_, err = leaf.Verify(x509.VerifyOptions{Roots: ca.Pool(), DNSName: test.host})
			g.Expect(err == nil).To(Equal(test.want))
		})
	}
}

func TestServerCertificateNeedsHosts(t *testing.T) {
	g := NewWithT(t)
	ca, err := NewCA(t.TempDir(), "ca", "test-ca")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = ca.Server("serving")
	g.Expect(err).To(HaveOccurred())
}

func TestKubeconfigNeedsOneIdentity(t *testing.T) {
	pair := &Pair{Cert: []byte("c"), Key: []byte("k")}
	for _, test := range []struct {
		name  string
		given Kubeconfig
		want  bool
	}{
		{name: "a token", given: Kubeconfig{Cluster: "c", Token: "t"}, want: true},
		{name: "a certificate", given: Kubeconfig{Cluster: "c", Client: pair}, want: true},
		{name: "both", given: Kubeconfig{Cluster: "c", Token: "t", Client: pair}},
		{name: "none", given: Kubeconfig{Cluster: "c"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := test.given.Encode()
			NewWithT(t).Expect(err == nil).To(Equal(test.want))
		})
	}
}

func TestKubeconfigIsWrittenByManyAtOnce(t *testing.T) {
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	var errs [50]error
	var group sync.WaitGroup
	for n := range errs {
		group.Go(func() { errs[n] = Kubeconfig{Cluster: "c", Token: fmt.Sprint(n)}.Write(path) })
	}
	group.Wait()
	g.Expect(errors.Join(errs[:]...)).NotTo(HaveOccurred())
	_, err := clientcmd.LoadFromFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	left, err := os.ReadDir(filepath.Dir(path))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left).To(HaveLen(1), "nothing else stays")
}

func TestServiceAccountKeysAreAPair(t *testing.T) {
	g := NewWithT(t)
	private, public, err := ServiceAccountKeys(t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.ReadFile(private)).To(HavePrefix("-----BEGIN PRIVATE KEY-----"))
	g.Expect(os.ReadFile(public)).To(HavePrefix("-----BEGIN PUBLIC KEY-----"))
	info, err := os.Stat(private)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))
}
