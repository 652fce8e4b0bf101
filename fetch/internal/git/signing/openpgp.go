// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"

	"kumodo.io/convoy/fetch/internal/fault"
)

// keyring trusts OpenPGP keys.
type keyring struct {
	secret string
	keys   openpgp.EntityList
}

// newKeyring reads all keys of a Secret whose names end in .asc or .gpg, armored or not.
func newKeyring(secret string, data map[string][]byte) (*keyring, error) {
	ring := &keyring{secret: secret}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if !strings.HasSuffix(name, ".asc") && !strings.HasSuffix(name, ".gpg") {
			continue
		}
		keys, err := readKeys(data[name])
		if err != nil || len(keys) == 0 {
			return nil, fault.New(fault.ErrSecret, "the key %s of the Secret %s is no usable OpenPGP public key", name, secret)
		}
		ring.keys = append(ring.keys, keys...)
	}
	if len(ring.keys) == 0 {
		return nil, noKeys(secret, "names that end in .asc or .gpg are", data)
	}
	return ring, nil
}

// readKeys reads public keys; several armored blocks may follow each other.
func readKeys(data []byte) (keys openpgp.EntityList, err error) {
	const begin = "-----BEGIN PGP "
	if !bytes.Contains(data, []byte(begin)) {
		return openpgp.ReadKeyRing(bytes.NewReader(data))
	}
	blocks := bytes.Split(data, []byte(begin))
	for _, block := range blocks[1:] {
		more, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(append([]byte(begin), block...)))
		if err != nil {
			return nil, err
		}
		keys = append(keys, more...)
	}
	return keys, nil
}

// Verify is part of Verifier. The library holds the signature to the key at the time that
// the signature claims; that the key is good now is checked besides.
func (k *keyring) Verify(what string, signed Signed, now time.Time) (string, error) {
	if err := signed.expect(what, OpenPGP); err != nil {
		return "", err
	}
	config := &packet.Config{Time: func() time.Time { return now.Add(clockSkew) }}
	signature, signer, err := openpgp.VerifyArmoredDetachedSignature(k.keys, bytes.NewReader(signed.Payload), bytes.NewReader(signed.Signature), config)
	if err != nil {
		return "", k.failed(what, signed.Signature, err)
	}
	name := fmt.Sprintf("%016X", *signature.IssuerKeyId)
	if _, err := signer.VerifyPrimaryKey(now, config); err != nil {
		return "", k.failed(what, signed.Signature, err)
	}
	if _, ok := signer.SigningKeyById(now, *signature.IssuerKeyId, config); !ok {
		return "", fault.NewUnverified("%s is signed with the OpenPGP key %s, which is expired, revoked or not for signing", what, name)
	}
	return name, nil
}

// clockSkew is how far ahead the clock of who signed may be.
const clockSkew = 10 * time.Minute

func (k *keyring) failed(what string, signature []byte, err error) error {
	key := issuer(signature)
	var bad pgperrors.SignatureError
	switch {
	case errors.Is(err, pgperrors.ErrUnknownIssuer):
		return fault.NewUnverified("%s is signed with the OpenPGP key %s, which the Secret %s does not hold", what, key, k.secret)
	case errors.Is(err, pgperrors.ErrKeyExpired):
		return fault.NewUnverified("%s is signed with the OpenPGP key %s, which is expired", what, key)
	case errors.Is(err, pgperrors.ErrKeyRevoked):
		return fault.NewUnverified("%s is signed with the OpenPGP key %s, which is revoked", what, key)
	case errors.Is(err, pgperrors.ErrSignatureExpired):
		return fault.NewUnverified("%s has an OpenPGP signature that is expired or from the future", what)
	case errors.As(err, &bad):
		return fault.NewUnverified("the signature of %s with the OpenPGP key %s is not valid: %s", what, key, (*fault.Scrubber)(nil).Clean(bad.Error()))
	}
	return fault.NewUnverified("the OpenPGP signature of %s cannot be accepted: %s", what, (*fault.Scrubber)(nil).Clean(err.Error()))
}

// issuer names the key that a signature says it was made with.
func issuer(armored []byte) string {
	const unknown = "(unnamed)"
	block, err := armor.Decode(bytes.NewReader(armored))
	if err != nil {
		return unknown
	}
	p, err := packet.NewReader(block.Body).Next()
	if signature, ok := p.(*packet.Signature); err == nil && ok && signature.IssuerKeyId != nil {
		return fmt.Sprintf("%016X", *signature.IssuerKeyId)
	}
	return unknown
}
