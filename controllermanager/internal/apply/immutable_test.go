// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

const setPath = "apis/apps/v1/namespaces/shop/statefulsets/db"

// set is a StatefulSet.
func set(service, size string, replicas int) render.Object {
	return rendered(fmt.Sprintf(`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: shop}, spec: {
	  serviceName: %q, replicas: %d, template: {spec: {containers: [{name: db, image: "db:%d"}]}},
	  volumeClaimTemplates: [{metadata: {name: data}, spec: {resources: {requests: {storage: %s}}}}]}}`, service, replicas, replicas, size))
}

// judge answers as servers do: a changed serviceName or claim size is refused in the one
// sentence for StatefulSets, negative replicas for themselves, in creations too.
func judge(r request) *metav1.Status {
	kind := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	if r.verb != "apply" && r.verb != "create" {
		return nil
	}
	if replicas, _, _ := unstructured.NestedInt64(r.body, "spec", "replicas"); replicas < 0 {
		return invalid(kind, "db", metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.replicas", Message: "Invalid value: -1: must be greater than or equal to 0"})
	}
	if r.live == nil {
		return nil
	}
	for _, field := range []string{"serviceName", "volumeClaimTemplates"} {
		now, _, _ := unstructured.NestedFieldNoCopy(r.body, "spec", field)
		before, _, _ := unstructured.NestedFieldNoCopy(r.live.Object, "spec", field)
		if fmt.Sprint(now) != fmt.Sprint(before) {
			return invalid(kind, "db", metav1.StatusCause{Type: "FieldValueForbidden", Field: "spec",
				Message: "Forbidden: updates to statefulset spec for fields other than 'replicas', 'template' are forbidden"})
		}
	}
	return nil
}

func TestImmutable(t *testing.T) {
	tests := []struct {
		name     string
		release  *corev1alpha1.Release
		force    bool
		desired  render.Object
		action   Action
		reason   string
		paths    []string // of an *ImmutableError
		requests string   // after the first apply
	}{
		{"an ordinary change", release(replaceImmutable), false, set("a", "1Gi", 3), Configured, "", nil, ""},
		{"replace: never", release(), false, set("b", "1Gi", 3), "", corev1alpha1.ReasonImmutableField,
			[]string{"spec.serviceName"}, lines("create apis/apps/v1/namespaces/shop/statefulsets (dry run)", "get "+setPath)},
		{"two fields, another notation is none", release(), false, set("b", "2Gi", 1), "", corev1alpha1.ReasonImmutableField,
			[]string{"spec.serviceName", "spec.volumeClaimTemplates[0].spec.resources.requests.storage"}, lines("create apis/apps/v1/namespaces/shop/statefulsets (dry run)", "get "+setPath)},
		{"an invalid object is no immutable one", release(replaceImmutable), false, set("b", "1Gi", -1), "", corev1alpha1.ReasonApplyFailed,
			nil, "create apis/apps/v1/namespaces/shop/statefulsets (dry run)"},
		{"replace: onImmutable leaves a StatefulSet's pods, and waits", release(replaceImmutable), false, set("b", "1Gi", 1), "", corev1alpha1.ReasonProgressing,
			nil, lines("create apis/apps/v1/namespaces/shop/statefulsets (dry run)", "get "+setPath, "delete "+setPath, "apply "+setPath)},
		{"a forced sync replaces too", release(), true, set("b", "1Gi", 1), "", corev1alpha1.ReasonProgressing,
			nil, lines("create apis/apps/v1/namespaces/shop/statefulsets (dry run)", "get "+setPath, "delete "+setPath, "apply "+setPath)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			s.refuse = judge
			e := apply1(t, applier(s, release()), set("a", "1Gi", 1))
			s.asked()

			result := New(s, Options{Installation: installation, Release: tt.release, Force: tt.force, Inventory: []corev1alpha1.InventoryEntry{e}}).
				Apply(context.Background(), []render.Object{tt.desired})[0]

			g.Expect(lines(s.asked()[1:]...)).To(Equal(tt.requests))
			g.Expect(result.Action).To(Equal(tt.action))
			if tt.reason == "" {
				g.Expect(result.Err).NotTo(HaveOccurred())
				return
			}
			g.Expect(Reason(result.Err)).To(Equal(tt.reason))
			g.Expect(Retryable(result.Err)).To(Equal(tt.reason == corev1alpha1.ReasonProgressing))
			if tt.paths != nil {
				g.Expect(result.Err).To(HaveField("Paths", tt.paths))
			}
		})
	}
}

// TestReplacementTakesItsTime follows a replacement whose old object goes late.
func TestReplacementTakesItsTime(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	s.refuse = judge
	e := apply1(t, applier(s, release()), set("a", "1Gi", 1))
	pass := func() Result {
		return applier(s, release(replaceImmutable), e).Apply(context.Background(), []render.Object{set("b", "1Gi", 1)})[0]
	}

	g.Expect(Reason(pass().Err)).To(Equal(corev1alpha1.ReasonProgressing))
	g.Expect(s.get(setPath).GetFinalizers()).To(Equal([]string{metav1.FinalizerOrphanDependents}))
	s.asked()
	g.Expect(Reason(pass().Err)).To(Equal(corev1alpha1.ReasonProgressing))
	g.Expect(s.asked()).NotTo(ContainElement("delete "+setPath), "it is being deleted already")

	s.change(setPath, func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
	result := pass()
	g.Expect(result.Err).NotTo(HaveOccurred())
	g.Expect(result.Action).To(Equal(Recreated))
	g.Expect(result.UID).NotTo(Equal(e.UID))
}

// TestReplacementRefused has objects that must not be deleted for a change, whatever the policy.
func TestReplacementRefused(t *testing.T) {
	claim := func(class, annotations string) render.Object {
		return rendered("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: shop" + annotations + "}, spec: {storageClassName: " + class + "}}")
	}
	widget := func(size, annotations string) render.Object {
		return rendered("{apiVersion: ex.test/v1, kind: Widget, metadata: {name: w, namespace: shop" + annotations + "}, spec: {size: " + size + "}}")
	}
	fixed := func(message string) func(request) *metav1.Status {
		return func(r request) *metav1.Status {
			if r.verb != "apply" || r.live == nil {
				return nil
			}
			return invalid(r.live.GroupVersionKind(), r.live.GetName(), metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec", Message: message})
		}
	}
	tests := []struct {
		name   string
		before render.Object
		after  render.Object
		refuse func(request) *metav1.Status
		hint   string
	}{
		{"a claim's data", claim("a", ""), claim("b", ""), fixed("Forbidden: spec is immutable"), "its data"},
		{"marked live", widget("1", ", annotations: {helm.sh/resource-policy: keep}"), widget("2", ""), fixed("size cannot be changed"), "never to be deleted"},
		{"marked in the source", widget("1", ""), widget("2", ", annotations: {convoy.kumodo.io/prune: disabled}"), fixed("size cannot be changed"), "never to be deleted"},
		{"the server would not create it", widget("1", ""), widget("2", ""), func(r request) *metav1.Status {
			if r.verb == "create" {
				return statusf(http.StatusForbidden, metav1.StatusReasonForbidden, "exceeded quota")
			}
			return fixed(`Invalid value: "2": field is immutable`)(r)
		}, "exceeded quota"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			e := apply1(t, applier(s, release()), tt.before)
			s.refuse = tt.refuse

			result := applier(s, release(replaceImmutable), e).Apply(context.Background(), []render.Object{tt.after})[0]

			g.Expect(Reason(result.Err)).To(Equal(corev1alpha1.ReasonImmutableField))
			g.Expect(result.Err).To(HaveField("Hint", ContainSubstring(tt.hint)))
			for _, r := range s.asked() {
				g.Expect(r).NotTo(HavePrefix("delete"))
			}
		})
	}
}

// TestInvalidIsNotImmutable: a server that would create the object, and does not say that a
// field cannot change, has something else against it.
func TestInvalidIsNotImmutable(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	e := apply1(t, applier(s, release()), settings("{k: a}"))
	s.refuse = func(r request) *metav1.Status {
		if r.verb != "apply" {
			return nil
		}
		return invalid(r.live.GroupVersionKind(), "settings", metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "data", Message: `Invalid value: "immutable": rule 7`})
	}
	s.asked()

	result := applier(s, release(replaceImmutable), e).Apply(context.Background(), []render.Object{settings("{k: b}")})[0]

	g.Expect(Reason(result.Err)).To(Equal(corev1alpha1.ReasonApplyFailed))
	g.Expect(result.Err).To(MatchError(`invalid: data: Invalid value: "immutable": rule 7`))
	g.Expect(s.asked()).NotTo(ContainElement(HavePrefix("delete")))
}

// TestUndecidedIsNotImmutable: without the server's word that it would create the object, the
// answer stays what it is.
func TestUndecidedIsNotImmutable(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	e := apply1(t, applier(s, release()), settings("{k: a}"))
	s.refuse = func(r request) *metav1.Status {
		if r.verb == "create" {
			return statusf(http.StatusForbidden, metav1.StatusReasonForbidden, "no")
		}
		return invalid(r.live.GroupVersionKind(), "settings", metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "data", Message: "rule 7"})
	}

	result := applier(s, release(replaceImmutable), e).Apply(context.Background(), []render.Object{settings("{k: b}")})[0]

	g.Expect(Reason(result.Err)).To(Equal(corev1alpha1.ReasonApplyFailed))
	g.Expect(result.Err).To(MatchError("invalid: data: rule 7"))
}

// TestUnmarkedIsNotReplaced: an object that is about to be adopted is not this Release's to delete.
func TestUnmarkedIsNotReplaced(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	s.put(setPath, "hand", set("a", "1Gi", 1).Object)
	s.refuse = judge

	result := applier(s, release(replaceImmutable)).Apply(context.Background(), []render.Object{set("b", "1Gi", 1)})[0]

	g.Expect(result.Err).To(HaveField("Hint", ContainSubstring("not this Release's yet")))
	g.Expect(s.get(setPath).GetDeletionTimestamp()).To(BeNil())
}

func TestNodePortsDoNotStandInTheWay(t *testing.T) {
	g := NewWithT(t)
	service := func(ip string) render.Object {
		return rendered("{apiVersion: v1, kind: Service, metadata: {name: s, namespace: shop}, spec: {clusterIP: " + ip + ", ports: [{port: 80, nodePort: 30080}]}}")
	}
	s := newAPIServer(t)
	e := apply1(t, applier(s, release()), service("10.0.0.1"))
	s.refuse = func(r request) *metav1.Status {
		ports, _, _ := unstructured.NestedSlice(r.body, "spec", "ports")
		switch {
		case r.verb == "create" && len(ports) > 0 && ports[0].(map[string]any)["nodePort"] != nil:
			return invalid(schema.GroupVersionKind{Version: "v1", Kind: "Service"}, "s",
				metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.ports[0].nodePort", Message: "provided port is already allocated"})
		case r.verb == "apply" && r.live != nil:
			return invalid(r.live.GroupVersionKind(), "s",
				metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.clusterIPs[0]", Message: "may not change once set"})
		}
		return nil
	}

	result := applier(s, release(replaceImmutable), e).Apply(context.Background(), []render.Object{service("10.0.0.2")})[0]

	g.Expect(result.Err).NotTo(HaveOccurred())
	g.Expect(result.Action).To(Equal(Recreated))
	g.Expect(s.get("api/v1/namespaces/shop/services/s").Object["spec"]).To(HaveKeyWithValue("clusterIP", "10.0.0.2"))
}

func TestDifferences(t *testing.T) {
	desired := manifest(`{spec: {a: 1, quantity: 1024Mi, list: [{n: x, v: 1}], nothing: null, emptyDir: {}, map: {k.io/x: b}}, data: {tls.crt: a}, apiVersion: v1, kind: X}`).Object
	live := manifest(`{spec: {a: 2, quantity: 1Gi, list: [{n: x, v: 2, default: d}], map: {k.io/x: a}, more: 1}, data: {tls.crt: b}, apiVersion: v1, kind: X}`).Object
	tests := []struct {
		name  string
		given string
		want  []string
	}{
		{"a whole", "spec", []string{"spec.a", "spec.list[0].v", "spec.map[k.io/x]"}},
		{"a field", "spec.a", []string{"spec.a"}},
		{"an item", "spec.list[0]", []string{"spec.list[0].v"}},
		{"a key with dots", "data[tls.crt]", []string{"data[tls.crt]"}},
		{"equal", "spec.quantity", nil},
		{"only live", "spec.more", nil},
		{"nowhere", "status.x[7].y", nil},
		{"no path", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			NewWithT(t).Expect(differences(tt.given, desired, live)).To(Equal(tt.want))
		})
	}
}
