// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

func widgetOf(spec string) render.Object {
	return rendered("{apiVersion: ex.test/v1, kind: Widget, metadata: {name: w, namespace: shop}, spec: " + spec + "}")
}

// oneOf refuses two members of the union spec.probe, and a size that is not the live one.
func oneOf(r request) *metav1.Status {
	if r.result == nil {
		return nil
	}
	var causes []metav1.StatusCause
	probe, _, _ := unstructured.NestedMap(r.result.Object, "spec", "probe")
	if probe["httpGet"] != nil && probe["tcpSocket"] != nil {
		causes = append(causes, metav1.StatusCause{Type: "FieldValueForbidden", Field: "spec.probe.tcpSocket", Message: "Forbidden: may not specify more than 1 handler type"})
	}
	if r.live != nil && r.live.Object["size"] != r.result.Object["size"] {
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "size", Message: "Invalid value: 2: field is immutable"})
	}
	if len(causes) == 0 {
		return nil
	}
	return invalid(r.result.GroupVersionKind(), r.result.GetName(), causes...)
}

// tampered is a server whose widget was applied, and then changed by hand: to another member of
// the union, and in a field that nobody desires.
func tampered(t *testing.T) (*apiServer, corev1alpha1.InventoryEntry) {
	t.Helper()
	s := newAPIServer(t)
	e := apply1(t, applier(s, release()), widgetOf("{probe: {httpGet: {port: 80}}}"))
	s.refuse = oneOf
	edited := s.get(widgetPath).DeepCopy()
	edited.Object["spec"] = map[string]any{"more": int64(1), "probe": map[string]any{"tcpSocket": map[string]any{"port": int64(80)}}}
	s.put(widgetPath, "hand", edited)
	s.asked()
	return s, e
}

// TestWhatIsBesideTheDesired: what server-side apply leaves beside what is desired, where the
// two cannot be together, is taken away, and nothing else is; the object is never replaced.
func TestWhatIsBesideTheDesired(t *testing.T) {
	want := map[string]any{"more": int64(1), "probe": map[string]any{"httpGet": map[string]any{"port": int64(80)}}}
	for _, policy := range []func(*corev1alpha1.Release){func(*corev1alpha1.Release) {}, replaceImmutable} {
		g := NewWithT(t)
		s, e := tampered(t)
		a := applier(s, release(policy), e)

		result := a.Apply(context.Background(), []render.Object{widgetOf("{probe: {httpGet: {port: 80}}}")})[0]

		g.Expect(result.Err).NotTo(HaveOccurred())
		g.Expect(result.Action).To(Equal(Configured))
		g.Expect(result.UID).To(Equal(e.UID))
		g.Expect(s.get(widgetPath).Object["spec"]).To(Equal(want))
		g.Expect(result.ResourceVersion).To(Equal(s.get(widgetPath).GetResourceVersion()))
		g.Expect(s.asked()).NotTo(ContainElement(HavePrefix("delete")))
		owned := map[string]string{}
		for _, entry := range s.get(widgetPath).GetManagedFields() {
			owned[entry.Manager+" "+string(entry.Operation)] = entry.FieldsV1.GetRawString()
		}
		g.Expect(owned).To(HaveLen(2))
		g.Expect(owned).To(HaveKeyWithValue("hand Update", And(ContainSubstring("f:more"), Not(ContainSubstring("tcpSocket")))))
		g.Expect(owned).To(HaveKeyWithValue("convoy Apply", And(ContainSubstring("f:httpGet"), Not(ContainSubstring("tcpSocket")))))
	}
}

func TestWhatIsBesideTheDesiredChangesMeanwhile(t *testing.T) {
	for name, verb := range map[string]string{"while it is handed over": "json", "before it is applied": "apply"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s, e := tampered(t)
			times, handedOver := 0, false
			s.before = func(r request) {
				if r.verb == verb && !r.dryRun && times < 2 && (handedOver || verb == "json") {
					times++
					s.change(widgetPath, func(o *unstructured.Unstructured) { o.Object["touched"] = int64(times) })
				}
				handedOver = handedOver || r.verb == "json" && !r.dryRun
			}

			result := applier(s, release(), e).Apply(context.Background(), []render.Object{widgetOf("{probe: {httpGet: {port: 80}}}")})[0]

			g.Expect(result.Err).NotTo(HaveOccurred())
			g.Expect(times).To(Equal(2))
			g.Expect(s.get(widgetPath).Object["spec"]).To(HaveKeyWithValue("probe", And(HaveKey("httpGet"), Not(HaveKey("tcpSocket")))))
		})
	}
}

// TestAnItemBesideTheDesiredChangesMeanwhile: once an item of a list is convoy's, nothing tells any
// more that it was in the way.
func TestAnItemBesideTheDesiredChangesMeanwhile(t *testing.T) {
	const path = "api/v1/namespaces/shop/services/web"
	service := rendered("{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: [{name: http, port: 80, protocol: TCP}]}}")
	one := func(number int64) map[string]any {
		return map[string]any{"name": "http", "port": number, "protocol": "TCP"}
	}
	for _, test := range []struct {
		name    string
		between func(s *apiServer, o *unstructured.Unstructured) // the handing over and the apply
	}{
		{"in something else", func(s *apiServer, o *unstructured.Unstructured) { s.put(path, "hand", touched(o)) }},
		{"and is written again", func(s *apiServer, o *unstructured.Unstructured) {
			_ = unstructured.SetNestedSlice(o.Object, []any{one(82)}, "spec", "ports")
			s.put(path, "hand", o)
		}},
		{"and is gone", func(s *apiServer, o *unstructured.Unstructured) {
			unstructured.RemoveNestedField(o.Object, "spec", "ports")
			s.put(path, "hand", o)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			e := apply1(t, applier(s, release()), service)
			s.refuse = sameNames
			edited := s.get(path).DeepCopy()
			g.Expect(unstructured.SetNestedSlice(edited.Object, []any{one(81)}, "spec", "ports")).To(Succeed())
			s.put(path, "hand", edited)
			handedOver := false
			s.before = func(r request) {
				if r.verb == "apply" && handedOver {
					s.before = nil
					test.between(s, s.get(path).DeepCopy())
				}
				handedOver = handedOver || r.verb == "json" && !r.dryRun
			}

			result := applier(s, release(), e).Apply(t.Context(), []render.Object{service})[0]

			g.Expect(result.Err).NotTo(HaveOccurred())
			g.Expect(s.before).To(BeNil(), "it changed in between")
			g.Expect(result.UID).To(Equal(e.UID))
			g.Expect(s.get(path).Object["spec"]).To(HaveKeyWithValue("ports", ConsistOf(one(80))))
		})
	}
}

// touched is an object with something that nobody desires.
func touched(o *unstructured.Unstructured) *unstructured.Unstructured {
	o.SetAnnotations(map[string]string{corev1alpha1.AnnotationRelease: own, "touched": "yes"})
	return o
}

// sameNames refuses two ports of one name.
func sameNames(r request) *metav1.Status {
	if r.result == nil {
		return nil
	}
	names := map[any]bool{}
	ports, _, _ := unstructured.NestedSlice(r.result.Object, "spec", "ports")
	for i, port := range ports {
		name := port.(map[string]any)["name"]
		if names[name] {
			return invalid(r.result.GroupVersionKind(), r.result.GetName(), metav1.StatusCause{
				Type: metav1.CauseTypeFieldValueDuplicate, Field: fmt.Sprintf("spec.ports[%d].name", i), Message: fmt.Sprintf("Duplicate value: %q", name)})
		}
		names[name] = true
	}
	return nil
}

// TestAnObjectThatNeverRests is tried again later.
func TestAnObjectThatNeverRests(t *testing.T) {
	g := NewWithT(t)
	s, e := tampered(t)
	s.before = func(r request) {
		if r.verb == "json" && !r.dryRun {
			s.change(widgetPath, func(o *unstructured.Unstructured) { o.Object["beat"] = o.GetResourceVersion() })
		}
	}
	a := applier(s, release(), e)
	result := a.Apply(t.Context(), []render.Object{widgetOf("{probe: {httpGet: {port: 80}}}")})[0]
	g.Expect(Reason(result.Err)).To(Equal(corev1alpha1.ReasonProgressing))
	g.Expect(Retryable(result.Err)).To(BeTrue())

	s.before = nil
	result = a.Apply(t.Context(), []render.Object{widgetOf("{probe: {httpGet: {port: 80}}}")})[0]
	g.Expect(result.Err).NotTo(HaveOccurred())
}

// TestWhatGoesMeanwhile is made again later.
func TestWhatGoesMeanwhile(t *testing.T) {
	g := NewWithT(t)
	s, e := tampered(t)
	s.before = func(r request) {
		if r.verb == "json" && !r.dryRun {
			s.before = nil
			s.drop(widgetPath)
		}
	}
	a := applier(s, release(), e)
	g.Expect(Retryable(a.Apply(t.Context(), []render.Object{widgetOf("{probe: {httpGet: {port: 80}}}")})[0].Err)).To(BeTrue())
	g.Expect(s.before).To(BeNil())
	result := a.Apply(t.Context(), []render.Object{widgetOf("{probe: {httpGet: {port: 80}}}")})[0]
	g.Expect(result.Err).NotTo(HaveOccurred())
	g.Expect(result.Action).To(Equal(Recreated))
}

// TestOnlyWhatIsInTheWayGoes: the server speaks of the whole specification, in which others have more.
func TestOnlyWhatIsInTheWayGoes(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	e := apply1(t, applier(s, release()), widgetOf("{min: 1, probe: {httpGet: {port: 80}}}"))
	s.refuse = func(r request) *metav1.Status {
		if r.result == nil {
			return nil
		}
		if spec, _, _ := unstructured.NestedMap(r.result.Object, "spec"); spec["min"] == nil || spec["max"] == nil {
			return nil
		}
		return invalid(r.result.GroupVersionKind(), "w", metav1.StatusCause{
			Type: metav1.CauseTypeFieldValueInvalid, Field: "spec", Message: `Invalid value: "object": min and max cannot be both set`})
	}
	live := s.get(widgetPath).DeepCopy()
	delete(live.Object["spec"].(map[string]any), "min")
	live.Object["spec"].(map[string]any)["replicas"] = int64(7)
	live = s.put(widgetPath, "autoscaler", live).DeepCopy()
	live.Object["spec"].(map[string]any)["max"] = int64(2)
	live.Object["spec"].(map[string]any)["sidecar"] = map[string]any{"image": "s"}
	s.put(widgetPath, "hand", live)

	result := applier(s, release(), e).Apply(t.Context(), []render.Object{widgetOf("{min: 1, probe: {httpGet: {port: 80}}}")})[0]

	g.Expect(result.Err).NotTo(HaveOccurred())
	g.Expect(s.get(widgetPath).Object["spec"]).To(Equal(map[string]any{
		"min": int64(1), "probe": map[string]any{"httpGet": map[string]any{"port": int64(80)}},
		"replicas": int64(7), "sidecar": map[string]any{"image": "s"},
	}))
	owned := map[string]string{}
	for _, entry := range s.get(widgetPath).GetManagedFields() {
		owned[entry.Manager] += entry.FieldsV1.GetRawString()
	}
	g.Expect(owned).To(HaveKeyWithValue("autoscaler", ContainSubstring("f:replicas")))
	g.Expect(owned).To(HaveKeyWithValue("hand", And(ContainSubstring("f:sidecar"), Not(ContainSubstring("f:max")))))
	g.Expect(owned).To(HaveKeyWithValue("convoy", Not(ContainSubstring("f:replicas"))))
}

// TestADefaultIsNobodys: what nobody wrote is in nobody's way, also where conflicts are not overridden.
func TestADefaultIsNobodys(t *testing.T) {
	g := NewWithT(t)
	s, e := tampered(t)
	s.change(widgetPath, func(o *unstructured.Unstructured) {
		o.SetManagedFields(slices.DeleteFunc(o.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == "hand" }))
	})

	result := applier(s, release(failOnConflict), e).
		Apply(context.Background(), []render.Object{widgetOf("{probe: {httpGet: {port: 80}}}")})[0]

	g.Expect(result.Err).NotTo(HaveOccurred())
	g.Expect(s.get(widgetPath).Object["spec"]).To(HaveKeyWithValue("probe", And(HaveKey("httpGet"), Not(HaveKey("tcpSocket")))))
}

// TestWhatOthersWroteIsTheirs where conflicts are not overridden.
func TestWhatOthersWroteIsTheirs(t *testing.T) {
	g := NewWithT(t)
	s, e := tampered(t)
	before := s.get(widgetPath)

	result := applier(s, release(failOnConflict), e).
		Apply(context.Background(), []render.Object{widgetOf("{probe: {httpGet: {port: 80}}}")})[0]

	g.Expect(Reason(result.Err)).To(Equal(corev1alpha1.ReasonApplyConflict))
	g.Expect(result.Err).To(HaveField("Conflicts", ConsistOf(FieldConflict{Field: ".spec.probe.tcpSocket", Manager: "hand"})))
	g.Expect(s.get(widgetPath)).To(Equal(before))
}

// TestWhatDoesNotHelpIsNotDone: a rule that forbids a change in words of its own is about a whole
// in which others have something as well.
func TestWhatDoesNotHelpIsNotDone(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	e := apply1(t, applier(s, release()), widgetOf("{size: 1}"))
	edited := s.get(widgetPath).DeepCopy()
	edited.Object["spec"] = map[string]any{"size": int64(1), "more": int64(1)}
	before := s.put(widgetPath, "hand", edited)
	s.refuse = func(r request) *metav1.Status {
		if r.result == nil || r.live == nil {
			return nil
		}
		was, _, _ := unstructured.NestedInt64(r.live.Object, "spec", "size")
		if size, _, _ := unstructured.NestedInt64(r.result.Object, "spec", "size"); size == was {
			return nil
		}
		return invalid(r.result.GroupVersionKind(), "w", metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec", Message: `Invalid value: "object": size is fixed`})
	}

	result := applier(s, release(replaceImmutable), e).Apply(context.Background(), []render.Object{widgetOf("{size: 2}")})[0]

	g.Expect(Reason(result.Err)).To(Equal(corev1alpha1.ReasonApplyFailed))
	g.Expect(result.Err).To(MatchError(`invalid: spec: Invalid value: "object": size is fixed`))
	g.Expect(s.get(widgetPath)).To(Equal(before), "who has what stays as it was, too")
}

// TestWhatCannotChangeBesides is replaced, or said, with what is in the way taken off or not.
func TestWhatCannotChangeBesides(t *testing.T) {
	g := NewWithT(t)
	s, e := tampered(t)
	desired := rendered("{apiVersion: ex.test/v1, kind: Widget, metadata: {name: w, namespace: shop}, size: 2, spec: {probe: {httpGet: {port: 80}}}}")

	result := applier(s, release(), e).Apply(context.Background(), []render.Object{desired})[0]
	g.Expect(Reason(result.Err)).To(Equal(corev1alpha1.ReasonImmutableField))
	g.Expect(result.Err).To(HaveField("Paths", []string{"size"}))

	result = applier(s, release(replaceImmutable), e).Apply(context.Background(), []render.Object{desired})[0]
	g.Expect(result.Err).NotTo(HaveOccurred())
	g.Expect(result.Action).To(Equal(Recreated))
}
