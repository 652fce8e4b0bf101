// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/testsource"
)

const (
	day = 24 * time.Hour
)

// now is the time of the checks.
var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(when time.Time) *packet.Config { return &packet.Config{Time: func() time.Time { return when }} }

// raw takes the armor off.
func raw(t *testing.T, armored string) string {
	t.Helper()
	block, err := armor.Decode(strings.NewReader(armored))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	content, err := io.ReadAll(block.Body)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(content)
}

// armored puts one around.
func armored(t *testing.T, kind, content string) string {
	t.Helper()
	var text bytes.Buffer
	w, err := armor.Encode(&text, kind, nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	_, err = io.WriteString(w, content)
	NewWithT(t).Expect(errors.Join(err, w.Close())).To(Succeed())
	return text.String() + "\n"
}

// prolong signs the key's identity anew, with another lifetime.
func prolong(t *testing.T, key *testsource.OpenPGPKey, when time.Time, lifetime time.Duration) {
	t.Helper()
	seconds := uint32(lifetime / time.Second)
	for _, identity := range key.Entity.Identities {
		old := identity.SelfCertifications[0].Packet
		self := *old
		self.CreationTime, self.KeyLifetimeSecs = when, &seconds
		NewWithT(t).Expect(self.SignUserId(identity.UserId.Id, key.Entity.PrimaryKey, key.Entity.PrivateKey, at(when))).To(Succeed())
		identity.SelfCertifications = []*packet.VerifiableSignature{packet.NewVerifiableSig(&self)}
	}
}

// check verifies a signature with the keys of a Secret.
func check(data map[string]string, signature string, when time.Time) error {
	trusted := map[string][]byte{}
	for name, key := range data {
		trusted[name] = []byte(key)
	}
	verifier, err := NewVerifier(OpenPGP, "team/keys", trusted)
	if err == nil {
		_, err = verifier.Verify(context.Background(), "it", Signed{Payload: []byte(rawCommit), Signature: []byte(signature)}, when)
	}
	return err
}

// together are ways to give two copies of a key.
func together(t *testing.T, one, other string) map[string]map[string]string {
	t.Helper()
	return map[string]map[string]string{
		"two files":        {"a.asc": one, "b.asc": other},
		"two files, back":  {"a.asc": other, "b.asc": one},
		"two blocks":       {"a.asc": one + other},
		"two blocks, back": {"a.asc": other + one},
		"one block":        {"a.asc": armored(t, openpgp.PublicKeyType, raw(t, one)+raw(t, other))},
		"one block, back":  {"a.asc": armored(t, openpgp.PublicKeyType, raw(t, other)+raw(t, one))},
		"binary":           {"a.gpg": raw(t, one) + raw(t, other)},
		"binary and text":  {"a.gpg": raw(t, one), "b.asc": other},
	}
}

// TestCopiesOfAKey has the Secret hold an older copy of a key beside a newer one.
func TestCopiesOfAKey(t *testing.T) {
	for _, tc := range []struct {
		name string
		// lifetime of the key, which is 100 days old.
		lifetime time.Duration
		// before makes the older copy, change the newer one.
		before, change func(t *testing.T, key *testsource.OpenPGPKey)
		// newer says that the newer copy signs.
		newer    bool
		wantText string
	}{
		{name: "nothing new", change: func(*testing.T, *testsource.OpenPGPKey) {}},
		{name: "revoked", change: func(_ *testing.T, key *testsource.OpenPGPKey) { key.Revoke(now.Add(-time.Hour)) }, wantText: "is revoked"},
		{name: "prolonged", lifetime: 99 * day, change: func(t *testing.T, key *testsource.OpenPGPKey) { prolong(t, key, now.Add(-10*day), 200*day) }},
		{name: "shortened", lifetime: 200 * day, change: func(t *testing.T, key *testsource.OpenPGPKey) { prolong(t, key, now.Add(-2*time.Hour), 99*day) }, wantText: "is expired"},
		{name: "identity revoked", change: func(t *testing.T, key *testsource.OpenPGPKey) {
			for _, identity := range key.Entity.Identities {
				revocation := *identity.SelfCertifications[0].Packet
				revocation.SigType, revocation.CreationTime = packet.SigTypeCertificationRevocation, now.Add(-time.Hour)
				NewWithT(t).Expect(revocation.SignUserId(identity.UserId.Id, key.Entity.PrimaryKey, key.Entity.PrivateKey, at(now.Add(-time.Hour)))).To(Succeed())
				identity.Revocations = append(identity.Revocations, packet.NewVerifiableSig(&revocation))
			}
		}, wantText: "does not vouch for"},
		{name: "a subkey more", newer: true, change: addSubkey},
		{name: "a subkey more, and the older copy's signs", before: addSubkey, change: addSubkey},
		{name: "subkey revoked", before: addSubkey, change: func(t *testing.T, key *testsource.OpenPGPKey) {
			NewWithT(t).Expect(key.Entity.Subkeys[len(key.Entity.Subkeys)-1].Revoke(packet.KeyCompromised, "lost", at(now.Add(-time.Hour)))).To(Succeed())
		}, wantText: "is revoked"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			key := testsource.NewOpenPGPKey(t, now.Add(-100*day), tc.lifetime)
			if tc.before != nil {
				tc.before(t, key)
			}
			older := key.Public()
			sign := key.SignAt(now.Add(-50 * day))
			signature := sign([]byte(rawCommit))
			tc.change(t, key)
			if tc.newer {
				signature = sign([]byte(rawCommit))
			}
			for how, data := range together(t, older, key.Public()) {
				err := check(data, signature, now)
				if tc.wantText == "" {
					NewWithT(t).Expect(err).NotTo(HaveOccurred(), how)
					continue
				}
				NewWithT(t).Expect(errors.Is(err, fault.ErrVerification)).To(BeTrue(), "%s: %v", how, err)
				NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tc.wantText)), how)
			}
		})
	}
}

// addSubkey adds a key that signs, 60 days before.
func addSubkey(t *testing.T, key *testsource.OpenPGPKey) {
	t.Helper()
	NewWithT(t).Expect(key.Entity.AddSigningSubkey(at(now.Add(-60 * day)))).To(Succeed())
}

// TestACopyThatCannotBeRead may be the one that says that the key is revoked. The library passes
// over it when it is not alone.
func TestACopyThatCannotBeRead(t *testing.T) {
	g := NewWithT(t)
	key, other := testsource.NewOpenPGPKey(t, now.Add(-100*day), 0), testsource.NewOpenPGPKey(t, now.Add(-100*day), 0)
	signature, good := key.SignAt(now.Add(-day))([]byte(rawCommit)), key.Public()
	key.Revoke(now.Add(-time.Hour))
	key.Entity.Identities = nil // as servers of keys give them
	revoked := raw(t, key.Public())
	unread := map[string]string{"a.asc": good, "b.gpg": raw(t, other.Public()) + revoked}
	err := check(unread, signature, now)
	g.Expect(errors.Is(err, fault.ErrSecret)).To(BeTrue(), "%v", err)
	g.Expect(err).To(MatchError(ContainSubstring("the key b.gpg of the Secret team/keys holds a copy of the OpenPGP key")))
	delete(unread, "a.asc")
	g.Expect(check(unread, signature, now)).To(MatchError(ContainSubstring("does not hold")), "what concerns another key is passed over")
}

// TestWhyASignatureIsNotAccepted says what is wrong rather than what the library thinks of it.
func TestWhyASignatureIsNotAccepted(t *testing.T) {
	signing := func(t *testing.T, key *testsource.OpenPGPKey, config *packet.Config) string {
		var b bytes.Buffer
		NewWithT(t).Expect(openpgp.DetachSign(&b, []*openpgp.Entity{key.Entity}, strings.NewReader(rawCommit), config)).To(Succeed())
		return armored(t, "PGP SIGNATURE", b.String())
	}
	signed := at(now.Add(-day))
	for _, tc := range []struct {
		name string
		make func(t *testing.T, key *testsource.OpenPGPKey) (signature string)
		want string
	}{
		{"revoked subkey", func(t *testing.T, key *testsource.OpenPGPKey) string {
			addSubkey(t, key)
			signature := signing(t, key, signed)
			NewWithT(t).Expect(key.Entity.Subkeys[len(key.Entity.Subkeys)-1].Revoke(packet.KeySuperseded, "", at(now.Add(-time.Hour)))).To(Succeed())
			return signature
		}, "which is revoked"},
		{"revoked subkey, compromised", func(t *testing.T, key *testsource.OpenPGPKey) string {
			addSubkey(t, key)
			signature := signing(t, key, signed)
			NewWithT(t).Expect(key.Entity.Subkeys[len(key.Entity.Subkeys)-1].Revoke(packet.KeyCompromised, "", at(now.Add(-time.Hour)))).To(Succeed())
			return signature
		}, "which is revoked"},
		{"expired subkey", func(t *testing.T, key *testsource.OpenPGPKey) string {
			config := at(now.Add(-60 * day))
			config.KeyLifetimeSecs = uint32((59*day + 12*time.Hour) / time.Second)
			NewWithT(t).Expect(key.Entity.AddSigningSubkey(config)).To(Succeed())
			return signing(t, key, signed)
		}, "which is expired"},
		{"short subkey", func(t *testing.T, key *testsource.OpenPGPKey) string {
			config := at(now.Add(-60 * day))
			config.Algorithm, config.RSABits, config.MinRSABits = packet.PubKeyAlgoRSA, 1024, 1023
			NewWithT(t).Expect(key.Entity.AddSigningSubkey(config)).To(Succeed())
			config.Time = signed.Time
			return signing(t, key, config)
		}, "which is an RSA key of 1024 bits; 2048 are the least"},
		{"subkey that nobody vouches for", func(t *testing.T, key *testsource.OpenPGPKey) string {
			addSubkey(t, key)
			signature := signing(t, key, signed)
			key.Entity.Subkeys[len(key.Entity.Subkeys)-1].Bindings = nil
			return signature
		}, "does not vouch for"},
		{"digest that the library does not read", func(t *testing.T, key *testsource.OpenPGPKey) string {
			packets := []byte(raw(t, signing(t, key, signed)))
			hash := bytes.Index(packets, []byte{4, 0, byte(packet.PubKeyAlgoEdDSA)}) + 3
			packets[hash] = 3
			return armored(t, "PGP SIGNATURE", string(packets))
		}, "it has an OpenPGP signature over a RIPEMD-160 digest, which is too weak; sign with SHA-256 or better"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			key := testsource.NewOpenPGPKey(t, now.Add(-100*day), 0)
			signature := tc.make(t, key)
			err := check(map[string]string{"a.asc": key.Public()}, signature, now)
			g.Expect(errors.Is(err, fault.ErrVerification)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}
