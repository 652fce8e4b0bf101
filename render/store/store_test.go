// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/store"
)

const canary = "hunter2-canary"

func object(t *testing.T, kind, name string, fields map[string]any) render.Object {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name, "namespace": "ns"},
	}}
	for key, value := range fields {
		o.Object[key] = value
	}
	return render.Object{Object: o, Stage: -1, Origin: "a.yaml", Keep: true}
}

func record(t *testing.T, objects ...render.Object) store.Record {
	t.Helper()
	result := &render.Result{
		Inputs: "sha256:inputs", Objects: objects,
		Hooks: []render.Hook{{
			Name: "h", On: corev1alpha1.HookPreSync, Weight: -3, Timeout: time.Minute, Object: object(t, "Pod", "h", nil),
			DeletePolicy: []corev1alpha1.HookDeletePolicy{corev1alpha1.HookDeleteSucceeded}, FailurePolicy: corev1alpha1.HookFailureIgnore,
		}},
		OtherHooks:       []render.Hook{{Name: "o", On: corev1alpha1.HookPostSync, When: render.OnUpgrade, Object: object(t, "Pod", "o", nil)}},
		NonDeterministic: []corev1alpha1.ObjectKey{{Version: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "a"}},
	}
	var err error
	result.Digest, err = result.ComputeDigest()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return store.Record{Namespace: "team", Name: "web", UID: "u", Revision: "main@sha1:0", Result: result}
}

func open(t *testing.T, dir string, o store.Options) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), "file://"+filepath.ToSlash(dir), o)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = s.Close() })
	return s
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

func TestWhatIsPutIsGot(t *testing.T) {
	identity, err := age.GenerateX25519Identity()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	secret := map[string]any{"stringData": map[string]any{"password": canary}}
	numbers := map[string]any{"spec": map[string]any{"id": int64(9007199254740993), "ratio": 0.5, "list": []any{nil, true}}}
	tests := []struct {
		name    string
		options store.Options
		given   []render.Object
	}{
		{"in clear", store.Options{}, []render.Object{object(t, "ConfigMap", "a", numbers)}},
		{"in clear, as asked for", store.Options{AllowPlaintextSecrets: true}, []render.Object{object(t, "Secret", "a", secret)}},
		{"encrypted", store.Options{Recipients: []age.Recipient{identity.Recipient()}, Identities: []age.Identity{identity}},
			[]render.Object{object(t, "Secret", "a", secret), object(t, "ConfigMap", "b", numbers)}},
		{"empty", store.Options{}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			dir := filepath.Join(t.TempDir(), "made", "by", "open")
			put := record(t, test.given...)
			g.Expect(open(t, dir, test.options).Put(t.Context(), put)).To(Succeed())
			got, err := open(t, dir, store.Options{ReadOnly: true, Identities: test.options.Identities}).Get(t.Context(), "team", "web", put.Result.Digest)
			g.Expect(err).NotTo(HaveOccurred())
			for i := range got.Result.Objects {
				g.Expect(got.Result.Objects[i].Digest).To(HavePrefix("sha256:"))
				got.Result.Objects[i].Digest = ""
			}
			got.Result.Hooks[0].Object.Digest, got.Result.OtherHooks[0].Object.Digest = "", ""
			g.Expect(got).To(Equal(put))

			stored := files(t, dir)
			name := "team/web/" + strings.TrimPrefix(put.Result.Digest, "sha256:") + ".json.zst"
			g.Expect(stored).To(HaveLen(1))
			g.Expect(stored).To(HaveKey(name))
			g.Expect(bytes.HasPrefix(stored[name], []byte("age-encryption.org/"))).To(Equal(len(test.options.Recipients) > 0))
			info, err := os.Stat(filepath.Join(dir, "team"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o700)))
		})
	}
}

func TestPutRefuses(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	withSecret := record(t, object(t, "Secret", "a", nil))
	inHook := record(t, object(t, "ConfigMap", "a", nil))
	inHook.Result.Hooks[0].Object = object(t, "Secret", "h", nil)
	g.Expect(open(t, dir, store.Options{}).Put(t.Context(), withSecret)).To(MatchError(store.ErrPlaintextSecrets))
	g.Expect(open(t, dir, store.Options{}).Put(t.Context(), inHook)).To(MatchError(store.ErrPlaintextSecrets))
	g.Expect(open(t, dir, store.Options{ReadOnly: true}).Put(t.Context(), record(t))).To(MatchError(store.ErrReadOnly))
	outside := record(t)
	outside.Name = "../../web"
	g.Expect(open(t, dir, store.Options{}).Put(t.Context(), outside)).To(MatchError(ContainSubstring("is not the name of a Release")))
	g.Expect(files(t, dir)).To(BeEmpty())
}

func TestPutWritesOnce(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	r := record(t, object(t, "ConfigMap", "a", nil))
	var wait sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wait.Go(func() { errs[i] = open(t, dir, store.Options{}).Put(t.Context(), r) })
	}
	wait.Wait()
	g.Expect(errs).To(HaveEach(BeNil()))
	before := files(t, dir)
	g.Expect(before).To(HaveLen(1))

	other := r
	other.Revision = "later"
	g.Expect(open(t, dir, store.Options{}).Put(t.Context(), other)).To(Succeed())
	g.Expect(files(t, dir)).To(Equal(before))
}

func TestGetRefuses(t *testing.T) {
	g := NewWithT(t)
	identity, err := age.GenerateX25519Identity()
	g.Expect(err).NotTo(HaveOccurred())
	stranger, err := age.GenerateX25519Identity()
	g.Expect(err).NotTo(HaveOccurred())
	encrypted := store.Options{Recipients: []age.Recipient{identity.Recipient()}}
	digestOfPut := record(t, object(t, "ConfigMap", "a", nil)).Result.Digest
	otherDigest := "sha256:" + strings.Repeat("0", 64)
	place := func(dir, digest string) string {
		return filepath.Join(dir, "team", "web", strings.TrimPrefix(digest, "sha256:")+".json.zst")
	}
	tests := []struct {
		name       string
		write      store.Options
		identities []age.Identity
		tamper     func(g Gomega, dir string)
		digest     string
		want       error
	}{
		{"nothing there", store.Options{}, nil, nil, otherDigest, store.ErrNotFound},
		{"no digest", store.Options{}, nil, nil, "../../etc/passwd", store.ErrNotFound},
		{"cut", store.Options{}, nil, func(g Gomega, dir string) {
			g.Expect(os.Truncate(place(dir, digestOfPut), 20)).To(Succeed())
		}, digestOfPut, store.ErrCorrupt},
		{"another render under this digest", store.Options{}, nil, func(g Gomega, dir string) {
			g.Expect(os.Rename(place(dir, digestOfPut), place(dir, otherDigest))).To(Succeed())
		}, otherDigest, store.ErrCorrupt},
		{"a changed byte", encrypted, []age.Identity{identity}, func(g Gomega, dir string) {
			content, err := os.ReadFile(place(dir, digestOfPut))
			g.Expect(err).NotTo(HaveOccurred())
			content[len(content)-1] ^= 1
			g.Expect(os.WriteFile(place(dir, digestOfPut), content, 0o600)).To(Succeed())
		}, digestOfPut, store.ErrCorrupt},
		{"for another identity", encrypted, []age.Identity{stranger}, nil, digestOfPut, store.ErrNoIdentity},
		{"without identity", encrypted, nil, nil, digestOfPut, store.ErrNoIdentity},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			dir := t.TempDir()
			g.Expect(open(t, dir, test.write).Put(t.Context(), record(t, object(t, "ConfigMap", "a", nil)))).To(Succeed())
			if test.tamper != nil {
				test.tamper(g, dir)
			}
			_, err := open(t, dir, store.Options{Identities: test.identities}).Get(t.Context(), "team", "web", test.digest)
			g.Expect(err).To(MatchError(test.want))
			g.Expect(err.Error()).To(ContainSubstring("render "))
		})
	}
}

func TestOpen(t *testing.T) {
	dir := filepath.ToSlash(t.TempDir())
	tests := []struct {
		name, url string
		options   store.Options
		want      string
	}{
		{"memory", "mem://", store.Options{}, ""},
		{"directory", "file://" + dir + "/new", store.Options{}, ""},
		{"directory to read that is not there", "file://" + dir + "/none", store.Options{ReadOnly: true}, "opening the render store"},
		{"relative directory", "file://renders", store.Options{}, "must be file:// and an absolute path"},
		{"other scheme", "s3://key:" + canary + "@bucket", store.Options{}, `render stores of the scheme "s3" are not built yet; supported are file:///an/absolute/path and mem://`},
		{"no URL", "file://%zz" + canary, store.Options{}, "cannot be parsed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			s, err := store.Open(t.Context(), test.url, test.options)
			if test.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(s.Close()).To(Succeed())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(test.want)))
			g.Expect(err.Error()).NotTo(ContainSubstring(canary))
		})
	}
}
