// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

const theDefinition = "customresourcedefinitions/widgets.$ns.test"

var _ = table("A definition",
	entry{name: "that leaves the source is kept, its custom resources are not", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, definition(""), widget("w"), configMap("stays", "1"))
		uid := c.uid(ctx, theDefinition)
		c.byHand(ctx, "hand", widget("theirs, namespace: $ns"))
		c.offer(ctx, configMap("stays", "1"))
		c.Eventually(ctx, func() []string { return c.plan(ctx) }).Should(ContainElement("unchanged ConfigMap/stays"))
		c.ready(ctx)
		c.holds(ctx, "ConfigMap/stays")
		c.Expect(c.live(ctx, theDefinition)).To(And(has("metadata.uid", uid), unmarked()))
		c.Expect(c.find(ctx, "widgets."+c.ns+".test/w")).To(BeNil())
		c.live(ctx, "widgets."+c.ns+".test/theirs")
		c.Expect(c.kept(ctx)).To(ConsistOf(And(ContainSubstring("kept, because deleting a CustomResourceDefinition deletes all its objects"),
			ContainSubstring("spec.sync.pruneCRDs"), ContainSubstring("convoy.kumodo.io/prune: enabled"))))
		c.deliver(ctx, definition(""), configMap("stays", "1"))
		c.Expect(c.live(ctx, theDefinition)).To(And(has("metadata.uid", uid), c.ours("app")))
	}},
	entry{name: "is kept when its Release is deleted", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, definition(""), widget("w"))
		c.remove(ctx)
		c.gone(ctx)
		c.Expect(c.live(ctx, theDefinition)).To(unmarked())
		c.Expect(c.find(ctx, "widgets."+c.ns+".test/w")).To(BeNil())
		c.told(ctx, "Kept", "CustomResourceDefinition widgets.$ns.test", "spec.sync.pruneCRDs")
	}},
	entry{name: "goes after its custom resources with sync.pruneCRDs, as the preview tells", play: func(ctx context.Context, c *scene) {
		c.spec.Sync.PruneCRDs = true
		c.deliver(ctx, definition(""), widget("w"), configMap("stays", "1"))
		start := c.now(ctx)
		c.spec.Sync.Mode = corev1alpha1.SyncModeManual
		c.change(ctx, func(r *corev1alpha1.Release) { r.Spec.Sync.Mode = corev1alpha1.SyncModeManual })
		c.revision = c.commit(ctx, map[string]string{"app/all.yaml": configMap("stays", "1")})
		c.Eventually(ctx, func() []string { return c.plan(ctx) }).Should(ContainElements("delete CustomResourceDefinition/widgets."+c.ns+".test", "delete Widget/w"))
		c.sync(ctx)
		c.ready(ctx)
		c.vanishes(ctx, theDefinition)
		c.Expect(c.deletions(ctx, start)).To(Equal([]string{"delete widgets/w", "delete customresourcedefinitions/widgets." + c.ns + ".test"}))
	}},
	entry{name: "goes when its annotation in the source allowed it", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, definition(", annotations: {convoy.kumodo.io/prune: enabled}"), configMap("stays", "1"))
		c.deliver(ctx, configMap("stays", "1"))
		c.vanishes(ctx, theDefinition)
	}},
	entry{name: "goes when its annotation was set by hand", play: func(ctx context.Context, c *scene) {
		c.withoutDrift()
		c.deliver(ctx, definition(""), widget("w"))
		c.edit(ctx, theDefinition, "hand", `{"metadata":{"annotations":{"convoy.kumodo.io/prune":"enabled"}}}`)
		c.remove(ctx)
		c.gone(ctx)
		c.Expect(c.find(ctx, theDefinition)).To(BeNil())
	}},
	entry{name: "is kept for the custom resources of others, with consent too", play: func(ctx context.Context, c *scene) {
		c.spec.Sync.PruneCRDs = true
		c.deliver(ctx, definition(""), configMap("stays", "1"))
		c.byHand(ctx, "hand", widget("theirs, namespace: $ns"))
		c.deliver(ctx, configMap("stays", "1"))
		c.Expect(c.live(ctx, theDefinition)).To(unmarked())
		c.Expect(c.kept(ctx)).To(ConsistOf(ContainSubstring("such as Widget." + c.ns + ".test " + c.ns + "/theirs")))
	}},
)

var _ = table("Another apiVersion of the same object",
	entry{name: "of a custom resource: nothing is deleted", play: func(ctx context.Context, c *scene) {
		both := definition("", "v1alpha1: true", "v1: true")
		c.deliver(ctx, both, object("$ns.test/v1alpha1 Widget", "w", "spec: {size: 1, old: 1}"))
		uid, start := c.uid(ctx, "widgets."+c.ns+".test/w"), c.now(ctx)
		c.deliver(ctx, both, object("$ns.test/v1 Widget", "w", "spec: {size: 2}"))
		w := c.live(ctx, "widgets."+c.ns+".test/w")
		c.Expect(w).To(has("metadata.uid", uid))
		c.Expect(at(w, "spec")).To(Equal(map[string]any{"size": int64(2)}), "and what left the source is gone")
		c.Expect(c.deletions(ctx, start)).To(BeEmpty())
	}},
	entry{name: "of an autoscaler: nothing is deleted", play: func(ctx context.Context, c *scene) {
		hpa := func(version, metrics string) string {
			return object("autoscaling/"+version+" HorizontalPodAutoscaler", "web", "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 3"+metrics+"}")
		}
		c.offer(ctx, hpa("v1", ", targetCPUUtilizationPercentage: 50"))
		c.applied(ctx)
		uid, start := c.uid(ctx, "horizontalpodautoscalers.autoscaling/web"), c.now(ctx)
		c.offer(ctx, hpa("v2", ", metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]"))
		c.applied(ctx)
		c.Expect(c.uid(ctx, "horizontalpodautoscalers.autoscaling/web")).To(Equal(uid))
		c.Expect(c.deletions(ctx, start)).To(BeEmpty())
	}},
	entry{name: "in another group: nothing is deleted", play: func(ctx context.Context, c *scene) {
		c.offer(ctx, object("v1 Event", "e", `involvedObject: {kind: Pod, name: p, namespace: $ns}, reason: R, action: A, type: Normal,
  reportingComponent: example.test/c, reportingInstance: i, eventTime: "2026-01-01T00:00:00.000000Z", message: one`), configMap("stays", "1"))
		c.applied(ctx)
		uid, start := c.uid(ctx, "events/e"), c.now(ctx)
		c.offer(ctx, object("events.k8s.io/v1 Event", "e", `regarding: {kind: Pod, name: p, namespace: $ns}, reason: R, action: A, type: Normal,
  reportingController: example.test/c, reportingInstance: i, eventTime: "2026-01-01T00:00:00.000000Z", note: one`), configMap("stays", "1"))
		c.applied(ctx)
		c.holds(ctx, "Event/e", "ConfigMap/stays")
		c.Expect(c.live(ctx, "events/e")).To(And(has("metadata.uid", uid), c.ours("app")))
		c.Expect(c.deletions(ctx, start)).To(BeEmpty())
	}},
	entry{name: "that is served no more is found in a served one, and deleted", play: func(ctx context.Context, c *scene) {
		c.byHand(ctx, "hand", definition("", "v1alpha1: true", "v1: true"))
		c.Eventually(ctx, func() any { return at(c.live(ctx, theDefinition), "status.conditions.1.status") }).Should(Equal("True"))
		c.deliver(ctx, object("$ns.test/v1alpha1 Widget", "w", "spec: {size: 1}"), configMap("stays", "1"))
		c.Expect(c.live(ctx, "widgets."+c.ns+".test/w")).To(c.ours("app"))
		client, name := c.resource(theDefinition)
		crd := c.live(ctx, theDefinition)
		crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)["served"] = false
		_, err := client.Update(ctx, crd, metav1.UpdateOptions{})
		c.Expect(name).NotTo(BeEmpty())
		c.Expect(err).NotTo(HaveOccurred())
		c.deliver(ctx, configMap("stays", "1"))
		c.holds(ctx, "ConfigMap/stays")
		c.mapper.Reset()
		c.Expect(c.find(ctx, "widgets."+c.ns+".test/w")).To(BeNil())
	}},
)
