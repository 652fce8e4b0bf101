// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// deployer gives the service account "deployer" all rights in the scene's namespace.
func (c *scene) deployer(ctx context.Context) {
	c.spec.ServiceAccountName = "deployer"
	c.byHand(ctx, "hand", object("rbac.authorization.k8s.io/v1 RoleBinding", "deployer, namespace: $ns",
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}, subjects: [{kind: ServiceAccount, name: deployer, namespace: $ns}]"))
}

// unreachable has the scene's Release on a Cluster behind a door, applied, and the door shut.
func (c *scene) unreachable(ctx context.Context, annotations map[string]string) *door {
	d := c.behindADoor(ctx)
	c.spec.ClusterRef.Name, c.annotations = "far", annotations
	c.deliver(ctx, configMap("a", "1"), configMap("b", "1"))
	d.shut()
	return d
}

var _ = table("A Release that is deleted",
	entry{name: "waits for what a finalizer holds, and names it", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, configMap("a", "1"), configMap("b", "1"))
		c.edit(ctx, "configmaps/a", "holder", `{"metadata":{"finalizers":["example.test/hold"]}}`)
		c.remove(ctx)
		c.fails(ctx, "Ready", corev1alpha1.ReasonDeleting, "1 object is left: waiting for ConfigMap $ns/a (is being deleted, waits for finalizers [example.test/hold])")
		c.holds(ctx, "ConfigMap/a")
		c.edit(ctx, "configmaps/a", "holder", `{"metadata":{"finalizers":null}}`)
		c.gone(ctx)
		c.Expect(c.inventory(ctx)).To(BeNil())
	}},
	entry{name: "with deletionPolicy orphan leaves everything, without marks, and deletes nothing", play: func(ctx context.Context, c *scene) {
		c.spec.DeletionPolicy = corev1alpha1.DeletionPolicyOrphan
		c.deliver(ctx, configMap("a", "1"), deployment("web", "i"))
		start := c.now(ctx)
		c.remove(ctx)
		c.gone(ctx)
		c.Expect(c.deletions(ctx, start)).To(BeEmpty())
		c.Expect(c.live(ctx, "configmaps/a")).To(unmarked())
		c.Expect(c.live(ctx, "deployments.apps/web")).To(unmarked())
		c.told(ctx, "Orphaned", "ConfigMap $ns/a", "Deployment $ns/web")
	}},
	entry{name: "and never had an object on its target goes at once, whatever its identity may", play: func(ctx context.Context, c *scene) {
		c.spec.ServiceAccountName = "nobody"
		c.offer(ctx, configMap("a", "1"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonForbidden, "system:serviceaccount:$ns:nobody")
		c.remove(ctx)
		c.gone(ctx)
	}},
	entry{name: "and whose identity lost its rights says which, and both ways out", play: func(ctx context.Context, c *scene) {
		c.deployer(ctx)
		c.deliver(ctx, configMap("a", "1"))
		c.erase(ctx, "rolebindings.rbac.authorization.k8s.io/deployer")
		start := c.now(ctx)
		c.remove(ctx)
		c.fails(ctx, "Ready", corev1alpha1.ReasonForbidden, "system:serviceaccount:$ns:deployer", "goes on by itself when that is mended", "spec.deletionPolicy: orphan")
		c.change(ctx, func(r *corev1alpha1.Release) { r.Spec.DeletionPolicy = corev1alpha1.DeletionPolicyOrphan })
		c.gone(ctx)
		c.live(ctx, "configmaps/a")
		c.Expect(c.deletions(ctx, start)).To(BeEmpty(), "and never with more rights than it had")
	}},
	entry{name: "goes on when its identity gets its rights back", play: func(ctx context.Context, c *scene) {
		c.deployer(ctx)
		c.deliver(ctx, configMap("a", "1"))
		c.erase(ctx, "rolebindings.rbac.authorization.k8s.io/deployer")
		c.remove(ctx)
		c.fails(ctx, "Ready", corev1alpha1.ReasonForbidden)
		c.deployer(ctx)
		c.gone(ctx)
		c.Expect(c.find(ctx, "configmaps/a")).To(BeNil())
	}},
	entry{name: "together with its namespace, Cluster, Secret and source cleans the target", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, configMap("a", "1"), configMap("b", "1"))
		c.Expect(c.hostKube.CoreV1().Namespaces().Delete(ctx, c.ns, metav1.DeleteOptions{})).To(Succeed())
		c.Eventually(ctx, func() bool {
			_, err := c.hostKube.CoreV1().Namespaces().Get(ctx, c.ns, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		}).Should(BeTrue(), "the namespace is held up")
		c.Expect(c.find(ctx, "configmaps/a")).To(BeNil())
		c.Expect(c.find(ctx, "configmaps/b")).To(BeNil())
	}},
	entry{name: "while its target is away waits, says so, and goes on when it is back", play: func(ctx context.Context, c *scene) {
		d := c.unreachable(ctx, nil)
		defer d.shut()
		c.remove(ctx)
		c.fails(ctx, "Ready", corev1alpha1.ReasonTargetUnreachable, "2 objects", "far", "goes on by itself when that is mended", "spec.deletionPolicy: orphan")
		c.Expect(c.get(ctx).Status.Sync.UnreachableSince).NotTo(BeNil())
		c.Expect(conditionIs(c.get(ctx), "Healthy", metav1.ConditionUnknown, "")).To(Succeed())
		c.Expect(d.unlock()).To(Succeed())
		c.gone(ctx)
		c.Expect(c.find(ctx, "configmaps/a")).To(BeNil())
	}},
	entry{name: "while its target is away can be let go as orphaned at once", play: func(ctx context.Context, c *scene) {
		c.unreachable(ctx, nil)
		c.remove(ctx)
		c.fails(ctx, "Ready", corev1alpha1.ReasonTargetUnreachable)
		c.change(ctx, func(r *corev1alpha1.Release) { r.Spec.DeletionPolicy = corev1alpha1.DeletionPolicyOrphan })
		c.gone(ctx)
		c.Expect(c.live(ctx, "configmaps/a")).To(c.ours("app"))
		c.told(ctx, "Orphaned", "ConfigMap $ns/a, ConfigMap $ns/b")
	}},
	entry{name: "while its target is away is let go after the time of its annotation", play: func(ctx context.Context, c *scene) {
		c.unreachable(ctx, map[string]string{corev1alpha1.AnnotationOrphanAfter: "5s"})
		began := time.Now()
		c.remove(ctx)
		c.fails(ctx, "Ready", corev1alpha1.ReasonTargetUnreachable, "its annotation convoy.kumodo.io/orphan-after: 5s lets it go at")
		c.gone(ctx)
		c.Expect(time.Since(began)).To(BeNumerically(">=", 4*time.Second))
		c.Expect(c.live(ctx, "configmaps/a")).To(c.ours("app"))
		c.told(ctx, "Orphaned", "left in the cluster with the marks of this Release: ConfigMap $ns/a, ConfigMap $ns/b", "convoy.kumodo.io/orphan-after: 5s")
	}},
	entry{name: "while its target is away gets the annotation then", play: func(ctx context.Context, c *scene) {
		c.unreachable(ctx, nil)
		c.remove(ctx)
		c.fails(ctx, "Ready", corev1alpha1.ReasonTargetUnreachable)
		c.change(ctx, func(r *corev1alpha1.Release) {
			metav1.SetMetaDataAnnotation(&r.ObjectMeta, corev1alpha1.AnnotationOrphanAfter, "1s")
		})
		c.gone(ctx)
		c.told(ctx, "Orphaned", "ConfigMap $ns/a")
	}},
	entry{name: "whose Cluster is gone is let go after the time of its annotation", play: func(ctx context.Context, c *scene) {
		c.annotations = map[string]string{corev1alpha1.AnnotationOrphanAfter: "2s"}
		c.deliver(ctx, configMap("a", "1"))
		c.Expect(c.api.CoreV1alpha1().Clusters(c.ns).Delete(ctx, cluster, metav1.DeleteOptions{})).To(Succeed())
		c.remove(ctx)
		c.gone(ctx)
		c.told(ctx, "Orphaned", "ConfigMap $ns/a")
		c.Expect(c.live(ctx, "configmaps/a")).To(c.ours("app"))
	}},
	entry{name: "with the annotation and a target that answers is deleted as ever", play: func(ctx context.Context, c *scene) {
		c.annotations = map[string]string{corev1alpha1.AnnotationOrphanAfter: "1s"}
		c.deliver(ctx, configMap("a", "1"))
		c.edit(ctx, "configmaps/a", "holder", `{"metadata":{"finalizers":["example.test/hold"]}}`)
		c.remove(ctx)
		c.fails(ctx, "Ready", corev1alpha1.ReasonDeleting)
		c.Consistently(ctx, func() []string { return c.inventory(ctx) }, 3*time.Second).Should(Equal([]string{"ConfigMap/a"}))
		c.edit(ctx, "configmaps/a", "holder", `{"metadata":{"finalizers":null}}`)
		c.gone(ctx)
		c.Expect(c.find(ctx, "configmaps/a")).To(BeNil())
	}},
)

var _ = table("A target that is away",
	entry{name: "is told of by the Release, whose health is not known any more, and others go on", play: func(ctx context.Context, c *scene) {
		near := c.second("near")
		near.deliver(ctx, configMap("near", "1"))
		d := c.unreachable(ctx, nil)
		defer d.shut()
		c.offer(ctx, configMap("a", "2"))
		c.fails(ctx, "Ready", corev1alpha1.ReasonTargetUnreachable, "far")
		c.says(ctx, "Healthy", metav1.ConditionUnknown, "")
		near.deliver(ctx, configMap("near", "2"))
		c.Expect(d.unlock()).To(Succeed())
		c.ready(ctx)
		c.Expect(c.live(ctx, "configmaps/a")).To(has("data.v", "2"))
		c.Expect(fmt.Sprint(near.get(ctx).Status.Sync)).NotTo(ContainSubstring("far"))
	}},
)
