// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"

	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/keybound"
)

// keyring trusts OpenPGP keys.
type keyring struct {
	secret string
	keys   openpgp.EntityList
}

// newKeyring reads all keys of a Secret whose names end in .asc or .gpg, armored or not. Copies
// of one key are put together: each may know what the others do not, that it is revoked, say.
func newKeyring(secret string, data map[string][]byte) (*keyring, error) {
	ring := &keyring{secret: secret}
	unread := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if !strings.HasSuffix(name, ".asc") && !strings.HasSuffix(name, ".gpg") {
			continue
		}
		keys, skipped, err := readKeys(data[name])
		var refusal keybound.Refusal
		if errors.As(err, &refusal) {
			return nil, fault.New(fault.ErrSecret, "the key %s of the Secret %s cannot be used: %s", name, secret, refusal)
		}
		if err != nil || len(keys) == 0 {
			return nil, fault.New(fault.ErrSecret, "the key %s of the Secret %s is no usable OpenPGP public key", name, secret)
		}
		for _, key := range skipped {
			unread[key] = name
		}
		ring.keys = append(ring.keys, keys...)
	}
	if len(ring.keys) == 0 {
		return nil, noKeys(secret, "names that end in .asc or .gpg are", data)
	}
	ring.keys = merged(ring.keys)
	if err := certified(ring.keys, secret); err != nil {
		return nil, err
	}
	for _, key := range ring.keys {
		if name, ok := unread[string(key.PrimaryKey.Fingerprint)]; ok {
			return nil, fault.New(fault.ErrSecret, "the key %s of the Secret %s holds a copy of the OpenPGP key %016X that cannot be read, so that nobody knows whether the key is revoked; export it again, with its user IDs", name, secret, key.PrimaryKey.KeyId)
		}
	}
	return ring, nil
}

// readKeys reads public keys; several armored blocks may follow each other. skipped are the
// fingerprints of those that the library passes over when there are others in the same block.
func readKeys(data []byte) (keys openpgp.EntityList, skipped []string, err error) {
	const begin = "-----BEGIN PGP "
	if !bytes.Contains(data, []byte(begin)) {
		return readBlock(data)
	}
	blocks := bytes.Split(data, []byte(begin))
	for _, text := range blocks[1:] {
		block, err := armor.Decode(bytes.NewReader(append([]byte(begin), text...)))
		if err != nil {
			return nil, nil, err
		}
		if block.Type != openpgp.PublicKeyType && block.Type != openpgp.PrivateKeyType {
			return nil, nil, pgperrors.InvalidArgumentError("no block of keys")
		}
		raw, err := io.ReadAll(block.Body)
		if err != nil {
			return nil, nil, err
		}
		more, others, err := readBlock(raw)
		if err != nil {
			return nil, nil, err
		}
		keys, skipped = append(keys, more...), append(skipped, others...)
	}
	return keys, skipped, nil
}

func readBlock(raw []byte) (keys openpgp.EntityList, skipped []string, err error) {
	if err := bounded(raw); err != nil {
		return nil, nil, err
	}
	if keys, err = openpgp.ReadKeyRing(bytes.NewReader(raw)); err != nil {
		return nil, nil, err
	}
	skipped = primaries(raw)
	for _, key := range keys {
		if i := slices.Index(skipped, string(key.PrimaryKey.Fingerprint)); i >= 0 {
			skipped = slices.Delete(skipped, i, i+1)
		}
	}
	return keys, skipped, nil
}

// The kinds of packets that are keys, see RFC 9580, section 5.
const (
	privateKey    = 5
	publicKey     = 6
	privateSubkey = 7
	publicSubkey  = 14
)

// numbered are the algorithms whose keys are as long as their first number.
var numbered = []packet.PublicKeyAlgorithm{packet.PubKeyAlgoRSA, packet.PubKeyAlgoRSAEncryptOnly, packet.PubKeyAlgoRSASignOnly, packet.PubKeyAlgoElGamal, packet.PubKeyAlgoDSA}

// bounded refuses keys of RSA, DSA and ElGamal that are too long before the library reads them:
// what it does with private ones takes long. After the version, the time and the algorithm comes
// the number that says how long a key is, and before it, in later versions, the length of all.
func bounded(raw []byte) error {
	left := bytes.NewReader(raw)
	for packets := packet.NewOpaqueReader(left); ; {
		if left.Len() > 0 && endless(raw[len(raw)-left.Len()]) {
			return errors.New("it has a packet that does not say how long it is")
		}
		p, err := packets.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil { // the library might read on where this cannot
			return fmt.Errorf("it cannot be read packet by packet: %w", err)
		}
		if !slices.Contains([]uint8{privateKey, publicKey, privateSubkey, publicSubkey}, p.Tag) || len(p.Contents) == 0 {
			continue
		}
		at := 6
		if p.Contents[0] > 4 {
			at = 10
		}
		// Keys of version 3 are read by nobody.
		if p.Contents[0] < 4 || len(p.Contents) < at+2 || !slices.Contains(numbered, packet.PublicKeyAlgorithm(p.Contents[5])) {
			continue
		}
		if err := keybound.Bits(int(binary.BigEndian.Uint16(p.Contents[at:])), keybound.MaxBits); err != nil {
			return err
		}
	}
}

// endless tells the first byte of a packet that goes on to the end of all, see RFC 9580, section
// 4.2.2.4: it may be one packet for one reader, and many for another.
func endless(header byte) bool { return header&0xc0 == 0x80 && header&3 == 3 }

// The signatures that keys may bear over themselves: each may have to be checked.
const (
	maxOwn         = 250
	maxRevocations = 100
)

// certified refuses keys that bear too many signatures over themselves: of one key, and
// revocations of user IDs of all.
func certified(keys openpgp.EntityList, secret string) error {
	revocations := 0
	for _, key := range keys {
		own := len(key.Revocations) + len(key.DirectSignatures)
		for _, identity := range key.Identities {
			own += len(identity.SelfCertifications) + len(identity.Revocations)
			revocations += len(identity.Revocations)
		}
		for _, subkey := range key.Subkeys {
			own += len(subkey.Bindings) + len(subkey.Revocations)
		}
		if own > maxOwn || revocations > maxRevocations {
			return fault.New(fault.ErrSecret, "the OpenPGP key %016X in the Secret %s cannot be used: %d signatures over itself are accepted of a key, and %d revocations of user IDs of all; export it again with gpg --export-options export-minimal",
				key.PrimaryKey.KeyId, secret, maxOwn, maxRevocations)
		}
	}
	return nil
}

// primaries returns the fingerprints of all primary keys in a block, once for each copy.
func primaries(raw []byte) (fingerprints []string) {
	for packets := packet.NewOpaqueReader(bytes.NewReader(raw)); ; {
		p, err := packets.Next()
		if err != nil {
			return fingerprints
		}
		if p.Tag != publicKey && p.Tag != privateKey {
			continue
		}
		parsed, err := p.Parse()
		switch key := parsed.(type) {
		case *packet.PublicKey:
			if err == nil {
				fingerprints = append(fingerprints, string(key.Fingerprint))
			}
		case *packet.PrivateKey:
			if err == nil {
				fingerprints = append(fingerprints, string(key.Fingerprint))
			}
		}
	}
}

// merged puts the copies of each key together, as GnuPG does when it takes in one that it has:
// the revocations of any copy count, the newest of all signatures of the key over itself, and the
// subkeys of all.
func merged(copies openpgp.EntityList) (keys openpgp.EntityList) {
	known := map[string]*openpgp.Entity{}
	for _, one := range copies {
		key, ok := known[string(one.PrimaryKey.Fingerprint)]
		if !ok {
			key = &openpgp.Entity{PrimaryKey: one.PrimaryKey, Identities: map[string]*openpgp.Identity{}}
			known[string(one.PrimaryKey.Fingerprint)] = key
			keys = append(keys, key)
		}
		key.Revocations = append(key.Revocations, one.Revocations...)
		key.DirectSignatures = append(key.DirectSignatures, one.DirectSignatures...)
		for name, identity := range one.Identities {
			if same, ok := key.Identities[name]; ok {
				same.SelfCertifications = append(same.SelfCertifications, identity.SelfCertifications...)
				same.Revocations = append(same.Revocations, identity.Revocations...)
				continue
			}
			identity.Primary = key
			key.Identities[name] = identity
		}
		for _, subkey := range one.Subkeys {
			at := slices.IndexFunc(key.Subkeys, func(s openpgp.Subkey) bool { return bytes.Equal(s.PublicKey.Fingerprint, subkey.PublicKey.Fingerprint) })
			if at >= 0 {
				same := &key.Subkeys[at]
				same.Bindings = append(same.Bindings, subkey.Bindings...)
				same.Revocations = append(same.Revocations, subkey.Revocations...)
				continue
			}
			subkey.Primary, subkey.PrivateKey = key, nil
			key.Subkeys = append(key.Subkeys, subkey)
		}
	}
	return keys
}

// maxMade bounds the signatures of one object, of which one has to be good: all of it is read for
// each of them.
const maxMade = 10

// made counts the signatures in an armored block, up to one too many. What cannot be read is for the
// library to refuse.
func made(armored []byte) (signatures int) {
	block, err := armor.Decode(bytes.NewReader(armored))
	if err != nil {
		return 0
	}
	for packets := packet.NewOpaqueReader(block.Body); signatures <= maxMade; signatures++ {
		if _, err := packets.Next(); err != nil {
			break
		}
	}
	return signatures
}

// Verify is part of Verifier. The library holds the signature to the key at the time that
// the signature claims; that the key is good now is checked besides. The library knows no contexts:
// besides reading, it is given little to do.
func (k *keyring) Verify(ctx context.Context, what string, signed Signed, now time.Time) (string, error) {
	if err := signed.expect(ctx, what, OpenPGP); err != nil {
		return "", err
	}
	if made(signed.Signature) > maxMade {
		return "", fault.NewUnverified("%s has more than %d signatures; sign it again", what, maxMade)
	}
	config := &packet.Config{Time: func() time.Time { return now.Add(clockSkew) }}
	k.settleRevocations(now, config)
	signature, signer, err := openpgp.VerifyArmoredDetachedSignature(k.keys, until(ctx, signed.Payload), bytes.NewReader(signed.Signature), config)
	if ctx.Err() != nil {
		return "", fault.FromRequest(ctx.Err(), nil)
	}
	if err == nil {
		_, err = signer.VerifyPrimaryKey(now, config)
	}
	if err == nil {
		if _, ok := signer.SigningKeyById(now, *signature.IssuerKeyId, config); !ok {
			err = pgperrors.ErrKeyIncorrect
		}
	}
	if err != nil {
		return "", k.failed(what, signed.Signature, err, now, config)
	}
	return fmt.Sprintf("%016X", *signature.IssuerKeyId), nil
}

// until reads a payload until ctx ends.
func until(ctx context.Context, payload []byte) io.Reader {
	whole := bytes.NewReader(payload)
	return readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return whole.Read(p)
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// settleRevocations has the library find out which revocations of user IDs are good. It remembers
// the answer, which must not be that for the time of a signature, before the revocation was made.
func (k *keyring) settleRevocations(now time.Time, config *packet.Config) {
	for _, key := range k.keys {
		for _, identity := range key.Identities {
			for _, revocation := range identity.Revocations {
				one := openpgp.Identity{Primary: key, Name: identity.Name, Revocations: []*packet.VerifiableSignature{revocation}}
				one.Revoked(nil, now, config)
			}
		}
	}
}

// clockSkew is how far ahead the clock of who signed may be.
const clockSkew = 10 * time.Minute
