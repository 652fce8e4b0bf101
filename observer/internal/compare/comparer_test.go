// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/observer/internal/testcluster"
	"kumodo.io/convoy/render"
)

const (
	configMap  = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: cm}, data: {a: '1'}}"
	deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ns, name: web}, spec: {replicas: 2, template: {spec: {containers: [{name: app, image: i}]}}}}"
	namespace  = "{apiVersion: v1, kind: Namespace, metadata: {name: ns}}"
	secretText = "{apiVersion: v1, kind: Secret, metadata: {namespace: ns, name: sec}, data: {password: canary1}}"
	widget     = "{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: ns, name: w}}"
)

// bench is a target cluster and a Release on it.
type bench struct {
	*WithT
	cluster *testcluster.Server
	release *corev1alpha1.Release
}

func newBench(t *testing.T) *bench {
	return &bench{
		WithT: NewWithT(t), cluster: testcluster.New(t),
		release: &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "app"}},
	}
}

func (b *bench) comparer(t *testing.T) *Comparer {
	connector := clusterconn.New(clusterconn.Options{InCluster: b.cluster.Config(), ReadOnly: true})
	connection, err := connector.Connect(t.Context(), &corev1alpha1.Cluster{Spec: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeInCluster}})
	b.Expect(err).NotTo(HaveOccurred())
	return &Comparer{Target: connection, Installation: "inst", Release: b.release}
}

func (b *bench) compare(t *testing.T, manifest string) Outcome {
	return b.comparer(t).Compare(t.Context(), render.Object{Object: testcluster.Object(manifest), Digest: "d"})
}

func invalid(kind, name string, fields ...string) *apierrors.StatusError {
	var errs field.ErrorList
	for _, path := range fields {
		errs = append(errs, field.Invalid(field.NewPath(path), "canary-value", "field is immutable"))
	}
	return apierrors.NewInvalid(schema.GroupKind{Kind: kind}, name, errs)
}

// put brings an object into the cluster, with the marks of the Release where it has none.
func (b *bench) put(manifest string) *unstructured.Unstructured {
	object := testcluster.Object(manifest)
	if object.GetAnnotations()[corev1alpha1.AnnotationRelease] == "" {
		render.Mark(object, "inst", "ns", "app")
	}
	data, err := object.MarshalJSON()
	b.Expect(err).NotTo(HaveOccurred())
	return b.cluster.Put(string(data))
}

// A change of somebody else between the two looks at an object is no change that applying
// makes: it is looked at again.
func TestAnObjectThatChangesMeanwhile(t *testing.T) {
	b := newBench(t)
	stale := b.put(configMap)
	b.put("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: cm, annotations: {other: writer}}, data: {a: '1'}}")
	looks := 0
	b.cluster.Handle("GET "+b.cluster.Path(configMap), func(w http.ResponseWriter, r *http.Request) {
		looks++
		if looks == 1 {
			w.Header().Set("Content-Type", "application/json")
			b.Expect(json.NewEncoder(w).Encode(stale)).To(Succeed())
			return
		}
		b.cluster.Handle("GET "+b.cluster.Path(configMap), nil)
		b.cluster.ServeHTTP(w, r)
	})
	outcome := b.compare(t, configMap)
	b.Expect(outcome.Changes).To(BeEmpty())
	b.Expect(outcome.Action).To(Equal(corev1alpha1.ActionUnchanged))
	b.Expect(looks).To(Equal(2))
}

func TestCompare(t *testing.T) {
	missing := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: `namespaces "ns" not found`,
		Details: &metav1.StatusDetails{Kind: "namespaces", Name: "ns"},
	}}
	for _, test := range []struct {
		name    string
		desired string
		do      func(b *bench)
		action  corev1alpha1.ObjectAction
		changes []corev1alpha1.FieldChange
		message string
		sim     bool
	}{
		{"as it is", configMap, func(b *bench) { b.put(configMap) }, corev1alpha1.ActionUnchanged, nil, "", false},
		{"not there", configMap, func(*bench) {}, corev1alpha1.ActionCreate, nil, "", false},
		{"changed", configMap, func(b *bench) { b.put(strings.Replace(configMap, "'1'", "'2'", 1)) }, corev1alpha1.ActionUpdate,
			[]corev1alpha1.FieldChange{{Path: "/data/a", From: `"2"`, To: `"1"`}}, "", false},
		{"another's", configMap, func(b *bench) {
			b.put("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: cm, annotations: {convoy.kumodo.io/release: inst/x/y}}}")
		}, corev1alpha1.ActionError, nil, "belongs to Release x/y", false},
		{"without the mark that it is watched by", configMap, func(b *bench) {
			b.cluster.Put("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: cm, annotations: {convoy.kumodo.io/release: inst/ns/app}}, data: {a: '1'}}")
		}, corev1alpha1.ActionUpdate, []corev1alpha1.FieldChange{
			{Path: "/metadata/labels/convoy.kumodo.io~1owner", To: strconv.Quote(corev1alpha1.OwnerLabelValue("inst", "ns", "app"))},
		}, "", false},
		{"without any mark", configMap, func(b *bench) { b.cluster.Put(configMap) }, corev1alpha1.ActionUpdate, []corev1alpha1.FieldChange{
			{Path: "/metadata/annotations/convoy.kumodo.io~1release", To: `"inst/ns/app"`},
			{Path: "/metadata/labels/convoy.kumodo.io~1owner", To: strconv.Quote(corev1alpha1.OwnerLabelValue("inst", "ns", "app"))},
		}, "", false},
		{"in a namespace that does not exist", configMap, func(b *bench) { b.cluster.Refuse("PATCH "+b.cluster.Path(configMap), missing) },
			corev1alpha1.ActionCreate, nil, "its namespace does not exist yet", true},
		{"of a kind that is not served", widget, func(*bench) {}, corev1alpha1.ActionError, nil, "no matches for kind", false},
		{"refused", configMap, func(b *bench) {
			b.cluster.Refuse("PATCH "+b.cluster.Path(configMap), apierrors.NewBadRequest("webhook says no"))
		}, corev1alpha1.ActionError, nil, "webhook says no", false},
		{"invalid as a new object too", deployment, func(b *bench) {
			b.put(deployment)
			b.cluster.Refuse("PATCH "+b.cluster.Path(deployment), invalid("Deployment", "web", "spec.selector"))
			b.cluster.Refuse("POST /apis/apps/v1/namespaces/ns/deployments", invalid("Deployment", "web", "spec.selector"))
		}, corev1alpha1.ActionError, nil, "spec.selector", false},
		{"an immutable field", deployment, func(b *bench) {
			b.put(strings.Replace(deployment, "image: i", "image: j", 1))
			b.cluster.Refuse("PATCH "+b.cluster.Path(deployment), invalid("Deployment", "web", "spec.selector"))
		}, corev1alpha1.ActionError, []corev1alpha1.FieldChange{{Path: "/spec/template/spec/containers/0/image", From: `"j"`, To: `"i"`}},
			"fields cannot be changed: spec.selector; undo the change, or have the object replaced", false},
		{"an immutable field of what may be replaced", deployment, func(b *bench) {
			b.release.Spec.Sync.Replace = corev1alpha1.ReplaceOnImmutable
			b.put(strings.Replace(deployment, "image: i", "image: j", 1))
			b.cluster.Refuse("PATCH "+b.cluster.Path(deployment), invalid("Deployment", "web", "spec.selector"))
		}, corev1alpha1.ActionRecreate, []corev1alpha1.FieldChange{{Path: "/spec/template/spec/containers/0/image", From: `"j"`, To: `"i"`}},
			"fields cannot be changed: spec.selector", false},
		{"an immutable field of what is marked as never to be deleted", deployment, func(b *bench) {
			b.release.Spec.Sync.Replace = corev1alpha1.ReplaceOnImmutable
			b.put(strings.Replace(deployment, "name: web}", "name: web, annotations: {helm.sh/resource-policy: keep}}", 1))
			b.cluster.Refuse("PATCH "+b.cluster.Path(deployment), invalid("Deployment", "web", "spec.selector"))
		}, corev1alpha1.ActionError, nil, "marked as never to be deleted", false},
		{"an immutable field of what is never replaced", namespace, func(b *bench) {
			b.release.Spec.Sync.Replace = corev1alpha1.ReplaceOnImmutable
			b.put(namespace)
			b.cluster.Refuse("PATCH "+b.cluster.Path(namespace), invalid("Namespace", "ns", "spec.x"))
		}, corev1alpha1.ActionError, nil, "never replaced", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			test.do(b)
			outcome := b.compare(t, test.desired)
			b.Expect(outcome.Action).To(Equal(test.action), outcome.Message)
			b.Expect(outcome.Changes).To(Equal(test.changes))
			b.Expect(outcome.Message).To(ContainSubstring(test.message))
			b.Expect(outcome.Simulated).To(Equal(test.sim))
			b.Expect(outcome.Err != nil).To(Equal(test.action == corev1alpha1.ActionError))
			b.Expect(outcome.Result != nil).To(Equal(test.action != corev1alpha1.ActionError))
		})
	}
}

func TestNamespacesThatNobodyCreates(t *testing.T) {
	b := newBench(t)
	status := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ns")
	b.cluster.Refuse("PATCH "+b.cluster.Path(configMap), status)
	c := b.comparer(t)
	c.Creates = func(name string) bool { return name == "another" }
	outcome := c.Compare(t.Context(), render.Object{Object: testcluster.Object(configMap)})
	b.Expect(outcome.Action).To(Equal(corev1alpha1.ActionError))
	b.Expect(outcome.Message).To(ContainSubstring(`namespace "ns" does not exist`))
}

func TestKindsOfTheSameSync(t *testing.T) {
	b := newBench(t)
	c := b.comparer(t)
	c.Defines = func(gk schema.GroupKind) bool { return gk == schema.GroupKind{Group: "example.com", Kind: "Widget"} }
	outcome := c.Compare(t.Context(), render.Object{Object: testcluster.Object(widget)})
	b.Expect(outcome.Action).To(Equal(corev1alpha1.ActionCreate))
	b.Expect(outcome.Simulated).To(BeTrue())
}

func TestYoungKindsAreAskedForAnew(t *testing.T) {
	b := newBench(t)
	c := b.comparer(t)
	_, err := c.Target.Mapping(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	b.Expect(err).NotTo(HaveOccurred())
	b.cluster.Serve(testcluster.Widget)
	b.put(widget)
	key := corev1alpha1.ObjectKey{Group: "example.com", Version: "v1", Kind: "Widget", Namespace: "ns", Name: "w"}

	_, served, err := c.Live(t.Context(), corev1alpha1.ObjectUID{ObjectKey: key})
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(served).To(BeFalse(), "an object that was never applied gives no reason to ask again")
	live, served, err := c.Live(t.Context(), corev1alpha1.ObjectUID{ObjectKey: key, UID: "u"})
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(served).To(BeTrue())
	b.Expect(live.GetName()).To(Equal("w"))
}

func TestIgnoredFieldsAreTakenAsTheyAre(t *testing.T) {
	live := strings.NewReplacer("replicas: 2", "replicas: 7", "[{name: app, image: i}]", "[{name: injected, image: z}, {name: app, image: other}]").Replace(deployment)
	for _, test := range []struct {
		name  string
		paths []string
		want  func(sent map[string]any)
	}{
		{"a field", []string{"/spec/replicas"}, func(sent map[string]any) {
			_ = unstructured.SetNestedField(sent, int64(7), "spec", "replicas")
		}},
		{"a field of an item, which is found by its name", []string{"/spec/template/spec/containers/0/image"}, func(sent map[string]any) {
			_ = unstructured.SetNestedSlice(sent, []any{map[string]any{"name": "app", "image": "other"}}, "spec", "template", "spec", "containers")
		}},
		{"a field that is not desired", []string{"/spec/paused", "/nowhere/at/all", "/spec/replicas/deeper"}, func(map[string]any) {}},
		{"a field that is not live", []string{"/metadata/labels"}, func(map[string]any) {}},
		{"a key with a slash", []string{"/metadata/annotations/a~1b"}, func(map[string]any) {}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.release.Spec.Drift = &corev1alpha1.DriftSpec{Ignore: []corev1alpha1.DriftIgnore{{Paths: test.paths}}}
			desired := testcluster.Object(deployment)
			sent := b.comparer(t).body(desired, testcluster.Object(live))
			want := testcluster.Object(deployment)
			test.want(want.Object)
			render.Mark(want, "inst", "ns", "app")
			b.Expect(sent.Object).To(Equal(want.Object))
			b.Expect(desired).To(Equal(testcluster.Object(deployment)), "the render is shared")
		})
	}
}

func TestIgnoredFieldsAreNoConflict(t *testing.T) {
	b := newBench(t)
	b.put(strings.Replace(configMap, "'1'", "theirs", 1))
	b.release.Spec.Sync.Conflicts = corev1alpha1.ConflictsFail
	b.release.Spec.Drift = &corev1alpha1.DriftSpec{Ignore: []corev1alpha1.DriftIgnore{{Paths: []string{"/data/a"}}}}
	b.Expect(b.compare(t, configMap).Action).To(Equal(corev1alpha1.ActionUnchanged))
}

func TestFieldsOfOthersAreADifferenceThatASyncDoesNotEnd(t *testing.T) {
	b := newBench(t)
	b.put(strings.Replace(configMap, "'1'", "theirs", 1))
	b.release.Spec.Sync.Conflicts = corev1alpha1.ConflictsFail
	conflict := apierrors.NewApplyConflict([]metav1.StatusCause{
		{Type: metav1.CauseTypeFieldManagerConflict, Field: ".data.a", Message: `conflict with "argo"`},
	}, `Apply failed with 1 conflict: conflict with "argo": .data.a`)
	b.cluster.Contest(configMap, conflict)
	outcome := b.compare(t, configMap)
	b.Expect(outcome.Action).To(Equal(corev1alpha1.ActionUpdate))
	b.Expect(outcome.Changes).To(ConsistOf(HaveField("Path", "/data/a")))
	b.Expect(outcome.Message).To(And(ContainSubstring("spec.sync.conflicts is fail"), ContainSubstring(`conflict with "argo": .data.a`)))
}

func TestManagersAreNamed(t *testing.T) {
	b := newBench(t)
	b.put(`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "ns", "name": "web", "managedFields": [
		{"manager": "convoy", "operation": "Apply", "time": "2026-01-09T00:00:00Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
		{"manager": "older", "operation": "Update", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
		{"manager": "autoscaler", "operation": "Update", "time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
		{"manager": "status-writer", "operation": "Update", "subresource": "status", "time": "2026-01-03T00:00:00Z", "fieldsV1": {"f:spec": {}}},
		{"manager": "updater", "operation": "Update", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"app\"}": {"f:image": {}}}}}}}}]},
		"spec": {"replicas": 9, "template": {"spec": {"containers": [{"name": "app", "image": "z"}]}}}}`)
	managers := map[string]string{}
	for _, change := range b.compare(t, deployment).Changes {
		managers[change.Path] = change.Manager
	}
	b.Expect(managers).To(Equal(map[string]string{"/spec/replicas": "autoscaler", "/spec/template/spec/containers/0/image": "updater"}))
}

func TestErrorsShowNothingOfSecrets(t *testing.T) {
	for _, test := range []struct {
		name  string
		given *apierrors.StatusError
		want  string
	}{
		{"a bad request", apierrors.NewBadRequest(`cannot unmarshal "canary" into Secret.data`), "code 400"},
		{"invalid fields", invalid("Secret", "sec", "data[password]"), "data[password]"},
		{"a failure without reason", &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: "expected string, got canary"}}, "code 500"},
		{"an internal error", apierrors.NewInternalError(errors.New("canary")), "code 500"},
		{"a webhook that denies", &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: 403, Reason: metav1.StatusReasonForbidden, Message: "admission webhook denied: canary is weak",
		}}, "code 403"},
		{"a policy that denies", &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: 403, Reason: metav1.StatusReasonForbidden, Message: "policy: canary is weak",
			Details: &metav1.StatusDetails{Kind: "secrets", Name: "sec", Causes: []metav1.StatusCause{{Message: "canary is weak"}}},
		}}, "code 403"},
		{"a missing right", apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "sec", errors.New("no patch")), "no patch"},
		{"a conflict", apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "sec", errors.New("outdated")), "outdated"},
	} {
		for _, live := range []bool{false, true} {
			t.Run(test.name+map[bool]string{true: ", of a live object", false: ", of a new object"}[live], func(t *testing.T) {
				b := newBench(t)
				if live {
					b.put(secretText)
				}
				b.cluster.Refuse("PATCH "+b.cluster.Path(secretText), test.given)
				outcome := b.compare(t, secretText)
				b.Expect(outcome.Action).To(Equal(corev1alpha1.ActionError))
				b.Expect(outcome.Message).To(ContainSubstring(test.want))
				b.Expect(outcome.Message).NotTo(ContainSubstring("canary"))
				b.Expect(outcome.Err.Error()).NotTo(ContainSubstring("canary"))
			})
		}
	}
}

func TestErrorsOfOtherKindsAreShownAndShort(t *testing.T) {
	b := newBench(t)
	b.cluster.Refuse("PATCH "+b.cluster.Path(configMap), apierrors.NewBadRequest("the reason"+strings.Repeat("x", 10000)))
	outcome := b.compare(t, configMap)
	b.Expect(outcome.Message).To(HavePrefix("the reason"))
	b.Expect(len(outcome.Message)).To(BeNumerically("<", 600))
	b.Expect(apierrors.IsBadRequest(outcome.Err)).To(BeTrue())
}

func TestATargetThatIsAwayIsNotAskedAgain(t *testing.T) {
	b := newBench(t)
	hangUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	b.cluster.Handle("GET "+b.cluster.Path(configMap), hangUp)
	c := b.comparer(t)
	first := c.Compare(t.Context(), render.Object{Object: testcluster.Object(configMap)})
	b.Expect(first.Err).To(MatchError(clusterconn.ErrUnreachable))
	b.Expect(first.Message).NotTo(ContainSubstring("configmaps"), "it is not the object's fault")
	b.cluster.Asked()
	second := c.Compare(t.Context(), render.Object{Object: testcluster.Object(deployment)})
	b.Expect(second.Message).To(Equal(first.Message))
	b.Expect(b.cluster.Asked()).To(BeEmpty())

	b.cluster.Refuse("GET "+b.cluster.Path(configMap), apierrors.NewServiceUnavailable("its own server is down"))
	c = b.comparer(t)
	b.Expect(c.Compare(t.Context(), render.Object{Object: testcluster.Object(configMap)}).Err).To(MatchError(clusterconn.ErrUnreachable))
	b.put(deployment)
	b.Expect(c.Compare(t.Context(), render.Object{Object: testcluster.Object(deployment)}).Action).To(Equal(corev1alpha1.ActionUnchanged),
		"what one API answers says nothing of the others")
}
