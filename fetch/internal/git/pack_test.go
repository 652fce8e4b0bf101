// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"os/exec"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/access"
	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/budget"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// packOf returns the whole history of a repository as a pack, and the ids in it.
func packOf(t testing.TB, options ...string) (pack []byte, ids []string) {
	t.Helper()
	repo := testsource.NewGitRepository(t, t.TempDir(), "app.git")
	for i := range 6 {
		files := map[string]string{}
		for _, name := range []string{"a", "b", "d/c"} {
			files[name] = strings.Repeat("a line that stays the same\n", 200*(i+1)) + fmt.Sprint(name, i)
		}
		repo.Commit(files)
	}
	list := repo.Git("rev-list", "--objects", "--all", "--no-object-names")
	cmd := exec.Command("git", append([]string{"pack-objects", "--stdout", "--quiet", "--window=50", "--depth=50"}, options...)...)
	cmd.Dir, cmd.Stdin = repo.Path(), strings.NewReader(list+"\n")
	pack, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return pack, strings.Fields(list)
}

func backendWith(limits backend.Limits) *Backend {
	return &Backend{access: &access.Access{}, options: Options{Limits: limits}}
}

func TestReadPack(t *testing.T) {
	for name, options := range map[string][]string{"deltas by id": nil, "deltas by offset": {"--delta-base-offset"}, "no deltas": {"--depth=0"}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			pack, ids := packOf(t, options...)
			found, err := backendWith(backend.DefaultLimits()).readPack(t.Context(), bytes.NewReader(pack))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found.objects).To(HaveLen(len(ids)), "every object has the id that it was asked for by")
			for _, id := range ids {
				g.Expect(found.objects).To(HaveKey(plumbing.NewHash(id)))
			}
		})
	}
}

func TestReadPackRefuses(t *testing.T) {
	pack, _ := packOf(t)
	flipped := bytes.Clone(pack)
	flipped[len(flipped)/2] ^= 1
	for _, tc := range []struct {
		name   string
		given  []byte
		limits backend.Limits
		want   error
	}{
		{"too large unpacked", pack, backend.Limits{ContentBytes: 10_000, FileBytes: 1 << 20}, fault.ErrLimit},
		{"cut off", pack[:len(pack)-30], backend.DefaultLimits(), fault.ErrUnreachable},
		{"damaged", flipped, backend.DefaultLimits(), fault.ErrContent},
		{"empty", nil, backend.DefaultLimits(), fault.ErrUnreachable},
		{"something else", []byte("<html>"), backend.DefaultLimits(), fault.ErrUnreachable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := backendWith(tc.limits).readPack(t.Context(), bytes.NewReader(tc.given))
			NewWithT(t).Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
		})
	}
}

// entry is an object in a pack, a delta one that builds on the entry before it. content is nil
// for as many zeros.
type entry struct {
	kind    plumbing.ObjectType
	size    int64
	content []byte
}

// written makes a pack of entries. A size may be any number: what is inside is another matter.
func written(t *testing.T, entries ...entry) (pack []byte) {
	t.Helper()
	var offsets []int64
	var b bytes.Buffer
	b.WriteString("PACK\x00\x00\x00\x02\x00\x00\x00" + string(rune(len(entries))))
	for i, e := range entries {
		offsets = append(offsets, int64(b.Len()))
		c, left := byte(e.kind)<<4|byte(e.size&15), e.size>>4
		for ; left > 0; left >>= 7 {
			b.WriteByte(c | 0x80)
			c = byte(left & 0x7f)
		}
		b.WriteByte(c)
		if e.kind == plumbing.OFSDeltaObject {
			back := offsets[i] - offsets[i-1]
			if back < 0x80 {
				b.WriteByte(byte(back))
			} else {
				b.Write([]byte{0x80 | byte(back>>7-1), byte(back & 0x7f)})
			}
		}
		z := zlib.NewWriter(&b)
		if e.content != nil {
			_, _ = z.Write(e.content)
		} else {
			zeros := make([]byte, 1<<20)
			for left := e.size; left > 0; left -= int64(len(zeros)) {
				_, _ = z.Write(zeros[:min(left, int64(len(zeros)))])
			}
		}
		_ = z.Close()
	}
	sum := sha1.Sum(b.Bytes())
	return append(b.Bytes(), sum[:]...)
}

// TestWhatIsNoFileIsSmall whatever it grows to: it is refused before it is inflated.
func TestWhatIsNoFileIsSmall(t *testing.T) {
	const mib = 1 << 20
	// A delta that copies 64 KiB so often that they make 20 MiB.
	grows := binary.AppendUvarint(binary.AppendUvarint(nil, 64<<10), 20*mib)
	grows = append(grows, bytes.Repeat([]byte{0x80}, 20*mib/(64<<10))...)
	for _, tc := range []struct {
		name    string
		entries []entry
		want    string
	}{
		{"a tree", []entry{{kind: plumbing.TreeObject, size: 300 * mib}}, "holds a tree of 300 MiB; one that is no file may have 16 MiB"},
		{"a commit", []entry{{kind: plumbing.CommitObject, size: 17 * mib}}, "holds a commit of 17 MiB"},
		{"a tag", []entry{{kind: plumbing.TagObject, size: 17 * mib}}, "holds a tag of 17 MiB"},
		{"a tree made of another", []entry{{kind: plumbing.TreeObject, size: 64 << 10}, {kind: plumbing.OFSDeltaObject, size: int64(len(grows)), content: grows}}, "holds a tree of 20 MiB"},
		{"a large tree", []entry{{kind: plumbing.TreeObject, size: 16 * mib}}, ""},
		{"a file made of another", []entry{{kind: plumbing.BlobObject, size: 64 << 10}, {kind: plumbing.OFSDeltaObject, size: int64(len(grows)), content: grows}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			pack := written(t, tc.entries...)
			_, err := backendWith(backend.DefaultLimits()).readPack(t.Context(), bytes.NewReader(pack))
			if tc.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(errors.Is(err, fault.ErrLimit)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

// TestDifferencesThatAreTooLarge are not held: they make a file that is too large, or nothing.
func TestDifferencesThatAreTooLarge(t *testing.T) {
	const mib = 1 << 20
	g := NewWithT(t)
	pack := written(t, entry{kind: plumbing.BlobObject, size: 1, content: []byte("x")}, entry{kind: plumbing.OFSDeltaObject, size: 200 * mib})
	allocated := func() uint64 {
		sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before := allocated()
	found, err := backendWith(backend.DefaultLimits()).readPack(t.Context(), bytes.NewReader(pack))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(allocated()-before).To(BeNumerically("<", 16*mib), "all that was ever allocated")
	g.Expect(found.lost).To(BeTrue())
	o, ok, err := found.object(plumbing.NewHash(strings.Repeat("a", 40)))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ok).To(BeTrue())
	g.Expect(o.left).To(BeNumerically("<", 0), "whichever it makes is passed over")
}

func FuzzReadPack(f *testing.F) {
	pack, _ := packOf(f)
	f.Add(pack)
	offsets, _ := packOf(f, "--delta-base-offset")
	f.Add(offsets)
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := backendWith(backend.Limits{ContentBytes: 1 << 20, FileBytes: 1 << 16}).readPack(t.Context(), bytes.NewReader(data))
		if err != nil && fault.Kind(err) == nil {
			t.Fatalf("an error without kind: %v", err)
		}
	})
}

// treeOf is a directory as Git stores it.
func treeOf(entries ...string) object {
	var b bytes.Buffer
	for _, e := range entries {
		mode, rest, _ := strings.Cut(e, " ")
		name, id, _ := strings.Cut(rest, "=")
		hash := plumbing.NewHash(id)
		b.WriteString(mode + " " + name + "\x00")
		b.Write(hash[:])
	}
	return object{kind: plumbing.TreeObject, data: b.Bytes()}
}

func TestReadTreeRefuses(t *testing.T) {
	id := func(n int) string { return fmt.Sprintf("%040d", n) }
	blob := object{kind: plumbing.BlobObject, data: []byte("x")}
	for _, tc := range []struct {
		name  string
		given map[int]object
		want  error
	}{
		{"fine", map[int]object{2: treeOf("100644 a=" + id(3)), 3: blob}, nil},
		{"parent", map[int]object{2: treeOf("100644 ..=" + id(3)), 3: blob}, fault.ErrContent},
		{"itself", map[int]object{2: treeOf("40000 .=" + id(2))}, fault.ErrContent},
		{"slash", map[int]object{2: treeOf("100644 a/b=" + id(3)), 3: blob}, fault.ErrContent},
		{"empty name", map[int]object{2: treeOf("100644 =" + id(3)), 3: blob}, fault.ErrContent},
		{"twice", map[int]object{2: treeOf("100644 a="+id(3), "100644 a="+id(3)), 3: blob}, fault.ErrContent},
		{"a tree in itself twice", map[int]object{2: treeOf("40000 a="+id(2), "40000 b="+id(2))}, fault.ErrLimit},
		{"missing object", map[int]object{2: treeOf("100644 a=" + id(9))}, fault.ErrContent},
		{"a tree as a file", map[int]object{2: treeOf("100644 a=" + id(2))}, fault.ErrContent},
		{"cut off", map[int]object{2: {kind: plumbing.TreeObject, data: []byte("100644 a\x00short")}}, fault.ErrContent},
		{"no root", map[int]object{}, fault.ErrContent},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all := packed{objects: map[plumbing.Hash]object{plumbing.NewHash(id(1)): {kind: plumbing.CommitObject, data: []byte("tree " + id(2) + "\n\nmessage")}}}
			for n, o := range tc.given {
				all.objects[plumbing.NewHash(id(n))] = o
			}
			_, err := readTree(all, plumbing.NewHash(id(1)), backend.DefaultLimits())
			NewWithT(t).Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
		})
	}
}

func TestParseURL(t *testing.T) {
	for _, tc := range []struct{ given, want string }{
		{"https://git.test/app.git", "https://git.test/app.git"},
		{"ssh://deploy@git.test:2222/app.git", "ssh://deploy@git.test:2222/app.git"},
		{"git@git.test:team/app.git", "ssh://git@git.test/team/app.git"},
		{"git.test:app.git", "ssh://git.test/app.git"},
		{"file:///srv/app.git", "file:///srv/app.git"},
		{"https://u:p@git.test/app.git", ""},
		{"https://token@git.test/app.git", ""},
		{"ssh://git:p@git.test/app.git", ""},
		{"https://git.test/app.git?x=1", ""},
		{"https:///app.git", ""},
		{"ext::sh -c whoami", ""},
		{"ssh://-oProxyCommand=x/app.git", ""},
		{"-oProxyCommand=x:app.git", ""},
		{"git.test:-x", ""},
		{"/srv/app.git", ""},
		{"file://host/srv/app.git", ""},
		{"https://git.test/my%20app.git", "https://git.test/my%20app.git"},
		{"https://git.test/my app.git", ""},
		{" https://git.test/app.git", ""},
		{"https://git.test/app.git\n", ""},
		{"https://git.test/app\t.git", ""},
		{"https://git.test/app\u200b.git", ""},
		{"https://git.test/app%0A.git", ""},
		{"ssh://gi%0At@git.test/app.git", ""},
		{"git@git.test:my app.git", ""},
		{"git@git.test:app.git\r", ""},
		{"file:///srv/my app.git", ""},
		{"", ""},
	} {
		t.Run(tc.given, func(t *testing.T) {
			g := NewWithT(t)
			u, err := ParseURL(tc.given)
			if tc.want == "" {
				g.Expect(errors.Is(err, fault.ErrInvalid)).To(BeTrue(), "%v %v", u, err)
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(u.String()).To(Equal(tc.want))
		})
	}
}

// TestPackWaitsForRoom has another one hold all that there is.
func TestPackWaitsForRoom(t *testing.T) {
	g := NewWithT(t)
	pack, _ := packOf(t)
	const room = 1 << 10
	shared := budget.New(room)
	taking, other := shared.Open(t.Context(), "", "other", time.Hour)
	g.Expect(budget.Take(taking, 1<<20)).To(Succeed())
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan struct{})
	ctx = budget.WithWaiting(ctx, func() func() { close(waiting); return func() {} })
	ctx, hold := shared.Open(ctx, "", "host", time.Hour)
	defer hold.Close()
	done := make(chan error)
	go func() {
		_, err := backendWith(backend.DefaultLimits()).readPack(ctx, bytes.NewReader(pack))
		done <- err
	}()
	g.Eventually(waiting).Should(BeClosed())
	cancel()
	g.Expect(errors.Is(<-done, context.Canceled)).To(BeTrue())
	hold.Close()
	other.Close()
	ctx, hold = shared.Open(t.Context(), "", "host", time.Hour)
	defer hold.Close()
	found, err := backendWith(backend.DefaultLimits()).readPack(ctx, bytes.NewReader(pack))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.objects).NotTo(BeEmpty())
	g.Expect(shared.Used()).To(BeNumerically(">", room), "alone, it has as much as it needs")
}
