// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"kumodo.io/convoy/internal/certificate"
	"kumodo.io/convoy/observer/internal/options"
)

func TestServingWithCertificatesOfItsOwn(t *testing.T) {
	g := NewWithT(t)
	client := fake.NewClientset()
	o := &options.Serving{CertificateSecret: "convoy-system/convoy-ca", AllowedClientNames: []string{"convoy-apiserver"}}
	keeper, err := newKeeper(o, client)
	g.Expect(err).NotTo(HaveOccurred())
	wrap, err := secure(t.Context(), o, keeper)
	g.Expect(err).NotTo(HaveOccurred())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("answer")) })}
	go func() { _ = server.Serve(wrap(listener)) }()
	t.Cleanup(func() { _ = server.Close() })
	ask := func(config *tls.Config) error {
		transport := &http.Transport{TLSClientConfig: config}
		defer transport.CloseIdleConnections()
		response, err := (&http.Client{Transport: transport}).Get("https://" + listener.Addr().String())
		if err == nil {
			err = response.Body.Close()
		}
		return err
	}
	g.Expect(ask(&tls.Config{InsecureSkipVerify: true})).NotTo(Succeed(), "there is no certificate yet")

	keep(t, keeper)
	apiServer, other := identityOf(t, client, "convoy-apiserver"), identityOf(t, client, "somebody")
	for _, test := range []struct {
		name   string
		config *tls.Config
		want   bool
	}{
		{"the apiserver", &tls.Config{RootCAs: apiServer.Roots, Certificates: []tls.Certificate{apiServer.Certificate}, ServerName: "convoy-observer.convoy-system.svc"}, true},
		{"another name", &tls.Config{RootCAs: apiServer.Roots, Certificates: []tls.Certificate{other.Certificate}, ServerName: "convoy-observer.convoy-system.svc"}, false},
		{"no certificate", &tls.Config{RootCAs: apiServer.Roots, ServerName: "convoy-observer.convoy-system.svc"}, false},
		{"a server's certificate", &tls.Config{RootCAs: apiServer.Roots, Certificates: []tls.Certificate{keeper.Current().Certificate}, ServerName: "convoy-observer.convoy-system.svc"}, false},
		{"another server is meant", &tls.Config{RootCAs: apiServer.Roots, Certificates: []tls.Certificate{apiServer.Certificate}, ServerName: "convoy-observer.another.svc"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := ask(test.config)
			NewWithT(t).Expect(err == nil).To(Equal(test.want), "%v", err)
		})
	}
}

// keep runs a keeper until the test ends, and returns when it has something.
func keep(t *testing.T, keeper *certificate.Keeper) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = keeper.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	NewWithT(t).Eventually(keeper.Current).WithTimeout(10 * time.Second).ShouldNot(BeNil())
}

// identityOf is what another process has as a client.
func identityOf(t *testing.T, client *fake.Clientset, name string) *certificate.Identity {
	t.Helper()
	keeper, err := certificate.New(certificate.Options{
		Client: client, Secret: types.NamespacedName{Namespace: "convoy-system", Name: "convoy-ca"},
		Subject: certificate.Subject{CommonName: name, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	keep(t, keeper)
	return keeper.Current()
}
