// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/observer/internal/testcluster"
	"kumodo.io/convoy/render"
)

const (
	probed  = "{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: ns, name: w}, spec: {probe: {httpGet: {port: 80}}}}"
	retuned = "{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: ns, name: w}, spec: {more: 1, probe: {tcpSocket: {port: 80}, period: 5}}}"
)

// beside has a live object in which hand has written some fields, in a cluster that refuses
// what server-side apply makes of it, and whatever after says of what is left.
func (b *bench) beside(manifest, fields string, refusal *field.Error, after *apierrors.StatusError) {
	both := apierrors.NewInvalid(schema.GroupKind{Kind: "Widget"}, "w", field.ErrorList{refusal})
	b.cluster.Serve(testcluster.Widget)
	live := b.put(manifest)
	owns(live, "hand", metav1.ManagedFieldsOperationUpdate, fields)
	data, err := live.MarshalJSON()
	b.Expect(err).NotTo(HaveOccurred())
	live = b.cluster.Put(string(data))
	b.cluster.Handle("PATCH "+b.cluster.Path(manifest), func(w http.ResponseWriter, r *http.Request) {
		var operations []struct {
			Path  string
			Value any
		}
		var answer any = live
		refuse := func(err *apierrors.StatusError) {
			status := err.Status()
			status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			w.WriteHeader(int(status.Code))
			answer = status
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Header.Get("Content-Type") != string(types.JSONPatchType):
			refuse(both)
		case after != nil:
			refuse(after)
		default:
			b.Expect(json.NewDecoder(r.Body).Decode(&operations)).To(Succeed())
			result := live.DeepCopy()
			for _, operation := range operations {
				if operation.Path == "/spec" {
					result.Object["spec"] = operation.Value
				}
			}
			answer = result
		}
		b.Expect(json.NewEncoder(w).Encode(answer)).To(Succeed())
	})
}

// What somebody chose in place of a desired member of a union is drift like any other, however
// little server-side apply can do about it: never something that cannot change.
func TestWhatIsBesideTheDesired(t *testing.T) {
	changes := []corev1alpha1.FieldChange{
		{Path: "/spec/probe/httpGet", To: `{"port":80}`}, {Path: "/spec/probe/tcpSocket", From: `{"port":80}`, Manager: "hand"},
	}
	refusal := func(message string) *apierrors.StatusError {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Widget"}, "w", field.ErrorList{field.Forbidden(field.NewPath("spec", "size"), message)})
	}
	for _, test := range []struct {
		name    string
		sync    corev1alpha1.SyncSpec
		after   *apierrors.StatusError
		action  corev1alpha1.ObjectAction
		changes []corev1alpha1.FieldChange
		reason  string
	}{
		{"by default", corev1alpha1.SyncSpec{}, nil, corev1alpha1.ActionUpdate, changes, ""},
		{"with replace: onImmutable", corev1alpha1.SyncSpec{Replace: corev1alpha1.ReplaceOnImmutable}, nil, corev1alpha1.ActionUpdate, changes, ""},
		{"with conflicts: fail", corev1alpha1.SyncSpec{Conflicts: corev1alpha1.ConflictsFail}, nil, corev1alpha1.ActionUpdate, changes, corev1alpha1.ReasonApplyConflict},
		{
			"and something wrong besides", corev1alpha1.SyncSpec{Replace: corev1alpha1.ReplaceOnImmutable}, refusal("must be less"),
			corev1alpha1.ActionError, nil, corev1alpha1.ReasonInvalidObjects,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.release.Spec.Sync = test.sync
			b.beside(retuned, `{"f:spec":{"f:more":{},"f:probe":{".":{},"f:tcpSocket":{".":{},"f:port":{}}}}}`,
				field.Forbidden(field.NewPath("spec", "probe", "tcpSocket"), "may not specify more than 1 handler type"), test.after)
			outcome := b.compare(t, probed)
			b.Expect(outcome.Action).To(Equal(test.action), outcome.Message)
			b.Expect(outcome.Changes).To(Equal(test.changes))
			b.Expect(outcome.Reason).To(Equal(test.reason))
			if test.action == corev1alpha1.ActionUpdate {
				b.Expect(outcome.Err).NotTo(HaveOccurred())
				b.Expect(outcome.Result.Object["spec"]).To(HaveKeyWithValue("more", BeEquivalentTo(1)), "what is elsewhere stays")
			}
		})
	}
}

// The protocol of a port need not be in the source: it is a default, by which servers tell ports
// apart.
func TestADefaultThatTellsItemsApart(t *testing.T) {
	const widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: ns, name: w}, spec: {ports: [{name: dns, port: 53%s}]}}"
	b := newBench(t)
	b.beside(fmt.Sprintf(widget, ", protocol: UDP"), `{"f:spec":{"f:ports":{"k:{\"port\":53,\"protocol\":\"UDP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{}}}}}`,
		field.Duplicate(field.NewPath("spec", "ports").Index(1).Child("name"), "dns"), nil)
	c := b.comparer(t)
	c.Applied = true
	outcome := c.Compare(t.Context(), render.Object{Object: testcluster.Object(fmt.Sprintf(widget, "")), Digest: "d"})
	b.Expect(outcome.Action).To(Equal(corev1alpha1.ActionUpdate), outcome.Message)
	b.Expect(outcome.Changes).To(Equal([]corev1alpha1.FieldChange{{Path: "/spec/ports/0/protocol", From: `"UDP"`, Manager: "hand"}}))
}

// A refusal is one of a change only if the server says so: of an object that it would create,
// too.
func TestInvalidIsNotImmutable(t *testing.T) {
	b := newBench(t)
	b.release.Spec.Sync.Replace = corev1alpha1.ReplaceOnImmutable
	b.put(strings.Replace(deployment, "image: i", "image: j", 1))
	b.cluster.Refuse("PATCH "+b.cluster.Path(deployment), apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "web",
		field.ErrorList{field.Invalid(field.NewPath("spec", "replicas"), "immutable", "size is fixed")}))
	outcome := b.compare(t, deployment)
	b.Expect(outcome.Action).To(Equal(corev1alpha1.ActionError), outcome.Message)
	b.Expect(outcome.Reason).To(Equal(corev1alpha1.ReasonInvalidObjects))
	b.Expect(outcome.Message).To(ContainSubstring("size is fixed"))
}
