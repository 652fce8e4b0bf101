// SPDX-License-Identifier: Apache-2.0

package provenance

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/testsource"
)

var (
	signed  = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	archive = []byte("the archive")
)

func verifier(t *testing.T, keys ...*testsource.OpenPGPKey) *Verifier {
	t.Helper()
	trusted := map[string][]byte{}
	for i, key := range keys {
		trusted[string(rune('a'+i))+".asc"] = []byte(key.Public())
	}
	v, err := New(&sourcev1alpha1.HelmVerification{Provider: "gpg"}, "team/keys", trusted, func() time.Time { return signed.Add(time.Hour) })
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVerify(t *testing.T) {
	key, other := testsource.NewOpenPGPKey(t, signed, 0), testsource.NewOpenPGPKey(t, signed, 0)
	short := testsource.NewOpenPGPKey(t, signed, time.Minute)
	message := testsource.ProvenanceOf("web", "1.0.0", archive)
	good := string(key.ClearSign(signed, message))
	for _, tc := range []struct {
		name, given, wantText string
	}{
		{"good", good, ""},
		{"with the line ends of another system", strings.ReplaceAll(good, "\n", "\r\n"), ""},
		{"of another key", string(other.ClearSign(signed, message)), "which the Secret team/keys does not hold"},
		{"of an expired key", string(short.ClearSign(signed, message)), "is expired"},
		{"of another archive", string(key.ClearSign(signed, testsource.ProvenanceOf("web", "1.0.0", []byte("x")))), "for another archive"},
		{"altered", strings.Replace(good, "name: web", "name: wex", 1), "is not valid"},
		{"with another digest", strings.Replace(good, testsource.SHA256(archive)[:8], "00000000", 1), "is not valid"},
		{"without signature", message, "no signed message"},
		{"of nothing", string(key.ClearSign(signed, "name: web\n")), "names no archives"},
		{"with a weak digest", string(key.ClearSign(signed, "name: web\n\n...\nfiles:\n  web-1.0.0.tgz: md5:"+testsource.SHA256(archive)+"\n")), "no archive with a digest"},
		{"with something behind it", good + "\nfiles:\n", "something follows"},
		{"empty", "", "no signed message"},
		{"of no line", "-----BEGIN PGP SIGNED MESSAGE-----\n\n-----BEGIN PGP SIGNATURE-----\n", "no signed message"},
		{"enormous", strings.Repeat("x", MaxBytes+1), "are accepted"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			name, err := verifier(t, key, short).Verify(t.Context(), "the chart web 1.0.0", []byte(tc.given), web("1.0.0"))
			if tc.wantText == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(name).NotTo(BeEmpty())
				return
			}
			g.Expect(errors.Is(err, fault.ErrVerification)).To(BeTrue(), "%v", err)
			g.Expect(errors.Is(err, fault.ErrContent)).To(BeFalse(), "a provenance file can be made anew")
			g.Expect(err.Error()).To(And(ContainSubstring(tc.wantText), ContainSubstring("the chart web 1.0.0")))
		})
	}
}

func web(version string) Chart {
	return Chart{Name: "web", Version: version, Digest: testsource.SHA256(archive)}
}

// TestVerifyNames has one archive signed under names that are, or are not, those of the chart.
func TestVerifyNames(t *testing.T) {
	key := testsource.NewOpenPGPKey(t, signed, 0)
	files := func(names ...string) string {
		text := "name: web\n\n...\nfiles:\n"
		for _, name := range names {
			text += "  " + name + ": sha256:" + testsource.SHA256(archive) + "\n"
		}
		return text
	}
	for _, tc := range []struct {
		name, given, wantText string
		chart                 Chart
	}{
		{name: "its own", given: files("web-1.0.0.tgz"), chart: web("1.0.0")},
		{name: "its own, and the tag with a v", given: files("web-1.0.0.tgz"), chart: web("v1.0.0")},
		{name: "its own, and the tag with an underscore", given: files("web-1.0.0+a.tgz"), chart: web("1.0.0_a")},
		{name: "its own in another case", given: files("Web-1.0.0.tgz"), chart: web("1.0.0")},
		{name: "its own, whatever the version", given: files("web-1.0.0.tgz"), chart: web("latest")},
		{name: "that under which it is published", given: files("any.tar"), chart: Chart{Name: "web", Version: "1.0.0", File: "any.tar", Digest: testsource.SHA256(archive)}},
		{name: "among others", given: files("db-1.0.0.tgz", "web-1.0.0.tgz"), chart: web("1.0.0")},
		{name: "another chart's", given: files("db-1.0.0.tgz"), chart: web("1.0.0"), wantText: "is signed, but for another chart: it names db-1.0.0.tgz, and not web-1.0.0.tgz"},
		{name: "another chart's, whatever the version", given: files("db-1.0.0.tgz"), chart: web("latest"), wantText: "and not a version of web"},
		{name: "another version's", given: files("web-1.0.1.tgz"), chart: web("1.0.0"), wantText: "for another chart"},
		{name: "that of a chart whose name goes on", given: files("web-db-1.0.0.tgz"), chart: web("1.0.0"), wantText: "for another chart"},
		{name: "no chart's", given: files("web-1.0.0"), chart: web("1.0.0"), wantText: "for another chart"},
		{name: "none", given: files(`""`), chart: web("1.0.0"), wantText: "for another chart"},
		{name: "many", given: files("a", "b", "c", "d", "e"), chart: web("1.0.0"), wantText: "it names a, b, c and 2 more, and not"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := verifier(t, key).Verify(t.Context(), "the chart", key.ClearSign(signed, tc.given), tc.chart)
			if tc.wantText == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(errors.Is(err, fault.ErrVerification)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring(tc.wantText)))
		})
	}
}

func TestNew(t *testing.T) {
	for _, tc := range []struct {
		name, provider string
		trusted        map[string][]byte
		want           error
	}{
		{"another provider", "cosign", nil, fault.ErrInvalid},
		{"no keys", "gpg", map[string][]byte{"ca.crt": []byte("x")}, fault.ErrSecret},
		{"a key that is none", "gpg", map[string][]byte{"a.asc": []byte("x")}, fault.ErrSecret},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := New(&sourcev1alpha1.HelmVerification{Provider: tc.provider}, "team/keys", tc.trusted, time.Now)
			NewWithT(t).Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
		})
	}
	v, err := New(nil, "", nil, nil)
	NewWithT(t).Expect(v, err).To(BeNil())
}

// TestSignatureOfGnuPG checks a message that the tool itself signed, as text.
func TestSignatureOfGnuPG(t *testing.T) {
	gpg, err := exec.LookPath("gpg")
	if err != nil {
		t.Skip("gpg is not installed")
	}
	g := NewWithT(t)
	home, err := os.MkdirTemp("", "gpg") // a short path: the agent's socket lies in it
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run()
		_ = os.RemoveAll(home)
	})
	run := func(args ...string) []byte {
		out, err := exec.Command(gpg, append([]string{"--homedir", home, "--batch", "--pinentry-mode", "loopback", "--passphrase", ""}, args...)...).Output()
		g.Expect(err).NotTo(HaveOccurred())
		return out
	}
	run("--quick-generate-key", "Test <test@example.test>", "rsa3072", "sign", "0")
	file := filepath.Join(home, "message")
	g.Expect(os.WriteFile(file, []byte(testsource.ProvenanceOf("web", "1.0.0", archive)), 0o600)).To(Succeed())
	message := run("--clearsign", "--output", "-", file)
	v, err := New(&sourcev1alpha1.HelmVerification{Provider: "gpg"}, "team/keys", map[string][]byte{"a.gpg": run("--export")}, time.Now)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = v.Verify(t.Context(), "the chart web", message, web("1.0.0"))
	g.Expect(err).NotTo(HaveOccurred())
}

func FuzzParse(f *testing.F) {
	message := testsource.ProvenanceOf("web", "1.0.0", archive)
	f.Add([]byte(message))
	f.Add(testsource.NewOpenPGPKey(f, signed, 0).ClearSign(signed, message))
	f.Add([]byte("-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\na\n\n...\nfiles:\n  a: b\n-----BEGIN PGP SIGNATURE-----\n\n-----END PGP SIGNATURE-----\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := parse(file)
		if err == nil && len(m.archives) == 0 {
			t.Fatal("a message without archives is accepted")
		}
	})
}
