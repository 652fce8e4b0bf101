// SPDX-License-Identifier: Apache-2.0

// Package signing checks the signatures of commits and tags, made with OpenPGP or with SSH
// keys, against the public keys of a Secret.
//
// Whether a key is still good is asked of the time of the check. The time that a commit
// claims for itself decides nothing: who has stolen a key that is expired since can write
// any time.
package signing

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"kumodo.io/convoy/fetch/internal/fault"
)

// The providers of signatures.
const (
	OpenPGP = "gpg"
	SSH     = "ssh"
)

// Verifier checks signatures against the keys that it trusts.
type Verifier interface {
	// Verify returns a name of the key that made the signature, for logs. what names the
	// signed object. The error is fault.ErrVerification, or that of ctx.
	Verify(ctx context.Context, what string, signed Signed, now time.Time) (key string, err error)
}

// NewVerifier returns the Verifier that trusts the keys of a Secret. secret is its
// namespace/name. The error is fault.ErrSecret, or fault.ErrInvalid for an unknown
// provider.
func NewVerifier(provider, secret string, data map[string][]byte) (Verifier, error) {
	switch provider {
	case OpenPGP:
		return newKeyring(secret, data)
	case SSH:
		return newSigners(secret, data)
	}
	return nil, fault.New(fault.ErrInvalid, "spec.verify.provider %q is neither %s nor %s", provider, OpenPGP, SSH)
}

// Signed is an object that is taken apart into what was signed and the signature.
type Signed struct {
	Payload, Signature []byte
}

// beginnings are the first lines of signatures, and the makes that they are of.
var beginnings = []struct{ line, make string }{
	{"-----BEGIN PGP SIGNATURE-----", OpenPGP},
	{"-----BEGIN PGP MESSAGE-----", "an old form of OpenPGP"},
	{"-----BEGIN SSH SIGNATURE-----", SSH},
	{"-----BEGIN SIGNED MESSAGE-----", "X.509"},
}

func makeOf(signature []byte) string {
	line, _, _ := bytes.Cut(signature, []byte("\n"))
	for _, b := range beginnings {
		if string(bytes.TrimRight(line, "\r")) == b.line {
			return b.make
		}
	}
	return ""
}

// maxSignature bounds a signature in its text form: one takes a few KiB.
const maxSignature = 64 << 10

// expect refuses a missing signature, one of another make than is configured, and one that is more
// than any that is meant. The error is that of ctx when it has ended.
func (s Signed) expect(ctx context.Context, what, provider string) error {
	switch {
	case ctx.Err() != nil:
		return fault.FromRequest(ctx.Err(), nil)
	case len(bytes.TrimSpace(s.Signature)) == 0:
		return fault.NewUnverified("%s is not signed, and spec.verify demands a signature", what)
	case len(s.Signature) > maxSignature:
		return fault.NewUnverified("%s has a signature of %s; %s are the most that are accepted", what, fault.Size(int64(len(s.Signature))), fault.Size(maxSignature))
	}
	switch make := makeOf(s.Signature); make {
	case provider:
		return nil
	case "":
		return fault.NewUnverified("%s has a signature of an unknown form", what)
	default:
		return fault.NewUnverified("%s has a signature made with %s, and spec.verify.provider is %s", what, make, provider)
	}
}

// headers of a commit or tag that hold signatures and are no part of what is signed.
var headers = []string{"gpgsig", "gpgsig-sha256"}

// Commit takes the raw content of a commit apart. A commit without signature has an empty
// one. The error is fault.ErrVerification: two signatures leave open which one counts.
func Commit(raw []byte) (Signed, error) {
	payload, signatures := withoutSignatures(raw)
	switch len(signatures["gpgsig"]) {
	case 0:
		return Signed{Payload: payload}, nil
	case 1:
		return Signed{Payload: payload, Signature: signatures["gpgsig"][0]}, nil
	}
	return Signed{}, fault.NewUnverified("the commit has more than one signature")
}

// Tag takes the raw content of an annotated tag apart: its signature is the end of it,
// from the last line on that begins one.
func Tag(raw []byte) Signed {
	at, start := len(raw), 0
	for line := range bytes.Lines(raw) {
		if makeOf(line) != "" {
			at = start
		}
		start += len(line)
	}
	payload, _ := withoutSignatures(raw[:at])
	return Signed{Payload: payload, Signature: raw[at:]}
}

// TagHeader is what an annotated tag says of itself.
type TagHeader struct {
	// Object is the id of what is tagged, Name what the tag was called when it was made.
	Object, Name string
}

// ParseTag reads the header of an annotated tag as Git does, which wants these lines first, in
// this order; ok is false for another form. So what it says is part of what is signed: see Tag.
func ParseTag(raw []byte) (h TagHeader, ok bool) {
	rest := raw
	for _, field := range []struct {
		key   string
		value *string
	}{{"object ", &h.Object}, {"type ", new(string)}, {"tag ", &h.Name}} {
		line, more, ended := bytes.Cut(rest, []byte("\n"))
		value, found := bytes.CutPrefix(line, []byte(field.key))
		if !ended || !found {
			return TagHeader{}, false
		}
		*field.value, rest = string(value), more
	}
	return h, true
}

// withoutSignatures takes the headers with signatures out of an object. A header goes on
// in the lines that begin with a space; headers end at the first empty line.
func withoutSignatures(raw []byte) (payload []byte, signatures map[string][][]byte) {
	signatures = map[string][][]byte{}
	payload = make([]byte, 0, len(raw))
	current, rest := "", raw
	for len(rest) > 0 && rest[0] != '\n' {
		line := rest
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			line = rest[:i+1]
		}
		rest = rest[len(line):]
		if line[0] == ' ' && current != "" {
			last := len(signatures[current]) - 1
			signatures[current][last] = append(signatures[current][last], line[1:]...)
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(" "))
		if current = ""; slices.Contains(headers, string(name)) {
			current = string(name)
			signatures[current] = append(signatures[current], slices.Clone(value))
			continue
		}
		payload = append(payload, line...)
	}
	return append(payload, rest...), signatures
}

// noKeys is the error for a Secret without keys of the right names.
func noKeys(secret, wanted string, data map[string][]byte) error {
	return fault.New(fault.ErrSecret, "the Secret %s holds no keys to trust: %s expected, found are [%s]",
		secret, wanted, strings.Join(slices.Sorted(maps.Keys(data)), " "))
}
