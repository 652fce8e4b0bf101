// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/framework/certs"
)

// mount is a folder with files as a kubelet makes it of a Secret: each file is a link through
// "..data" to a folder that is replaced as a whole.
type mount struct {
	dir   string
	count int
}

func newMount(dir string) *mount {
	GinkgoHelper()
	Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
	return &mount{dir: dir}
}

// write replaces all files, the way that a kubelet does.
func (m *mount) write(files map[string][]byte) {
	GinkgoHelper()
	previous, _ := os.Readlink(filepath.Join(m.dir, "..data"))
	m.count++
	current := filepath.Join(m.dir, time.Now().Format("..2006_01_02_15_04_05.")+string(rune('a'+m.count)))
	Expect(os.MkdirAll(current, 0o755)).To(Succeed())
	for name, content := range files {
		Expect(os.WriteFile(filepath.Join(current, name), content, 0o600)).To(Succeed())
		if _, err := os.Lstat(m.path(name)); err != nil {
			Expect(os.Symlink(filepath.Join("..data", name), m.path(name))).To(Succeed())
		}
	}
	temporary := filepath.Join(m.dir, "..data_tmp")
	Expect(os.Symlink(filepath.Base(current), temporary)).To(Succeed())
	Expect(os.Rename(temporary, filepath.Join(m.dir, "..data"))).To(Succeed())
	if previous != "" {
		Expect(os.RemoveAll(filepath.Join(m.dir, previous))).To(Succeed())
	}
}

func (m *mount) path(name string) string { return filepath.Join(m.dir, name) }

func (m *mount) writePair(pair certs.Pair, ca *certs.CA) {
	GinkgoHelper()
	m.write(map[string][]byte{"tls.crt": pair.Cert, "tls.key": pair.Key, "ca.crt": ca.Bundle()})
}

var _ = Describe("Certificates that are replaced on disk", func() {
	It("are served without a restart", func(ctx SpecContext) {
		ca := suite.host.CA()
		serving := newMount(suite.path("serving"))
		first, err := ca.Server("rotated-1", apiServer+"."+system+".svc", "127.0.0.1")
		Expect(err).NotTo(HaveOccurred())
		serving.writePair(first, ca)
		one := suite.extraReplica(ctx, apiServer+"-rotated", "tls-cert-file="+serving.path("tls.crt"), "tls-private-key-file="+serving.path("tls.key"))
		Expect(served(ctx, one)).To(Equal(serial(first)))
		kept := suite.admin.at(one)
		Expect(kept.get(ctx, "/readyz").code).To(Equal(http.StatusOK))

		for _, name := range []string{"rotated-2", "rotated-3"} {
			next, err := ca.Server(name, apiServer+"."+system+".svc", "127.0.0.1")
			Expect(err).NotTo(HaveOccurred())
			serving.writePair(next, ca)
			started := time.Now()
			Eventually(ctx, func() string { return served(ctx, one) }).WithTimeout(2 * time.Minute).Should(Equal(serial(next)))
			AddReportEntry("a new serving certificate is used after", time.Since(started).Round(time.Millisecond).String())
			Expect(kept.get(ctx, "/readyz").code).To(Equal(http.StatusOK), "open connections go on")
		}

		By("a certificate that does not match its key is not taken")
		serving.write(map[string][]byte{"tls.crt": first.Cert, "tls.key": []byte("nonsense"), "ca.crt": ca.Bundle()})
		Consistently(ctx, func() string { return served(ctx, one) }, 2*time.Second).ShouldNot(Equal(serial(first)))
	}, NodeTimeout(5*time.Minute))

	It("are used towards the observer without a restart", func(ctx SpecContext) {
		ca := suite.host.CA()
		files := newMount(suite.path("towards-the-observer"))
		first, err := ca.Client("towards-1", apiServer)
		Expect(err).NotTo(HaveOccurred())
		files.writePair(first, ca)
		one := suite.extraReplica(ctx, apiServer+"-towards", "observer-ca-file="+files.path("ca.crt"),
			"observer-client-cert-file="+files.path("tls.crt"), "observer-client-key-file="+files.path("tls.key"))
		namespace := suite.namespace(ctx)
		suite.createRelease(ctx, namespace, "app")
		preview := func() answer { return suite.admin.at(one).get(ctx, releasePath(namespace, "app", "preview")) }
		suite.observer.take()
		Expect(preview().code).To(Equal(http.StatusOK))
		Expect(suite.observer.certificates()).To(Equal([]string{serial(first)}))

		By("replacing the observer's CA and its certificate: not trusted any more")
		other, err := certs.NewCA(suite.path("other-ca"), "other", "other-ca")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() {
			Expect(suite.observer.Close()).To(Succeed())
			suite.observer.listen(ca)
		})
		Expect(suite.observer.Close()).To(Succeed())
		suite.observer.listen(other)
		got := preview()
		Expect(got.code).To(Equal(http.StatusServiceUnavailable))
		Expect(got.message()).To(ContainSubstring("the observer cannot be reached"))
		Expect(got.body).NotTo(ContainSubstring("127.0.0.1"), "addresses stay in the log")

		By("giving convoy-apiserver the new CA and a new client certificate")
		second, err := ca.Client("towards-2", apiServer)
		Expect(err).NotTo(HaveOccurred())
		files.writePair(second, other)
		Expect(preview().code).To(Equal(http.StatusOK))
		Expect(suite.observer.certificates()).To(Equal([]string{serial(second)}))

		By("leaving half a file: the answer says nothing of it, and it mends itself")
		files.write(map[string][]byte{"tls.crt": second.Cert[:20], "tls.key": second.Key, "ca.crt": other.Bundle()})
		Expect(suite.observer.Close()).To(Succeed())
		suite.observer.listen(other)
		got = preview()
		Expect(got.code).To(Equal(http.StatusServiceUnavailable))
		Expect(got.body).NotTo(ContainSubstring(suite.dir))
		files.writePair(second, other)
		Expect(preview().code).To(Equal(http.StatusOK))
	})
})

// served is the serial number of the certificate that a replica shows to a new connection.
func served(ctx context.Context, one *replica) string {
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: suite.host.CA().Pool(), ServerName: apiServer + "." + system + ".svc"}}
	connection, err := dialer.DialContext(ctx, "tcp", one.address())
	if err != nil {
		return err.Error()
	}
	defer connection.Close()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String()
}

func serial(pair certs.Pair) string {
	GinkgoHelper()
	block, _ := pem.Decode(pair.Cert)
	certificate, err := x509.ParseCertificate(block.Bytes)
	Expect(err).NotTo(HaveOccurred())
	return certificate.SerialNumber.String()
}
