// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"go.yaml.in/yaml/v3"

	"kumodo.io/convoy/fetch/internal/fault"
)

const badNeighbours = `apiVersion: v1
entries:
  web:
    - {name: web, version: 1.0.0, urls: [web-1.0.0.tgz], unknown: {a: [1]}}
    - null
    - {name: web, urls: [nover.tgz]}
    - {name: web, version: master, urls: [m.tgz]}
    - {name: web, version: 1.0.0, urls: [other/web-1.0.0.tgz]} # same version again
    - {apiVersion: v1, name: web, version: 1.1.0, urls: []}
    - {name: web, version: 1.0.1, urls: not-a-list-but-a-string}
    - just text
    - {name: web, version: "unclosed
    - {name: web, version: 1.0.2, urls: [web-1.0.2.tgz]}
  none: []
  nil: null
  other:
  - version: 2.0.0
    urls:
    - other-2.0.0.tgz
`

func parse(t *testing.T, text string) *index {
	t.Helper()
	x, err := parseIndex(t.Context(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestBadNeighboursDoNotMatter(t *testing.T) {
	x := parse(t, badNeighbours)
	NewWithT(t).Expect(x.skipped).To(Equal(8))
	NewWithT(t).Expect(x.usable()).To(Equal(2))
	for _, tc := range []struct {
		name, chart, given string
		want               string
		wantErr            error
		wantText           string
	}{
		{name: "first of two equal ones", chart: "web", given: "1.0.0", want: "web-1.0.0.tgz"},
		{name: "range", chart: "web", given: "1.0.x", want: "web-1.0.2.tgz"},
		{name: "newest", chart: "web", given: "", want: "web-1.0.2.tgz"},
		{name: "no URL", chart: "web", given: "1.1.0", wantErr: fault.ErrContent, wantText: "entry has no URL"},
		{name: "no version", chart: "web", given: "master", wantErr: fault.ErrContent, wantText: "not a semantic version"},
		{name: "other chart", chart: "other", given: "2.0.0", want: "other-2.0.0.tgz"},
		{name: "empty chart", chart: "none", given: "1.0.0", wantErr: fault.ErrNotFound, wantText: "no usable version"},
		{name: "null chart", chart: "nil", given: "1.0.0", wantErr: fault.ErrNotFound},
		{name: "missing chart", chart: "webb", given: "1.0.0", wantErr: fault.ErrNotFound, wantText: `no chart "webb"; it has web`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			e, err := x.find(tc.chart, tc.given)
			if tc.wantErr != nil {
				g.Expect(errors.Is(err, tc.wantErr)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(ContainSubstring(tc.wantText))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(e.URLs).To(Equal(urlList{tc.want}))
		})
	}
}

// TestEqualVersionsAmongBadNeighbours has the same entries in the style that is read entry by
// entry, and in one that is read whole.
func TestEqualVersionsAmongBadNeighbours(t *testing.T) {
	const lines = `apiVersion: v1
entries:
  web:
    - {name: web, version: 1.0.0, urls: [web-1.0.0.tgz], annotations: {of: later}, kubeVersion: [1]}
    - null
    - {name: web, urls: [nover.tgz]}
    - {name: web, version: master, urls: [m.tgz]}
    - {name: web, version: 1.0.0, urls: [other/web-1.0.0.tgz]}
    - {apiVersion: v1, name: web, version: 1.1.0, urls: []}
    - {name: web, version: 1.2.0, urls: [web-1.2.0.tgz], digest: none}
    - {name: web, version: 1.2.0, urls: [again/web-1.2.0.tgz]}
  none: []
  nil: null
  text: no list
  other:
    - {version: 2.0.0, urls: [other-2.0.0.tgz]}
future: {things: [1]}
`
	var decoded any
	NewWithT(t).Expect(yaml.Unmarshal([]byte(lines), &decoded)).To(Succeed())
	whole, err := json.Marshal(decoded)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for style, text := range map[string]string{"lines": lines, "JSON": string(whole)} {
		t.Run(style, func(t *testing.T) {
			g := NewWithT(t)
			x := parse(t, text)
			g.Expect(x.skipped).To(Equal(6))
			g.Expect(x.usable()).To(Equal(2))
			for given, want := range map[string]string{"1.0.x": "web-1.0.0.tgz", "1.0.0": "web-1.0.0.tgz", "1.2.0": "again/web-1.2.0.tgz", "": "again/web-1.2.0.tgz"} {
				e, err := x.find("web", given)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(e.URLs).To(Equal(urlList{want}), given)
			}
			for given, want := range map[string]string{"1.1.0": "entry has no URL", "master": "is not a semantic version"} {
				_, err := x.find("web", given)
				g.Expect(errors.Is(err, fault.ErrContent)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(ContainSubstring(want))
			}
			for _, empty := range []string{"none", "nil", "text"} {
				_, err := x.find(empty, "")
				g.Expect(errors.Is(err, fault.ErrNotFound)).To(BeTrue(), "%v", err)
			}
			e, err := x.find("other", "2.x")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(e.URLs).To(Equal(urlList{"other-2.0.0.tgz"}))
		})
	}
}

func TestDigests(t *testing.T) {
	good := strings.Repeat("0a", 32)
	x := parse(t, fmt.Sprintf(`entries:
  web:
  - {version: 1.0.0, urls: [u], digest: %[1]s}
  - {version: 1.0.1, urls: [u], digest: "sha256:%[1]s"}
  - {version: 1.0.2, urls: [u], digest: %[2]s}
  - {version: 1.0.3, urls: [u]}
  - {version: 1.0.4, urls: [u], digest: ""}
  - {version: 1.0.5, urls: [u], digest: null}
  - {version: 2.0.0, urls: [u], digest: %[1]s0}
  - {version: 2.0.1, urls: [u], digest: "%[1]s "}
  - {version: 2.0.2, urls: [u], digest: "sha512:%[1]s%[1]s"}
  - {version: 2.0.3, urls: [u], digest: "sha256:"}
  - {version: v2.0.4, urls: [u], digest: %[3]s}
  bad:
  - {version: 1.0.0+up.1, urls: [u], digest: abc}
  repeated:
  - {version: 1.0.0, urls: [first], digest: abc}
  - {version: 1.0.0, urls: [second], digest: %[1]s}
`, good, strings.ToUpper(good), strings.Repeat("z", 500)))
	NewWithT(t).Expect(x.skipped).To(Equal(7))
	for _, tc := range []struct{ chart, given, want, wantText string }{
		{chart: "web", given: "1.0.0", want: good},
		{chart: "web", given: "1.0.1", want: good},
		{chart: "web", given: "1.0.2", want: good},
		{chart: "web", given: "1.0.3", want: ""},
		{chart: "web", given: "1.0.4", want: ""},
		{chart: "web", given: "1.0.5", want: ""},
		{chart: "web", given: "1.0.x"},
		{chart: "web", given: ""},
		{chart: "web", given: "2.0.0", wantText: `the version "2.0.0" of the chart "web" cannot be checked: the digest in its entry, "` + good + `0",`},
		{chart: "web", given: "2.0.1", wantText: `"` + good + ` "`},
		{chart: "web", given: "2.0.2", wantText: `"sha512:`},
		{chart: "web", given: "2.0.3", wantText: `"sha256:"`},
		{chart: "web", given: "2.0.4", wantText: `the version "v2.0.4" of the chart "web"`},
		{chart: "web", given: "^2", wantText: `the version "v2.0.4" of the chart "web" cannot be checked: the digest in its entry, "` + strings.Repeat("z", 100) + `…"`},
		{chart: "bad", given: "1.0.0", wantText: `the version "1.0.0+up.1" of the chart "bad"`},
		{chart: "bad", given: "", wantText: `"abc"`},
		{chart: "repeated", given: "1.0.0", want: good},
	} {
		t.Run(tc.chart+" "+tc.given, func(t *testing.T) {
			g := NewWithT(t)
			e, err := x.find(tc.chart, tc.given)
			if tc.wantText != "" {
				g.Expect(errors.Is(err, fault.ErrContent)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(ContainSubstring(tc.wantText))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(e.Digest).To(Equal(tc.want))
		})
	}
	_, err := x.find("web", "3.0.0")
	NewWithT(t).Expect(errors.Is(err, fault.ErrNotFound)).To(BeTrue(), "%v", err)
}

func TestStylesOfWriting(t *testing.T) {
	for name, text := range map[string]string{
		"helm's":                                "apiVersion: v1\nentries:\n  web:\n  - apiVersion: v2\n    annotations:\n      text: |\n        entries:\n          fake:\n          - version: 9.9.9\n    description: 'a: b'\n    digest: " + strings.Repeat("ab", 32) + "\n    urls:\n    - web.tgz\n    version: 1.0.0\n  zeta:\n  - urls: [z]\n    version: 3.0.0\ngenerated: \"2026-01-01T00:00:00Z\"\nserverInfo: {}\n",
		"indented lists, comments, blank lines": "# head\n---\napiVersion: v1\nentries: # all\n\n    # first\n    web:\n\n        # one\n        - version: 1.0.0\n\n          urls:\n            - web.tgz\n    zeta:\n        -   version: 3.0.0\n            urls: [z]\n",
		"CRLF":                                  "apiVersion: v1\r\nentries:\r\n  web:\r\n  - version: 1.0.0\r\n    urls:\r\n    - web.tgz\r\n  zeta:\r\n  - version: 3.0.0\r\n    urls: [z]\r\n",
		"flow lists":                            "entries:\n  web: [{version: 1.0.0, urls: [web.tgz]}]\n  zeta: [{version: 3.0.0, urls: [z]}]\n",
		"JSON":                                  `{"apiVersion":"v1","entries":{"web":[{"version":"1.0.0","urls":["web.tgz"]}],"zeta":[{"version":"3.0.0","urls":["z"]}]}}`,
		"quoted":                                "\"apiVersion\": v1\nentries:\n  \"web\":\n  - \"version\": \"1.0.0\"\n    \"urls\": [\"web.tgz\"]\n  'zeta':\n  - version: 3.0.0\n    urls: [z]\n",
		"dash alone":                            "entries:\n  web:\n  -\n    version: 1.0.0\n    urls: [web.tgz]\n  zeta:\n  - version: 3.0.0\n    urls: [z]",
		"no final break":                        "entries:\n  web:\n  - {version: 1.0.0, urls: [web.tgz]}\n  zeta:\n  - {version: 3.0.0, urls: [z]}",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			x := parse(t, text)
			e, err := x.find("web", "1.0.0")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(e.URLs).To(Equal(urlList{"web.tgz"}))
			g.Expect(x.usable()).To(Equal(2))
			g.Expect(x.skipped).To(BeZero())
			g.Expect(x.digest).To(MatchRegexp("^sha256:[0-9a-f]{64}$"))
		})
	}
}

func TestWhatIsNoIndex(t *testing.T) {
	for name, tc := range map[string]struct {
		given string
		want  error
	}{
		"page":            {"<html><body>log in</body></html>", fault.ErrContent},
		"empty":           {"", fault.ErrContent},
		"other YAML":      {"kind: ConfigMap\n", fault.ErrContent},
		"broken":          {"{entries: [", fault.ErrContent},
		"long first line": {"{" + strings.Repeat(" ", maxUnusual+1), fault.ErrLimit},
		"long entry":      {"entries:\n  web:\n  - version: 1.0.0\n" + strings.Repeat("    #"+strings.Repeat("x", 1<<20)+"\n", 9), fault.ErrLimit},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseIndex(t.Context(), strings.NewReader(tc.given))
			NewWithT(t).Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
		})
	}
	for name, text := range map[string]string{"no charts": "apiVersion: v1\nentries: {}\n", "null": "apiVersion: v1\nentries:\n"} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(parse(t, text).usable()).To(BeZero())
		})
	}
}

// bigIndex writes an index of about the given size without holding it.
func bigIndex(size int) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, "apiVersion: v1\nentries:\n")
		for written, i := 0, 0; written < size; i++ {
			n, err := fmt.Fprintf(w, "  chart-%d:\n", i)
			if err != nil {
				return
			}
			written += n
			for j := range 20 {
				n, _ = fmt.Fprintf(w, "  - apiVersion: v2\n    version: 1.%d.0\n    digest: %064d\n    description: %s\n    urls:\n    - https://charts.test/chart-%d-1.%d.0.tgz\n", j, j, strings.Repeat("word ", 100), i, j)
				written += n
			}
		}
		_ = w.Close()
	}()
	return r
}

func TestAnIndexTakesFarLessThanItsSize(t *testing.T) {
	g := NewWithT(t)
	const size = 6 << 20
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	x, err := parseIndex(t.Context(), bigIndex(size))
	runtime.GC()
	runtime.ReadMemStats(&after)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(x.usable()).To(BeNumerically(">", 300))
	g.Expect(int64(after.HeapAlloc) - int64(before.HeapAlloc)).To(BeNumerically("<", size))
	// The size that the memory of answers is told is about the real one.
	g.Expect(x.size).To(BeNumerically(">", (int64(after.HeapAlloc)-int64(before.HeapAlloc))/3))
	runtime.KeepAlive(x)
}

func FuzzParseIndex(f *testing.F) {
	f.Add(badNeighbours)
	f.Add(`{"entries":{"a":[{"version":"1"}]}}`)
	f.Add("entries:\n  a:\n- b\n  - c\n")
	f.Fuzz(func(t *testing.T, text string) {
		x, err := parseIndex(t.Context(), strings.NewReader(text))
		if err != nil {
			if fault.Kind(err) == nil {
				t.Fatalf("an error without kind: %v", err)
			}
			return
		}
		for name, c := range x.charts {
			_, _ = x.find(name, "")
			for _, e := range c.entries() {
				if again, err := x.exactly(name, e.Version); err != nil || !slices.Equal(again.URLs, e.URLs) || again.Digest != e.Digest {
					t.Fatalf("%q of %q is not found again: %v", e.Version, name, err)
				}
			}
		}
	})
}

// TestAnchors may be defined in another entry than refers to them, or before all of them.
func TestAnchors(t *testing.T) {
	const index = `apiVersion: v1
common: &common {kind: library, urls: [common.tgz]}
entries:
  web:
  - &first
    version: 1.0.0
    urls: &urls
    - web.tgz
  - <<: *first
    version: 1.1.0
  - version: 1.2.0
    urls: *urls
  db: &db
  - {version: 2.0.0, urls: *urls}
  - <<: *common
    version: 2.1.0
  copy: *db
`
	g := NewWithT(t)
	x := parse(t, index)
	g.Expect(x.skipped).To(BeZero())
	for _, tc := range []struct{ chart, version, url string }{
		{"web", "1.0.0", "web.tgz"}, {"web", "1.1.0", "web.tgz"}, {"web", "1.2.0", "web.tgz"}, {"db", "2.0.0", "web.tgz"}, {"db", "", "common.tgz"}, {"copy", "2.0.0", "web.tgz"},
	} {
		e, err := x.find(tc.chart, tc.version)
		g.Expect(err).NotTo(HaveOccurred(), "%v", tc)
		g.Expect(e.URLs).To(Equal(urlList{tc.url}), "%v", tc)
	}

	t.Run("that are defined nowhere", func(t *testing.T) {
		g := NewWithT(t)
		x := parse(t, "entries:\n  web:\n  - version: 1.0.0\n    urls: *nowhere\n  other:\n  - {version: 1.0.0, urls: [u]}\n")
		_, err := x.find("web", "1.0.0")
		g.Expect(errors.Is(err, fault.ErrNotFound)).To(BeTrue(), "%v", err)
		g.Expect(err).To(MatchError(ContainSubstring("1 of its entries cannot be read, the first because of line 3: unknown anchor 'nowhere' referenced")))
		_, err = x.find("other", "")
		g.Expect(err).NotTo(HaveOccurred())
	})
	t.Run("in an index that is too large to be read whole", func(t *testing.T) {
		g := NewWithT(t)
		large := index + "  large:\n" + strings.Repeat("  - {version: 1.0.0, urls: [u], description: "+strings.Repeat("x", 1000)+"}\n", 9000)
		x := parse(t, large)
		_, err := x.find("db", "")
		g.Expect(err).To(MatchError(And(ContainSubstring("unknown anchor 'urls' referenced"), ContainSubstring("in an index of more than 8 MiB, an entry cannot refer to an anchor of another one"))))
		_, err = x.find("copy", "")
		g.Expect(err).To(MatchError(ContainSubstring("line 17: unknown anchor 'db' referenced")))
	})
}

func TestIndexThatIsNoYAML(t *testing.T) {
	for name, tc := range map[string]struct{ given, want string }{
		"tabs":               {"apiVersion: v1\nentries:\n\tweb:\n\t- version: 1.0.0\n", "line 3 is indented with a tab"},
		"tabs after spaces":  {"entries:\n  web:\n  \t- version: 1.0.0\n", "line 3 is indented with a tab"},
		"tabs before others": {"\tapiVersion: v1\nentries: {}\n", "line 1: found character that cannot start any token"},
		"tabs in entries":    {"entries:\n  web:\n  - name: web\n\t\tversion: 1.0.0\n", "line 4 is indented with a tab"},
		"a word":             {"apiVersion: v1\nentries:\n  web\n  db\n  x: [\n", "line "},
		"open brackets":      {"entries: {web: [\n", "line 1: did not find"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := parseIndex(t.Context(), strings.NewReader(tc.given))
			g.Expect(errors.Is(err, fault.ErrContent)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(And(HavePrefix("the index is no valid YAML: line "), ContainSubstring(tc.want))))
		})
	}
	// A tab may stand in a text.
	x := parse(t, "entries:\n  web:\n  - version: 1.0.0\n    description: |\n      a\n      \tb\n    urls: [u]\n")
	NewWithT(t).Expect(x.usable()).To(Equal(1))
}

// TestChartWithTooManyVersions costs little, and concerns nobody else.
func TestChartWithTooManyVersions(t *testing.T) {
	for style, format := range map[string]string{"flow": "  - {version: 1.0.%d, urls: [u]}\n", "block": "  - version: 1.0.%d\n    urls:\n    - u\n"} {
		t.Run(style, func(t *testing.T) {
			g := NewWithT(t)
			var b strings.Builder
			b.WriteString("entries:\n  many:\n")
			const most, versions = 1000, 1500
			for i := range versions {
				fmt.Fprintf(&b, format, i)
			}
			b.WriteString("  web:\n  - {version: 1.0.0, urls: [u]}\n")
			x, err := parseUpTo(t.Context(), strings.NewReader(b.String()), most)
			g.Expect(err).NotTo(HaveOccurred())
			for _, version := range []string{"", "1.0.5"} {
				_, err := x.find("many", version)
				g.Expect(errors.Is(err, fault.ErrLimit)).To(BeTrue(), "%v", err)
				g.Expect(err).To(MatchError(ContainSubstring(`the chart "many" has more than 1000 versions`)))
			}
			_, err = x.exactly("many", "1.0.5")
			g.Expect(errors.Is(err, fault.ErrLimit)).To(BeTrue(), "%v", err)
			_, err = x.find("web", "")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(x.skipped).To(Equal(versions - most - 1))
			g.Expect(x.size).To(BeNumerically("<", 1<<16), "they are not kept")
		})
	}
}
