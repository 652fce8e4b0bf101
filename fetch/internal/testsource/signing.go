// SPDX-License-Identifier: Apache-2.0

package testsource

import (
	"bytes"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"
	"golang.org/x/crypto/ssh"
)

// Sign makes an armored signature of a payload.
type Sign func(payload []byte) string

// SignHead puts a signature into the commit at HEAD, pushes it and returns its new id.
func (r *GitRepository) SignHead(sign Sign) string {
	r.t.Helper()
	raw := r.Git("cat-file", "commit", "HEAD") + "\n"
	signed := WithSignature(raw, sign([]byte(raw)))
	id := r.Store("commit", signed)
	r.Git("reset", "--quiet", "--soft", id)
	r.Push()
	return id
}

// WithSignature returns the raw commit with a signature in its header.
func WithSignature(raw, signature string) string {
	headers, message, _ := strings.Cut(raw, "\n\n")
	return headers + "\ngpgsig " + strings.ReplaceAll(strings.TrimSuffix(signature, "\n"), "\n", "\n ") + "\n\n" + message
}

// SignTag makes an annotated tag of HEAD under ref that says it is called name, signs it
// unless sign is nil, and pushes it.
func (r *GitRepository) SignTag(ref, name string, sign Sign) {
	r.t.Helper()
	r.signTag("HEAD", "commit", ref, name, sign)
}

// SignTagOf makes an annotated tag of another object than HEAD.
func (r *GitRepository) SignTagOf(object, kind, name string, sign Sign) {
	r.t.Helper()
	r.signTag(object, kind, name, name, sign)
}

func (r *GitRepository) signTag(object, kind, ref, name string, sign Sign) {
	r.t.Helper()
	raw := "object " + r.Git("rev-parse", object) + "\ntype " + kind + "\ntag " + name + "\ntagger Test <test@example.test> 1760000000 +0000\n\na release\n"
	if sign != nil {
		raw += sign([]byte(raw))
	}
	r.Git("update-ref", "refs/tags/"+ref, r.Store("tag", raw))
	r.Push()
}

// Store writes an object and returns its id.
func (r *GitRepository) Store(kind, raw string) string {
	r.t.Helper()
	cmd := exec.Command("git", "hash-object", "-t", kind, "-w", "--stdin", "--literally")
	cmd.Dir, cmd.Stdin = r.work, strings.NewReader(raw)
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// OpenPGPKey is a key pair.
type OpenPGPKey struct {
	t      testing.TB
	Entity *openpgp.Entity
}

// NewOpenPGPKey makes a key at a time, which is good for a lifetime, for ever when 0.
func NewOpenPGPKey(t testing.TB, at time.Time, lifetime time.Duration) *OpenPGPKey {
	t.Helper()
	entity, err := openpgp.NewEntity("Test", "", "test@example.test", &packet.Config{
		Time: func() time.Time { return at }, KeyLifetimeSecs: uint32(lifetime / time.Second), Algorithm: packet.PubKeyAlgoEdDSA,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &OpenPGPKey{t: t, Entity: entity}
}

// Public returns the armored public key.
func (k *OpenPGPKey) Public() string {
	k.t.Helper()
	return k.armored("PGP PUBLIC KEY BLOCK", func(b *bytes.Buffer) error { return k.Entity.Serialize(b) })
}

// SignAt returns a Sign whose signatures say they were made at a time.
func (k *OpenPGPKey) SignAt(at time.Time) Sign {
	config := &packet.Config{Time: func() time.Time { return at }}
	return func(payload []byte) string {
		k.t.Helper()
		return k.armored("PGP SIGNATURE", func(b *bytes.Buffer) error {
			return openpgp.DetachSign(b, []*openpgp.Entity{k.Entity}, bytes.NewReader(payload), config)
		})
	}
}

// Revoke marks the key as compromised from a time on.
func (k *OpenPGPKey) Revoke(at time.Time) {
	k.t.Helper()
	if err := k.Entity.Revoke(packet.KeyCompromised, "lost", &packet.Config{Time: func() time.Time { return at }}); err != nil {
		k.t.Fatal(err)
	}
}

func (k *OpenPGPKey) armored(kind string, write func(*bytes.Buffer) error) string {
	k.t.Helper()
	var raw, text bytes.Buffer
	if err := write(&raw); err != nil {
		k.t.Fatal(err)
	}
	w, err := armor.Encode(&text, kind, nil)
	if err == nil {
		_, err = w.Write(raw.Bytes())
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		k.t.Fatal(err)
	}
	return text.String() + "\n"
}

// SignSSH returns a Sign in the form of PROTOCOL.sshsig for a namespace. algorithm is that
// of the signature, "" for the key's own.
func SignSSH(t testing.TB, signer ssh.Signer, namespace, algorithm string) Sign {
	return func(payload []byte) string {
		t.Helper()
		digest := sha512.Sum512(payload)
		message := append([]byte("SSHSIG"), ssh.Marshal(struct {
			Namespace, Reserved, Hash string
			Digest                    []byte
		}{namespace, "", "sha512", digest[:]})...)
		signature, err := signer.Sign(rand.Reader, message)
		if as, ok := signer.(ssh.AlgorithmSigner); ok && algorithm != "" {
			signature, err = as.SignWithAlgorithm(rand.Reader, message, algorithm)
		}
		if err != nil {
			t.Fatal(err)
		}
		blob := append([]byte("SSHSIG"), ssh.Marshal(struct {
			Version                   uint32
			Key                       []byte
			Namespace, Reserved, Hash string
			Signature                 []byte
		}{1, signer.PublicKey().Marshal(), namespace, "", "sha512", ssh.Marshal(signature)})...)
		var b strings.Builder
		b.WriteString("-----BEGIN SSH SIGNATURE-----\n")
		for encoded := base64.StdEncoding.EncodeToString(blob); encoded != ""; {
			n := min(70, len(encoded))
			b.WriteString(encoded[:n] + "\n")
			encoded = encoded[n:]
		}
		return b.String() + "-----END SSH SIGNATURE-----\n"
	}
}

// ProvenanceOf gives what a provenance file says of the archive of a chart.
func ProvenanceOf(name, version string, archive []byte) string {
	return "apiVersion: v2\nname: " + name + "\nversion: " + version + "\n\n...\nfiles:\n  " + name + "-" + version + ".tgz: sha256:" + SHA256(archive) + "\n"
}

// ClearSign signs a text at a time so that it can still be read, as helm package --sign does.
func (k *OpenPGPKey) ClearSign(at time.Time, text string) []byte {
	k.t.Helper()
	var message bytes.Buffer
	w, err := clearsign.Encode(&message, k.Entity.PrivateKey, &packet.Config{Time: func() time.Time { return at }})
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		k.t.Fatal(err)
	}
	return message.Bytes()
}
