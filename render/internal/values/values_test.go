// SPDX-License-Identifier: Apache-2.0

package values_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/limit"
	"kumodo.io/convoy/render/internal/values"
)

type references map[string]string // "Secret/name/key", "GitRepository/name/path"

func (r references) ConfigMap(_ context.Context, _, name string) (map[string]string, error) {
	return r.data("ConfigMap", name)
}

func (r references) Secret(_ context.Context, _, name string) (map[string][]byte, error) {
	data, err := r.data("Secret", name)
	raw := map[string][]byte{}
	for key, value := range data {
		raw[key] = []byte(value)
	}
	return raw, err
}

func (r references) File(_ context.Context, _ string, ref corev1alpha1.ValuesReference) ([]byte, error) {
	if text, ok := r[ref.Kind+"/"+ref.Name+"/"+ref.Path]; ok {
		return []byte(text), nil
	}
	return nil, fmt.Errorf("%s: %w", ref.Path, fs.ErrNotExist)
}

func (r references) data(kind, name string) (map[string]string, error) {
	data := map[string]string{}
	for _, key := range []string{"values.yaml", "password", "other"} {
		if value, ok := r[kind+"/"+name+"/"+key]; ok {
			data[key] = value
		}
	}
	if len(data) == 0 {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: kind}, name)
	}
	return data, nil
}

func inline(json string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(json)} }

// source has the files of valuesFiles for a chart in its folder chart.
var source = fstest.MapFS{
	"chart/base.yaml":  {Data: []byte("who: file\nnested: {a: file, b: file}\nlist: [1, 2]\n")},
	"chart/list.yaml":  {Data: []byte("- a\n")},
	"chart/empty.yaml": {Data: []byte("# nothing\n")},
	"env/prod.yaml":    {Data: []byte("who: prod\n")},
}

// resolve fetches the values of a chart and parses them.
func resolve(ctx context.Context, r values.Request, root fs.FS, dir string) (*values.Resolved, error) {
	sources, _, err := values.Fetch(ctx, r)
	if err != nil {
		return nil, err
	}
	return sources.Resolve(ctx, root, dir)
}

func request(spec corev1alpha1.HelmRender) values.Request {
	return values.Request{
		Spec: spec, Namespace: "ns",
		References: references{
			"ConfigMap/cm/values.yaml":  "who: configmap\nnested: {b: configmap}",
			"ConfigMap/cm/other":        "who: other",
			"Secret/s/password":         "hunter2-canary",
			"Secret/s/values.yaml":      "db: {password: hunter2-canary, port: 5432000, tls: true}",
			"Secret/broken/values.yaml": "a: hunter2-canary: b",
			"Secret/text/values.yaml":   "hunter2-canary",
			"GitRepository/g/env.yaml":  "who: git",
		},
	}
}

func TestResolve(t *testing.T) {
	tests := []struct {
		name  string
		given corev1alpha1.HelmRender
		want  map[string]any
	}{
		{"nothing", corev1alpha1.HelmRender{}, map[string]any{}},
		{"empty file", corev1alpha1.HelmRender{ValuesFiles: []string{"empty.yaml"}}, map[string]any{}},
		{"files in order, the second from outside of the chart",
			corev1alpha1.HelmRender{ValuesFiles: []string{"base.yaml", "../env/prod.yaml"}},
			map[string]any{"who": "prod", "nested": map[string]any{"a": "file", "b": "file"}, "list": []any{1.0, 2.0}}},
		{"files, then references, then values", corev1alpha1.HelmRender{
			ValuesFiles: []string{"base.yaml"},
			ValuesFrom:  []corev1alpha1.ValuesReference{{Kind: "ConfigMap", Name: "cm"}, {Kind: "GitRepository", Name: "g", Path: "env.yaml"}},
			Values:      inline(`{"nested": {"a": "inline"}, "list": [3]}`),
		}, map[string]any{"who": "git", "nested": map[string]any{"a": "inline", "b": "configmap"}, "list": []any{3.0}}},
		{"key", corev1alpha1.HelmRender{ValuesFrom: []corev1alpha1.ValuesReference{{Kind: "ConfigMap", Name: "cm", Key: "other"}}},
			map[string]any{"who": "other"}},
		{"target path takes the text as it is", corev1alpha1.HelmRender{
			ValuesFrom: []corev1alpha1.ValuesReference{{Kind: "Secret", Name: "s", Key: "password", TargetPath: `db.auth\.x`}},
			Values:     inline(`{"db": {"user": "u"}}`),
		}, map[string]any{"db": map[string]any{"auth.x": "hunter2-canary", "user": "u"}}},
		{"null stays", corev1alpha1.HelmRender{ValuesFiles: []string{"base.yaml"}, Values: inline(`{"nested": null, "list": [null]}`)},
			map[string]any{"who": "file", "nested": nil, "list": []any{nil}}},
		{"optional", corev1alpha1.HelmRender{ValuesFrom: []corev1alpha1.ValuesReference{
			{Kind: "Secret", Name: "none", Optional: true},
			{Kind: "ConfigMap", Name: "cm", Key: "password", Optional: true},
			{Kind: "GitRepository", Name: "g", Path: "none", Optional: true},
		}}, map[string]any{}},
		{"numbers", corev1alpha1.HelmRender{Values: inline(
			`{"small": 8080, "build": 20161216, "id": 9007199254740993, "huge": 18446744073709551615, "ratio": 1.5, "ver": "1.10"}`)},
			map[string]any{"small": 8080.0, "build": 20161216.0, "id": int64(9007199254740993), "huge": uint64(math.MaxUint64), "ratio": 1.5, "ver": "1.10"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			resolved, err := resolve(t.Context(), request(test.given), source, "chart")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(resolved.Values).To(Equal(test.want))
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	from := func(ref corev1alpha1.ValuesReference) corev1alpha1.HelmRender {
		return corev1alpha1.HelmRender{ValuesFrom: []corev1alpha1.ValuesReference{ref}}
	}
	tests := []struct {
		name  string
		given corev1alpha1.HelmRender
		want  string
	}{
		{"missing file", corev1alpha1.HelmRender{ValuesFiles: []string{"none.yaml"}}, "valuesFiles: none.yaml: open chart/none.yaml: file does not exist"},
		{"file outside", corev1alpha1.HelmRender{ValuesFiles: []string{"../../etc/passwd"}}, "the path leaves the source"},
		{"absolute file", corev1alpha1.HelmRender{ValuesFiles: []string{"/etc/passwd"}}, "the path leaves the source"},
		{"list", corev1alpha1.HelmRender{ValuesFiles: []string{"list.yaml"}}, "valuesFiles: list.yaml: a map of values is expected"},
		{"missing object", from(corev1alpha1.ValuesReference{Kind: "Secret", Name: "none"}), `valuesFrom: Secret "none" does not exist`},
		{"missing key", from(corev1alpha1.ValuesReference{Kind: "ConfigMap", Name: "cm", Key: "none"}), `valuesFrom: ConfigMap "cm" has no "none"`},
		{"missing path", from(corev1alpha1.ValuesReference{Kind: "GitRepository", Name: "g", Path: "none"}), `valuesFrom: GitRepository "g" has no "none"`},
		{"bad target path", from(corev1alpha1.ValuesReference{Kind: "Secret", Name: "s", Key: "password", TargetPath: "a..b"}), "is not a dotted path"},
		{"number beyond 64 bits", corev1alpha1.HelmRender{Values: inline(`{"a": {"b": 18446744073709551616}}`)},
			"spec.render.helm.values: a.b: the number does not fit into 64 bits"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := resolve(t.Context(), request(test.given), source, "chart")
			g.Expect(err).To(MatchError(ContainSubstring(test.want)))
		})
	}
}

func TestResolveTellsWhatIsMissing(t *testing.T) {
	g := NewWithT(t)
	_, err := resolve(t.Context(), request(corev1alpha1.HelmRender{ValuesFrom: []corev1alpha1.ValuesReference{{Kind: "Secret", Name: "none"}}}), source, "chart")
	var missing *values.MissingError
	g.Expect(errors.As(err, &missing)).To(BeTrue())
	g.Expect(*missing).To(Equal(values.MissingError{Kind: "Secret", Name: "none"}))
}

func TestResolveKeepsSecrets(t *testing.T) {
	g := NewWithT(t)
	for _, name := range []string{"broken", "text"} {
		_, err := resolve(t.Context(), request(corev1alpha1.HelmRender{ValuesFrom: []corev1alpha1.ValuesReference{{Kind: "Secret", Name: name}}}), source, "chart")
		g.Expect(err).To(MatchError(ContainSubstring("valuesFrom: Secret " + name)))
		g.Expect(err.Error()).NotTo(ContainSubstring("hunter2"))
	}
	resolved, err := resolve(t.Context(), request(corev1alpha1.HelmRender{ValuesFrom: []corev1alpha1.ValuesReference{{Kind: "Secret", Name: "s"}}}), source, "chart")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(resolved.Secrets).To(ConsistOf("hunter2-canary", "5432000", "5.432e+06"))
}

func TestMergeChangesNeitherSide(t *testing.T) {
	g := NewWithT(t)
	base := map[string]any{"a": map[string]any{"x": 1.0}}
	layer := map[string]any{"a": map[string]any{"y": 2.0}}
	g.Expect(values.Merge(base, layer)).To(Equal(map[string]any{"a": map[string]any{"x": 1.0, "y": 2.0}}))
	g.Expect(base).To(Equal(map[string]any{"a": map[string]any{"x": 1.0}}))
	g.Expect(layer).To(Equal(map[string]any{"a": map[string]any{"y": 2.0}}))
}

// manyFiles counts how often a file is read.
type manyFiles struct {
	fstest.MapFS
	read int
}

func (m *manyFiles) ReadFile(name string) ([]byte, error) {
	m.read++
	return m.MapFS.ReadFile(name)
}

func TestAFileIsReadOnce(t *testing.T) {
	g := NewWithT(t)
	r := request(corev1alpha1.HelmRender{ValuesFiles: []string{"base.yaml", "../env/prod.yaml", "./base.yaml", "base.yaml"}})
	files := &manyFiles{MapFS: source}
	resolved, err := resolve(t.Context(), r, files, "chart")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files.read).To(Equal(2))
	g.Expect(resolved.Layers).To(HaveLen(4))
	g.Expect(resolved.Values).To(HaveKeyWithValue("who", "file"))
}

// TestAllValuesTogether has sources of which each by itself is small enough.
func TestAllValuesTogether(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"text":   {"# " + strings.Repeat("x", 4<<20), "valuesFiles: f3.yaml: stopped: with it, all values of the Release have more than 16 MiB"},
		"memory": {"a: [" + strings.Repeat("{a: 1},", 1<<17) + "1]", "valuesFiles: f2.yaml: stopped: with it, all values of the Release take more than 128 MiB of memory"},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{}
			var spec corev1alpha1.HelmRender
			for i := range 6 {
				spec.ValuesFiles = append(spec.ValuesFiles, fmt.Sprintf("f%d.yaml", i))
				files[spec.ValuesFiles[i]] = &fstest.MapFile{Data: []byte(tc.text)}
			}
			var stopped *limit.Error
			_, err := resolve(t.Context(), values.Request{Spec: spec}, files, ".")
			NewWithT(t).Expect(err).To(MatchError(HavePrefix(tc.want)))
			NewWithT(t).Expect(errors.As(err, &stopped)).To(BeTrue())
		})
	}
}

// TestParsingEndsWithItsContext has more files than are parsed once nobody waits any more.
func TestParsingEndsWithItsContext(t *testing.T) {
	g := NewWithT(t)
	ctx, leave := context.WithCancel(t.Context())
	files := &leftAfterOne{manyFiles{MapFS: source}, leave}
	_, err := resolve(ctx, request(corev1alpha1.HelmRender{ValuesFiles: []string{"base.yaml", "empty.yaml", "../env/prod.yaml"}}), files, "chart")
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(files.read).To(Equal(1))
}

type leftAfterOne struct {
	manyFiles
	leave context.CancelFunc
}

func (l *leftAfterOne) ReadFile(name string) ([]byte, error) {
	l.leave()
	return l.manyFiles.ReadFile(name)
}

func TestDigestTellsTexts(t *testing.T) {
	g := NewWithT(t)
	one := corev1alpha1.HelmRender{ValuesFrom: []corev1alpha1.ValuesReference{{Kind: "ConfigMap", Name: "cm"}, {Kind: "Secret", Name: "none", Optional: true}}}
	r := request(one)
	first, err := values.Digest(t.Context(), r)
	g.Expect(err).NotTo(HaveOccurred())
	_, fetched, err := values.Fetch(t.Context(), r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(fetched).To(Equal(first))
	r.References.(references)["Secret/none/values.yaml"] = ""
	g.Expect(values.Digest(t.Context(), r)).NotTo(Equal(first), "an empty text is not an absent one")
}
