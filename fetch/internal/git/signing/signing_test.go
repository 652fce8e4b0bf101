// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/crypto/ssh"

	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/testsource"
)

const rawCommit = "tree 0\nparent 1\nmergetag object 2\n tag x\n \n -----BEGIN PGP SIGNATURE-----\n of another\nauthor a\n\nmessage\n\ngpgsig no header\n more\n"

func TestCommit(t *testing.T) {
	for _, tc := range []struct{ name, given, payload, signature string }{
		{name: "unsigned", given: rawCommit, payload: rawCommit},
		{name: "signed", given: testsource.WithSignature(rawCommit, "one\n\ntwo\n"), payload: rawCommit, signature: "one\n\ntwo\n"},
		{name: "signed for SHA-256 only", given: strings.Replace(testsource.WithSignature(rawCommit, "x\ny\n"), "gpgsig", "gpgsig-sha256", 1), payload: rawCommit},
		{name: "header that begins alike", given: "gpgsigning x\n\nm", payload: "gpgsigning x\n\nm"},
		{name: "line that goes on from nothing", given: " x\n\nm", payload: " x\n\nm"},
		{name: "no message", given: "tree 0\ngpgsig x", payload: "tree 0\n", signature: "x"},
		{name: "empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := Commit([]byte(tc.given))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(got.Payload)).To(Equal(tc.payload))
			g.Expect(string(got.Signature)).To(Equal(tc.signature))
		})
	}
	_, err := Commit([]byte(testsource.WithSignature(testsource.WithSignature(rawCommit, "a"), "b")))
	NewWithT(t).Expect(errors.Is(err, fault.ErrVerification)).To(BeTrue(), "two signatures: %v", err)
}

func TestTag(t *testing.T) {
	const body = "object 0\ntype commit\ntag v1\n\nmessage\ntag v2\n"
	const signature = "-----BEGIN SSH SIGNATURE-----\nx\n-----END SSH SIGNATURE-----\n"
	for _, tc := range []struct{ name, given, payload, signature string }{
		{"unsigned", body, body, ""},
		{"signed", body + signature, body, signature},
		{"a signature in the message", body + signature + "text\n" + signature, body + signature + "text\n", signature},
		{"not at the beginning of a line", body + "x-----BEGIN SSH SIGNATURE-----\n", body + "x-----BEGIN SSH SIGNATURE-----\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			got := Tag([]byte(tc.given))
			g.Expect(string(got.Payload)).To(Equal(tc.payload))
			g.Expect(string(got.Signature)).To(Equal(tc.signature))
		})
	}
}

// TestParseTag holds tags to the order of lines that Git wants, so that nothing else can be read
// out of them than Git reads.
func TestParseTag(t *testing.T) {
	for _, tc := range []struct {
		name, given string
		want        TagHeader
		ok          bool
	}{
		{"a tag", "object 1\ntype commit\ntag v1\ntagger a\n\nobject 2\ntag v2\n", TagHeader{"1", "v1"}, true},
		{"nothing behind", "object 1\ntype commit\ntag v1\n", TagHeader{"1", "v1"}, true},
		{"no name", "object 1\ntype commit\ntagger a\n\ntag v1\n", TagHeader{}, false},
		{"no line end", "object 1\ntype commit\ntag v1", TagHeader{}, false},
		{"no type", "object 1\ntag v1\n\n", TagHeader{}, false},
		{"another order", "type commit\nobject 1\ntag v1\n\n", TagHeader{}, false},
		{"something before", "gpgsig x\nobject 1\ntype commit\ntag v1\n\n", TagHeader{}, false},
		{"nothing", "", TagHeader{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			got, ok := ParseTag([]byte(tc.given))
			g.Expect(ok).To(Equal(tc.ok))
			g.Expect(got).To(Equal(tc.want))
		})
	}
}

func TestSSHSignaturesThatAreTooWeak(t *testing.T) {
	for _, tc := range []struct {
		bits      int
		algorithm string
		wantText  string
	}{
		{2048, ssh.KeyAlgoRSASHA512, ""},
		{2048, ssh.KeyAlgoRSASHA256, ""},
		{2048, ssh.KeyAlgoRSA, "too weak"},
		{1024, ssh.KeyAlgoRSASHA512, "an RSA key of 1024 bits; 2048 are the least"},
		{1024, ssh.KeyAlgoRSASHA256, "an RSA key of 1024 bits"},
	} {
		t.Run(fmt.Sprint(tc.algorithm, " with ", tc.bits), func(t *testing.T) {
			g := NewWithT(t)
			key, err := rsa.GenerateKey(rand.Reader, tc.bits)
			g.Expect(err).NotTo(HaveOccurred())
			signer, err := ssh.NewSignerFromKey(key)
			g.Expect(err).NotTo(HaveOccurred())
			verifier, err := NewVerifier(SSH, "team/keys", map[string][]byte{"a.pub": ssh.MarshalAuthorizedKey(signer.PublicKey())})
			g.Expect(err).NotTo(HaveOccurred())
			sign := testsource.SignSSH(t, signer, "git", tc.algorithm)
			_, err = verifier.Verify(t.Context(), "it", Signed{Payload: []byte("payload"), Signature: []byte(sign([]byte("payload")))}, time.Now())
			if tc.wantText == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(tc.wantText)))
		})
	}
}

func TestAllowedSigners(t *testing.T) {
	key, _ := testsource.NewSigner(t)
	other, _ := testsource.NewSigner(t)
	public := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key.PublicKey())))
	public2 := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(other.PublicKey())))
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct{ name, given, secretText, text string }{
		{name: "plain", given: "a@b " + public},
		{name: "several principals", given: "a@b,*@c " + public + " comment"},
		{name: "quoted principals", given: `"a b" ` + public},
		{name: "options", given: `a@b namespaces="file,git",valid-after="20251231",valid-before="20260101120001Z" ` + public},
		{name: "pattern of namespaces", given: `a@b namespaces="g*" ` + public},
		{name: "comments and line ends", given: "# x\r\n\r\na@b " + public + "\r\n"},
		{name: "over", given: `a@b valid-before="202601011200" ` + public, text: "expired"},
		{name: "over, and good on another line", given: `a@b valid-before="2025" ` + public, secretText: "YYYYMMDD"},
		{name: "negated namespace", given: `a@b namespaces="!git,*" ` + public, secretText: "no keys to trust: in its key allowed_signers, 1 line is not for the namespace git"},
		{name: "authority", given: "a@b cert-authority " + public, secretText: "no keys to trust: in its key allowed_signers, 1 line is for a certificate authority, which is not supported"},
		{name: "authority and other namespaces", given: "a@b cert-authority " + public + "\na@b namespaces=file " + public + "\nc@d cert-authority,namespaces=\"git\" " + public,
			secretText: "2 lines are for a certificate authority, which is not supported, 1 line is not for the namespace git"},
		{name: "authority beside a key", given: "a@b cert-authority " + public2 + "\na@b " + public},
		{name: "authority of this key beside another key", given: "a@b cert-authority " + public + "\na@b " + public2, text: "whose line in allowed_signers of the Secret team/keys is for a certificate authority"},
		{name: "other namespaces beside another key", given: "a@b namespaces=file " + public + "\na@b " + public2, text: "whose line in allowed_signers of the Secret team/keys is not for the namespace git"},
		{name: "other namespaces, and good on another line", given: "a@b namespaces=file " + public + "\na@b " + public},
		{name: "unknown option", given: "a@b no-pty " + public, secretText: "none of namespaces"},
		{name: "no principals", given: public, secretText: "line 1 holds no SSH public key"},
		{name: "one word", given: "a@b", secretText: "line 1 holds no SSH public key"},
		{name: "open quotes", given: `"a@b ` + public, secretText: "line 1 holds no SSH public key"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			verifier, err := NewVerifier(SSH, "team/keys", map[string][]byte{"allowed_signers": []byte(tc.given)})
			if tc.secretText != "" {
				g.Expect(errors.Is(err, fault.ErrSecret)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(ContainSubstring(tc.secretText))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			sign := testsource.SignSSH(t, key, "git", "")
			_, err = verifier.Verify(t.Context(), "it", Signed{Payload: []byte("payload"), Signature: []byte(sign([]byte("payload")))}, now)
			if tc.text != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.text)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}

// tool runs a program that may be missing.
func tool(t *testing.T, home string, stdin string, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skip(name + " is not installed")
	}
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "GNUPGHOME="+home, "HOME="+home)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return string(out)
}

// TestSignaturesOfTheTools checks what the programs make that people sign with.
func TestSignaturesOfTheTools(t *testing.T) {
	const payload = "tree 0\n\nmessage\n"
	verify := func(t *testing.T, provider, name, public, signature string) error {
		t.Helper()
		verifier, err := NewVerifier(provider, "team/keys", map[string][]byte{name: []byte(public)})
		if err != nil {
			return err
		}
		if _, err := verifier.Verify(t.Context(), "it", Signed{Payload: []byte(payload + "x"), Signature: []byte(signature)}, time.Now()); err == nil {
			t.Error("a signature holds for other content")
		}
		_, err = verifier.Verify(t.Context(), "it", Signed{Payload: []byte(payload), Signature: []byte(signature)}, time.Now())
		return err
	}
	for _, kind := range []string{"ed25519", "rsa", "ecdsa"} {
		t.Run("ssh-keygen "+kind, func(t *testing.T) {
			g := NewWithT(t)
			home := t.TempDir()
			key := filepath.Join(home, "key")
			tool(t, home, "", "ssh-keygen", "-q", "-t", kind, "-N", "", "-f", key)
			public, err := os.ReadFile(key + ".pub")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(verify(t, SSH, "k.pub", string(public), tool(t, home, payload, "ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", key))).To(Succeed())
		})
	}
	t.Run("gpg", func(t *testing.T) {
		// The path of the agent's socket has to be short.
		home, err := os.MkdirTemp("", "g")
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() {
			_ = exec.Command("gpgconf", "--homedir", home, "--kill", "gpg-agent").Run()
			_ = os.RemoveAll(home)
		})
		for _, algorithm := range []string{"ed25519", "rsa3072", "nistp256"} {
			user := algorithm + "@example.test"
			tool(t, home, "", "gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", user, algorithm, "sign", "1y")
			public := tool(t, home, "", "gpg", "--armor", "--export", user)
			sign := []string{"--batch", "--quiet", "--armor", "--detach-sign", "--local-user", user}
			g.Expect(verify(t, OpenPGP, "k.asc", public, tool(t, home, payload, "gpg", sign...))).To(Succeed(), algorithm)
			g.Expect(verify(t, OpenPGP, "k.gpg", tool(t, home, "", "gpg", "--export", user), tool(t, home, payload, "gpg", sign...))).To(Succeed(), algorithm)
			if algorithm == "rsa3072" {
				weak := tool(t, home, payload, "gpg", append([]string{"--digest-algo", "SHA1"}, sign...)...)
				g.Expect(verify(t, OpenPGP, "k.asc", public, weak)).To(MatchError(ContainSubstring("over a SHA-1 digest, which is too weak")))
			}
		}
	})
}

func FuzzVerify(f *testing.F) {
	key, _ := testsource.NewSigner(f)
	pgp := testsource.NewOpenPGPKey(f, time.Unix(1_700_000_000, 0), 0)
	ssh1, err := NewVerifier(SSH, "s", map[string][]byte{"a.pub": ssh.MarshalAuthorizedKey(key.PublicKey())})
	if err != nil {
		f.Fatal(err)
	}
	gpg, err := NewVerifier(OpenPGP, "s", map[string][]byte{"a.asc": []byte(pgp.Public())})
	if err != nil {
		f.Fatal(err)
	}
	now := time.Unix(1_760_000_000, 0)
	for _, sign := range []testsource.Sign{testsource.SignSSH(f, key, "git", ""), pgp.SignAt(now)} {
		f.Add([]byte(testsource.WithSignature(rawCommit, sign([]byte(rawCommit)))), true)
		f.Add([]byte("object 0\ntype commit\ntag v1\n\nm\n"+sign([]byte("object 0\ntype commit\ntag v1\n\nm\n"))), false)
	}
	f.Fuzz(func(t *testing.T, raw []byte, commit bool) {
		signed := Tag(raw)
		header, ok := ParseTag(raw)
		if ofSigned, same := ParseTag(signed.Payload); ok && (!same || ofSigned != header) {
			t.Fatalf("the tag says what is not signed: %q", raw)
		}
		if commit {
			var err error
			if signed, err = Commit(raw); err != nil {
				return
			}
		}
		for _, verifier := range []Verifier{ssh1, gpg} {
			if _, err := verifier.Verify(t.Context(), "it", signed, now); err != nil && !errors.Is(err, fault.ErrVerification) {
				t.Fatalf("an error of another kind: %v", err)
			}
		}
	})
}

func FuzzSigners(f *testing.F) {
	key, _ := testsource.NewSigner(f)
	public := string(ssh.MarshalAuthorizedKey(key.PublicKey()))
	f.Add([]byte(`a@b namespaces="git",valid-after="20260101" ` + public))
	f.Add([]byte(`"a b" cert-authority ` + public))
	f.Add([]byte(testsource.NewOpenPGPKey(f, time.Unix(1_700_000_000, 0), 0).Public()))
	f.Fuzz(func(t *testing.T, data []byte) {
		for provider, names := range map[string][]string{SSH: {"allowed_signers", "a.pub"}, OpenPGP: {"a.asc", "b.gpg"}} {
			if _, err := NewVerifier(provider, "s", map[string][]byte{names[0]: data, names[1]: data}); err != nil && !errors.Is(err, fault.ErrSecret) {
				t.Fatalf("an error of another kind: %v", err)
			}
		}
	})
}
