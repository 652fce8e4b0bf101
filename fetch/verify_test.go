// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/crypto/ssh"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// started is when the clock of a rig starts.
var started = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func verified(url, mode, provider, secret string, ref corev1alpha1.GitRef) fetch.Want {
	want := gitWant(url, "", corev1alpha1.GitSource{Ref: ref})
	want.Source.(*sourcev1alpha1.GitRepository).Spec.Verify = &sourcev1alpha1.GitVerification{
		Mode: mode, Provider: provider, SecretRef: sourcev1alpha1.SecretReference{Name: secret},
	}
	return want
}

func TestGitVerifyHead(t *testing.T) {
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	year := 365 * 24 * time.Hour
	good := testsource.NewOpenPGPKey(t, started.Add(-year), 0)
	other := testsource.NewOpenPGPKey(t, started.Add(-year), 0)
	expired := testsource.NewOpenPGPKey(t, started.Add(-2*year), year)
	revoked := testsource.NewOpenPGPKey(t, started.Add(-year), 0)
	sshKey, _ := testsource.NewSigner(t)
	sshOther, _ := testsource.NewSigner(t)

	branch := func(name string, sign testsource.Sign) {
		repo.Git("checkout", "--quiet", "-B", name)
		repo.Commit(map[string]string{"a.yaml": name})
		if sign != nil {
			repo.SignHead(sign)
		}
	}
	hour := started.Add(-time.Hour)
	branch("unsigned", nil)
	branch("gpg", good.SignAt(hour))
	branch("gpg-other", other.SignAt(hour))
	branch("gpg-expired", expired.SignAt(started.Add(-year-time.Hour)))
	branch("gpg-revoked", revoked.SignAt(hour))
	branch("gpg-future", good.SignAt(started.Add(time.Hour)))
	elsewhere := good.SignAt(hour)([]byte("tree 0\n\nother content\n"))
	branch("gpg-elsewhere", func([]byte) string { return elsewhere })
	branch("gpg-broken", func([]byte) string { return "-----BEGIN PGP SIGNATURE-----\n\nAAAA\n-----END PGP SIGNATURE-----\n" })
	branch("ssh", testsource.SignSSH(t, sshKey, "git", ""))
	branch("ssh-file", testsource.SignSSH(t, sshKey, "file", ""))
	branch("ssh-other", testsource.SignSSH(t, sshOther, "git", ""))
	sshElsewhere := testsource.SignSSH(t, sshKey, "git", "")([]byte("tree 0\n\nother content\n"))
	branch("ssh-elsewhere", func([]byte) string { return sshElsewhere })
	branch("x509", func([]byte) string { return "-----BEGIN SIGNED MESSAGE-----\nAAAA\n-----END SIGNED MESSAGE-----\n" })
	revoked.Revoke(started.Add(-time.Minute))
	server, _ := testsource.ServeGit(t, root, false)

	public := func(key ssh.Signer) string { return string(ssh.MarshalAuthorizedKey(key.PublicKey())) }
	all := secrets{
		"gpg":     {"good.asc": good.Public(), "more.gpg": expired.Public() + revoked.Public()},
		"ssh":     {"allowed_signers": "# who may sign\ndev@example.test namespaces=\"git\" " + public(sshKey)},
		"pub":     {"dev.pub": public(sshKey)},
		"expired": {"allowed_signers": "dev@example.test valid-before=\"20251231\" " + public(sshKey)},
		"early":   {"allowed_signers": "dev@example.test valid-after=\"20260102\" " + public(sshKey)},
		"files":   {"allowed_signers": "dev@example.test namespaces=\"file\" " + public(sshKey) + "dev " + public(sshOther)},
		"revoked": {"dev.pub": public(sshKey), "revoked_keys": public(sshKey)},
		"empty":   {"note": "canary"},
		"broken":  {"good.asc": "canary", "allowed_signers": "dev@example.test canary"},
	}
	for _, tc := range []struct {
		branch, provider, secret string
		want                     error
		wantText                 string
	}{
		{branch: "gpg", provider: "gpg", secret: "gpg"},
		{branch: "ssh", provider: "ssh", secret: "ssh"},
		{branch: "ssh", provider: "ssh", secret: "pub"},
		{branch: "unsigned", provider: "gpg", secret: "gpg", want: fetch.ErrVerification, wantText: "is not signed"},
		{branch: "unsigned", provider: "ssh", secret: "ssh", want: fetch.ErrVerification, wantText: "is not signed"},
		{branch: "gpg-other", provider: "gpg", secret: "gpg", want: fetch.ErrVerification, wantText: "which the Secret team/gpg does not hold"},
		{branch: "gpg-expired", provider: "gpg", secret: "gpg", want: fetch.ErrVerification, wantText: "which is expired"},
		{branch: "gpg-revoked", provider: "gpg", secret: "gpg", want: fetch.ErrVerification, wantText: "which is revoked"},
		{branch: "gpg-future", provider: "gpg", secret: "gpg", want: fetch.ErrVerification, wantText: "is expired or from the future"},
		{branch: "gpg-elsewhere", provider: "gpg", secret: "gpg", want: fetch.ErrVerification, wantText: "is not valid"},
		{branch: "gpg-broken", provider: "gpg", secret: "gpg", want: fetch.ErrVerification, wantText: "cannot be accepted"},
		{branch: "ssh", provider: "gpg", secret: "gpg", want: fetch.ErrVerification, wantText: "made with ssh, and spec.verify.provider is gpg"},
		{branch: "gpg", provider: "ssh", secret: "ssh", want: fetch.ErrVerification, wantText: "made with gpg, and spec.verify.provider is ssh"},
		{branch: "x509", provider: "gpg", secret: "gpg", want: fetch.ErrVerification, wantText: "made with X.509"},
		{branch: "ssh-other", provider: "ssh", secret: "ssh", want: fetch.ErrVerification, wantText: ssh.FingerprintSHA256(sshOther.PublicKey()) + ", which the Secret team/ssh does not hold"},
		{branch: "ssh-file", provider: "ssh", secret: "ssh", want: fetch.ErrVerification, wantText: `the namespace "file"`},
		{branch: "ssh-elsewhere", provider: "ssh", secret: "ssh", want: fetch.ErrVerification, wantText: "made over other content"},
		{branch: "ssh", provider: "ssh", secret: "expired", want: fetch.ErrVerification, wantText: "which is expired"},
		{branch: "ssh", provider: "ssh", secret: "early", want: fetch.ErrVerification, wantText: "not valid yet"},
		{branch: "ssh", provider: "ssh", secret: "files", want: fetch.ErrVerification, wantText: "whose line in allowed_signers of the Secret team/files is not for the namespace git"},
		{branch: "ssh", provider: "ssh", secret: "revoked", want: fetch.ErrVerification, wantText: "revoked in the Secret team/revoked"},
		{branch: "gpg", provider: "gpg", secret: "nope", want: fetch.ErrSecretNotFound, wantText: "team/nope does not exist"},
		{branch: "gpg", provider: "gpg", secret: "empty", want: fetch.ErrSecret, wantText: "end in .asc or .gpg are expected, found are [note]"},
		{branch: "ssh", provider: "ssh", secret: "empty", want: fetch.ErrSecret, wantText: "allowed_signers"},
		{branch: "gpg", provider: "gpg", secret: "broken", want: fetch.ErrSecret, wantText: "the key good.asc of the Secret team/broken"},
		{branch: "ssh", provider: "ssh", secret: "broken", want: fetch.ErrSecret, wantText: "line 1 holds no SSH public key"},
		{branch: "gpg", provider: "smime", secret: "gpg", want: fetch.ErrInvalid, wantText: "smime"},
	} {
		t.Run(tc.branch+" by "+tc.provider+" with "+tc.secret, func(t *testing.T) {
			g := NewWithT(t)
			r := newRig(t, fetch.Options{Secrets: all})
			a, err := r.get(t, verified(server.URL+"/app.git", "head", tc.provider, tc.secret, corev1alpha1.GitRef{Branch: tc.branch}))
			if tc.want == nil {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(read(a, "a.yaml")).To(Equal(tc.branch))
				return
			}
			g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(ContainSubstring(tc.wantText))
			g.Expect(err.Error()).NotTo(ContainSubstring("canary"))
			g.Expect(r.Stats().Artifacts).To(BeZero(), "nothing unverified is kept")
		})
	}
}

func TestGitVerifyTag(t *testing.T) {
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	key := testsource.NewOpenPGPKey(t, started.Add(-time.Hour), 0)
	sshKey, _ := testsource.NewSigner(t)
	sign, signSSH := key.SignAt(started.Add(-time.Minute)), testsource.SignSSH(t, sshKey, "git", "")
	first := repo.Commit(map[string]string{"a.yaml": "first"})
	repo.SignTag("v1.0.0", "v1.0.0", sign)
	repo.SignTag("v1.1.0", "v1.1.0", nil)
	repo.SignTag("v1.2.0", "v1.0.0", sign)
	repo.SignTag("v1.4.0", "v1.4.0", signSSH)
	repo.SignTag("v1.5.0", "v1.5.0", func(payload []byte) string { return sign(payload) + "and more\n" })
	repo.SignTag("v1.6.0", "v1.6.0", func(payload []byte) string { return signSSH(payload) + "and more\n" })
	repo.Git("tag", "v1.3.0")
	repo.Push()
	server, _ := testsource.ServeGit(t, root, false)
	ssh := testsource.ServeSSH(t, root, sshKey)
	all := secrets{"gpg": {"a.asc": key.Public()}, "ssh": {"a.pub": string(sshKeyLine(sshKey))}, "login": sshSecret(ssh, sshKey)}

	for _, tc := range []struct {
		name, provider string
		ref            corev1alpha1.GitRef
		pin            string
		wantText       string
	}{
		{name: "signed", provider: "gpg", ref: corev1alpha1.GitRef{Tag: "v1.0.0"}},
		{name: "signed with SSH", provider: "ssh", ref: corev1alpha1.GitRef{Tag: "v1.4.0"}},
		{name: "by range", provider: "gpg", ref: corev1alpha1.GitRef{Semver: "<1.1.0"}},
		{name: "by full name", provider: "gpg", ref: corev1alpha1.GitRef{Name: "refs/tags/v1.0.0"}},
		{name: "pinned", provider: "gpg", pin: "v1.0.0@sha1:" + first},
		{name: "annotated, not signed", provider: "gpg", ref: corev1alpha1.GitRef{Tag: "v1.1.0"}, wantText: "the tag v1.1.0 is not signed"},
		{name: "signed under another name", provider: "gpg", ref: corev1alpha1.GitRef{Tag: "v1.2.0"}, wantText: `under another name, "v1.0.0"`},
		{name: "lightweight", provider: "gpg", ref: corev1alpha1.GitRef{Tag: "v1.3.0"}, wantText: "lightweight"},
		{name: "with more behind the SSH signature", provider: "ssh", ref: corev1alpha1.GitRef{Tag: "v1.6.0"}, wantText: "malformed"},
		{name: "branch", provider: "gpg", ref: corev1alpha1.GitRef{Branch: "main"}, wantText: `has no tag "main"`},
		{name: "commit", provider: "gpg", ref: corev1alpha1.GitRef{Commit: first}, wantText: "was not found through a tag"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, overSSH := range []bool{false, true} {
				g := NewWithT(t)
				r := newRig(t, fetch.Options{Secrets: all})
				want := verified(server.URL+"/app.git", "tag", tc.provider, tc.provider, tc.ref)
				if overSSH {
					spec := &want.Source.(*sourcev1alpha1.GitRepository).Spec
					spec.URL, spec.SecretRef = "ssh://git@"+ssh.Address+"/app.git", ref("login")
				}
				want.Revision = tc.pin
				a, err := r.get(t, want)
				if tc.wantText == "" {
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(read(a, "a.yaml")).To(Equal("first"))
					continue
				}
				g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(ContainSubstring(tc.wantText))
			}
		})
	}
	t.Run("from disk", func(t *testing.T) {
		g := NewWithT(t)
		r := newRig(t, fetch.Options{Secrets: all, AllowFileSources: true})
		_, err := r.get(t, verified("file://"+repo.Path(), "tag", "gpg", "gpg", corev1alpha1.GitRef{Tag: "v1.0.0"}))
		g.Expect(err).NotTo(HaveOccurred())
		_, err = r.get(t, verified("file://"+repo.Path(), "tag", "gpg", "gpg", corev1alpha1.GitRef{Tag: "v1.1.0"}))
		g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "%v", err)
	})
	t.Run("a tag that went away", func(t *testing.T) {
		g := NewWithT(t)
		r := newRig(t, fetch.Options{Secrets: all})
		want := verified(server.URL+"/app.git", "tag", "gpg", "gpg", corev1alpha1.GitRef{})
		want.Revision = "v0.9.0@sha1:" + first
		_, err := r.get(t, want)
		g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "%v", err)
	})
	t.Run("a tag that moved", func(t *testing.T) {
		g := NewWithT(t)
		r := newRig(t, fetch.Options{Secrets: all})
		want := verified(server.URL+"/app.git", "tag", "gpg", "gpg", corev1alpha1.GitRef{Tag: "v2.0.0"})
		repo.SignTag("v2.0.0", "v2.0.0", sign)
		revision, _, err := r.Resolve(t.Context(), want)
		g.Expect(err).NotTo(HaveOccurred())
		repo.Commit(map[string]string{"a.yaml": "second"})
		repo.SignTag("v2.0.0", "v2.0.0", sign)
		_, err = r.Fetch(t.Context(), want, revision)
		g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "%v", err)
		g.Expect(err.Error()).To(ContainSubstring("does not lead to the commit " + first + " any more"))
	})
}

func sshKeyLine(key ssh.Signer) []byte { return ssh.MarshalAuthorizedKey(key.PublicKey()) }

// TestGitVerifiedAndNotAreTwoThings asks for one commit with and without verification, and
// for two tags of one commit of which one is signed.
func TestGitVerifiedAndNotAreTwoThings(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	key, other := testsource.NewOpenPGPKey(t, started.Add(-time.Hour), 0), testsource.NewOpenPGPKey(t, started.Add(-time.Hour), 0)
	repo.Commit(map[string]string{"a.yaml": "a"})
	repo.SignTag("v1", "v1", key.SignAt(started.Add(-time.Minute)))
	repo.SignTag("v2", "v2", nil)
	server, _ := testsource.ServeGit(t, root, false)
	all := secrets{"keys": {"a.asc": key.Public()}}
	r := newRig(t, fetch.Options{Secrets: all})
	url := server.URL + "/app.git"

	_, err := r.get(t, gitWant(url, "", corev1alpha1.GitSource{Ref: corev1alpha1.GitRef{Tag: "v1"}}))
	g.Expect(err).NotTo(HaveOccurred(), "nothing is demanded")
	_, err = r.get(t, verified(url, "head", "gpg", "keys", corev1alpha1.GitRef{Tag: "v1"}))
	g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "the commit is not signed: %v", err)
	_, err = r.get(t, verified(url, "tag", "gpg", "keys", corev1alpha1.GitRef{Tag: "v1"}))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = r.get(t, verified(url, "tag", "gpg", "keys", corev1alpha1.GitRef{Tag: "v2"}))
	g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "%v", err)

	t.Run("a Secret with other keys", func(t *testing.T) {
		g := NewWithT(t)
		all["keys"] = map[string]string{"a.asc": other.Public()}
		_, err := r.get(t, verified(url, "tag", "gpg", "keys", corev1alpha1.GitRef{Tag: "v1"}))
		g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "%v", err)
		g.Expect(err.Error()).To(ContainSubstring("does not hold"))
	})
	t.Run("another provider with the same Secret", func(t *testing.T) {
		g := NewWithT(t)
		sshKey, _ := testsource.NewSigner(t)
		all["keys"] = map[string]string{"a.asc": key.Public(), "a.pub": string(sshKeyLine(sshKey))}
		repo.Git("checkout", "--quiet", "-B", "signed")
		repo.SignHead(key.SignAt(started.Add(-time.Minute)))
		_, err := r.get(t, verified(url, "head", "gpg", "keys", corev1alpha1.GitRef{Branch: "signed"}))
		g.Expect(err).NotTo(HaveOccurred())
		_, err = r.get(t, verified(url, "head", "ssh", "keys", corev1alpha1.GitRef{Branch: "signed"}))
		g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "%v", err)
		repo.Git("checkout", "--quiet", "main")
	})
	t.Run("a tag that is signed later", func(t *testing.T) {
		g := NewWithT(t)
		all["keys"] = map[string]string{"a.asc": key.Public()}
		repo.SignTag("v2", "v2", key.SignAt(started.Add(-time.Minute)))
		want := verified(url, "tag", "gpg", "keys", corev1alpha1.GitRef{Tag: "v2"})
		want.MaxAge = 5 * time.Minute
		r.clock.Step(16 * time.Second)
		_, err := r.get(t, want)
		g.Expect(err).NotTo(HaveOccurred(), "a tag can be mended without another commit")
	})
	t.Run("an unsigned commit is not asked for again and again", func(t *testing.T) {
		g := NewWithT(t)
		want := verified(url, "head", "gpg", "keys", corev1alpha1.GitRef{Branch: "main"})
		want.MaxAge = 5 * time.Minute
		_, err := r.get(t, want)
		g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "%v", err)
		before := r.Stats().Fetches
		r.clock.Step(time.Minute)
		_, err = r.get(t, want)
		g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "%v", err)
		g.Expect(strings.Contains(err.Error(), "is not signed")).To(BeTrue())
		g.Expect(r.Stats().Fetches).To(Equal(before))
	})
}
