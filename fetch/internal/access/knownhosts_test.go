// SPDX-License-Identifier: Apache-2.0

package access

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/crypto/ssh"

	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/testsource"
)

func authorized(key ssh.Signer) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key.PublicKey())))
}

func hashed(host string) string {
	salt := []byte("salt")
	mac := hmac.New(sha1.New, salt)
	mac.Write([]byte(host))
	return "|1|" + base64.StdEncoding.EncodeToString(salt) + "|" + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func TestKnownHosts(t *testing.T) {
	right, _ := testsource.NewSigner(t)
	wrong, _ := testsource.NewSigner(t)
	key, other := authorized(right), authorized(wrong)
	for _, tc := range []struct {
		name, address, given string
		keys                 int
		want                 error
		wantText             string
	}{
		{name: "plain", address: "git.test:22", given: "git.test " + key, keys: 1},
		{name: "default port in the entry", address: "git.test:22", given: "[git.test]:22 " + key, keys: 1},
		{name: "list of names", address: "git.test:22", given: "10.0.0.1,git.test " + key, keys: 1},
		{name: "upper case", address: "Git.Test:22", given: "git.test " + key, keys: 1},
		{name: "hashed", address: "git.test:22", given: hashed("git.test") + " " + key, keys: 1},
		{name: "hashed, other port", address: "git.test:2222", given: hashed("[git.test]:2222") + " " + key, keys: 1},
		{name: "other port", address: "git.test:2222", given: "[git.test]:2222 " + key, keys: 1},
		{name: "other port, entry for the default one", address: "git.test:2222", given: "git.test " + key},
		{name: "pattern", address: "git.test:22", given: "*.test " + key, keys: 1},
		{name: "pattern with a port", address: "git.test:2222", given: "[*.test]:2222 " + key, keys: 1},
		{name: "negated pattern", address: "git.test:22", given: "*.test,!git.test " + key},
		{name: "comments, blank lines, CRLF", address: "git.test:22", given: "# keys\r\n\r\ngit.test " + key + " a comment\r\n", keys: 1},
		{name: "malformed lines do not hide good ones", address: "git.test:22", given: "git.test ssh-ed25519 !!!\ngit.test " + key, keys: 1},
		{name: "authority", address: "git.test:22", given: "@cert-authority *.test " + key},
		{name: "marker that does not exist", address: "git.test:22", given: "git.test " + other + "\n@revoke git.test " + other, keys: 1, want: fault.ErrUnauthorized, wantText: "malformed lines: 2"},
		{name: "other host", address: "git.test:22", given: "hub.test " + key},
		{name: "wrong key", address: "git.test:22", given: "git.test " + other, keys: 1, want: fault.ErrUnauthorized, wantText: ssh.FingerprintSHA256(right.PublicKey())},
		{name: "wrong key and a malformed line", address: "git.test:22", given: "\ngit.test x y\ngit.test " + other, keys: 1, want: fault.ErrUnauthorized, wantText: "malformed lines: 2"},
		{name: "revoked", address: "git.test:22", given: "git.test " + key + "\n@revoked git.test " + key, keys: 1, want: fault.ErrUnauthorized, wantText: "revoked"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			known := parseKnownHosts([]byte(tc.given)).forHost(tc.address)
			g.Expect(known.keys).To(HaveLen(tc.keys))
			if tc.keys == 0 {
				return
			}
			err := known.check("", nil, right.PublicKey())
			g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
			if tc.want != nil {
				g.Expect(err.Error()).To(ContainSubstring(tc.wantText))
			}
		})
	}
}

func FuzzKnownHosts(f *testing.F) {
	key, _ := testsource.NewSigner(f)
	f.Add("git.test " + authorized(key))
	f.Add("|1|a|b x y z\n[h]:1,!* ssh-rsa AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		known := parseKnownHosts([]byte(text)).forHost("git.test:2222")
		if len(known.keys) > 0 && len(known.algorithms()) == 0 {
			t.Fatal("keys without an algorithm to prove them")
		}
		for _, key := range known.keys {
			revoked := slices.ContainsFunc(known.revoked, func(k ssh.PublicKey) bool { return string(k.Marshal()) == string(key.Marshal()) })
			if err := known.check("", nil, key); (err == nil) == revoked {
				t.Fatalf("a key that is known, revoked: %v: %v", revoked, err)
			}
		}
	})
}
