// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	. "github.com/onsi/gomega"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"

	"kumodo.io/convoy/render/store"
	"kumodo.io/convoy/render/store/internal/storetest"
)

var (
	object = storetest.Object
	record = storetest.Record
)

// directory opens a directory as package location does.
func directory(dir string) storetest.Opener {
	return func(t *testing.T, o store.Options) *store.Store {
		t.Helper()
		bucket, err := fileblob.OpenBucket(dir, &fileblob.Options{
			CreateDir: !o.ReadOnly, DirFileMode: 0o700, NoTempDir: true, Metadata: fileblob.MetadataDontWrite,
		})
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		s := store.New(store.Place{Bucket: bucket, Name: "file://" + dir}, o)
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
}

func open(t *testing.T, dir string, o store.Options) *store.Store {
	t.Helper()
	return directory(dir)(t, o)
}

func TestConformance(t *testing.T) {
	t.Run("directory", func(t *testing.T) {
		storetest.Conform(t, func(t *testing.T) storetest.Opener { return directory(t.TempDir()) })
	})
	t.Run("memory", func(t *testing.T) {
		storetest.Conform(t, func(t *testing.T) storetest.Opener {
			bucket := memblob.OpenBucket(nil)
			t.Cleanup(func() { _ = bucket.Close() })
			return func(_ *testing.T, o store.Options) *store.Store {
				return store.New(store.Place{Bucket: bucket, Name: "mem://"}, o)
			}
		})
	})
	t.Run("prefix", func(t *testing.T) {
		storetest.Conform(t, func(t *testing.T) storetest.Opener {
			bucket := memblob.OpenBucket(nil)
			t.Cleanup(func() { _ = bucket.Close() })
			NewWithT(t).Expect(bucket.WriteAll(t.Context(), "mine/team/web/stranger", nil, nil)).To(Succeed())
			below := blob.PrefixedBucket(bucket, "some/prefix/")
			return func(_ *testing.T, o store.Options) *store.Store {
				return store.New(store.Place{Bucket: below, Name: "mem://some/prefix"}, o)
			}
		})
	})
}

func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		found[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return found
}

// The keys are what other tools and other versions find renders by: they must not change.
func TestKeys(t *testing.T) {
	identity, err := age.GenerateX25519Identity()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	tests := []struct {
		name    string
		options store.Options
		below   string
	}{
		{"in clear", store.Options{}, "team/web/"},
		{"of an installation", store.Options{Installation: "a b_1.c-d"}, "a%20b_1.c-d/team/web/"},
		{"encrypted", store.Options{Installation: "..", Recipients: []age.Recipient{identity.Recipient()}}, "%2E%2E/team/web/"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			dir := filepath.Join(t.TempDir(), "made", "by", "open")
			put := record(t, object("ConfigMap", "a", nil))
			s := open(t, dir, test.options)
			g.Expect(s.Put(t.Context(), put)).To(Succeed())
			for kept, err := range s.Walk(t.Context()) {
				g.Expect(err).NotTo(HaveOccurred())
				_, err = s.Retain(t.Context(), kept, func(string) bool { return false }, time.Now())
				g.Expect(err).NotTo(HaveOccurred())
			}
			key := below(t, dir, test.below) + strings.TrimPrefix(put.Result.Digest, "sha256:")
			stored := files(t, dir)
			g.Expect(stored).To(HaveLen(3))
			g.Expect(stored).To(HaveKey(key + ".json.zst"))
			g.Expect(stored).To(HaveKey(key + ".unneeded"))
			g.Expect(string(stored[key+".index.json"])).To(Equal(`{"schema":"convoy.kumodo.io/render-index/1","namespace":"team","name":"web","uid":"u",` +
				`"digest":"` + put.Result.Digest + `","revision":"main@sha1:0","objects":1,"stored":"` + digestOf(stored[key+".json.zst"]) + `"}`))
			g.Expect(bytes.HasPrefix(stored[key+".json.zst"], []byte("age-encryption.org/"))).To(Equal(len(test.options.Recipients) > 0))
			info, err := os.Stat(dir)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o700)))
		})
	}
}

// below gives the names that a directory gives to keys.
func below(t *testing.T, dir, prefix string) string {
	t.Helper()
	for name := range files(t, dir) {
		if first, _, _ := strings.Cut(name, "/"); strings.Contains(first, "__0x25__") {
			return strings.Replace(prefix, "%", "__0x25__", 2)
		}
	}
	return prefix
}

func TestPutRefuses(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	inHook := record(t, object("ConfigMap", "a", nil))
	inHook.Result.Hooks[0].Object = object("Secret", "h", nil)
	g.Expect(open(t, dir, store.Options{}).Put(t.Context(), inHook)).To(MatchError(store.ErrPlaintextSecrets))
	outside := record(t)
	outside.Name = "../../web"
	g.Expect(open(t, dir, store.Options{}).Put(t.Context(), outside)).To(MatchError(ContainSubstring("is not the name of a Release")))
	g.Expect(files(t, dir)).To(BeEmpty())
	asked := open(t, dir, store.Options{AllowPlaintextSecrets: true})
	g.Expect(asked.Put(t.Context(), record(t, object("Secret", "a", nil)))).To(Succeed())
}

func TestGetRefuses(t *testing.T) {
	identity, err := age.GenerateX25519Identity()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	encrypted := store.Options{Recipients: []age.Recipient{identity.Recipient()}}
	digestOfPut := record(t, object("ConfigMap", "a", nil)).Result.Digest
	otherDigest := "sha256:" + strings.Repeat("0", 64)
	place := func(dir, digest string) string {
		return filepath.Join(dir, "team", "web", strings.TrimPrefix(digest, "sha256:")+".json.zst")
	}
	change := func(g Gomega, file string, at int) {
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		content[(at+len(content))%len(content)] ^= 1
		g.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
	}
	tests := []struct {
		name   string
		write  store.Options
		tamper func(g Gomega, dir string)
		digest string
		want   error
	}{
		{"no digest", store.Options{}, nil, "../../etc/passwd", store.ErrNotFound},
		{"cut", store.Options{}, func(g Gomega, dir string) {
			g.Expect(os.Truncate(place(dir, digestOfPut), 20)).To(Succeed())
		}, digestOfPut, store.ErrCorrupt},
		{"emptied", store.Options{}, func(g Gomega, dir string) {
			g.Expect(os.Truncate(place(dir, digestOfPut), 0)).To(Succeed())
		}, digestOfPut, store.ErrCorrupt},
		{"another render under this digest", store.Options{}, func(g Gomega, dir string) {
			g.Expect(os.Rename(place(dir, digestOfPut), place(dir, otherDigest))).To(Succeed())
		}, otherDigest, store.ErrCorrupt},
		{"a changed byte", store.Options{}, func(g Gomega, dir string) { change(g, place(dir, digestOfPut), 40) }, digestOfPut, store.ErrCorrupt},
		{"a changed byte, encrypted", encrypted, func(g Gomega, dir string) { change(g, place(dir, digestOfPut), -1) }, digestOfPut, store.ErrCorrupt},
		{"larger than can be", store.Options{}, func(g Gomega, dir string) {
			g.Expect(os.Truncate(place(dir, digestOfPut), 1<<40)).To(Succeed()) // sparse
		}, digestOfPut, store.ErrTooLarge},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			dir := t.TempDir()
			g.Expect(open(t, dir, test.write).Put(t.Context(), record(t, object("ConfigMap", "a", nil)))).To(Succeed())
			if test.tamper != nil {
				test.tamper(g, dir)
			}
			_, err := open(t, dir, store.Options{Identities: []age.Identity{identity}}).Get(t.Context(), "team", "web", test.digest)
			g.Expect(err).To(MatchError(test.want))
			g.Expect(err.Error()).To(ContainSubstring(strings.TrimPrefix(test.digest, "sha256:")))
		})
	}
}

// What is not of a render store is nobody's business, whatever it is called.
func TestRetentionLeavesStrangersAlone(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	strangers := []string{
		"README", "team/web/README", "team/web/" + strings.Repeat("0", 64), "team/web/" + strings.Repeat("0", 64) + ".json.zst.1.tmp",
		"team/web/" + strings.Repeat("Z", 64) + ".json.zst", "a/team/web/" + strings.Repeat("0", 64) + ".json.zst", "UPPER/web/" + strings.Repeat("0", 64) + ".json.zst",
	}
	for _, name := range strangers {
		g.Expect(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(dir, name), nil, 0o600)).To(Succeed())
	}
	g.Expect(storetest.Stored(t, open(t, dir, store.Options{}))).To(BeEmpty())
}

// What a process left that died while it removed a render is removed later.
func TestRetentionGoesOn(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	s := open(t, dir, store.Options{})
	r := record(t, object("ConfigMap", "a", nil))
	g.Expect(s.Put(t.Context(), r)).To(Succeed())
	soon := time.Now().Add(time.Hour)
	pass := func() {
		for name, renders := range storetest.Stored(t, s) {
			_, err := s.Retain(t.Context(), store.Kept{Namespace: "team", Name: strings.TrimPrefix(name, "team/"), Renders: renders},
				func(string) bool { return false }, soon)
			g.Expect(err).NotTo(HaveOccurred())
		}
	}
	pass()
	g.Expect(os.Remove(filepath.Join(dir, "team", "web", strings.TrimPrefix(r.Result.Digest, "sha256:")+".json.zst"))).To(Succeed())
	pass()
	g.Expect(files(t, dir)).To(BeEmpty())
}

func TestAStopIsNoFaultOfTheStore(t *testing.T) {
	g := NewWithT(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	err := open(t, t.TempDir(), store.Options{}).Put(ctx, record(t))
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(err).NotTo(MatchError(store.ErrUnavailable))
}

func TestParseRecipients(t *testing.T) {
	classic, err := age.GenerateX25519Identity()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	quantum, err := age.GenerateHybridIdentity()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	tests := []struct {
		name  string
		given []string
		want  string
	}{
		{"none", nil, ""},
		{"one", []string{classic.Recipient().String()}, ""},
		{"one for later", []string{quantum.Recipient().String()}, ""},
		{"both", []string{classic.Recipient().String(), quantum.Recipient().String()}, "cannot be used together"},
		{"a private key", []string{classic.Recipient().String(), classic.String()}, "key 2 of 2 is no age public key"},
		{"nothing", []string{""}, "key 1 of 1 is no age public key"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := store.ParseRecipients(test.given...)
			if test.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(got).To(HaveLen(len(test.given)))
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(test.want)))
			g.Expect(err.Error()).NotTo(ContainSubstring("SECRET-KEY"))
		})
	}
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}
