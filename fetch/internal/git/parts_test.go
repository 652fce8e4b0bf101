// SPDX-License-Identifier: Apache-2.0

package git

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/tree"
)

func pointerTo(digit string, size int64) string {
	return "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat(digit, 64) + "\nsize " + strconv.FormatInt(size, 10) + "\n"
}

func treeWith(t *testing.T, files map[string]string) *tree.Tree {
	t.Helper()
	builder := tree.NewBuilder(backend.DefaultLimits())
	for name, content := range files {
		if err := builder.File(name, []byte(content), false); err != nil {
			t.Fatal(err)
		}
	}
	return builder.Build()
}

func TestPlan(t *testing.T) {
	const mib = 1 << 20
	limits := backend.Limits{FileBytes: 30 * mib, ContentBytes: 100 * mib, DownloadBytes: 100 * mib}
	for _, tc := range []struct {
		name    string
		limits  *backend.Limits
		given   map[string]string
		path    string
		objects []string
		refused map[string]string
	}{
		{name: "none", given: map[string]string{"a": "a"}},
		{name: "all", given: map[string]string{"a/x": pointerTo("1", mib), "b/y": pointerTo("2", mib)}, path: "a", objects: []string{"a/x", "b/y"}},
		{name: "one object often", given: map[string]string{"a/x": pointerTo("1", 20*mib), "b/x": pointerTo("1", 20*mib), "b/y": pointerTo("1", 20*mib), "b/z": pointerTo("1", 20*mib)},
			path: "a", objects: []string{"a/x", "b/x", "b/y", "b/z"}},
		{name: "too much for all", given: map[string]string{"a/x": pointerTo("1", mib), "b/y": pointerTo("2", 64*mib)}, path: "a",
			objects: []string{"a/x"}, refused: map[string]string{"b/y": "only what lies at the Release's path"}},
		{name: "endless", given: map[string]string{"a/x": pointerTo("1", mib), "b/y": pointerTo("2", math.MaxInt64), "b/z": pointerTo("3", math.MaxInt64)}, path: "b",
			refused: map[string]string{"a/x": "only what lies", "b/y": "a file may have", "b/z": "a file may have"}},
		{name: "one that is too large", given: map[string]string{"x": pointerTo("1", 30*mib+1), "y": pointerTo("2", mib)}, path: ".",
			objects: []string{"y"}, refused: map[string]string{"x": "it has 30.1 MiB; a file may have the 30 MiB of --artifact-max-file-bytes"}},
		{name: "together too large", given: map[string]string{"a": pointerTo("1", 30*mib), "b": pointerTo("2", 30*mib), "c": pointerTo("3", 30*mib), "d": pointerTo("4", 30*mib), "e": pointerTo("5", mib)}, path: ".",
			objects: []string{"a", "b", "c", "e"}, refused: map[string]string{"d": "with it there is more than the 100 MiB of --artifact-max-bytes"}},
		{name: "more than is downloaded", limits: &backend.Limits{FileBytes: 30 * mib, ContentBytes: 100 * mib, DownloadBytes: 40 * mib}, given: map[string]string{"a": pointerTo("1", 30*mib), "b": pointerTo("2", 30*mib)}, path: ".",
			objects: []string{"a"}, refused: map[string]string{"b": "with it there is more than the 40 MiB of --artifact-max-download-bytes"}},
		{name: "malformed", given: map[string]string{"x": pointerTo("1", mib) + "size 2\n"}, path: ".", refused: map[string]string{"x": "malformed"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			if tc.limits == nil {
				tc.limits = &limits
			}
			plan := backendWith(*tc.limits).Plan(treeWith(t, tc.given), tc.path)
			if plan == nil {
				g.Expect(len(tc.objects) + len(tc.refused)).To(BeZero())
				return
			}
			var objects []string
			for path := range plan.Objects {
				objects = append(objects, path)
			}
			slices.Sort(objects)
			g.Expect(objects).To(Equal(tc.objects))
			g.Expect(plan.Refused).To(HaveLen(len(tc.refused)))
			for path, text := range tc.refused {
				g.Expect(plan.Refused[path]).To(MatchError(ContainSubstring(text)))
			}
		})
	}
	t.Run("plans that differ have different digests", func(t *testing.T) {
		g := NewWithT(t)
		content := treeWith(t, map[string]string{"a/x": pointerTo("1", mib), "b/y": pointerTo("2", 64*mib), "c/z": "c"})
		b := backendWith(limits)
		g.Expect(b.Plan(content, "a").Digest()).NotTo(Equal(b.Plan(content, "c").Digest()))
		g.Expect(b.Plan(content, "a").Digest()).To(Equal(b.Plan(content, "a").Digest()))
	})
}

func TestParsePointer(t *testing.T) {
	g := NewWithT(t)
	o, err := ParsePointer([]byte(pointerTo("a", 12)))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o).To(Equal(LFSObject{OID: strings.Repeat("a", 64), Size: 12}))
	for name, given := range map[string]string{
		"no size": strings.Replace(pointerTo("a", 12), "size 12\n", "", 1), "negative": pointerTo("a", -1), "upper case": pointerTo("A", 1), "short": strings.Replace(pointerTo("a", 1), "aa", "a", 1),
		"other digest": strings.Replace(pointerTo("a", 1), "sha256", "sha512", 1), "twice": pointerTo("a", 1) + "size 1\n", "extension": pointerTo("a", 1) + "ext-0-x sha256:1\n", "no value": pointerTo("a", 1) + "x\n",
	} {
		_, err := ParsePointer([]byte(given))
		g.Expect(errors.Is(err, fault.ErrContent)).To(BeTrue(), "%s: %v", name, err)
	}
}

func FuzzPointer(f *testing.F) {
	f.Add([]byte(pointerTo("a", 12)))
	f.Add([]byte(pointerTo("a", math.MaxInt64) + "ext-0-x sha256:1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := ParsePointer(data)
		if err != nil {
			if !errors.Is(err, fault.ErrContent) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		if o.Size < 0 || !isLowerHex(o.OID) {
			t.Fatalf("an impossible object: %+v", o)
		}
	})
}

func FuzzBatch(f *testing.F) {
	asked := LFSObject{OID: strings.Repeat("a", 64), Size: 7}
	object := `{"objects":[{"oid":"` + asked.OID + `","size":7,`
	f.Add([]byte(object + `"actions":{"download":{"href":"https://host.test/x","header":{"Authorization":"x"},"expires_in":1}}}],"transfer":"basic"}`))
	f.Add([]byte(object + `"actions":{"download":{"href":"file:///x"}}}]}`))
	f.Add([]byte(object + `"error":{"code":404,"message":"no"}}]}`))
	f.Add([]byte(`{"transfer":"tus"}`))
	b := backendWith(backend.DefaultLimits())
	f.Fuzz(func(t *testing.T, data []byte) {
		actions, err := b.parseBatch(data, []LFSObject{asked}, "https")
		if err != nil {
			if fault.Kind(err) == nil {
				t.Fatalf("an error without kind: %v", err)
			}
			return
		}
		action, ok := actions[asked]
		switch {
		case !ok || len(actions) != 1:
			t.Fatalf("not what was asked for: %v", actions)
		case action.err == nil && action.at.Scheme != "https":
			t.Fatalf("the address %v is accepted", action.at)
		case action.err != nil && fault.Kind(action.err) == nil:
			t.Fatalf("an error without kind: %v", action.err)
		}
	})
}
