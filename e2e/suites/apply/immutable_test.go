// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"strings"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func fixed(value string) string {
	return object("v1 ConfigMap", "fixed", "immutable: true, data: {v: "+value+"}")
}

func replaceImmutable(r *corev1alpha1.ReleaseSpec) { r.Sync.Replace = corev1alpha1.ReplaceOnImmutable }

// database is a StatefulSet with the volume of its claim.
func database(service, image, storage string) []string {
	return []string{volume("$ns-0"), statefulSet("db", service, image, storage)}
}

var _ = table("Fields that cannot be changed",
	entry{name: "are named, the object stays, the others are sent", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, fixed("one"), configMap("a", "1"))
		uid := c.uid(ctx, "configmaps/fixed")
		c.offer(ctx, fixed("two"), configMap("a", "2"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonImmutableField, "ConfigMap $ns/fixed", "data", "spec.sync.replace: onImmutable")
		c.fails(ctx, "Ready", corev1alpha1.ReasonImmutableField)
		c.Expect(c.live(ctx, "configmaps/fixed")).To(And(has("data.v", "one"), has("metadata.uid", uid)))
		c.Expect(c.live(ctx, "configmaps/a")).To(has("data.v", "2"))
	}},
	entry{name: "have the object replaced where that is wanted", play: func(ctx context.Context, c *scene) {
		replaceImmutable(&c.spec)
		c.deliver(ctx, fixed("one"))
		uid := c.uid(ctx, "configmaps/fixed")
		c.deliver(ctx, fixed("two"))
		c.Expect(c.live(ctx, "configmaps/fixed")).To(And(has("data.v", "two"), Not(has("metadata.uid", uid)), c.ours("app")))
	}},
	entry{name: "have the object replaced by a forced sync, once", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, fixed("one"))
		c.offer(ctx, fixed("two"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonImmutableField)
		c.force(ctx)
		c.ready(ctx)
		uid := c.uid(ctx, "configmaps/fixed")
		c.Expect(c.live(ctx, "configmaps/fixed")).To(has("data.v", "two"))
		c.sync(ctx)
		c.ready(ctx)
		c.Expect(c.uid(ctx, "configmaps/fixed")).To(Equal(uid))
	}},
	entry{name: "of a Job leave it not in sync, as the preview tells", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, job("once", "v: '1'"), configMap("a", "1"))
		c.offer(ctx, job("once", "v: '2'"), configMap("a", "1"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonImmutableField, "Job $ns/once", "spec.template")
		c.Expect(c.plan(ctx)).To(ConsistOf("error Job/once", "unchanged ConfigMap/a"))
		c.Eventually(ctx, func() error { return conditionIs(c.get(ctx), "InSync", metav1.ConditionTrue, "") }).ShouldNot(Succeed())
	}},
	entry{name: "of a Deployment have it replaced", play: func(ctx context.Context, c *scene) {
		replaceImmutable(&c.spec)
		c.deliver(ctx, deployment("web", "i"))
		uid := c.uid(ctx, "deployments.apps/web")
		other := strings.ReplaceAll(deployment("web", "i"), "{app: web}", "{app: shop}")
		c.deliver(ctx, other)
		c.Expect(c.live(ctx, "deployments.apps/web")).To(And(has("spec.selector.matchLabels.app", "shop"), Not(has("metadata.uid", uid))))
	}},
	entry{name: "of a Service have it replaced, node port and all", play: func(ctx context.Context, c *scene) {
		replaceImmutable(&c.spec)
		web := func(more string) string {
			return object("v1 Service", "web", "spec: {selector: {app: web}, ports: [{port: 80}]"+more+"}")
		}
		c.deliver(ctx, web(""))
		c.deliver(ctx, web(", clusterIP: None"))
		c.Expect(c.live(ctx, "services/web")).To(has("spec.clusterIP", "None"))
	}},
	entry{name: "of a RoleBinding have it replaced", play: func(ctx context.Context, c *scene) {
		replaceImmutable(&c.spec)
		binding := func(role string) string {
			return object("rbac.authorization.k8s.io/v1 RoleBinding", "b", "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: "+role+"}, subjects: []")
		}
		c.deliver(ctx, binding("one"))
		c.offer(ctx, binding("two"))
		c.ready(ctx)
		c.Expect(c.live(ctx, "rolebindings.rbac.authorization.k8s.io/b")).To(has("roleRef.name", "two"))
	}},
	entry{name: "of what is marked as never to be deleted stay", play: func(ctx context.Context, c *scene) {
		replaceImmutable(&c.spec)
		marked := func(v string) string {
			return object("v1 ConfigMap", "fixed, annotations: {"+helmed+"}", "immutable: true, data: {v: "+v+"}")
		}
		c.deliver(ctx, marked("one"))
		uid := c.uid(ctx, "configmaps/fixed")
		c.offer(ctx, marked("two"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonImmutableField, "marked as never to be deleted")
		c.Expect(c.plan(ctx)).To(Equal([]string{"error ConfigMap/fixed"}))
		c.Expect(c.uid(ctx, "configmaps/fixed")).To(Equal(uid))
	}},
	entry{name: "of what another tool made and nobody took over stay", play: func(ctx context.Context, c *scene) {
		replaceImmutable(&c.spec)
		c.byHand(ctx, "tool", fixed("theirs"))
		c.offer(ctx, fixed("ours"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonImmutableField, "not this Release's yet")
		c.Expect(c.live(ctx, "configmaps/fixed")).To(And(has("data.v", "theirs"), unmarked()))
	}},
	entry{name: "of a claim never have it replaced, nor does the preview say so", play: func(ctx context.Context, c *scene) {
		replaceImmutable(&c.spec)
		c.deliver(ctx, volume("$ns-0"), claim("data"))
		uid := c.uid(ctx, "persistentvolumeclaims/data")
		c.offer(ctx, volume("$ns-0"), strings.Replace(claim("data"), "storageClassName: $ns", "storageClassName: other", 1))
		c.fails(ctx, "Applied", corev1alpha1.ReasonImmutableField, "PersistentVolumeClaim $ns/data", "its data")
		c.Expect(c.plan(ctx)).To(ContainElement("error PersistentVolumeClaim/data"))
		c.Expect(c.uid(ctx, "persistentvolumeclaims/data")).To(Equal(uid))
	}},
	entry{name: "of a volume never have it replaced", play: func(ctx context.Context, c *scene) {
		replaceImmutable(&c.spec)
		c.deliver(ctx, volume("$ns-0"))
		uid := c.uid(ctx, "persistentvolumes/$ns-0")
		c.offer(ctx, strings.Replace(volume("$ns-0"), "/nowhere", "/elsewhere", 1))
		c.fails(ctx, "Applied", corev1alpha1.ReasonImmutableField, "PersistentVolume $ns-0", "its data")
		c.Expect(c.uid(ctx, "persistentvolumes/$ns-0")).To(Equal(uid))
	}},
	entry{name: "of a definition never have it replaced", play: func(ctx context.Context, c *scene) {
		replaceImmutable(&c.spec)
		c.deliver(ctx, definition(""))
		uid := c.uid(ctx, "customresourcedefinitions/widgets.$ns.test")
		c.offer(ctx, strings.Replace(definition(""), "scope: Namespaced", "scope: Cluster", 1))
		c.fails(ctx, "Applied", corev1alpha1.ReasonImmutableField, "every custom resource of its kind")
		c.Expect(c.plan(ctx)).To(Equal([]string{"error CustomResourceDefinition/widgets." + c.ns + ".test"}))
		c.Expect(c.uid(ctx, "customresourcedefinitions/widgets.$ns.test")).To(Equal(uid))
	}},
)

var _ = table("A StatefulSet",
	entry{name: "changes its template and replicas in place", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, database("db", "i:1", "1Gi")...)
		uid := c.uid(ctx, "statefulsets.apps/db")
		c.deliver(ctx, database("db", "i:2", "1Gi")...)
		c.Expect(c.live(ctx, "statefulsets.apps/db")).To(And(has("spec.template.spec.containers.0.image", "i:2"), has("metadata.uid", uid)))
	}},
	entry{name: "whose service name or claims change is named with the very field", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, database("db", "i:1", "1Gi")...)
		c.offer(ctx, database("other", "i:1", "1Gi")...)
		c.fails(ctx, "Applied", corev1alpha1.ReasonImmutableField, "fields cannot be changed: spec.serviceName:")
		c.offer(ctx, database("db", "i:1", "2Gi")...)
		c.fails(ctx, "Applied", corev1alpha1.ReasonImmutableField, "spec.volumeClaimTemplates[0].spec.resources.requests.storage")
	}},
	entry{name: "is replaced under its pods and claims", play: func(ctx context.Context, c *scene) {
		replaceImmutable(&c.spec)
		c.deliver(ctx, database("db", "i:1", "1Gi")...)
		set, pod, data := c.uid(ctx, "statefulsets.apps/db"), c.uid(ctx, "pods/db-0"), c.uid(ctx, "persistentvolumeclaims/data-db-0")
		c.offer(ctx, database("other", "i:1", "1Gi")...)
		c.applied(ctx)
		c.Expect(c.live(ctx, "statefulsets.apps/db")).To(And(has("spec.serviceName", "other"), Not(has("metadata.uid", set))))
		c.Expect(c.uid(ctx, "pods/db-0")).To(Equal(pod))
		c.Expect(c.uid(ctx, "persistentvolumeclaims/data-db-0")).To(Equal(data))
	}},
	entry{name: "that is wrong is not replaced", play: func(ctx context.Context, c *scene) {
		replaceImmutable(&c.spec)
		c.deliver(ctx, database("db", "i:1", "1Gi")...)
		uid := c.uid(ctx, "statefulsets.apps/db")
		c.offer(ctx, volume("$ns-0"), strings.Replace(statefulSet("db", "other", "i:1", "1Gi"), "replicas: 1", "replicas: -1", 1))
		c.fails(ctx, "Applied", corev1alpha1.ReasonApplyFailed, "spec.replicas")
		c.Expect(c.uid(ctx, "statefulsets.apps/db")).To(Equal(uid))
	}},
)
