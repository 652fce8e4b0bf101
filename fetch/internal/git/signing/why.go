// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"kumodo.io/convoy/fetch/internal/fault"
)

// weakDigests are those that nothing is signed over any more, by their numbers in OpenPGP. The
// library does not even read signatures over some of them.
var weakDigests = map[byte]string{1: "MD5", 2: "SHA-1", 3: "RIPEMD-160"}

// failed says what is wrong with a signature of which the library says err.
func (k *keyring) failed(what string, signature []byte, err error, now time.Time, config *packet.Config) error {
	id, digest := outline(signature)
	name := "(unnamed)"
	if id != 0 {
		name = fmt.Sprintf("%016X", id)
	}
	var bad pgperrors.SignatureError
	wrong := k.wrong(id, now, config)
	switch {
	case weakDigests[digest] != "":
		return fault.NewUnverified("%s has an OpenPGP signature over a %s digest, which is too weak; sign with SHA-256 or better", what, weakDigests[digest])
	case errors.Is(err, pgperrors.ErrUnknownIssuer):
		return fault.NewUnverified("%s is signed with the OpenPGP key %s, which the Secret %s does not hold", what, name, k.secret)
	case errors.Is(err, pgperrors.ErrSignatureExpired):
		return fault.NewUnverified("%s has an OpenPGP signature that is expired or from the future", what)
	case errors.As(err, &bad):
		return fault.NewUnverified("the signature of %s with the OpenPGP key %s is not valid: %s", what, name, (*fault.Scrubber)(nil).Clean(bad.Error()))
	case wrong != "":
		return fault.NewUnverified("%s is signed with the OpenPGP key %s, which %s", what, name, wrong)
	case errors.Is(err, pgperrors.ErrKeyExpired):
		return fault.NewUnverified("%s is signed with the OpenPGP key %s, which was expired then", what, name)
	}
	return fault.NewUnverified("the OpenPGP signature of %s cannot be accepted: %s", what, (*fault.Scrubber)(nil).Clean(err.Error()))
}

// wrong says what is wrong with a key that the Secret holds, "" for nothing or another key.
func (k *keyring) wrong(id uint64, now time.Time, config *packet.Config) string {
	if id == 0 {
		return ""
	}
	for _, key := range k.keys.KeysById(id) {
		self, err := key.Entity.VerifyPrimaryKey(now, config)
		if reason := state(err); reason != "" {
			return reason
		}
		for _, subkey := range key.Entity.Subkeys {
			if subkey.PublicKey != key.PublicKey {
				continue
			}
			if self, err = subkey.Verify(now, config); err != nil {
				if reason := state(err); reason != "" {
					return reason
				}
			}
		}
		primary := fmt.Sprintf("%016X", key.Entity.PrimaryKey.KeyId)
		switch bits := tooShort(key.PublicKey, config); {
		case bits > 0:
			return fmt.Sprintf("is an RSA key of %d bits; 2048 are the least", bits)
		case tooShort(key.Entity.PrimaryKey, config) > 0:
			return fmt.Sprintf("belongs to %s, an RSA key of less than 2048 bits", primary)
		case self == nil || err != nil:
			return fmt.Sprintf("its primary key %s does not vouch for as the Secret holds it; export the key again", primary)
		case self.FlagsValid && !self.FlagSign:
			return "is not for signing"
		}
	}
	return ""
}

func state(err error) string {
	switch {
	case errors.Is(err, pgperrors.ErrKeyRevoked):
		return "is revoked"
	case errors.Is(err, pgperrors.ErrKeyExpired):
		return "is expired"
	}
	return ""
}

// tooShort returns the length of an RSA key that is too short, 0 for any other.
func tooShort(key *packet.PublicKey, config *packet.Config) uint16 {
	switch key.PubKeyAlgo {
	case packet.PubKeyAlgoRSA, packet.PubKeyAlgoRSASignOnly:
		if bits, err := key.BitLength(); err == nil && bits < config.MinimumRSABits() {
			return bits
		}
	}
	return 0
}

// outline returns the key and the digest that a signature says it was made with, 0 where that
// cannot be read.
func outline(armored []byte) (id uint64, digest byte) {
	block, err := armor.Decode(bytes.NewReader(armored))
	if err != nil {
		return 0, 0
	}
	const signature, version, hash = 2, 4, 3
	p, err := packet.NewOpaqueReader(block.Body).Next()
	if err != nil || p.Tag != signature {
		return 0, 0
	}
	if len(p.Contents) > hash && p.Contents[0] >= version {
		digest = p.Contents[hash]
	}
	parsed, err := p.Parse()
	if s, ok := parsed.(*packet.Signature); ok && err == nil && s.IssuerKeyId != nil {
		id = *s.IssuerKeyId
	}
	return id, digest
}
