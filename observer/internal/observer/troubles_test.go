// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/observer/internal/desired"
)

// trouble is why a target cannot be looked at.
type trouble struct {
	name string
	do   func(w *world)
	undo func(w *world)
	// reason of InSync, and what all messages say.
	reason, message string
}

// clusterReady is what the controller-manager finds of the Cluster.
func clusterReady(status metav1.ConditionStatus, reason, message string) func(w *world) {
	return func(w *world) {
		w.setCluster(func(c *corev1alpha1.Cluster) {
			c.Status.Conditions = []metav1.Condition{{
				Type: corev1alpha1.ConditionReady, Status: status, Reason: reason, Message: message, ObservedGeneration: c.Generation,
			}}
		})
	}
}

// appliedIs is what the controller-manager makes of it in a pass of the Release.
func appliedIs(status metav1.ConditionStatus, reason string) func(w *world) {
	return func(w *world) { w.setRelease(func(r *corev1alpha1.Release) { setApplied(r, status, reason) }) }
}

func all(do ...func(w *world)) func(w *world) {
	return func(w *world) {
		for _, one := range do {
			one(w)
		}
	}
}

func troubles() []trouble {
	well := all(func(w *world) { w.setKubeconfig(w.kubeconfig()) },
		clusterReady(metav1.ConditionTrue, corev1alpha1.ReasonReachable, ""), appliedIs(metav1.ConditionTrue, corev1alpha1.ReasonApplied))
	var kept *corev1alpha1.Cluster
	return []trouble{
		{"its Secret is gone", func(w *world) { w.setKubeconfig("") }, well,
			corev1alpha1.ReasonSecretNotFound, "cluster edge: invalid cluster configuration: Secret ns/edge does not exist"},
		{"its Secret is gone, and an apply failed of that", all(func(w *world) { w.setKubeconfig("") }, appliedIs(metav1.ConditionFalse, corev1alpha1.ReasonSecretNotFound)), well,
			corev1alpha1.ReasonSecretNotFound, "Secret ns/edge does not exist"},
		{"its kubeconfig is broken", func(w *world) { w.setKubeconfig("{") }, well,
			corev1alpha1.ReasonInvalidConfiguration, "cannot be parsed"},
		{"its kubeconfig is broken, and an apply failed of that", all(func(w *world) { w.setKubeconfig("{") }, appliedIs(metav1.ConditionFalse, corev1alpha1.ReasonInvalidConfiguration)), well,
			corev1alpha1.ReasonInvalidConfiguration, "cannot be parsed"},
		{"the controller-manager finds its Secret gone", clusterReady(metav1.ConditionFalse, corev1alpha1.ReasonSecretNotFound, "cluster edge: Secret ns/edge does not exist"), well,
			corev1alpha1.ReasonSecretNotFound, "cluster edge: Secret ns/edge does not exist"},
		{"the controller-manager finds the credentials refused", clusterReady(metav1.ConditionFalse, corev1alpha1.ReasonAuthenticationFailed, "target cluster does not accept the credentials"), well,
			corev1alpha1.ReasonAuthenticationFailed, "cluster edge: target cluster does not accept the credentials"},
		{"the controller-manager may ask nothing", clusterReady(metav1.ConditionFalse, corev1alpha1.ReasonForbidden, "not permitted on the target cluster"), well,
			corev1alpha1.ReasonForbidden, "cluster edge: not permitted"},
		{"it does not answer the controller-manager", clusterReady(metav1.ConditionFalse, corev1alpha1.ReasonUnreachable, "dial tcp 127.0.0.1:4711"), well,
			corev1alpha1.ReasonTargetUnreachable, "cluster edge: target cluster is unreachable"},
		{"it does not answer, and an apply failed of that", all(clusterReady(metav1.ConditionFalse, corev1alpha1.ReasonUnreachable, "dial tcp 127.0.0.1:4711"),
			appliedIs(metav1.ConditionFalse, corev1alpha1.ReasonTargetUnreachable)), well,
			corev1alpha1.ReasonTargetUnreachable, "cluster edge: target cluster is unreachable"},
		{"there is no Cluster", func(w *world) {
			kept = w.edge()
			w.Expect(w.clusters.Delete(kept)).To(Succeed())
		}, func(w *world) { w.Expect(w.clusters.Add(kept)).To(Succeed()) },
			corev1alpha1.ReasonClusterNotFound, "there is no such cluster: Cluster edge in namespace ns"},
	}
}

// What was found of a target must not stand when nobody can look at it any more, though
// watches are open and say that nothing changed; and it must come back.
func TestNothingStaysKnownOfATargetThatCannotBeLookedAt(t *testing.T) {
	for _, test := range troubles() {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.setKubeconfig(w.kubeconfig())
			w.applied(configMap, other)
			w.judge()
			w.awaitWatch(configMap)
			w.awaitWatch(other)
			w.look()
			w.expectInSync("True InSync", "2 objects are as applied")

			test.do(w)
			w.clock.Step(time.Minute) // a connection is used for some seconds without a look at its Secret
			since := w.clock.Now()
			w.look()
			w.expectInSync("Unknown "+test.reason, test.message)
			w.judge()
			status := w.inventory().Status
			w.Expect(*status.Summary).To(Equal(corev1alpha1.HealthSummary{Unknown: 2}))
			for _, one := range status.Health {
				w.Expect(one.Message).To(ContainSubstring(test.message))
				w.Expect(one.Message).To(beSaidOnce())
				w.Expect(one.Since.Time).To(BeTemporally("==", since), "it tells since when nothing is known")
			}
			w.Expect(status.ObservedGeneration).To(Equal(w.inventory().Generation))
			_, said := w.insync()
			w.Expect(said).To(beSaidOnce())

			w.writes()
			w.clock.Step(time.Hour)
			w.look()
			w.judge()
			w.Expect(w.writes()).To(BeEmpty(), "nothing new is to be said")

			test.undo(w)
			w.look()
			w.expectInSync("True InSync", "2 objects are as applied")
			w.judge()
			w.Expect(*w.inventory().Status.Summary).To(Equal(corev1alpha1.HealthSummary{Healthy: 2}))
			w.Expect(w.syncs).To(BeZero())
		})
	}
}

// beSaidOnce fails for messages that repeat a part, as those do that are wrapped twice.
func beSaidOnce() OmegaMatcher {
	return WithTransform(func(message string) []string {
		var repeated []string
		seen := map[string]bool{}
		for _, part := range strings.Split(message, ": ") {
			if seen[part] {
				repeated = append(repeated, part)
			}
			seen[part] = true
		}
		return repeated
	}, BeEmpty())
}

func TestAReleaseThatGoesOnIsInSyncAgain(t *testing.T) {
	respecified := func(w *world, change func(r *corev1alpha1.Release)) {
		w.setRelease(func(r *corev1alpha1.Release) {
			change(r)
			r.Generation++
			r.Status.Applied.Generation = r.Generation
			setApplied(r, metav1.ConditionTrue, corev1alpha1.ReasonApplied)
		})
	}
	gone := fmt.Errorf("%w: %w", desired.ErrSource, apierrors.NewNotFound(schema.GroupResource{Resource: "gitrepositories"}, "repo"))
	for _, test := range []struct {
		name     string
		do, undo func(w *world)
		want     string
		message  string
	}{
		{"suspended", func(w *world) { respecified(w, func(r *corev1alpha1.Release) { r.Spec.Suspend = true }) },
			func(w *world) { respecified(w, func(r *corev1alpha1.Release) { r.Spec.Suspend = false }) },
			"Unknown Suspended", "spec.suspend is true"},
		{"without drift detection", func(w *world) {
			respecified(w, func(r *corev1alpha1.Release) {
				r.Spec.Drift = &corev1alpha1.DriftSpec{Mode: corev1alpha1.DriftModeDisabled}
			})
		}, func(w *world) { respecified(w, func(r *corev1alpha1.Release) { r.Spec.Drift = nil }) },
			"Unknown DriftDisabled", "spec.drift.mode"},
		{"whose source is gone, and with it what was applied", func(w *world) {
			w.wantErr = gone
			w.cluster.Put(marked(configMap)) // a new version, which has to be compared
		}, func(w *world) { w.wantErr = nil },
			"Unknown Unknown", `what was applied cannot be told: the source cannot be asked: gitrepositories "repo" not found`},
		{"whose sync failed", func(w *world) {
			appliedIs(metav1.ConditionFalse, corev1alpha1.ReasonApplyFailed)(w)
			w.look()
			w.clock.Step(syncPatience)
		}, appliedIs(metav1.ConditionTrue, corev1alpha1.ReasonApplied),
			"Unknown Progressing", "the last sync is not complete (ApplyFailed, see Applied)"},
		{"on a suspended Cluster, with a sync that waits", func(w *world) {
			w.setCluster(func(c *corev1alpha1.Cluster) { c.Spec.Suspend = true })
			w.setRelease(func(r *corev1alpha1.Release) {
				r.Annotations = map[string]string{corev1alpha1.AnnotationSyncRequestedAt: "now"}
			})
			w.look()
			w.expectInSync("True InSync", "")
			w.cluster.Put(marked(edited))
			w.clock.Step(syncPatience)
		}, func(w *world) {
			w.setCluster(func(c *corev1alpha1.Cluster) { c.Spec.Suspend = false })
			w.handled(configMap)
		}, "False Drifted", "Cluster edge is suspended"},
		{"with a sync that waits for something else", func(w *world) {
			appliedIs(metav1.ConditionTrue, corev1alpha1.ReasonWaitingForWave)(w)
			w.setRelease(func(r *corev1alpha1.Release) {
				r.Annotations = map[string]string{corev1alpha1.AnnotationSyncRequestedAt: "now"}
			})
			w.look()
			w.expectInSync("True InSync", "")
			w.cluster.Put(marked(edited))
			w.clock.Step(syncPatience)
		}, func(w *world) { w.handled(configMap) },
			"False Drifted", "ConfigMap ns/cm differs in /data/a; a sync is requested"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.applied(configMap, other)
			w.look()
			w.expectInSync("True InSync", "")
			test.do(w)
			w.look()
			w.expectInSync(test.want, test.message)
			_, said := w.insync()
			w.Expect(said).To(beSaidOnce())
			test.undo(w)
			w.look()
			w.expectInSync("True InSync", "2 objects are as applied")
			w.Expect(w.syncs).To(BeZero())
		})
	}
}

// Credentials may go before the Release that is deleted with them: what runs before its
// deletion is followed to its end.
func TestADeletedReleaseOutlivesItsCredentials(t *testing.T) {
	w := newWorld(t)
	w.setKubeconfig(w.kubeconfig())
	w.cluster.Put(marked(running))
	w.setRelease(withHook(func(h *corev1alpha1.HookStatus) { h.On = corev1alpha1.HookPreDelete }))
	w.setEntries()
	w.judge()

	w.setRelease(func(r *corev1alpha1.Release) {
		r.DeletionTimestamp, r.Finalizers = &metav1.Time{Time: w.clock.Now()}, []string{corev1alpha1.FinalizerRelease}
	})
	w.setKubeconfig("")
	clusterReady(metav1.ConditionFalse, corev1alpha1.ReasonSecretNotFound, "Secret ns/edge does not exist")(w)
	w.clock.Step(time.Minute)
	w.cluster.Put(marked(succeeded))
	w.lifecycles = nil
	w.judge()
	w.Expect(w.lifecycles).To(HaveLen(1))
	w.Expect(r0(w).Phase).To(Equal(corev1alpha1.HookSucceeded))
}

func TestDriftOfSecretsTellsNoValue(t *testing.T) {
	const (
		before = "{apiVersion: v1, kind: Secret, metadata: {namespace: ns, name: sec}, data: {p: canary1}}"
		after  = "{apiVersion: v1, kind: Secret, metadata: {namespace: ns, name: sec, annotations: {kubectl.kubernetes.io/last-applied-configuration: canary2}}, data: {p: canary3}}"
	)
	w := newWorld(t)
	w.applied(before)
	w.cluster.Put(marked(after))
	w.look()
	w.expectInSync("False Drifted", "Secret ns/sec differs in /data/p")
	_, said := w.insync()
	w.Expect(said).NotTo(ContainSubstring("canary"))

	w.handled(before)
	w.look()
	w.cluster.Put(marked(after))
	w.cluster.Refuse("PATCH "+w.cluster.Path(before), apierrors.NewBadRequest("cannot use canary1"))
	w.look()
	w.expectInSync("Unknown Unknown", "Secret ns/sec could not be compared")
	_, said = w.insync()
	w.Expect(said).NotTo(ContainSubstring("canary"))
}
