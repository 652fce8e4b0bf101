// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"filippo.io/age"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/store"
)

// What was stored in clear is encrypted by the next Put that has recipients, and is the same
// render still; writers at once do no harm.
func TestClearBecomesEncrypted(t *testing.T) {
	g := NewWithT(t)
	identity, err := age.GenerateX25519Identity()
	g.Expect(err).NotTo(HaveOccurred())
	dir := t.TempDir()
	first := record(t, object("Secret", "a", map[string]any{"stringData": map[string]any{"password": "hunter2-canary"}}))
	clear := open(t, dir, store.Options{AllowPlaintextSecrets: true})
	g.Expect(clear.Put(t.Context(), first)).To(Succeed())

	later := first
	later.Revision = "later"
	sealing := store.Options{Recipients: []age.Recipient{identity.Recipient()}}
	errs := make([]error, 8)
	var wait sync.WaitGroup
	for i := range errs {
		s := open(t, dir, sealing)
		wait.Go(func() { errs[i] = s.Put(t.Context(), later) })
	}
	wait.Wait()
	g.Expect(errs).To(HaveEach(BeNil()))

	// Of two that write at once, the index may have one and the store the other.
	g.Expect(open(t, dir, sealing).Put(t.Context(), later)).To(Succeed())

	key := "team/web/" + strings.TrimPrefix(first.Result.Digest, "sha256:")
	stored := files(t, dir)
	g.Expect(stored).To(HaveLen(2))
	sealed := stored[key+".json.zst"]
	g.Expect(bytes.HasPrefix(sealed, []byte("age-encryption.org/"))).To(BeTrue())
	got, err := open(t, dir, store.Options{Identities: []age.Identity{identity}}).Get(t.Context(), "team", "web", first.Result.Digest)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got.Revision).To(Equal(first.Revision), "that of the first, as the index has it")

	g.Expect(open(t, dir, sealing).Put(t.Context(), later)).To(Succeed())
	g.Expect(clear.Put(t.Context(), later)).To(Succeed())
	g.Expect(files(t, dir)[key+".json.zst"]).To(Equal(sealed), "what is encrypted stays as it is")

	damaged := append(bytes.Clone(sealed), 'x')
	g.Expect(os.WriteFile(filepath.Join(dir, filepath.FromSlash(key)+".json.zst"), damaged, 0o600)).To(Succeed())
	g.Expect(clear.Put(t.Context(), later)).To(Succeed())
	g.Expect(files(t, dir)[key+".json.zst"]).To(Equal(damaged), "and is not written in clear, damaged or not")
}

// What is in clear and cannot be read is written as it should be.
func TestBrokenClearBecomesEncrypted(t *testing.T) {
	g := NewWithT(t)
	identity, err := age.GenerateX25519Identity()
	g.Expect(err).NotTo(HaveOccurred())
	dir := t.TempDir()
	r := record(t, object("Secret", "a", nil))
	g.Expect(open(t, dir, store.Options{AllowPlaintextSecrets: true}).Put(t.Context(), r)).To(Succeed())
	g.Expect(os.Truncate(filepath.Join(dir, "team", "web", strings.TrimPrefix(r.Result.Digest, "sha256:")+".json.zst"), 0)).To(Succeed())
	s := open(t, dir, store.Options{Recipients: []age.Recipient{identity.Recipient()}, Identities: []age.Identity{identity}})
	g.Expect(s.Put(t.Context(), r)).To(Succeed())
	_, err = s.Get(t.Context(), "team", "web", r.Result.Digest)
	g.Expect(err).NotTo(HaveOccurred())
}
