// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kumodo.io/convoy/render"
)

// outcome of a render that goes on.
type outcome struct {
	result *render.Result
	err    error
}

// asks renders meanwhile, and is in line or has a turn when it returns.
func asks(t *testing.T, ctx context.Context, r *render.Renderer, in render.Input) chan outcome {
	t.Helper()
	waiting, renders := r.Waiting(), r.Stats().Renders
	done := make(chan outcome, 1)
	go func() {
		result, err := r.Render(ctx, in)
		done <- outcome{result, err}
	}()
	NewWithT(t).Eventually(func() bool { return r.Waiting() > waiting || r.Stats().Renders > renders }).WithTimeout(time.Minute).Should(BeTrue())
	return done
}

// busy has a tenant take up all slots that it can have, and wait for more.
func busy(t *testing.T, ctx context.Context, r *render.Renderer, tenant string, times int) (ended []chan outcome) {
	for i := range times {
		ended = append(ended, asks(t, ctx, r, endless(t, tenant, fmt.Sprint(tenant, i))))
	}
	return ended
}

// TestWhoJoinsARenderHasItsOwnPlaceInLine asks for what another tenant has in its line, which is
// long.
func TestWhoJoinsARenderHasItsOwnPlaceInLine(t *testing.T) {
	for name, files := range map[string]map[string]string{"manifests": {"a.yaml": configMap("shared")}, "chart": template(configMap("shared"))} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := render.New(render.Options{Workers: true, MaxConcurrent: 2})
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			ended := busy(t, ctx, r, "evil", 3)
			shared := func(namespace string) render.Input {
				in := input(t, "targetNamespace: ingress", files)
				in.Release.Namespace = namespace
				return in
			}
			evil := asks(t, ctx, r, shared("evil"))
			good := make(chan outcome, 1)
			go func() {
				result, err := r.Render(t.Context(), shared("good"))
				good <- outcome{result, err}
			}()
			var had outcome
			g.Eventually(good).WithTimeout(20 * time.Second).Should(Receive(&had))
			g.Expect(had.err).NotTo(HaveOccurred())
			g.Expect((<-evil).result).To(BeIdenticalTo(had.result), "who was joined has it at once, too")
			g.Expect(r.Stats().Renders).To(BeEquivalentTo(2))
			leave()
			for _, done := range ended {
				g.Expect((<-done).err).To(MatchError(context.Canceled))
			}
			g.Expect(r.Waiting()).To(BeZero())
		})
	}
}

// TestWhatWaitsIsNotParsed has Releases wait whose values and hooks take a hundred times their
// text once they are parsed.
func TestWhatWaitsIsNotParsed(t *testing.T) {
	g := NewWithT(t)
	r := render.New(render.Options{Workers: true, MaxConcurrent: 1})
	ctx, leave := context.WithCancel(t.Context())
	ended := busy(t, ctx, r, "evil", 1)
	files := template(configMap("a"))
	files["v.yaml"] = "l: [" + strings.Repeat("{a: 1},", 200_000) + "]\n"
	in := input(t, "render: {helm: {valuesFiles: [v.yaml], valuesFrom: [{kind: Secret, name: s}]}}", files)
	in.References = secrets{"s": {"values.yaml": []byte("m: [" + strings.Repeat("{a: 1},", 100_000) + "]\n")}}
	before := live()
	for i := range 4 {
		one := in
		one.Release = in.Release.DeepCopy()
		one.Release.Namespace, one.Release.Name = "evil", fmt.Sprint("n", i)
		ended = append(ended, asks(t, ctx, r, one))
	}
	g.Expect(int64(live()) - int64(before)).To(BeNumerically("<", 4<<20))
	leave()
	for _, done := range ended {
		g.Expect((<-done).err).To(MatchError(context.Canceled))
	}
}

// TestContentIsParsedByTheWorker has content that takes more memory than a worker may take, of
// each kind that has to be known before a chart is rendered.
func TestContentIsParsedByTheWorker(t *testing.T) {
	large := "l: [" + strings.Repeat("{},", 1_400_000) + "]\n"
	for name, change := range map[string]func(in *render.Input, files map[string]string) string{
		"file of values": func(_ *render.Input, files map[string]string) string {
			files["v.yaml"] = large
			return "render: {helm: {valuesFiles: [v.yaml]}}"
		},
		"Secret": func(in *render.Input, _ map[string]string) string {
			in.References = secrets{"s": {"values.yaml": []byte(large)}}
			return "render: {helm: {valuesFrom: [{kind: Secret, name: s}]}}"
		},
		"charts": func(_ *render.Input, files map[string]string) string {
			files["Chart.yaml"] += "dependencies: [{name: lib, version: 1.0.0, repository: 'file://lib'}]\n"
			for i := range 10 {
				files[fmt.Sprintf("charts/x%d/Chart.yaml", i)] = "apiVersion: v2\nname: x\nversion: 1.0.0\nannotations:\n" + strings.Repeat("  k: &a v\n", 20_000)
			}
			return ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			files := template(configMap("a"))
			in := render.Input{Cluster: &cluster{}}
			in.Release = release(t, change(&in, files))
			in.Artifact = content(".", files)
			r := render.New(render.Options{Workers: true, Limits: render.Limits{MemoryBytes: 128 << 20, Time: patience}})
			for range 3 {
				_, err := r.Render(t.Context(), in)
				g.Expect(err).To(BeAssignableToTypeOf(&render.Error{}))
			}
			g.Expect(r.Stats().Renders).To(BeEquivalentTo(1), "the failure is remembered")
			g.Expect(r.Stats().Hits).To(BeEquivalentTo(2))
			if name != "charts" {
				g.Expect(r.Stats().EndedByMemory).To(BeEquivalentTo(1))
			}
		})
	}
}

// moving is a Secret that is another one after it was read some times.
type moving struct {
	secrets
	reads, after atomic.Int32
}

func (m *moving) Secret(context.Context, string, string) (map[string][]byte, error) {
	if n := m.reads.Add(1); n > m.after.Load() {
		return map[string][]byte{"values.yaml": []byte("v: after")}, nil
	}
	return map[string][]byte{"values.yaml": []byte("v: before")}, nil
}

const ofSecret = "render: {helm: {valuesFrom: [{kind: Secret, name: s}]}}"

var showing = template(configMap("a", "data: {v: {{ .Values.v }}}"))

func shown(g *WithT, o outcome) any {
	g.Expect(o.err).NotTo(HaveOccurred())
	return o.result.Objects[0].Object.Object["data"].(map[string]any)["v"]
}

// TestSecretsThatChangeWhileARenderWaits has two tenants wait for one render, whose Secrets are the
// same until then.
func TestSecretsThatChangeWhileARenderWaits(t *testing.T) {
	g := NewWithT(t)
	r := render.New(render.Options{Workers: true, MaxConcurrent: 1})
	ctx, leave := context.WithCancel(t.Context())
	ended := busy(t, ctx, r, "busy", 1)
	wants := func(namespace string, s render.References) chan outcome {
		in := input(t, "targetNamespace: shared\n"+ofSecret, showing)
		in.Release.Namespace, in.References = namespace, s
		return asks(t, t.Context(), r, in)
	}
	evil := &moving{}
	evil.after.Store(1)
	first, second := wants("evil", evil), wants("good", secrets{"s": {"values.yaml": []byte("v: before")}})
	leave()
	g.Expect((<-ended[0]).err).To(MatchError(context.Canceled))
	g.Expect(shown(g, <-first)).To(Equal("after"))
	g.Expect(shown(g, <-second)).To(Equal("before"), "one tenant has the values of another")
}

// away is a Secret that cannot be read, or is not there, for some reads.
type away struct {
	secrets
	reads    atomic.Int32
	from, to int32
	err      error
}

func (a *away) Secret(context.Context, string, string) (map[string][]byte, error) {
	if n := a.reads.Add(1); n > a.from && n <= a.to {
		return nil, a.err
	}
	return map[string][]byte{"values.yaml": []byte("v: before")}, nil
}

var errAway = apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "s")

// TestASecretThatGoesWhileARenderWaits has two tenants wait for one render, of whom the first has
// no Secret any more then.
func TestASecretThatGoesWhileARenderWaits(t *testing.T) {
	g := NewWithT(t)
	r := render.New(render.Options{Workers: true, MaxConcurrent: 1})
	ctx, leave := context.WithCancel(t.Context())
	ended := busy(t, ctx, r, "busy", 1)
	wants := func(namespace string, s render.References) render.Input {
		in := input(t, "targetNamespace: shared\n"+ofSecret, showing)
		in.Release.Namespace, in.References = namespace, s
		return in
	}
	good := wants("good", secrets{"s": {"values.yaml": []byte("v: before")}})
	first := asks(t, t.Context(), r, wants("evil", &away{from: 1, to: 100, err: errAway}))
	second := asks(t, t.Context(), r, good)
	leave()
	g.Expect((<-ended[0]).err).To(MatchError(context.Canceled))
	g.Expect((<-first).err).To(MatchError(ContainSubstring(`Secret "s" does not exist`)))
	g.Expect(shown(g, <-second)).To(Equal("before"))
	result, err := r.Render(t.Context(), good)
	g.Expect(shown(g, outcome{result, err})).To(Equal("before"))
}

// TestASecretThatIsAwayForAMoment cannot be read when it is the turn of the render: that says
// nothing of its inputs, and is not remembered of them.
func TestASecretThatIsAwayForAMoment(t *testing.T) {
	for want, err := range map[string]error{"does not exist": errAway, "unavailable": errors.New("unavailable")} {
		t.Run(want, func(t *testing.T) {
			g := NewWithT(t)
			r := render.New(render.Options{})
			in := input(t, ofSecret, showing)
			in.References = &away{from: 1, to: 3, err: err}
			_, failed := r.Render(t.Context(), in)
			g.Expect(failed).To(MatchError(ContainSubstring(want)), "it was away still when it was looked for again")
			result, failed := r.Render(t.Context(), in)
			g.Expect(shown(g, outcome{result, failed})).To(Equal("before"))

			in.References = &away{from: 1, to: 2, err: err}
			result, failed = render.New(render.Options{}).Render(t.Context(), in)
			g.Expect(shown(g, outcome{result, failed})).To(Equal("before"), "in the same call, if it is there again")
		})
	}
}

// TestABinarySecretIsRotated has values of which JSON makes the same text.
func TestABinarySecretIsRotated(t *testing.T) {
	g := NewWithT(t)
	r := render.New(render.Options{})
	in := input(t, "render: {helm: {valuesFrom: [{kind: Secret, name: s, key: k, targetPath: v}]}}", template(configMap("a", "data: {v: {{ .Values.v | b64enc | quote }}}")))
	inputs := map[string]bool{}
	for _, key := range []string{"\xff\xfe", "\xfe\xff"} {
		in.References = secrets{"s": {"k": []byte(key)}}
		result, err := r.Render(t.Context(), in)
		g.Expect(shown(g, outcome{result, err})).To(Equal(base64.StdEncoding.EncodeToString([]byte(key))))
		inputs[result.Inputs] = true
	}
	g.Expect(inputs).To(HaveLen(2))
}

// changing is a Secret that is another one each time.
type changing struct {
	secrets
	reads atomic.Int32
}

func (c *changing) Secret(context.Context, string, string) (map[string][]byte, error) {
	return map[string][]byte{"values.yaml": fmt.Appendf(nil, "v: r%d", c.reads.Add(1))}, nil
}

func TestSecretsThatChangeAllTheTime(t *testing.T) {
	g := NewWithT(t)
	in := input(t, ofSecret, showing)
	in.References = &changing{}
	_, err := render.New(render.Options{}).Render(t.Context(), in)
	g.Expect(err).To(MatchError(ContainSubstring("what spec.render.helm.valuesFrom refers to changes all the time")))
}

// TestChartsFromElsewhereNeedNoTurn counts turns by the renders that wait: charts are brought while
// none is taken up, and are known to be needed from then on.
func TestChartsFromElsewhereNeedNoTurn(t *testing.T) {
	g := NewWithT(t)
	r := render.New(render.Options{MaxConcurrent: 1})
	top := with(packed("top", "1.0.0", "x"), map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: top\nversion: 1.0.0\ndependencies: [{name: db, version: ^1, repository: 'https://charts.test/a'}]\n",
	})
	in := input(t, "", top)
	in.References = &nested{r: r, t: t, charts: charts{by: map[string]render.Artifact{"team https://charts.test/a db ^1": content(".", packed("db", "1.2.0", "d"))}}}
	result, err := r.Render(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.Ranges).To(Equal([]string{"db ^1"}))
	again, err := r.Render(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(BeIdenticalTo(result))
	g.Expect(r.Stats().Renders).To(BeEquivalentTo(2), "the chart and what was rendered while it was brought")
}

// nested renders something else while a chart is brought.
type nested struct {
	charts
	r *render.Renderer
	t *testing.T
}

func (n *nested) Chart(ctx context.Context, namespace string, wanted render.Dependency) (render.Artifact, error) {
	_, err := n.r.Render(ctx, input(n.t, "", map[string]string{"a.yaml": configMap("a")}))
	NewWithT(n.t).Expect(err).NotTo(HaveOccurred())
	return n.charts.Chart(ctx, namespace, wanted)
}

// TestContentThatCannotBeReadIsNobodyElses has two tenants wait for one render, of whom the first
// cannot read the content, which the other one has, too.
func TestContentThatCannotBeReadIsNobodyElses(t *testing.T) {
	for name, files := range map[string]map[string]string{"manifests": {"a.yaml": configMap("a")}, "chart": template(configMap("a"))} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := render.New(render.Options{Workers: true, MaxConcurrent: 1})
			ctx, leave := context.WithCancel(t.Context())
			ended := busy(t, ctx, r, "busy", 1)
			wants := func(namespace string) render.Input {
				in := input(t, "targetNamespace: shared", files)
				in.Release.Namespace = namespace
				return in
			}
			evil := wants("evil")
			evil.Artifact.Root = unreadable{evil.Artifact.Root}
			first, second := asks(t, t.Context(), r, evil), asks(t, t.Context(), r, wants("good"))
			leave()
			<-ended[0]
			g.Expect((<-first).err).To(MatchError(ContainSubstring("evil/private")))
			had := <-second
			g.Expect(had.err).NotTo(HaveOccurred())
			g.Expect(had.result.Objects).To(HaveLen(1))
		})
	}
}

// unreadable is content of which no file can be read for the time being.
type unreadable struct{ fs.FS }

func (u unreadable) ReadFile(string) ([]byte, error) { return nil, errUnread{} }

func (u unreadable) Stat(name string) (fs.FileInfo, error) { return fs.Stat(u.FS, name) }

func (u unreadable) Open(name string) (fs.File, error) {
	if strings.HasSuffix(name, ".yaml") {
		return nil, errUnread{}
	}
	return u.FS.Open(name)
}

type errUnread struct{}

func (errUnread) Error() string   { return "evil/private: unauthorized" }
func (errUnread) Temporary() bool { return true }
