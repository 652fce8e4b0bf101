// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	genericapiserver "k8s.io/apiserver/pkg/server"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"

	"kumodo.io/convoy/internal/certificate"
)

var secretName = types.NamespacedName{Namespace: "convoy-system", Name: "convoy-ca"}

// installation is Certificates on a host with one APIService and no Secret.
type installation struct {
	*WithT
	*Certificates
	kube     *fake.Clientset
	services *dynamicfake.FakeDynamicClient
	serving  *Serving
}

func newInstallation(t *testing.T) *installation {
	i := &installation{WithT: NewWithT(t)}
	i.kube = fake.NewClientset()
	i.services = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{apiServices: "APIServiceList"},
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": names[0]}, "spec": map[string]any{},
		}})
	var err error
	i.serving, err = NewServing("convoy-apiserver.convoy-system.svc")
	i.Expect(err).NotTo(HaveOccurred())
	i.Certificates, err = build(Config{Secret: secretName, APIServices: names[:1], Serving: i.serving}, i.kube, i.services, clock.RealClock{})
	i.Expect(err).NotTo(HaveOccurred())
	return i
}

func (i *installation) run(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); i.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
}

func (i *installation) ready() error {
	return i.Check(httptest.NewRequest(http.MethodGet, "/readyz", nil))
}

// serve serves with the library, by the certificate of i, and returns the address.
func (i *installation) serve(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	i.Expect(err).NotTo(HaveOccurred())
	stop := make(chan struct{})
	info := &genericapiserver.SecureServingInfo{Listener: listener, Cert: i.serving}
	stopped, _, err := info.Serve(http.NotFoundHandler(), time.Second, stop)
	i.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { close(stop); <-stopped })
	return listener.Addr().String()
}

func TestTheLibraryServesWithWhatIsMadeHere(t *testing.T) {
	i := newInstallation(t)
	address := i.serve(t)
	untrusted, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	i.Expect(err).NotTo(HaveOccurred(), "probes are answered from the beginning")
	i.Expect(untrusted.Close()).To(Succeed())
	i.Expect(i.ready()).To(MatchError(ContainSubstring("convoy-system/convoy-ca")))
	_, err = i.ObserverTLS()
	i.Expect(err).To(HaveOccurred())

	i.run(t)
	i.Eventually(i.ready).WithTimeout(10 * time.Second).Should(Succeed())
	service, err := i.services.Resource(apiServices).Get(t.Context(), names[0], metav1.GetOptions{})
	i.Expect(err).NotTo(HaveOccurred())
	published, err := caBundle(service)
	i.Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	i.Expect(roots.AppendCertsFromPEM(published)).To(BeTrue())
	i.Eventually(func() error {
		connection, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, ServerName: "convoy-apiserver.convoy-system.svc"})
		if err != nil {
			return err
		}
		return connection.Close()
	}).WithTimeout(10 * time.Second).Should(Succeed())
}

func TestTheObserverIsReachedByMutualTLS(t *testing.T) {
	i := newInstallation(t)
	i.run(t)
	i.Eventually(i.ready).WithTimeout(10 * time.Second).Should(Succeed())
	// The observer is another process with a keeper of its own.
	observer, err := certificate.New(certificate.Options{Client: i.kube, Secret: secretName, Subject: certificate.Subject{
		CommonName: "convoy-observer", DNSNames: []string{"convoy-observer.convoy-system.svc"}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}})
	i.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = observer.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	i.Eventually(observer.Current).WithTimeout(10 * time.Second).ShouldNot(BeNil())

	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.TLS.PeerCertificates[0].Subject.CommonName))
	}))
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{observer.Current().Certificate},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: observer.Current().Roots,
	}
	server.StartTLS()
	defer server.Close()
	config, err := i.ObserverTLS()
	i.Expect(err).NotTo(HaveOccurred())
	transport := &http.Transport{TLSClientConfig: config.Clone()}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get(server.URL)
	i.Expect(err).NotTo(HaveOccurred(), "whatever the host in the URL")
	defer response.Body.Close()
	i.Expect(io.ReadAll(response.Body)).To(Equal([]byte("convoy-apiserver")))

	config.ServerName = "another.convoy-system.svc"
	_, err = tls.Dial("tcp", server.Listener.Addr().String(), config)
	var wrongName x509.HostnameError
	i.Expect(errors.As(err, &wrongName)).To(BeTrue(), "%v", err)
}
