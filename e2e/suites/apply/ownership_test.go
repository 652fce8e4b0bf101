// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// installation is the name of this convoy in marks.
func (c *scene) installation(ctx context.Context) string {
	system, err := c.hostKube.CoreV1().Namespaces().Get(ctx, "kube-system", metav1.GetOptions{})
	c.Expect(err).NotTo(HaveOccurred())
	return string(system.UID)
}

// markedBy is a ConfigMap that somebody else marked.
func markedBy(mark string) string {
	return configMap("a, annotations: {convoy.kumodo.io/release: "+mark+"}, labels: {convoy.kumodo.io/owner: x}", "theirs")
}

var _ = table("An object of another Release",
	entry{name: "is left alone, whoever is synced how often; the second to come is told whose it is", play: func(ctx context.Context, c *scene) {
		shared := func(annotations, more string) string {
			return object("v1 Namespace", "$ns-shared, annotations: {"+annotations+"}, labels: {from: "+more+"}", "")
		}
		c.deliver(ctx, shared(kept, "a"))
		b := c.second("b")
		b.offer(ctx, shared("", "b"), configMap("b", "1"))
		b.fails(ctx, "Applied", corev1alpha1.ReasonOwnershipConflict, "Namespace $ns-shared", "belongs to Release $ns/app")
		version := c.live(ctx, "namespaces/$ns-shared").GetResourceVersion()
		for range 3 {
			c.sync(ctx)
			c.ready(ctx)
			b.sync(ctx)
		}
		c.Expect(c.live(ctx, "namespaces/$ns-shared").GetResourceVersion()).To(Equal(version))
		start := c.now(ctx)
		b.deliver(ctx, configMap("b", "1"))
		c.Expect(c.deletions(ctx, start)).To(BeEmpty(), "b never had it")
		c.Expect(c.live(ctx, "namespaces/$ns-shared")).To(And(c.ours("app"), has("metadata.labels.from", "a")))
	}},
	entry{name: "of another convoy is not touched at all", play: func(ctx context.Context, c *scene) {
		c.byHand(ctx, "convoy", markedBy("elsewhere/team/app"))
		version := c.live(ctx, "configmaps/a").GetResourceVersion()
		c.offer(ctx, configMap("a", "ours"), configMap("b", "1"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonOwnershipConflict, "Release team/app of another convoy (installation elsewhere)")
		c.Expect(c.live(ctx, "configmaps/a").GetResourceVersion()).To(Equal(version))
		c.Expect(c.live(ctx, "configmaps/b")).To(c.ours("app"))
		c.remove(ctx)
		c.gone(ctx)
		c.Expect(c.live(ctx, "configmaps/a")).To(has("data.v", "theirs"))
	}},
	entry{name: "that does not exist is taken over", play: func(ctx context.Context, c *scene) {
		c.byHand(ctx, "convoy", markedBy(c.installation(ctx)+"/"+c.ns+"/ghost"))
		uid := c.uid(ctx, "configmaps/a")
		c.deliver(ctx, configMap("a", "ours"))
		c.Expect(c.live(ctx, "configmaps/a")).To(And(has("data.v", "ours"), has("metadata.uid", uid), c.ours("app")))
	}},
	entry{name: "is adopted when that was deleted with deletionPolicy orphan", play: func(ctx context.Context, c *scene) {
		c.spec.DeletionPolicy = corev1alpha1.DeletionPolicyOrphan
		c.deliver(ctx, configMap("a", "1"), deployment("web", "i"))
		uid, start := c.uid(ctx, "configmaps/a"), c.now(ctx)
		c.remove(ctx)
		c.gone(ctx)
		c.Expect(c.live(ctx, "configmaps/a")).To(unmarked())
		renamed := c.second("renamed")
		renamed.deliver(ctx, configMap("a", "1"), deployment("web", "i"))
		c.Expect(c.live(ctx, "configmaps/a")).To(And(has("metadata.uid", uid), c.ours("renamed")))
		c.Expect(c.deletions(ctx, start)).To(BeEmpty())
	}},
	entry{name: "goes to the one that claims it when the other has it no more", play: func(ctx context.Context, c *scene) {
		c.spec.Sync.Mode = corev1alpha1.SyncModeManual
		c.offer(ctx, configMap("a", "1"), configMap("b", "1"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonWaitingForSync)
		c.sync(ctx)
		c.ready(ctx)
		uid, start := c.uid(ctx, "configmaps/a"), c.now(ctx)
		heir := c.second("heir")
		heir.offer(ctx, configMap("a", "2"))
		heir.fails(ctx, "Applied", corev1alpha1.ReasonOwnershipConflict, "hands it over as soon as it has it no more")
		c.deliver(ctx, configMap("b", "1"))
		heir.ready(ctx)
		c.Expect(c.live(ctx, "configmaps/a")).To(And(has("metadata.uid", uid), has("data.v", "2"), c.ours("heir")))
		c.Expect(c.deletions(ctx, start)).To(BeEmpty())
	}},
)
