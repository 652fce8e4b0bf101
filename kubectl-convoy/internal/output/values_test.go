// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func origin(path string, kind corev1alpha1.ValueOriginKind, names ...string) corev1alpha1.ValueOrigin {
	o := corev1alpha1.ValueOrigin{Path: path, Kind: kind}
	if len(names) > 0 {
		o.Name = names[0]
	}
	if len(names) > 1 {
		o.Key = names[1]
	}
	return o
}

// explained are values of every origin.
func explained() *corev1alpha1.ReleaseValues {
	return &corev1alpha1.ReleaseValues{
		Values: runtime.RawExtension{Raw: []byte(`{
			"db": {"global": {"zone": "b"}, "port": 5432, "size": 9},
			"empty": {}, "global": {"zone": "b"}, "id": 9007199254740993, "imported": null, "list": [1, {"a": 2}],
			"login": {"pass.word": "(masked)"}, "script": "one\n\ntwo\n", "sub": {"more": "x"}
		}`)},
		Origins: []corev1alpha1.ValueOrigin{
			origin("db.global.zone", corev1alpha1.ValueOriginRelease), origin("db.port", corev1alpha1.ValueOriginChart, "web/charts/db/values.yaml"),
			origin("db.size", corev1alpha1.ValueOriginRelease), origin("empty", corev1alpha1.ValueOriginChart, "web/values.yaml"),
			origin("global.zone", corev1alpha1.ValueOriginRelease), origin("id", corev1alpha1.ValueOriginFile, "prod.yaml"),
			origin("imported", corev1alpha1.ValueOriginChartImport), origin("list", corev1alpha1.ValueOriginConfigMap, "conf", "values.yaml"),
			origin(`login.pass\.word`, corev1alpha1.ValueOriginSecret, "login", "password"),
			origin("script", corev1alpha1.ValueOriginGitRepository, "repo", "envs/x.yaml"), origin("sub.more", corev1alpha1.ValueOriginOCIRegistry, "reg", "y.yaml"),
		},
	}
}

func TestValues(t *testing.T) {
	for _, test := range []struct {
		name          string
		all, withThem bool
		want          string
	}{
		{"what the Release sets", false, false, `db:
  size: 9
global:
  zone: b
id: 9007199254740993
list:
- 1
- a: 2
login:
  pass.word: (masked)
script: |
  one

  two
sub:
  more: x
`},
		{"that, and where it comes from", false, true, `db:
  size: 9  # spec.render.helm.values
global:
  zone: b  # spec.render.helm.values
id: 9007199254740993  # prod.yaml
# ConfigMap conf, values.yaml
list:
- 1
- a: 2
login:
  pass.word: (masked)  # Secret login, password
# GitRepository repo, envs/x.yaml
script: |
  one

  two
sub:
  more: x  # OCIRegistry reg, y.yaml
`},
		{"the chart's own too", true, true, `db:
  global:
    zone: b  # spec.render.helm.values
  port: 5432  # chart default, web/charts/db/values.yaml
  size: 9  # spec.render.helm.values
empty: {}  # chart default, web/values.yaml
global:
  zone: b  # spec.render.helm.values
id: 9007199254740993  # prod.yaml
imported: null  # import-values, or Helm itself
# ConfigMap conf, values.yaml
list:
- 1
- a: 2
login:
  pass.word: (masked)  # Secret login, password
# GitRepository repo, envs/x.yaml
script: |
  one

  two
sub:
  more: x  # OCIRegistry reg, y.yaml
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			values := explained()
			if !test.all {
				g.Expect(WithoutDefaults(values)).To(Succeed())
				g.Expect(values.Origins).To(HaveLen(7))
			}
			var out bytes.Buffer
			g.Expect(Values(&out, values, test.withThem)).To(Succeed())
			g.Expect(out.String()).To(Equal(test.want))
		})
	}
}

func TestGlobalsOfAnotherSourceAreKept(t *testing.T) {
	g := NewWithT(t)
	values := &corev1alpha1.ReleaseValues{
		Values: runtime.RawExtension{Raw: []byte(`{"db": {"global": {"own": 1, "zone": "c"}}, "global": {"zone": "b"}}`)},
		Origins: []corev1alpha1.ValueOrigin{
			origin("db.global.own", corev1alpha1.ValueOriginFile, "a.yaml"), origin("db.global.zone", corev1alpha1.ValueOriginFile, "a.yaml"),
			origin("global.zone", corev1alpha1.ValueOriginFile, "b.yaml"),
		},
	}
	want := string(values.Values.Raw)
	g.Expect(WithoutDefaults(values)).To(Succeed())
	g.Expect(values.Values.Raw).To(MatchJSON(want))
	g.Expect(values.Origins).To(HaveLen(3))
}

// What is shown is YAML of the same values, whatever is in them.
func TestCommentsChangeNoValue(t *testing.T) {
	long := strings.Repeat("word: |", 40)
	for _, value := range []any{
		long, long + "\n" + long, "  indented\nless", "\n\nkept\n\n", "tab\there\nx", "# no comment", "a # b", "", nil, true, "true", json.Number("1e3"),
		[]any{long, []any{}, map[string]any{"a": long}}, map[string]any{}, "\u2028x\ny", "a\u2028\u2029b\nc",
	} {
		for _, key := range []string{"key", "a.b", `a\b`, "", "1", "yes", "# k", "two\nlines", strings.Repeat("k", 200)} {
			g := NewWithT(t)
			tree := map[string]any{key: map[string]any{key: value, "z": 1}, "~": value}
			raw, err := json.Marshal(tree)
			g.Expect(err).NotTo(HaveOccurred())
			values := &corev1alpha1.ReleaseValues{Values: runtime.RawExtension{Raw: raw}, Origins: []corev1alpha1.ValueOrigin{
				origin(corev1alpha1.JoinValuePath([]string{key, key}), corev1alpha1.ValueOriginFile, "one\ntwo"),
			}}
			var out bytes.Buffer
			g.Expect(Values(&out, values, true)).To(Succeed())
			g.Expect(out.String()).To(ContainSubstring("# one two\n"))
			shown, err := yaml.YAMLToJSON(out.Bytes())
			g.Expect(err).NotTo(HaveOccurred(), out.String())
			g.Expect(shown).To(MatchJSON(raw), out.String())
		}
	}
}
