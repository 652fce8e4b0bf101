// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"filippo.io/age"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/store"
)

// What is stored before anything is applied can be read afterwards, whatever was there before.
func TestPutHealsWhatIsDamaged(t *testing.T) {
	identity, other := newIdentity(t), newIdentity(t)
	damages := map[string]func(content []byte) []byte{
		"empty":    func([]byte) []byte { return nil },
		"cut":      func(content []byte) []byte { return content[:len(content)*2/3] },
		"flipped":  func(content []byte) []byte { content[len(content)/2] ^= 1; return content },
		"doubled":  func(content []byte) []byte { return append(content, content...) },
		"nonsense": func([]byte) []byte { return []byte("hello") },
	}
	reader := store.Options{Identities: []age.Identity{identity}}
	for name, o := range map[string]store.Options{
		"in clear":             {},
		"encrypted":            {Recipients: []age.Recipient{identity.Recipient()}, Identities: []age.Identity{identity}},
		"encrypted for others": {Recipients: []age.Recipient{identity.Recipient()}},
	} {
		for damage, change := range damages {
			for what, suffixes := range map[string][]string{"render": {".json.zst"}, "entry": {".index.json"}, "both": {".json.zst", ".index.json"}} {
				t.Run(name+"/"+damage+"/"+what, func(t *testing.T) {
					g := NewWithT(t)
					dir := t.TempDir()
					put := record(t, object("ConfigMap", "a", nil))
					g.Expect(open(t, dir, o).Put(t.Context(), put)).To(Succeed())
					for _, suffix := range suffixes {
						file := filepath.Join(dir, "team", "web", strings.TrimPrefix(put.Result.Digest, "sha256:")+suffix)
						content, err := os.ReadFile(file)
						g.Expect(err).NotTo(HaveOccurred())
						g.Expect(os.WriteFile(file, change(content), 0o600)).To(Succeed())
					}
					errs := make([]error, 4)
					var wait sync.WaitGroup
					for i := range errs {
						s := open(t, dir, o)
						wait.Go(func() { errs[i] = s.Put(t.Context(), put) })
					}
					wait.Wait()
					g.Expect(errs).To(HaveEach(BeNil()))
					_, err := open(t, dir, reader).Get(t.Context(), "team", "web", put.Result.Digest)
					g.Expect(err).NotTo(HaveOccurred())
					entries, err := open(t, dir, reader).Index(t.Context(), "team", "web")
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(entries).To(ConsistOf(HaveField("Revision", put.Revision)))

					g.Expect(open(t, dir, o).Put(t.Context(), put)).To(Succeed())
					before := files(t, dir)
					g.Expect(open(t, dir, o).Put(t.Context(), put)).To(Succeed())
					g.Expect(files(t, dir)).To(Equal(before), "what is whole stays as it is")
				})
			}
		}
	}
	t.Run("an older entry of the index", func(t *testing.T) {
		g := NewWithT(t)
		dir := t.TempDir()
		put := record(t, object("ConfigMap", "a", nil))
		sealing := store.Options{Recipients: []age.Recipient{identity.Recipient()}}
		g.Expect(open(t, dir, sealing).Put(t.Context(), put)).To(Succeed())
		file := filepath.Join(dir, "team", "web", strings.TrimPrefix(put.Result.Digest, "sha256:")+".index.json")
		entry, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		older := regexp.MustCompile(`,"stored":"[^"]*"`).ReplaceAll(entry, nil)
		g.Expect(older).NotTo(Equal(entry))
		g.Expect(os.WriteFile(file, older, 0o600)).To(Succeed())
		before := files(t, dir)
		g.Expect(open(t, dir, sealing).Put(t.Context(), put)).To(Succeed())
		g.Expect(files(t, dir)).To(Equal(before), "nobody here can tell whether it is whole")
		sealing.Identities = []age.Identity{identity}
		g.Expect(open(t, dir, sealing).Put(t.Context(), put)).To(Succeed())
		g.Expect(os.ReadFile(file)).To(Equal(entry), "who can tell says so")
	})
	t.Run("for another identity", func(t *testing.T) {
		g := NewWithT(t)
		dir := t.TempDir()
		put := record(t, object("ConfigMap", "a", nil))
		g.Expect(open(t, dir, store.Options{Recipients: []age.Recipient{other.Recipient()}}).Put(t.Context(), put)).To(Succeed())
		before := files(t, dir)
		g.Expect(open(t, dir, store.Options{Recipients: []age.Recipient{identity.Recipient()}, Identities: []age.Identity{identity}}).Put(t.Context(), put)).To(Succeed())
		g.Expect(files(t, dir)).To(Equal(before), "it is whole for those who can read it")
	})
}

func newIdentity(t *testing.T) *age.X25519Identity {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return identity
}

// One entry of the index that cannot be read hides neither its render nor the others.
func TestIndexWithADamagedEntry(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	s := open(t, dir, store.Options{})
	good, bad := record(t, object("ConfigMap", "a", nil)), record(t, object("ConfigMap", "b", nil))
	g.Expect(s.Put(t.Context(), good)).To(Succeed())
	g.Expect(s.Put(t.Context(), bad)).To(Succeed())
	file := filepath.Join(dir, "team", "web", strings.TrimPrefix(bad.Result.Digest, "sha256:")+".index.json")
	for _, content := range [][]byte{nil, []byte("{"), []byte(`{"schema":"other"}`), bytes.Repeat([]byte(" "), 10)} {
		g.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
		entries, err := s.Index(t.Context(), "team", "web")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(entries).To(ConsistOf(
			And(HaveField("Digest", good.Result.Digest), HaveField("Revision", good.Revision)),
			And(HaveField("Digest", bad.Result.Digest), HaveField("Revision", ""), HaveField("Objects", 0))))
	}
}

// Files are for their owner, whatever the umask leaves to others.
func TestFilesAreForTheirOwner(t *testing.T) {
	before := syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(before) })
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "renders")
	g.Expect(open(t, dir, store.Options{}).Put(t.Context(), record(t, object("ConfigMap", "a", nil)))).To(Succeed())
	for name := range files(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)), name)
	}
}
