// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"kumodo.io/convoy/fetch/internal/fault"
)

// namespace is what Git has SSH signatures made for: a signature that was made for another
// purpose counts for nothing here.
const namespace = "git"

// sshSignature is a signature in the form of PROTOCOL.sshsig of OpenSSH.
type sshSignature struct {
	key       ssh.PublicKey
	namespace string
	reserved  string
	hash      string
	signature ssh.Signature
}

var errNoSSHSignature = errors.New("malformed")

// parseSSHSignature reads an armored signature. Nothing but white space may follow it:
// what stands behind the signature of a tag is not signed.
func parseSSHSignature(armored []byte) (*sshSignature, error) {
	text := strings.TrimSpace(strings.ReplaceAll(string(armored), "\r\n", "\n"))
	body, begins := strings.CutPrefix(text, "-----BEGIN SSH SIGNATURE-----\n")
	body, ends := strings.CutSuffix(body, "\n-----END SSH SIGNATURE-----")
	if !begins || !ends {
		return nil, errNoSSHSignature
	}
	blob, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(body, "\n", ""))
	if err != nil {
		return nil, errNoSSHSignature
	}
	blob, ok := bytes.CutPrefix(blob, []byte("SSHSIG"))
	var raw struct {
		Version                   uint32
		Key                       []byte
		Namespace, Reserved, Hash string
		Signature                 []byte
	}
	if !ok || ssh.Unmarshal(blob, &raw) != nil || raw.Version != 1 {
		return nil, errNoSSHSignature
	}
	s := &sshSignature{namespace: raw.Namespace, reserved: raw.Reserved, hash: raw.Hash}
	if s.key, err = ssh.ParsePublicKey(raw.Key); err != nil {
		return nil, errNoSSHSignature
	}
	if err := ssh.Unmarshal(raw.Signature, &s.signature); err != nil {
		return nil, errNoSSHSignature
	}
	return s, nil
}

// message is what was signed in place of the payload.
func (s *sshSignature) message(payload []byte) ([]byte, error) {
	var digest []byte
	switch s.hash {
	case "sha256":
		sum := sha256.Sum256(payload)
		digest = sum[:]
	case "sha512":
		sum := sha512.Sum512(payload)
		digest = sum[:]
	default:
		return nil, errNoSSHSignature
	}
	return append([]byte("SSHSIG"), ssh.Marshal(struct {
		Namespace, Reserved, Hash string
		Digest                    []byte
	}{s.namespace, s.reserved, s.hash, digest})...), nil
}

// weak says whether the signature is of a kind that PROTOCOL.sshsig or good sense forbids.
func (s *sshSignature) weak() bool {
	return s.signature.Format == ssh.KeyAlgoRSA || s.key.Type() == ssh.InsecureKeyAlgoDSA
}

// minRSA is the shortest RSA key whose signatures are accepted, in bits.
const minRSA = 2048

// rsaBits returns the length of an RSA key, 0 for any other.
func rsaBits(key ssh.PublicKey) int {
	if of, ok := key.(ssh.CryptoPublicKey); ok {
		if key, ok := of.CryptoPublicKey().(*rsa.PublicKey); ok {
			return key.N.BitLen()
		}
	}
	return 0
}

// Verify is part of Verifier.
func (s *signers) Verify(ctx context.Context, what string, signed Signed, now time.Time) (string, error) {
	if err := signed.expect(ctx, what, SSH); err != nil {
		return "", err
	}
	signature, err := parseSSHSignature(signed.Signature)
	if err != nil {
		return "", fault.NewUnverified("the SSH signature of %s is malformed", what)
	}
	key := signature.key.Type() + " " + ssh.FingerprintSHA256(signature.key)
	switch _, certificate := signature.key.(*ssh.Certificate); {
	case certificate:
		return "", fault.NewUnverified("%s is signed with an SSH certificate; only plain keys are supported", what)
	case signature.namespace != namespace:
		return "", fault.NewUnverified("%s has an SSH signature for the namespace %q, not for %s", what, (*fault.Scrubber)(nil).Clean(signature.namespace), namespace)
	case rsaBits(signature.key) > 0 && rsaBits(signature.key) < minRSA:
		return "", fault.NewUnverified("%s is signed with the SSH key %s, an RSA key of %d bits; %d are the least", what, key, rsaBits(signature.key), minRSA)
	case signature.weak():
		return "", fault.NewUnverified("%s has an SSH signature of the kind %s, which is too weak", what, signature.signature.Format)
	}
	if err := s.accepts(what, signature.key, key, now); err != nil {
		return "", err
	}
	message, err := signature.message(signed.Payload)
	if err == nil {
		err = signature.key.Verify(message, &signature.signature)
	}
	if err != nil {
		return "", fault.NewUnverified("the signature of %s with the SSH key %s is not valid: it was made over other content, or is damaged", what, key)
	}
	return key, nil
}
