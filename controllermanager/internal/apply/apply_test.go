// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// TestApplyWays shows with which requests an object is sent, and with what outcome,
// depending on what the inventory knows and what is there.
func TestApplyWays(t *testing.T) {
	v1, v2 := settings("{k: v1}"), settings("{k: v2}")
	theirs := manifest("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {k: theirs, mine: x}}")
	type outcome struct {
		action   Action
		reason   string
		requests string
		data     map[string]any
	}
	create, read, write := "apply "+settingsPath, "get "+settingsPath, "apply "+settingsPath

	tests := []struct {
		name  string
		given func(t *testing.T, s *apiServer) *Applier // the state before, and who applies v2
		want  outcome
	}{
		{"never applied, absent",
			func(_ *testing.T, s *apiServer) *Applier { return applier(s, release(), ahead(v2)) },
			outcome{Created, "", create, map[string]any{"k": "v2"}}},
		{"never applied, somebody's",
			func(_ *testing.T, s *apiServer) *Applier {
				s.put(settingsPath, "hand", theirs)
				return applier(s, release(), ahead(v2))
			},
			outcome{Configured, "", lines(create, read, write), map[string]any{"k": "v2", "mine": "x"}}},
		{"never applied, another Release's",
			func(t *testing.T, s *apiServer) *Applier {
				apply1(t, asOther(s), v1)
				return applier(s, release(), ahead(v2))
			},
			outcome{"", corev1alpha1.ReasonOwnershipConflict, lines(create, read), map[string]any{"k": "v1"}}},
		{"applied by a process that died before it could say so",
			func(t *testing.T, s *apiServer) *Applier {
				apply1(t, applier(s, release()), v2)
				return applier(s, release(), ahead(v2))
			},
			outcome{Unchanged, "", lines(create, read, write), map[string]any{"k": "v2"}}},
		{"applied, changed",
			func(t *testing.T, s *apiServer) *Applier {
				return applier(s, release(), apply1(t, applier(s, release()), v1))
			},
			outcome{Configured, "", write, map[string]any{"k": "v2"}}},
		{"applied, sent again",
			func(t *testing.T, s *apiServer) *Applier {
				return applier(s, release(), apply1(t, applier(s, release()), v2))
			},
			outcome{Unchanged, "", lines(read, write), map[string]any{"k": "v2"}}},
		{"applied, drifted, sent again",
			func(t *testing.T, s *apiServer) *Applier {
				e := apply1(t, applier(s, release()), v2)
				s.put(settingsPath, "hand", theirs)
				s.change(settingsPath, func(o *unstructured.Unstructured) { marked(o) })
				return applier(s, release(), e)
			},
			outcome{Configured, "", lines(read, write), map[string]any{"k": "v2", "mine": "x"}}},
		{"applied, given to another Release, sent again",
			func(t *testing.T, s *apiServer) *Applier {
				e := apply1(t, applier(s, release()), v2)
				applier(s, release(), e).Orphan(context.Background(), []corev1alpha1.InventoryEntry{e})
				apply1(t, asOther(s), v1)
				return applier(s, release(), e)
			},
			outcome{"", corev1alpha1.ReasonOwnershipConflict, read, map[string]any{"k": "v1"}}},
		{"applied, deleted by hand",
			func(t *testing.T, s *apiServer) *Applier {
				e := apply1(t, applier(s, release()), v1)
				s.drop(settingsPath)
				return applier(s, release(), e)
			},
			outcome{Recreated, "", lines(write, read, create), map[string]any{"k": "v2"}}},
		{"applied, replaced by another Release's",
			func(t *testing.T, s *apiServer) *Applier {
				e := apply1(t, applier(s, release()), v1)
				s.drop(settingsPath)
				apply1(t, asOther(s), v1)
				return applier(s, release(), e)
			},
			outcome{"", corev1alpha1.ReasonOwnershipConflict, lines(write, read), map[string]any{"k": "v1"}}},
		{"applied, being deleted",
			func(t *testing.T, s *apiServer) *Applier {
				e := apply1(t, applier(s, release()), v2)
				s.change(settingsPath, func(o *unstructured.Unstructured) {
					now := metav1.Now()
					o.SetDeletionTimestamp(&now)
					o.SetFinalizers([]string{"ex.test/hold"})
				})
				return applier(s, release(), e)
			},
			outcome{"", corev1alpha1.ReasonProgressing, read, map[string]any{"k": "v2"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			a := tt.given(t, s)
			s.asked()

			result := a.Apply(context.Background(), []render.Object{v2})[0]

			g.Expect(lines(s.asked()...)).To(Equal(tt.want.requests))
			g.Expect(s.get(settingsPath).Object["data"]).To(Equal(tt.want.data))
			if tt.want.reason != "" {
				g.Expect(result.Err).To(HaveOccurred())
				g.Expect(Reason(result.Err)).To(Equal(tt.want.reason))
				return
			}
			live := s.get(settingsPath)
			adopted := strings.HasPrefix(tt.want.requests, lines(create, read)) && tt.want.action == Configured // it was never applied, and is there
			g.Expect(result).To(Equal(Result{
				Key: v2.Key(), UID: live.GetUID(), Digest: v2.Digest, ResourceVersion: live.GetResourceVersion(), Action: tt.want.action, Adopted: adopted,
			}))
			g.Expect(s.get(settingsPath).GetAnnotations()).To(HaveKeyWithValue(corev1alpha1.AnnotationRelease, "home/team/shop"))
			g.Expect(s.get(settingsPath).GetLabels()).To(HaveKeyWithValue(corev1alpha1.LabelOwner, corev1alpha1.OwnerLabelValue("home", "team", "shop")))
		})
	}
}

func marked(o *unstructured.Unstructured) {
	render.Mark(o, installation, "team", "shop")
}

// TestApplyRace lets another Release create the object at every moment of the first apply.
func TestApplyRace(t *testing.T) {
	for moment := 1; moment <= 2; moment++ {
		t.Run(fmt.Sprintf("before request %d", moment), func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			e := apply1(t, applier(s, release()), settings("{k: v1}"))
			s.drop(settingsPath)
			other, seen := asOther(s), 0
			s.before = func(request) {
				if seen++; seen == moment {
					s.before = nil
					apply1(t, other, settings("{k: other}"))
				}
			}

			err := applier(s, release(), e).Apply(context.Background(), []render.Object{settings("{k: v2}")})[0].Err

			var ownership *OwnershipError
			g.Expect(err).To(BeAssignableToTypeOf(ownership))
			g.Expect(err).To(HaveField("Owner", "home/team/other"))
			g.Expect(s.get(settingsPath).Object["data"]).To(Equal(map[string]any{"k": "other"}))
		})
	}
}

// TestWhatIsNoMark: an annotation that has not the form of a mark makes an object nobody's.
func TestWhatIsNoMark(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	e := apply1(t, applier(s, release()), settings("{k: v}"))
	s.change(settingsPath, annotate(corev1alpha1.AnnotationRelease, "nobody"))

	result := applier(s, release(), e).Apply(context.Background(), []render.Object{settings("{k: v}")})[0]

	g.Expect(result.Err).NotTo(HaveOccurred())
	g.Expect(s.get(settingsPath).GetAnnotations()).To(HaveKeyWithValue(corev1alpha1.AnnotationRelease, "home/team/shop"))
}

func TestApplyBusyObject(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	e := apply1(t, applier(s, release()), settings("{k: v}"))
	s.before = func(r request) {
		if r.verb == "apply" { // somebody writes between each read and write
			s.change(settingsPath, func(o *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(o.Object, o.GetResourceVersion(), "data", "beat")
			})
		}
	}

	err := applier(s, release(), e).Apply(context.Background(), []render.Object{settings("{k: v}")})[0].Err

	var waiting *WaitingError
	g.Expect(err).To(BeAssignableToTypeOf(waiting))
	g.Expect(Retryable(err)).To(BeTrue())
}

// TestApplyBatch has more objects than workers, one of which fails.
func TestApplyBatch(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	s.refuse = func(r request) *metav1.Status {
		if r.path == "api/v1/namespaces/shop/configmaps/m7" {
			return statusf(http.StatusForbidden, metav1.StatusReasonForbidden, "not you")
		}
		return nil
	}
	var objects []render.Object
	for i := range 50 {
		objects = append(objects, rendered(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: m%d, namespace: shop}}", i)))
	}
	a := New(s, Options{Installation: installation, Release: release(), Concurrency: 3})

	results := a.Apply(context.Background(), objects)

	g.Expect(results).To(HaveLen(50))
	for i, r := range results {
		g.Expect(r.Key.Name).To(Equal(fmt.Sprintf("m%d", i)))
	}
	g.Expect(Count(results)).To(Equal(Counts{Created: 49, Failed: 1}))
	g.Expect(Reason(results[7].Err)).To(Equal(corev1alpha1.ReasonForbidden))
}

func TestConcurrencyIsBounded(t *testing.T) {
	tests := []struct {
		name                 string
		bound, objects, want int
	}{
		{"more objects", 3, 10, 3},
		{"fewer objects", 3, 2, 2},
		{"by default", 0, 100, defaultConcurrency},
		{"nothing to do", 3, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				a := New(nil, Options{Release: release(), Concurrency: tt.bound})
				var begun atomic.Int32
				hold := make(chan struct{})
				go a.each(tt.objects, func(int) {
					begun.Add(1)
					<-hold
				})
				synctest.Wait() // until everyone is held up
				g.Expect(begun.Load()).To(BeEquivalentTo(tt.want))
				close(hold)
				synctest.Wait()
				g.Expect(begun.Load()).To(BeEquivalentTo(tt.objects))
			})
		})
	}
}

func TestApplyStopsWithItsContext(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()

	results := applier(s, release()).Apply(ctx, []render.Object{settings("{k: v}")})

	g.Expect(results[0].Err).To(MatchError(context.Canceled))
	g.Expect(s.asked()).To(BeEmpty())
}

func TestApplyPanicIsOneObjectsError(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	broken := settings("{k: v}")
	broken.Object.Object["data"] = map[string]any{"k": struct{}{}} // cannot be copied

	ctx := klog.NewContext(context.Background(), klog.Logger{}) // says nothing

	results := applier(s, release()).Apply(ctx, []render.Object{broken, settings("{k: v}")})

	g.Expect(results[0].Err).To(HaveOccurred())
	g.Expect(results[1].Err).NotTo(HaveOccurred())
}

// TestAdoption has an object that kubectl and a controller wrote before.
func TestAdoption(t *testing.T) {
	const applied = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop,
	  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}}, data: {a: "1", legacy: x}}`
	tests := []struct {
		name     string
		managers map[string]string // field manager -> what it wrote, kubectl's first
		release  *corev1alpha1.Release
		wantData map[string]any
		reason   string
	}{
		{"client-side apply", map[string]string{"kubectl-client-side-apply": applied}, release(), map[string]any{"a": "2"}, ""},
		{"create", map[string]string{"kubectl-create": applied}, release(), map[string]any{"a": "2"}, ""},
		{"another program", map[string]string{"some-operator": applied}, release(), map[string]any{"a": "2", "legacy": "x"}, ""},
		{"another program that is named", map[string]string{"some-operator": applied}, release(adoptFrom("x, some-operator")), map[string]any{"a": "2"}, ""},
		{"one that is not named", map[string]string{"some-operator": applied}, release(adoptFrom("some")), map[string]any{"a": "2", "legacy": "x"}, ""},
		{"a hand's label stays", map[string]string{"kubectl-label": applied}, release(), map[string]any{"a": "2", "legacy": "x"}, ""},
		{"conflicts fail: kubectl's too", map[string]string{"kubectl-client-side-apply": applied}, release(failOnConflict),
			map[string]any{"a": "1", "legacy": "x"}, corev1alpha1.ReasonApplyConflict},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			for manager, text := range tt.managers {
				s.put(settingsPath, manager, manifest(text))
			}
			before := s.get(settingsPath)

			result := applier(s, tt.release).Apply(context.Background(), []render.Object{settings(`{a: "2"}`)})[0]

			live := s.get(settingsPath)
			g.Expect(live.Object["data"]).To(Equal(tt.wantData))
			if tt.reason != "" {
				g.Expect(Reason(result.Err)).To(Equal(tt.reason))
				g.Expect(live).To(Equal(before), "nothing at all is written")
				return
			}
			g.Expect(result.Err).NotTo(HaveOccurred())
			_, legacy := tt.wantData["legacy"]
			_, annotated := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
			g.Expect(annotated).To(Equal(legacy), "kubectl's copy goes just when its fields do")
		})
	}
}

func TestAdoptionHappensOnce(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	s.put(settingsPath, "kubectl-create", manifest("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {a: x}}"))
	e := apply1(t, applier(s, release()), settings("{a: x}"))
	g.Expect(s.asked()).To(ContainElement("json " + settingsPath))
	edited := s.get(settingsPath).DeepCopy()
	_ = unstructured.SetNestedField(edited.Object, "by hand", "data", "extra")
	s.put(settingsPath, "kubectl-edit", edited)

	apply1(t, applier(s, release(), e), settings("{a: x}"))

	g.Expect(s.asked()).NotTo(ContainElement("json " + settingsPath))
	g.Expect(s.get(settingsPath).Object["data"]).To(Equal(map[string]any{"a": "x", "extra": "by hand"}))
}

// TestAdoptionMeetsAnotherWriter: ownership that somebody else gets between the read and
// the migration is not lost.
func TestAdoptionMeetsAnotherWriter(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	s.put(settingsPath, "kubectl-create", manifest("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {a: x, legacy: x}}"))
	s.before = func(r request) {
		if r.verb == "json" {
			s.before = nil
			changed := s.get(settingsPath).DeepCopy()
			_ = unstructured.SetNestedField(changed.Object, "theirs", "data", "other")
			s.put(settingsPath, "some-operator", changed)
		}
	}

	apply1(t, applier(s, release()), settings("{a: x}"))

	live := s.get(settingsPath)
	g.Expect(live.Object["data"]).To(Equal(map[string]any{"a": "x", "other": "theirs"}))
	g.Expect(live.GetManagedFields()).To(ContainElement(HaveField("Manager", "some-operator")))
}

func TestConflicts(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	e := apply1(t, applier(s, release()), settings("{a: x, b: x}"))
	edited := s.get(settingsPath).DeepCopy()
	_ = unstructured.SetNestedStringMap(edited.Object, map[string]string{"a": "hand", "b": "hand"}, "data")
	s.put(settingsPath, "kubectl-edit", edited)

	result := applier(s, release(failOnConflict), e).Apply(context.Background(), []render.Object{settings("{a: z, b: hand}")})[0]

	g.Expect(result.Err).To(HaveField("Conflicts", []FieldConflict{{Field: ".data.a", Manager: "kubectl-edit"}}))
	g.Expect(Retryable(result.Err)).To(BeFalse())
	g.Expect(s.get(settingsPath).Object["data"]).To(Equal(map[string]any{"a": "hand", "b": "hand"}))

	g.Expect(apply1(t, applier(s, release(), e), settings("{a: z, b: hand}")).UID).To(Equal(e.UID))
	g.Expect(s.get(settingsPath).Object["data"]).To(Equal(map[string]any{"a": "z", "b": "hand"}))
}
