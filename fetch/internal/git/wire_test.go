// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/tree"
)

// said is a conversation with a server that says the same always.
type said []byte

func (s said) advertise(context.Context) (io.Reader, error)      { return bytes.NewReader(s), nil }
func (s said) upload(context.Context, []byte) (io.Reader, error) { return bytes.NewReader(s), nil }
func (s said) close()                                            {}

// FuzzAdvertised reads lists of references, and takes them for answers with a pack too.
func FuzzAdvertised(f *testing.F) {
	id := strings.Repeat("1", 40)
	f.Add([]byte("001e# service=git-upload-pack\n0000004a" + id + " HEAD\x00symref=HEAD:refs/heads/main\n003d" + id + " refs/heads/main\n0000"))
	f.Add([]byte("003d" + id + " refs/heads/main\n003d" + id + " refs/tags/v1^{}\n0000"))
	f.Add([]byte("0008NAK\n0024\x01PACK\x00\x00\x00\x02\x00\x00\x00\x000000"))
	f.Add([]byte("0011ERR not here\n"))
	f.Add([]byte("0000"))
	f.Add([]byte("001ashallow " + id + "0000"))
	b := backendWith(backend.Limits{References: 100, ContentBytes: 1 << 20, DownloadBytes: 1 << 20})
	f.Fuzz(func(t *testing.T, data []byte) {
		check := func(err error) {
			if err != nil && fault.Kind(err) == nil {
				t.Fatalf("an error without kind: %v", err)
			}
		}
		adv, err := b.advertised(t.Context(), said(data))
		check(err)
		if err != nil {
			return
		}
		if len(adv.References) > 100 {
			t.Fatalf("%d references are accepted", len(adv.References))
		}
		_ = defaultBranch(adv)
		stream, err := b.pack(t.Context(), said(data), adv, []plumbing.Hash{plumbing.NewHash(id)}, shallow)
		check(err)
		if err == nil {
			_, err = b.readPack(t.Context(), stream)
			check(err)
		}
	})
}

// FuzzAnswer reads answers with a pack.
func FuzzAnswer(f *testing.F) {
	pack, _ := packOf(f)
	id := strings.Repeat("1", 40)
	f.Add([]byte("0008NAK\n"), pack[:200])
	f.Add([]byte("0034shallow "+id+"0000"+"0008NAK\n"), pack[:60])
	f.Add([]byte("0011ERR not here\n"), []byte{})
	b := backendWith(backend.Limits{References: 100, ContentBytes: 1 << 20, DownloadBytes: 1 << 20})
	list := encodeLine(id+" HEAD\x00side-band-64k ofs-delta shallow no-progress multi_ack_detailed agent=git/2 symref=HEAD:refs/heads/main\n") + "0000"
	adv, err := b.advertised(f.Context(), said(list))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, beginning, content []byte) {
		answer := append(bytes.Clone(beginning), encodeLine("\x01"+string(content[:min(len(content), 60000)]))+"0000"...)
		stream, err := b.pack(t.Context(), said(answer), adv, []plumbing.Hash{plumbing.NewHash(id)}, shallow)
		if err == nil {
			_, err = b.readPack(t.Context(), stream)
		}
		if err != nil && fault.Kind(err) == nil {
			t.Fatalf("an error without kind: %v", err)
		}
	})
}

func encodeLine(text string) string {
	const hex = "0123456789abcdef"
	n := len(text) + 4
	return string([]byte{hex[n>>12&15], hex[n>>8&15], hex[n>>4&15], hex[n&15]}) + text
}

// FuzzTree reads a directory as Git stores it.
func FuzzTree(f *testing.F) {
	id := strings.Repeat("1", 40)
	f.Add(treeOf("100644 a="+id, "40000 d="+id, "120000 l="+id, "160000 m="+id, "100755 x="+id).data)
	f.Add([]byte("100644 a\x00short"))
	f.Add([]byte("100644 ../a\x0011111111111111111111"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all := packed{objects: map[plumbing.Hash]object{plumbing.NewHash(id): {kind: plumbing.TreeObject, data: data}}}
		r := treeReader{from: all, builder: tree.NewBuilder(backend.Limits{ContentBytes: 1 << 20, FileBytes: 1 << 20, Files: 1000, PathBytes: 200, PathDepth: 10})}
		if err := r.read("", plumbing.NewHash(id)); err != nil && fault.Kind(err) == nil {
			t.Fatalf("an error without kind: %v", err)
		}
	})
}
