// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// connected is a cluster with objects that can be read.
type connected struct {
	cluster
	client *dynamicfake.FakeDynamicClient
}

func (c *connected) Dynamic() dynamic.Interface { return c.client }

func (c *connected) Mapping(_ context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	if gvk.Group == "none.test" {
		return nil, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	scope := meta.RESTScopeNamespace
	if gvk.Kind == "Namespace" {
		scope = meta.RESTScopeRoot
	}
	return &meta.RESTMapping{
		Resource: gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s"), GroupVersionKind: gvk, Scope: scope,
	}, nil
}

func connect(objects ...runtime.Object) *connected {
	kinds := map[schema.GroupVersionResource]string{{Version: "v1", Resource: "secrets"}: "SecretList", {Version: "v1", Resource: "namespaces"}: "NamespaceList"}
	return &connected{client: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)}
}

// errClass is the class that errors get, for which NotFound is one too.
var errClass = errors.New("class")

func classed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errClass, err)
}

func secret(name, password string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": name, "namespace": "team", "resourceVersion": "7", "managedFields": []any{}},
		"data":     map[string]any{"pw": base64.StdEncoding.EncodeToString([]byte(password))},
	}}
}

// The template of a password that is kept once it is there.
const keptPassword = `
{{- $pw := randAlphaNum 16 | b64enc }}
{{- with lookup "v1" "Secret" .Release.Namespace "db" }}{{ $pw = .data.pw }}{{ end }}
apiVersion: v1
kind: Secret
metadata: {name: db}
data: {pw: {{ $pw }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: db, annotations: {checksum: {{ sha256sum $pw }}}}
`

func lookupInput(t *testing.T, template string, c render.Cluster) render.Input {
	t.Helper()
	in := input(t, "render: {helm: {lookup: true}}", map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": template})
	in.Cluster, in.Lookup = c, render.LookupOf(c, classed)
	return in
}

func TestLookupKeepsWhatIsThere(t *testing.T) {
	g := NewWithT(t)
	c := connect()
	r := render.New(render.Options{})
	in := lookupInput(t, keptPassword, c)
	first, err := r.Render(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(first.NonDeterministic).To(HaveLen(2))

	// The same reads give the same render, and what is there counts from then on.
	again, err := r.Render(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(BeIdenticalTo(first))
	g.Expect(r.Stats()).To(Equal(render.Stats{Renders: 1, Hits: 1}))

	g.Expect(c.client.Tracker().Add(secret("db", "from-the-cluster"))).To(Succeed())
	kept, err := r.Render(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept.Objects[0].Object.Object["data"]).To(Equal(map[string]any{"pw": base64.StdEncoding.EncodeToString([]byte("from-the-cluster"))}))
	g.Expect(kept.Inputs).NotTo(Equal(first.Inputs))
	g.Expect(r.Stats().Renders).To(Equal(int64(2)))

	// Another process finds the same, without having seen the first render.
	other, err := render.New(render.Options{}).Render(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect([]string{other.Digest, other.Inputs}).To(Equal([]string{kept.Digest, kept.Inputs}))
}

func TestLookupReadsOnly(t *testing.T) {
	g := NewWithT(t)
	c := connect(secret("a", "one"), secret("b", "two"), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "space"},
	}})
	result, err := render.New(render.Options{}).Render(t.Context(), lookupInput(t, `
{{- $list := lookup "v1" "Secret" "team" "" }}
{{- $space := lookup "v1" "Namespace" "" "space" }}
{{- $_ := set $space "changed" true }}
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
  names: "{{ range $list.items }}{{ .metadata.name }} {{ end }}"
  list: {{ $list.kind }}
  space: {{ $space.metadata.name }}
  fresh: "{{ hasKey (lookup "v1" "Namespace" "" "space") "changed" }}"
  managers: "{{ hasKey (lookup "v1" "Secret" "team" "a").metadata "managedFields" }}"
  none: "{{ lookup "v1" "Secret" "team" "none" | empty }}"
`, c))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.Objects[0].Object.Object["data"]).To(Equal(map[string]any{
		"names": "a b ", "list": "SecretList", "space": "space", "fresh": "false", "managers": "false", "none": "true",
	}))
	for _, action := range c.client.Actions() {
		g.Expect(action.GetVerb()).To(Or(Equal("get"), Equal("list")))
	}
	g.Expect(c.client.Actions()).To(HaveLen(4)) // each question once
}

func TestLookupsThatFail(t *testing.T) {
	c := connect(secret("db", "hunter2-canary"))
	c.client.PrependReactor("get", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name := action.(clienttesting.GetAction).GetName()
		if name != "forbidden" {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, name, errors.New("no"))
	})
	c.client.PrependReactor("list", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return action.GetNamespace() == "none", nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("no"))
	})
	t.Run("forbidden", func(t *testing.T) {
		g := NewWithT(t)
		r := render.New(render.Options{})
		for range 2 {
			_, err := r.Render(t.Context(), lookupInput(t, `{{ lookup "v1" "Secret" "team" "forbidden" }}`, c))
			g.Expect(apierrors.IsForbidden(err)).To(BeTrue())
			g.Expect(errors.Is(err, errClass)).To(BeTrue())
			g.Expect(err.Error()).To(HavePrefix("execution error at (web/templates/a.yaml:1:3): lookup of Secret team/forbidden: class: "))
		}
		g.Expect(r.Stats().Renders).To(Equal(int64(2))) // it may be allowed by then
	})
	t.Run("forbidden list", func(t *testing.T) {
		g := NewWithT(t)
		_, err := render.New(render.Options{}).Render(t.Context(), lookupInput(t, `{{ lookup "v1" "Secret" "none" "" }}`, c))
		g.Expect(apierrors.IsForbidden(err)).To(BeTrue())
		g.Expect(errors.Is(err, errClass)).To(BeTrue())
	})
	t.Run("kind that is not served", func(t *testing.T) {
		_, err := render.New(render.Options{}).Render(t.Context(), lookupInput(t, `{{ lookup "none.test/v1" "None" "" "a" }}`, c))
		NewWithT(t).Expect(meta.IsNoMatchError(err)).To(BeTrue())
	})
	t.Run("secrets that were read", func(t *testing.T) {
		for _, template := range []string{
			`{{ fail ((lookup "v1" "Secret" "team" "db").data.pw | b64dec) }}`,
			`{{ fail (index (lookup "v1" "Secret" "team" "").items 0).data.pw }}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {x: 1, {{ (lookup "v1" "Secret" "team" "db").data.pw | b64dec }}: y}}}`,
		} {
			g := NewWithT(t)
			_, err := render.New(render.Options{}).Render(t.Context(), lookupInput(t, template, c))
			g.Expect(err).To(BeAssignableToTypeOf(&render.Error{}))
			g.Expect(err.Error()).NotTo(ContainSubstring("hunter2"))
			g.Expect(err.Error()).NotTo(ContainSubstring(base64.StdEncoding.EncodeToString([]byte("hunter2-canary"))))
		}
	})
	t.Run("more than a chart may ask", func(t *testing.T) {
		_, err := render.New(render.Options{}).Render(t.Context(), lookupInput(t, `{{ range until 501 }}{{ lookup "v1" "Secret" "team" (toString .) }}{{ end }}`, c))
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("templates look up more than 500 objects and lists")))
	})
	t.Run("who asks has left", func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		leave()
		_, err := render.New(render.Options{}).Render(ctx, lookupInput(t, `{{ lookup "v1" "Secret" "team" "db" }}`, c))
		NewWithT(t).Expect(err).To(MatchError(context.Canceled))
	})
	t.Run("no way to read", func(t *testing.T) {
		in := lookupInput(t, "a: b", &cluster{})
		NewWithT(t).Expect(in.Lookup).To(BeNil())
		NewWithT(t).Expect(failed(t, in).Reason).To(Equal(corev1alpha1.ReasonNotBuilt))
	})
}

// TestQuestionsOfAnotherRelease has templates that ask, on a cluster that has something, what they
// must not ask on another, and would not.
func TestQuestionsOfAnotherRelease(t *testing.T) {
	g := NewWithT(t)
	asking := `
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {v: {{ with lookup "v1" "Namespace" "" "flag" }}{{ (lookup "v1" "Secret" "team" "s").data.key | quote }}{{ else }}none{{ end }}}
`
	flagged := connect(secret("s", "hunter2"), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "flag"},
	}})
	plain := connect()
	plain.client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "s", errors.New("not yours"))
	})
	r := render.New(render.Options{})
	on := func(name string, c render.Cluster) (*render.Result, any) {
		in := lookupInput(t, asking, c)
		in.Release.Name = name
		in.Release.Spec.Render.Helm.ReleaseName = "same"
		result, err := r.Render(t.Context(), in)
		return result, shown(g, outcome{result, err})
	}
	first, value := on("flagged", flagged)
	g.Expect(value).NotTo(Equal("none"))
	other, value := on("plain", plain)
	g.Expect(value).To(Equal("none"), "what the first one asked is not to be asked here")
	g.Expect(other).NotTo(BeIdenticalTo(first))
	for range 2 { // each has its own questions asked again
		again, _ := on("flagged", flagged)
		g.Expect(again).To(BeIdenticalTo(first))
		again, _ = on("plain", plain)
		g.Expect(again).To(BeIdenticalTo(other))
	}
	g.Expect(r.Stats().Renders).To(BeEquivalentTo(2))
	third, _ := on("third", flagged)
	g.Expect(third).To(BeIdenticalTo(first), "who asks the same, and is told the same, has the same")
	g.Expect(r.Stats().Renders).To(BeNumerically("<=", 3))
}

// A target that cannot be asked whether something is as it was takes up no turn.
func TestTheTargetIsAway(t *testing.T) {
	g := NewWithT(t)
	c := connect(secret("s", "hunter2"))
	r := render.New(render.Options{})
	in := lookupInput(t, `{{ $s := lookup "v1" "Secret" "team" "s" }}`+configMap("a"), c)
	_, err := r.Render(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	asked := 0
	c.client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		asked++
		return true, nil, apierrors.NewServiceUnavailable("away")
	})
	_, err = r.Render(t.Context(), in)
	g.Expect(err).To(MatchError(ContainSubstring("away")))
	g.Expect(asked).To(Equal(1))
	g.Expect(r.Stats().Renders).To(BeEquivalentTo(1))
}

// provider gives Helm's own engine the objects of a cluster.
type provider struct{ *connected }

func (p provider) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	mapping, err := p.Mapping(context.Background(), schema.FromAPIVersionAndKind(apiVersion, kind))
	if err != nil {
		return nil, false, err
	}
	return p.Dynamic().Resource(mapping.Resource), mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

func TestLookupGivesWhatHelmGives(t *testing.T) {
	g := NewWithT(t)
	template := `
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
  one: {{ (lookup "v1" "Secret" "team" "a").data | toJson | quote }}
  version: {{ (lookup "v1" "Secret" "team" "a").metadata.resourceVersion | quote }}
  none: {{ lookup "v1" "Secret" "team" "none" | toJson | quote }}
  elsewhere: {{ (lookup "v1" "Secret" "other" "").items | toJson | quote }}
  all: {{ range (lookup "v1" "Secret" "" "").items }}{{ .metadata.namespace }}/{{ .metadata.name }};{{ end }}
  space: {{ (lookup "v1" "Namespace" "" "space").metadata.name }}
  ignored: {{ (lookup "v1" "Namespace" "team" "space").metadata.name }}
`
	elsewhere := secret("c", "three")
	elsewhere.SetNamespace("apart")
	c := connect(secret("a", "one"), secret("b", "two"), elsewhere, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "space"},
	}})
	helmChart := &chart.Chart{
		Metadata:  &chart.Metadata{APIVersion: "v2", Name: "web", Version: "1.0.0"},
		Templates: []*chart.File{{Name: "templates/a.yaml", Data: []byte(template)}},
	}
	top, err := chartutil.ToRenderValues(helmChart, nil, chartutil.ReleaseOptions{Name: "web", Namespace: "team"}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	want, err := engine.RenderWithClientProvider(helmChart, top, provider{c})
	g.Expect(err).NotTo(HaveOccurred())
	got, err := render.New(render.Options{}).Render(t.Context(), lookupInput(t, template, c))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got.Objects[0].Object.Object["data"]).To(Equal(decodeAll(t, want["web/templates/a.yaml"])[0]["data"]))
}

// TestListsAreReadNoFurtherThanTheirLimit has a kind of which there is always one more page.
func TestListsAreReadNoFurtherThanTheirLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		count, size, pages int
		want               string
	}{
		"no objects":    {0, 1, 500, "the list of the kind Secret has not ended after 500 pages"},
		"large objects": {100, 1 << 20, 2, "the objects of the kind Secret take more than 128 MiB of memory, the most that a render may look up"},
		"small objects": {100, 1, 51, "there are more than 5000 objects of the kind Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c, pages := connect(), 0
			c.client.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
				pages++
				list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "SecretList", "metadata": map[string]any{"continue": "more"}}}
				for range tc.count {
					list.Items = append(list.Items, unstructured.Unstructured{Object: map[string]any{
						"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"a": megabyte[:tc.size]},
					}})
				}
				return true, list, nil
			})
			_, err := render.New(render.Options{}).Render(t.Context(), lookupInput(t, `{{ lookup "v1" "Secret" "team" "" }}`, c))
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
			g.Expect(pages).To(Equal(tc.pages))
		})
	}
}
