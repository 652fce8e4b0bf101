// SPDX-License-Identifier: Apache-2.0

package keybound

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/crypto/ssh"
)

func number(bits int) *big.Int {
	n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
	return n.SetBit(n, 0, 1)
}

func public(t testing.TB, bits int) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: number(bits), E: 65537})
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// private makes the numbers of a private key that belong to none.
func private(t testing.TB, bits int) []byte {
	t.Helper()
	n, half := number(bits), number(bits/2)
	der, err := asn1.Marshal(struct {
		Version                  int
		N                        *big.Int
		E                        int
		D, P, Q, Dp, Dq, Inverse *big.Int
	}{0, n, 65537, n, half, half, half, half, half})
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func inPEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func inJSON(t testing.TB, content any) []byte {
	t.Helper()
	data, err := json.Marshal(map[string]any{"a": []any{1, map[string]any{"rawBytes": content}}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// forms are how keys come.
func forms(t testing.TB, bits int) map[string][]byte {
	pkcs8, err := asn1.Marshal(struct {
		Version   int
		Algorithm struct{ ID asn1.ObjectIdentifier }
		Key       []byte
	}{0, struct{ ID asn1.ObjectIdentifier }{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}}, private(t, bits)})
	if err != nil {
		t.Fatal(err)
	}
	spki := public(t, bits)
	return map[string][]byte{
		"a public key":               inPEM("PUBLIC KEY", spki),
		"PKCS #1":                    inPEM("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&rsa.PublicKey{N: number(bits), E: 3})),
		"the second":                 append(inPEM("PUBLIC KEY", public(t, 2048)), inPEM("PUBLIC KEY", spki)...),
		"a private key":              inPEM("RSA PRIVATE KEY", private(t, bits)),
		"a private key in PKCS #8":   inPEM("PRIVATE KEY", pkcs8),
		"DER in something":           append(append([]byte("payload\x30"), spki...), "signature"...),
		"JSON":                       inJSON(t, spki),
		"JSON in another alphabet":   inJSON(t, base64.RawURLEncoding.EncodeToString(spki)),
		"PEM in JSON":                inJSON(t, string(inPEM("PUBLIC KEY", spki))),
		"PEM in JSON in JSON":        inJSON(t, inJSON(t, inPEM("PUBLIC KEY", spki))),
		"a length of too many bytes": append([]byte{0x30, 0x84, 0, 0, byte(len(spki) >> 8), byte(len(spki))}, spki...),
		"a sequence without length":  append([]byte{0x30, 0x80, 0x02, 0x83, 0, byte((bits/8 + 1) >> 8), byte(bits/8 + 1)}, append(append([]byte{0}, number(bits).Bytes()...), 2, 1, 3)...),
	}
}

func TestLongKeysAreFoundWhereverTheyAre(t *testing.T) {
	for name, data := range forms(t, MaxBits) {
		NewWithT(t).Expect(Check(data, MaxBits)).To(Succeed(), name)
	}
	for name, data := range forms(t, MaxBits+8) {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			err := Check(data, MaxBits)
			var refusal Refusal
			g.Expect(errors.As(err, &refusal)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring("of 8200 bits, and 8192 are the most")))
			g.Expect(Check(data, MaxIdentityBits)).To(Succeed())
		})
	}
}

func TestOtherKeysAreLeftAlone(t *testing.T) {
	g := NewWithT(t)
	noise := make([]byte, 1<<20)
	_, _ = rand.Read(noise)
	key, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	g.Expect(err).NotTo(HaveOccurred())
	for name, data := range map[string][]byte{
		"nothing": nil, "text": []byte("token"), "noise": noise, "a curve": inPEM("PUBLIC KEY", der), "cut off": public(t, 9000)[:600],
		"no JSON": []byte(`{"a": `), "nested": []byte(strings.Repeat("[", 20_000)), "zeros": make([]byte, 1<<20), "sequences": bytes.Repeat([]byte{0x30, 0x80, 2}, 1<<18),
	} {
		g.Expect(Check(data, MaxBits)).To(Succeed(), name)
	}
}

func TestRoundsOfEncryptedKeys(t *testing.T) {
	g := NewWithT(t)
	_, key, err := ed25519.GenerateKey(rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	block, err := ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte("secret"))
	g.Expect(err).NotTo(HaveOccurred())
	options := []byte("bcrypt\x00\x00\x00\x18\x00\x00\x00\x10")
	at := bytes.Index(block.Bytes, options) + len(options) + 16
	for rounds, fine := range map[uint32]bool{16: true, 100: true, 101: false, 1 << 31: false} {
		binary.BigEndian.PutUint32(block.Bytes[at:], rounds)
		err := Check(pem.EncodeToMemory(block), MaxIdentityBits)
		if fine {
			g.Expect(err).NotTo(HaveOccurred())
			continue
		}
		g.Expect(err).To(MatchError(ContainSubstring("rounds of bcrypt, and 100 are the most")))
	}
	plain, err := ssh.MarshalPrivateKey(key, "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(Check(pem.EncodeToMemory(plain), MaxIdentityBits)).To(Succeed())
}

// TestEncryptedKeys shows their length to nobody.
func TestEncryptedKeys(t *testing.T) {
	g := NewWithT(t)
	for size, fine := range map[int]bool{9500: true, 10 << 10: true, 10<<10 + 1: false} {
		old := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-128-CBC,00"}, Bytes: make([]byte, size)})
		for _, data := range [][]byte{old, inPEM("ENCRYPTED PRIVATE KEY", make([]byte, size))} {
			g.Expect(Check(data, MaxIdentityBits) == nil).To(Equal(fine), "%d bytes", size)
		}
	}
}

func TestManyKeys(t *testing.T) {
	g := NewWithT(t)
	one := inPEM("CERTIFICATE", []byte("x"))
	g.Expect(Check(bytes.Repeat(one, 1000), MaxBits)).To(Succeed())
	g.Expect(Check(bytes.Repeat(one, 1001), MaxBits)).To(MatchError(ContainSubstring("more than 1000 keys or certificates")))
	data := map[string][]byte{"a": bytes.Repeat(one, 30), "b": bytes.Repeat(one, 20), "c": one, "d": nil}
	g.Expect(Few(data, []string{"a", "b", "d"})).To(Succeed())
	g.Expect(Few(data, []string{"a", "b", "c"})).To(MatchError(ContainSubstring("more than the 50 keys or certificates")))
}

func FuzzCheck(f *testing.F) {
	for _, data := range forms(f, MaxBits+8) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := Check(data, MaxBits)
		// Whatever is read as a key has been looked at.
		key, _ := x509.ParsePKIXPublicKey(data)
		if key, ok := key.(*rsa.PublicKey); ok && (err != nil) != (key.N.BitLen() > MaxBits) {
			t.Fatalf("%d bits: %v", key.N.BitLen(), err)
		}
	})
}
