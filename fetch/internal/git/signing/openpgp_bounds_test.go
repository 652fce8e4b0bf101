// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"bytes"
	"context"
	"crypto/rsa"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	. "github.com/onsi/gomega"
	"golang.org/x/crypto/ssh"

	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// TestOpenPGPKeysThatAreTooLong are not read, public or private, primary or not.
func TestOpenPGPKeysThatAreTooLong(t *testing.T) {
	for bits, fine := range map[int]bool{8192: true, 8200: false, 65528: false} {
		n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
		long := packet.NewRSAPublicKey(now, &rsa.PublicKey{N: n.SetBit(n, 0, 1), E: 65537})
		subkey := *long
		subkey.IsSubkey = true
		for name, key := range map[string]*packet.PublicKey{"primary": long, "subkey": &subkey} {
			g := NewWithT(t)
			var ring bytes.Buffer
			g.Expect(testsource.NewOpenPGPKey(t, now.Add(-day), 0).Entity.Serialize(&ring)).To(Succeed())
			g.Expect(key.Serialize(&ring)).To(Succeed())
			for form, content := range map[string]string{"raw": ring.String(), "armored": armored(t, "PGP PUBLIC KEY BLOCK", ring.String())} {
				_, err := NewVerifier(OpenPGP, "team/keys", map[string][]byte{"a.asc": []byte(content)})
				if fine {
					g.Expect(bounded(ring.Bytes())).To(Succeed())
					continue
				}
				g.Expect(errors.Is(err, fault.ErrSecret)).To(BeTrue(), "%s %s: %v", name, form, err)
				g.Expect(err).To(MatchError(And(ContainSubstring("the key a.asc of the Secret team/keys"), ContainSubstring("bits, and 8192 are the most"))))
			}
		}
		// A private key begins with the public one.
		var one bytes.Buffer
		NewWithT(t).Expect(long.Serialize(&one)).To(Succeed())
		one.Bytes()[0] ^= publicKey ^ privateKey
		NewWithT(t).Expect(bounded(one.Bytes()) == nil).To(Equal(fine), "%d bits", bits)
	}
}

// TestOpenPGPKeysBehindWhatIsNoPacket are not read either: the library passes over some of it.
func TestOpenPGPKeysBehindWhatIsNoPacket(t *testing.T) {
	g := NewWithT(t)
	n := new(big.Int).Lsh(big.NewInt(1), 65527)
	var long bytes.Buffer
	g.Expect(packet.NewRSAPublicKey(now, &rsa.PublicKey{N: n.SetBit(n, 0, 1), E: 65537}).Serialize(&long)).To(Succeed())
	for name, before := range map[string]string{"a stray byte": "\x00", "text": "x", "a packet of no length": "\xb7"} {
		ring := append([]byte(before), long.Bytes()...)
		_, err := NewVerifier(OpenPGP, "team/keys", map[string][]byte{"a.gpg": ring})
		g.Expect(errors.Is(err, fault.ErrSecret)).To(BeTrue(), "%s: %v", name, err)
		g.Expect(bounded(ring)).NotTo(Succeed(), name)
	}
}

// TestManySignaturesOfAKeyOverItself would all be checked.
func TestManySignaturesOfAKeyOverItself(t *testing.T) {
	for name, tc := range map[string]struct {
		kind packet.SignatureType
		most int
	}{
		"certifications": {packet.SigTypePositiveCert, maxOwn},
		"revocations":    {packet.SigTypeCertificationRevocation, maxRevocations},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			key := testsource.NewOpenPGPKey(t, now.Add(-day), 0).Entity
			var identity bytes.Buffer
			g.Expect(key.PrimaryKey.Serialize(&identity)).To(Succeed())
			for _, id := range key.Identities {
				g.Expect(id.UserId.Serialize(&identity)).To(Succeed())
				one := *id.SelfCertifications[0].Packet
				one.SigType = tc.kind
				g.Expect(one.SignUserId(id.UserId.Id, key.PrimaryKey, key.PrivateKey, at(now.Add(-time.Hour)))).To(Succeed())
				var signature bytes.Buffer
				g.Expect(one.Serialize(&signature)).To(Succeed())
				for n, fine := range map[int]bool{tc.most - 1: true, tc.most + 1: false} {
					ring := append(bytes.Clone(identity.Bytes()), bytes.Repeat(signature.Bytes(), n)...)
					_, err := NewVerifier(OpenPGP, "team/keys", map[string][]byte{"a.gpg": ring})
					if fine {
						g.Expect(err).NotTo(HaveOccurred())
						continue
					}
					g.Expect(errors.Is(err, fault.ErrSecret)).To(BeTrue(), "%d: %v", n, err)
					g.Expect(err).To(MatchError(ContainSubstring("250 signatures over itself are accepted of a key, and 100 revocations")))
				}
			}
		})
	}
}

// TestManySignaturesOfOneObject would each have all of it read.
func TestManySignaturesOfOneObject(t *testing.T) {
	g := NewWithT(t)
	key := testsource.NewOpenPGPKey(t, now.Add(-day), 0)
	signature := raw(t, key.SignAt(now.Add(-time.Hour))([]byte(rawCommit)))
	trusted := map[string]string{"a.asc": key.Public()}
	many := func(n int) string { return armored(t, "PGP SIGNATURE", strings.Repeat(signature, n)) }
	g.Expect(check(trusted, many(maxMade), now)).To(Succeed())
	err := check(trusted, many(maxMade+1), now)
	g.Expect(errors.Is(err, fault.ErrVerification)).To(BeTrue(), "%v", err)
	g.Expect(err).To(MatchError("it has more than 10 signatures; sign it again"))
	err = check(trusted, many(1)+strings.Repeat("\n", maxSignature), now)
	g.Expect(err).To(MatchError(ContainSubstring("65536 bytes are the most that are accepted")))
}

// TestVerificationEndsWithItsContext before it begins, and while the payload is read.
func TestVerificationEndsWithItsContext(t *testing.T) {
	key := testsource.NewOpenPGPKey(t, now.Add(-day), 0)
	signer, _ := testsource.NewSigner(t)
	for provider, tc := range map[string]struct {
		keys map[string][]byte
		sign func([]byte) string
	}{
		OpenPGP: {map[string][]byte{"a.asc": []byte(key.Public())}, key.SignAt(now.Add(-time.Hour))},
		SSH:     {map[string][]byte{"a.pub": ssh.MarshalAuthorizedKey(signer.PublicKey())}, testsource.SignSSH(t, signer, "git", "")},
	} {
		g := NewWithT(t)
		verifier, err := NewVerifier(provider, "team/keys", tc.keys)
		g.Expect(err).NotTo(HaveOccurred())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = verifier.Verify(ctx, "it", Signed{Payload: []byte(rawCommit), Signature: []byte(tc.sign([]byte(rawCommit)))}, now)
		g.Expect(errors.Is(err, context.Canceled)).To(BeTrue(), "%s: %v", provider, err)
		g.Expect(errors.Is(err, fault.ErrVerification)).To(BeFalse())
		_, err = until(ctx, []byte("payload")).Read(make([]byte, 10))
		g.Expect(err).To(MatchError(context.Canceled))
	}
}
