// SPDX-License-Identifier: Apache-2.0

package scheme

import (
	"encoding/json"
	"math/rand"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/randfill"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/defaulting"
	"kumodo.io/convoy/apiserver/internal/generated/openapi"
)

// filled fills an object at random and gives it its defaults, which it would get when it is
// decoded.
func filled[T any](apply func(*T)) any {
	return func(obj *T, c randfill.Continue) {
		c.FillNoCustom(obj)
		apply(obj)
	}
}

func fuzzers(serializer.CodecFactory) []any {
	return []any{
		func(e *runtime.RawExtension, c randfill.Continue) {
			value := map[string]any{"text": c.String(16), "number": c.Int31(), "list": []any{c.Bool(), nil, map[string]any{"b": 1, "a": 2}}}
			e.Raw, _ = json.Marshal(value)
		},
		filled(defaulting.Cluster),
		filled(defaulting.Release),
		filled(defaulting.GitRepository),
		filled(defaulting.HelmRegistry),
		filled(defaulting.OCIRegistry),
	}
}

func TestRoundTrip(t *testing.T) {
	g := NewWithT(t)
	s, err := New()
	g.Expect(err).NotTo(HaveOccurred())
	codecs := serializer.NewCodecFactory(s)
	filler := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, fuzzers), rand.NewSource(rand.Int63()), codecs)
	t.Run("internal to versioned and back", func(t *testing.T) {
		roundtrip.RoundTripTypesWithoutProtobuf(t, s, codecs, filler, nil)
	})
	t.Run("versioned to JSON and back", func(t *testing.T) {
		roundtrip.RoundTripExternalTypesWithoutProtobuf(t, s, codecs, filler, nil)
	})
}

func TestRoundTripThroughUnstructured(t *testing.T) {
	g := NewWithT(t)
	s, err := New()
	g.Expect(err).NotTo(HaveOccurred())
	versionedOnly, skipped := sets.New[schema.GroupVersionKind](), sets.New[schema.GroupVersionKind]()
	for gvk := range s.AllKnownTypes() {
		if !s.Recognizes(gvk.GroupKind().WithVersion(runtime.APIVersionInternal)) {
			versionedOnly.Insert(gvk)
		}
		if gvk.Group == "" {
			skipped.Insert(gvk) // meta/v1's own affair
		}
	}
	roundtrip.RoundtripToUnstructured(t, s, fuzzers, skipped, versionedOnly)
}

func TestEveryKindIsVersionedAndInternal(t *testing.T) {
	g := NewWithT(t)
	s, err := New()
	g.Expect(err).NotTo(HaveOccurred())
	kinds := 0
	for gvk, goType := range s.AllKnownTypes() {
		if !strings.HasPrefix(goType.PkgPath(), "kumodo.io/convoy/api/") || !strings.HasSuffix(gvk.Kind, "List") || gvk.Version == runtime.APIVersionInternal {
			continue
		}
		kinds++
		for _, kind := range []string{gvk.Kind, strings.TrimSuffix(gvk.Kind, "List")} {
			g.Expect(s.Recognizes(schema.GroupVersionKind{Group: gvk.Group, Version: runtime.APIVersionInternal, Kind: kind})).To(BeTrue(), kind)
		}
		g.Expect(s.IsVersionRegistered(gvk.GroupVersion())).To(BeTrue())
		g.Expect(s.PrioritizedVersionsForGroup(gvk.Group)).To(Equal([]schema.GroupVersion{gvk.GroupVersion()}))
	}
	g.Expect(kinds).To(Equal(8))
}

// Server-side apply, explain and diff find a kind by the extension in its OpenAPI definition.
func TestOpenAPIDefinitionsNameTheirKind(t *testing.T) {
	g := NewWithT(t)
	names, err := ForNames()
	g.Expect(err).NotTo(HaveOccurred())
	namer := openapinamer.NewDefinitionNamer(names)
	definitions := openapi.GetOpenAPIDefinitions(func(string) spec.Ref { return spec.Ref{} })
	found := sets.New[string]()
	for name := range definitions {
		if !strings.HasPrefix(name, "io.kumodo.convoy.") {
			continue
		}
		_, extensions := namer.GetDefinitionName(name)
		gvks, _ := extensions["x-kubernetes-group-version-kind"].([]any)
		for _, entry := range gvks {
			gvk := entry.(map[string]any)
			g.Expect(gvk["version"]).NotTo(Equal(runtime.APIVersionInternal))
			found.Insert(gvk["kind"].(string))
		}
	}
	g.Expect(sets.List(found)).To(ContainElements("Cluster", "Release", "ReleaseInventory", "GitRepository",
		"HelmRegistry", "OCIRegistry", "HealthRuleSet", "GlobalHealthRuleSet"))
}

func TestDecodingWritesDefaults(t *testing.T) {
	g := NewWithT(t)
	s, err := New()
	g.Expect(err).NotTo(HaveOccurred())
	codecs := serializer.NewCodecFactory(s)
	decode := func(text string) runtime.Object {
		obj, _, err := codecs.UniversalDecoder(GroupVersions()...).Decode([]byte(text), nil, nil)
		g.Expect(err).NotTo(HaveOccurred())
		return obj
	}
	release := decode(`{"apiVersion":"core.convoy.kumodo.io/v1alpha1","kind":"Release"}`).(*corev1alpha1.Release)
	g.Expect(release.Spec.Sync.Mode).To(Equal(corev1alpha1.SyncModeAutomatic))
	repository := decode(`{"apiVersion":"source.convoy.kumodo.io/v1alpha1","kind":"GitRepository"}`).(*sourcev1alpha1.GitRepository)
	g.Expect(repository.Spec.Interval).To(HaveValue(Equal(metav1.Duration{Duration: 600e9})))
}
