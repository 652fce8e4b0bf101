// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

// data is what the Secret holds.
func (w *world) data() map[string][]byte {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	object, err := w.tracker.Get(secrets, secretName.Namespace, secretName.Name)
	w.Expect(err).NotTo(HaveOccurred())
	return object.(*corev1.Secret).DeepCopy().Data
}

// put replaces what the Secret holds, as a person would.
func (w *world) put(data map[string][]byte) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	object, err := w.tracker.Get(secrets, secretName.Namespace, secretName.Name)
	w.Expect(err).NotTo(HaveOccurred())
	secret := w.next(object.(*corev1.Secret).DeepCopy())
	secret.Data = data
	w.Expect(w.tracker.Update(secrets, secret, secretName.Namespace)).To(Succeed())
}

// bring fills the Secret with an authority that lives as long as is said, as a person might:
// a year is long to wait for.
func (w *world) bring(lifetime time.Duration) {
	w.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.Expect(err).NotTo(HaveOccurred())
	template, err := newTemplate("brought", time.Now(), time.Now().Add(lifetime))
	w.Expect(err).NotTo(HaveOccurred())
	template.IsCA, template.BasicConstraintsValid = true, true
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	w.Expect(err).NotTo(HaveOccurred())
	encoded, err := x509.MarshalECPrivateKey(key)
	w.Expect(err).NotTo(HaveOccurred())
	w.put(map[string][]byte{
		keyCertificate: pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: der}),
		keyPrivate:     pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}),
	})
}

func (w *world) remove() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Expect(w.tracker.Delete(secrets, secretName.Namespace, secretName.Name)).To(Succeed())
}
