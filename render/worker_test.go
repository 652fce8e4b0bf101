// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/worker"
)

// The test binary is its own worker.
func TestMain(m *testing.M) {
	worker.Main()
	os.Exit(m.Run())
}

// TestWorkersGiveTheSame renders the catalogue in this process and in a worker.
func TestWorkersGiveTheSame(t *testing.T) {
	r := render.New(render.Options{Workers: true, CacheEntries: 1, MaxConcurrent: 1})
	for _, c := range slices.Concat(catalogue(t, "helm"), catalogue(t, "kustomize")) {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			root, err := os.OpenRoot(c.dir)
			g.Expect(err).NotTo(HaveOccurred())
			defer func() { _ = root.Close() }()
			in := render.Input{
				Release: c.release, Cluster: catalogueCluster{},
				Artifact: render.Artifact{Root: root.FS(), Path: c.path, Digest: "sha256:" + c.name, RootDigest: "sha256:" + c.name, Revision: "here"},
			}
			here, hereErr := render.New(render.Options{}).Render(t.Context(), in)
			there, thereErr := r.Render(t.Context(), in)
			expectSameError(t, thereErr, hereErr)
			hereValues, hereErr := render.ExplainValues(t.Context(), in)
			thereValues, thereErr := r.ExplainValues(t.Context(), in)
			expectSameError(t, thereErr, hereErr)
			g.Expect(thereValues).To(Equal(hereValues))
			if here != nil && len(here.NonDeterministic) > 0 {
				g.Expect(there.NonDeterministic).To(Equal(here.NonDeterministic))
				g.Expect(catalogued(t, there)).To(Equal(catalogued(t, here)))
				return
			}
			g.Expect(there).To(Equal(here))
		})
	}
}

// pointer is what the kustomize library shows in an error.
var pointer = regexp.MustCompile(`0x[0-9a-f]+`)

// expectSameError compares errors by all that anybody can ask of them.
func expectSameError(t *testing.T, got, want error) {
	t.Helper()
	g := NewWithT(t)
	if want == nil {
		g.Expect(got).NotTo(HaveOccurred())
		return
	}
	g.Expect(pointer.ReplaceAllString(fmt.Sprint(got), "0x")).To(Equal(pointer.ReplaceAllString(fmt.Sprint(want), "0x")))
	var a, b *render.Error
	g.Expect(errors.As(got, &a)).To(Equal(errors.As(want, &b)))
	if b != nil {
		g.Expect(a.Reason).To(Equal(b.Reason))
		g.Expect(a.Unwrap() == nil).To(Equal(b.Unwrap() == nil))
	}
}

// patience is for what another limit ends, however slow the machine is.
const patience = 10 * time.Minute

// bombs is content that ends or paralyses the process that it is rendered in.
var bombs = []struct {
	name    string
	files   map[string]string
	slow    bool // it is time that ends it
	wantErr string
}{
	{name: "value that contains itself", files: template(`{{ $d := dict }}{{ $_ := set $d "x" $d }}{{ toDecimal $d }}`), wantErr: "stack"},
	{name: "TOML nested deep", files: template(`{{ fromToml (printf "a = %s" (repeat 3000000 "[")) }}`), wantErr: "stack"},
	{name: "pattern nested deep", files: template(`{{ .Files.Glob (repeat 2000000 "{") }}`), wantErr: ""},
	{name: "schema of 2^40 checks", files: doublingSchema(40), slow: true, wantErr: "--render-timeout"},
	{name: "schema of a kustomization that refers to itself", files: openAPICycle, slow: true, wantErr: `with a.yaml read last: stopped: rendering takes too long`},
	{name: "list in a template", files: template(`{{ len (fromYamlArray (printf "[%s1]" (repeat 10000000 "1,"))) }}`), wantErr: "--render-max-memory"},
	{name: "list in a manifest", files: map[string]string{"a.yaml": configMap("a") + "x: [" + strings.Repeat("1,", 2_000_000) + "1]\n"}, wantErr: "with a.yaml read last: stopped: it takes more than 128 MiB of memory; raise --render-max-memory"},
}

func template(text string) map[string]string {
	return map[string]string{"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "templates/a.yaml": text}
}

// doublingSchema is a chart whose schema has n definitions, each of which asks twice for the next.
func doublingSchema(n int) map[string]string {
	files := template(configMap("a"))
	var schema strings.Builder
	for i := range n {
		next := fmt.Sprintf(`{"$ref": "#/definitions/a%d"}`, i+1)
		fmt.Fprintf(&schema, `"a%d": {"allOf": [%s, %s]}, `, i, next, next)
	}
	files["values.schema.json"] = fmt.Sprintf(`{"definitions": {%s "a%d": {"type": "object"}}, "$ref": "#/definitions/a0"}`, schema.String(), n)
	return files
}

var openAPICycle = map[string]string{
	"kustomization.yaml": "resources: [a.yaml]\nopenapi: {path: s.json}\npatches: [{patch: '{apiVersion: x.test/v1, kind: Foo, metadata: {name: a}, spec: {a: {b: 2}}}'}]\n",
	"a.yaml":             "apiVersion: x.test/v1\nkind: Foo\nmetadata: {name: a}\nspec: {a: {b: 1}}\n",
	"s.json": `{"definitions": {
		"v1.Foo": {"x-kubernetes-group-version-kind": [{"group": "x.test", "version": "v1", "kind": "Foo"}], "type": "object", "properties": {"spec": {"$ref": "#/definitions/v1.B"}}},
		"v1.B": {"$ref": "#/definitions/v1.C"}, "v1.C": {"$ref": "#/definitions/v1.B"}}}`,
}

// TestBombsEndTheirWorker renders each while something else is rendered, and more of them than
// there are slots.
func TestBombsEndTheirWorker(t *testing.T) {
	small := render.New(render.Options{Workers: true, MaxConcurrent: 2, Limits: render.Limits{MemoryBytes: 128 << 20, Time: patience}})
	quick := render.New(render.Options{Workers: true, MaxConcurrent: 1, Limits: render.Limits{Time: time.Second}})
	for i, bomb := range bombs {
		t.Run(bomb.name, func(t *testing.T) {
			g := NewWithT(t)
			beside := make(chan error)
			go func() {
				_, err := small.Render(t.Context(), input(t, "", map[string]string{"a.yaml": configMap(fmt.Sprintf("a%d", i))}))
				beside <- err
			}()
			r := small
			if bomb.slow {
				r = quick
			}
			_, err := r.Render(t.Context(), input(t, "", bomb.files))
			g.Expect(<-beside).NotTo(HaveOccurred())
			g.Expect(errors.As(err, new(*render.Error))).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(And(ContainSubstring("stopped: "), ContainSubstring(bomb.wantErr))))
			g.Eventually(func() error { // on a machine that has much to do, this may take too long, too
				_, err := r.Render(t.Context(), input(t, "", map[string]string{"a.yaml": configMap(fmt.Sprintf("b%d", i))}))
				return err
			}).WithTimeout(time.Minute).Should(Succeed(), "the slot is free")
			if !bomb.slow { // what takes too long may take less another time
				before := r.Stats()
				_, err = r.Render(t.Context(), input(t, "", bomb.files))
				g.Expect(err).To(HaveOccurred())
				g.Expect(r.Stats().Renders).To(Equal(before.Renders), "it is remembered")
			}
		})
	}
	g := NewWithT(t)
	g.Expect(quick.Stats()).To(And(HaveField("EndedByTime", BeNumerically(">=", 2)), HaveField("EndedByMemory", int64(0)), HaveField("EndedByCrash", int64(0))))
	s := small.Stats()
	g.Expect(s.EndedByTime).To(BeZero())
	g.Expect(s.EndedByMemory).To(BeNumerically(">=", 2))
	g.Expect(s.EndedByMemory + s.EndedByCrash).To(BeEquivalentTo(5))
}

// TestWorkersLookUp looks up what the target cluster has, and what it cannot tell.
func TestWorkersLookUp(t *testing.T) {
	for _, workers := range []bool{false, true} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			g := NewWithT(t)
			in := input(t, "render: {helm: {lookup: true}}", template(configMap("a")+`data: {found: {{ (lookup "v1" "ConfigMap" "team" "b").data.n | quote }}}`))
			forbidden := errors.New("the target says no")
			asked := &answers{object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"n": int64(1 << 60)}}}
			in.Lookup = asked
			r := render.New(render.Options{Workers: workers})
			result, err := r.Render(t.Context(), in)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.Objects[0].Object.Object["data"]).To(Equal(map[string]any{"found": "1152921504606846976"}))
			asked.err = forbidden
			_, err = render.New(render.Options{Workers: workers}).Render(t.Context(), in)
			g.Expect(err).To(MatchError(forbidden))
			g.Expect(err).To(MatchError(ContainSubstring("templates/a.yaml:6")))
			g.Expect(errors.As(err, new(*render.Error))).To(BeFalse(), "another time it may be read")
		})
	}
}

// answers is a Lookup that has one answer.
type answers struct {
	object map[string]any
	err    error
}

func (a *answers) Get(context.Context, schema.GroupVersionKind, string, string) (*unstructured.Unstructured, error) {
	return &unstructured.Unstructured{Object: a.object}, a.err
}

func (a *answers) List(context.Context, schema.GroupVersionKind, string) (*unstructured.UnstructuredList, error) {
	return nil, a.err
}

// TestDatesOfWorkers asks for the local time, which is that of the host nowhere.
func TestDatesOfWorkers(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("TZ", "Asia/Tokyo")
	in := input(t, "", template(configMap("a")+`data: {hour: {{ (toDate "2006-01-02" "2026-01-02").Local.Hour | quote }}}`))
	result, err := render.New(render.Options{Workers: true}).Render(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.Objects[0].Object.Object["data"]).To(Equal(map[string]any{"hour": "0"}))
}

// TestWorkersReachNobody has the library put together what no file says: the configuration of a
// plugin that refers to another host.
func TestWorkersReachNobody(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = fmt.Fprint(w, configMap("stolen"))
	}))
	defer server.Close()
	r := render.New(render.Options{Workers: true, MaxConcurrent: 1})
	for name, made := range map[string]string{
		"a file":  "k=" + server.URL + "/a.yaml",
		"a patch": server.URL + "/a.yaml?token=hunter2",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			files := map[string]string{
				"kustomization.yaml":     "generators: [gen]\n",
				"gen/kustomization.yaml": "resources: [g.yaml]\npatches: [{target: {kind: ConfigMapGenerator}, patch: '[{\"op\": \"replace\", \"path\": \"/files/0\", \"value\": \"" + made + "\"}]'}]\n",
				"gen/g.yaml":             "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: g}\nfiles: [k=a.yaml]\n",
				"a.yaml":                 configMap("a"),
			}
			if name == "a patch" {
				files["gen/kustomization.yaml"] = "resources: [g.yaml]\npatches: [{target: {kind: PatchTransformer}, patch: '[{\"op\": \"replace\", \"path\": \"/path\", \"value\": \"" + made + "\"}]'}]\n"
				files["gen/g.yaml"] = "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: g}\npath: a.yaml\n"
				files["kustomization.yaml"] = "resources: [a.yaml]\ntransformers: [gen]\n"
			}
			_, err := r.Render(t.Context(), input(t, "", files))
			g.Expect(err).To(MatchError(ContainSubstring("remote references are not followed")))
			g.Expect(err.Error()).NotTo(ContainSubstring("hunter2"))
			g.Expect(asked.Load()).To(BeZero())
		})
	}
}
