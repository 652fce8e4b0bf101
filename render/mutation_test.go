// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// TestMutationsInWorkersGiveTheSame applies mutations in this process and in a worker.
func TestMutationsInWorkersGiveTheSame(t *testing.T) {
	objects := map[string]string{"a.yaml": configMap("a", "data: {a: x, list: null}") + "---\n" + configMap("b") + `---
apiVersion: v1
kind: Service
metadata: {name: s, annotations: {a: b}}
spec: {ports: [{port: 80, targetPort: 8080}], externalIPs: [a]}
---
apiVersion: v1
kind: Namespace
metadata: {name: ns}
---
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData: {password: hunter2-canary}
`}
	hook := "lifecycle: {hooks: [{name: h, \"on\": preSync, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: hook}, data: {n: \"1\"}}}]}\n"
	for name, spec := range map[string]string{
		"none match":              "mutations: [{name: m, optional: true, target: {kind: Pod}, patch: 'a: b'}]",
		"all three":               hook + "mutations: [{name: s, target: {kind: Service}, patch: 'spec: {ports: [{port: 81}, {port: 80, $patch: delete}], externalIPs: null}'}, {name: m, type: merge, patch: 'metadata: {labels: {n: \"1\"}}'}, {name: j, type: json, target: {labelSelector: 'n=1'}, patch: '[{op: add, path: /x, value: {i: 9007199254740993, f: 1.5, e: [], o: {}, n: null}}]'}]",
		"one that follows on one": "mutations: [{name: a, type: merge, target: {name: a}, patch: 'metadata: {labels: {l: x}}'}, {name: b, type: merge, target: {labelSelector: 'l=x'}, patch: 'data: {b: y}'}]",
		"namespaces":              "targetNamespace: shop\nmutations: [{name: n, type: merge, target: {namespace: shop}, patch: 'metadata: {namespace: other}'}, {name: m, type: merge, target: {namespace: other, name: a}, patch: 'metadata: {namespace: null}'}, {name: c, type: merge, target: {kind: Namespace}, patch: 'metadata: {namespace: x}'}]",
		"the last of a list":      "mutations: [{name: j, type: json, target: {kind: Service}, patch: '[{op: remove, path: /spec/ports/0}]'}, {name: s, target: {kind: Service}, patch: 'spec: {externalIPs: []}'}]",
		"nothing matches":         "mutations: [{name: m, target: {kind: Pod}, patch: 'a: b'}]",
		"one matches nothing":     "mutations: [{name: l, patch: 'metadata: {labels: {l: x}}'}, {name: m, target: {labelSelector: 'l=y'}, patch: 'a: b'}]",
		"unusable":                "mutations: [{name: m, optional: true, target: {kind: Pod}, type: json, patch: '[{op: nope, path: /a}]'}]",
		"not applicable":          "mutations: [{name: m, target: {name: b}, type: json, patch: '[{op: remove, path: /data/a}]'}]",
		"ambiguous":               "mutations: [{name: m, target: {kind: Service}, patch: 'spec: {ports: [{port: 80, protocol: TCP}, {port: 80, protocol: UDP}]}'}]",
		"another kind":            "mutations: [{name: m, target: {name: b}, type: merge, patch: 'kind: Secret'}]",
		"a spoilt object":         "mutations: [{name: m, target: {name: b}, type: merge, patch: 'metadata: {labels: {a: 1}}'}]",
		"a Secret":                "mutations: [{name: m, target: {kind: Secret}, patch: 'stringData: {$patch: repalce, password: hunter2-canary2}'}]",
		"too much":                "mutations: [{name: m, patch: 'data: {x: " + strings.Repeat("x", 60_000) + "}'}]",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			limits := render.Limits{OutputBytes: 64 << 10}
			in := input(t, spec, objects)
			here, hereErr := render.New(render.Options{Limits: limits}).Render(t.Context(), in)
			r := render.New(render.Options{Limits: limits, Workers: true})
			there, thereErr := r.Render(t.Context(), in)
			expectSameError(t, thereErr, hereErr)
			g.Expect(there).To(Equal(here))
			if name == "unusable" {
				g.Expect(thereErr).To(MatchError(HavePrefix("spec.mutations[m].patch: operation 1:")), "though it matches nothing")
				g.Expect(thereErr.(*render.Error).Reason).To(Equal(corev1alpha1.ReasonInvalidConfiguration))
			}
			g.Expect(fmt.Sprint(thereErr)).NotTo(ContainSubstring("hunter2"))
			if here != nil {
				digest, err := there.ComputeDigest()
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(digest).To(Equal(here.Digest))
			}
			before := r.Stats().Renders
			_, err := r.Render(t.Context(), in)
			expectSameError(t, err, hereErr)
			g.Expect(r.Stats().Renders).To(Equal(before), "it is remembered")
		})
	}
}

// laborious has a Service and strategic patches of its ports, over which the library takes long.
func laborious(t *testing.T, name string) render.Input {
	var ports, patched strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&ports, "  - {port: %d}\n", i+1)
	}
	for i := range 3500 {
		fmt.Fprintf(&patched, "{port: %d},", 1_000_000+i)
	}
	return input(t, "mutations: [{name: slow, patch: 'spec: {ports: ["+patched.String()+"]}'}]",
		map[string]string{"a.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: " + name + "}\nspec:\n  ports:\n" + ports.String()})
}

// TestMutationsHaveTheTimeOfARender has a patch that takes longer, whoever waits for it, and holds
// the only slot.
func TestMutationsHaveTheTimeOfARender(t *testing.T) {
	g := NewWithT(t)
	r := render.New(render.Options{Workers: true, MaxConcurrent: 1, Limits: render.Limits{Time: 2 * time.Second}})
	in := laborious(t, "web")
	_, err := r.Render(t.Context(), in)
	g.Expect(err).To(MatchError(And(ContainSubstring(`mutation "slow"`), ContainSubstring("rendering takes too long; raise --render-timeout"))))
	g.Expect(err.(*render.Error).Reason).To(Equal(corev1alpha1.ReasonRenderFailed))
	before := r.Stats()

	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := r.Render(ctx, in)
		left <- err
	}()
	g.Eventually(r.Stats).Should(HaveField("Hits", before.Hits+1), "what the engine gave is remembered, the time is not")
	leave()
	g.Expect(<-left).To(MatchError(context.Canceled))
	_, err = r.Render(t.Context(), input(t, "", map[string]string{"a.yaml": configMap("a")}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Stats().EndedByTime).To(Equal(before.EndedByTime), "nobody waited any more")
}

// TestPatchesAreParsedInTurn has a patch that is found to be unusable once others are done.
func TestPatchesAreParsedInTurn(t *testing.T) {
	for name, spec := range map[string]string{
		"mutation": "mutations: [{name: m, patch: '['}]",
		"hook":     `lifecycle: {hooks: [{name: h, "on": preSync, template: {kind: ConfigMap}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := render.New(render.Options{Workers: true, MaxConcurrent: 1})
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			go func() { _, _ = r.Render(ctx, endless(t, "evil", "first")) }()
			g.Eventually(r.Stats).Should(HaveField("Renders", int64(1)))
			found := make(chan error, 1)
			go func() {
				_, err := r.Render(t.Context(), input(t, spec, map[string]string{"a.yaml": configMap("a")}))
				found <- err
			}()
			g.Consistently(found, "100ms").ShouldNot(Receive())
			leave()
			err := <-found
			g.Expect(errors.As(err, new(*render.Error))).To(BeTrue(), "%v", err)
			g.Expect(err.(*render.Error).Reason).To(Equal(corev1alpha1.ReasonInvalidConfiguration))
		})
	}
}

// TestObjectsAreBoundedInMemory has little text that takes much.
func TestObjectsAreBoundedInMemory(t *testing.T) {
	const many = 20_000
	list := "[" + strings.Repeat(`{"a": 1}, `, many) + "1]"
	const want = "stopped: it and all objects before it take more than 4 MiB of memory; raise --render-max-bytes"
	for name, files := range map[string]map[string]string{
		"plain":     {"a.json": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "l": ` + list + "}"},
		"kustomize": {"kustomization.yaml": "resources: [a.yaml]", "a.yaml": configMap("a", "l: "+list)},
		"helm":      template(configMap("a", `l: [{{ range 20000 }}{a: 1}, {{ end }}]`)),
		"hook":      template(strings.Replace(configMap("a", `l: [{{ range 20000 }}{a: 1}, {{ end }}]`), "metadata: {", `metadata: {annotations: {"helm.sh/hook": post-install}, `, 1)),
	} {
		for _, workers := range []bool{false, true} {
			t.Run(fmt.Sprint(name, "/", workers), func(t *testing.T) {
				g := NewWithT(t)
				r := render.New(render.Options{Workers: workers, Limits: render.Limits{OutputBytes: 1 << 20}})
				_, err := r.Render(t.Context(), input(t, "", files))
				g.Expect(err).To(MatchError(And(HavePrefix("ConfigMap a ("), ContainSubstring(want))))
				_, err = render.New(render.Options{Workers: workers}).Render(t.Context(), input(t, "", files))
				g.Expect(err).NotTo(HaveOccurred())
			})
		}
	}
	files := template(configMap("a"))
	files["values.yaml"] = "l: " + list
	r := render.New(render.Options{Workers: true, Limits: render.Limits{OutputBytes: 1 << 20}})
	_, err := r.ExplainValues(t.Context(), input(t, "", files))
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring(`the value "l": stopped: it and all values before it take more than 4 MiB of memory`)))
}
