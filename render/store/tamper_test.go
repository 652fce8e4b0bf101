// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/store"
)

// rewrite changes the JSON of the one render that is stored in a directory.
func rewrite(t *testing.T, dir string, change func(stored map[string]any)) {
	t.Helper()
	g := NewWithT(t)
	for name, content := range files(t, dir) {
		if !strings.HasSuffix(name, ".json.zst") {
			continue
		}
		decoder, err := zstd.NewReader(nil)
		g.Expect(err).NotTo(HaveOccurred())
		defer decoder.Close()
		text, err := decoder.DecodeAll(content, nil)
		g.Expect(err).NotTo(HaveOccurred())
		var stored map[string]any
		g.Expect(json.Unmarshal(text, &stored)).To(Succeed())
		change(stored)
		text, err = json.Marshal(stored)
		g.Expect(err).NotTo(HaveOccurred())
		encoder, err := zstd.NewWriter(nil)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.WriteFile(filepath.Join(dir, name), encoder.EncodeAll(text, nil), 0o600)).To(Succeed())
	}
}

// Nothing of a stored render can be changed unseen, in the digest of the render or not.
func TestAChangedRecord(t *testing.T) {
	first := func(stored map[string]any, list string) map[string]any {
		return stored[list].([]any)[0].(map[string]any)
	}
	older := func(stored map[string]any) { delete(stored, "checksum") }
	tests := []struct {
		name   string
		change func(stored map[string]any)
		want   error
	}{
		{"hook's timeout", func(s map[string]any) { first(s, "hooks")["timeoutNanoseconds"] = 1 }, store.ErrCorrupt},
		{"hooks for other syncs", func(s map[string]any) {
			s["otherHooks"] = append(s["otherHooks"].([]any), s["hooks"].([]any)...)
			delete(s, "hooks")
		}, store.ErrCorrupt},
		{"revision", func(s map[string]any) { s["revision"] = "other" }, store.ErrCorrupt},
		{"inputs", func(s map[string]any) { s["inputs"] = "sha256:other" }, store.ErrCorrupt},
		{"what came out different", func(s map[string]any) { delete(s, "nonDeterministic") }, store.ErrCorrupt},
		{"origin", func(s map[string]any) { first(s, "objects")["origin"] = "other" }, store.ErrCorrupt},
		{"UID", func(s map[string]any) { s["uid"] = "other" }, store.ErrCorrupt},
		{"digest", func(s map[string]any) { s["digest"] = "sha256:" + strings.Repeat("0", 64) }, store.ErrCorrupt},
		{"checksum", func(s map[string]any) { s["checksum"] = "sha256:" + strings.Repeat("0", 64) }, store.ErrCorrupt},
		{"digest, of an older record", func(s map[string]any) { older(s); s["digest"] = "sha256:" + strings.Repeat("0", 64) }, store.ErrCorrupt},
		{"nothing, of an older record", older, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			dir := t.TempDir()
			s := open(t, dir, store.Options{})
			put := record(t, object("ConfigMap", "a", nil))
			g.Expect(s.Put(t.Context(), put)).To(Succeed())
			rewrite(t, dir, test.change)
			_, err := s.Get(t.Context(), "team", "web", put.Result.Digest)
			if test.want == nil {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(test.want))
		})
	}
}

// The checksum is of what is written, whatever characters that holds.
func TestCharactersOfARecord(t *testing.T) {
	g := NewWithT(t)
	s := open(t, t.TempDir(), store.Options{})
	put := record(t, object("ConfigMap", "a", map[string]any{"data": map[string]any{"a": "<&>\u2028\x00"}}))
	put.Revision, put.Result.Objects[0].Origin = "<a&b>", "\xff\ufffd.yaml"
	g.Expect(s.Put(t.Context(), put)).To(Succeed())
	got, err := s.Get(t.Context(), "team", "web", put.Result.Digest)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got.Revision).To(Equal(put.Revision))
}
