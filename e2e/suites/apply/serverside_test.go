// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// managers gives the field managers of an object, as "convoy Apply".
func managers(object *unstructured.Unstructured) []string {
	var found []string
	for _, entry := range object.GetManagedFields() {
		found = append(found, strings.TrimSpace(fmt.Sprintf("%s %s %s", entry.Manager, entry.Operation, entry.Subresource)))
	}
	return found
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func failOnConflict(r *corev1alpha1.ReleaseSpec) { r.Sync.Conflicts = corev1alpha1.ConflictsFail }

var _ = table("Server-side apply",
	entry{name: "has one field manager and keeps no copy in an annotation", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, configMap("a", "1"))
		a := c.live(ctx, "configmaps/a")
		c.Expect(managers(a)).To(Equal([]string{"convoy Apply"}))
		c.Expect(a.GetAnnotations()).NotTo(HaveKey(lastApplied))
		c.Expect(a).To(c.ours("app"))
		c.Expect(a.GetLabels()).To(HaveKey(corev1alpha1.LabelOwner))
	}},
	entry{name: "takes away what left the source, and leaves what others wrote", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, object("v1 ConfigMap", "a", `data: {one: "1", two: "2"}`))
		c.edit(ctx, "configmaps/a", "somebody", `{"data":{"three":"3"},"metadata":{"labels":{"team":"x"}}}`)
		c.deliver(ctx, object("v1 ConfigMap", "a", `data: {one: "1"}`))
		a := c.live(ctx, "configmaps/a")
		c.Expect(at(a, "data")).To(Equal(map[string]any{"one": "1", "three": "3"}))
		c.Expect(a.GetLabels()).To(HaveKeyWithValue("team", "x"))
	}},
	entry{name: "takes fields over from another manager", play: func(ctx context.Context, c *scene) {
		c.byHand(ctx, "operator", configMap("a", "theirs"))
		uid := c.uid(ctx, "configmaps/a")
		c.deliver(ctx, configMap("a", "ours"))
		c.Expect(c.live(ctx, "configmaps/a")).To(And(has("data.v", "ours"), has("metadata.uid", uid), c.ours("app")))
	}},
	entry{name: "fails at conflicts if it shall, names field and manager, and sends the others", play: func(ctx context.Context, c *scene) {
		failOnConflict(&c.spec)
		c.byHand(ctx, "operator", configMap("a", "theirs"))
		c.offer(ctx, configMap("a", "ours"), configMap("b", "1"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonApplyConflict, "ConfigMap $ns/a", ".data.v (operator)", "spec.sync.conflicts: override")
		c.Expect(c.live(ctx, "configmaps/a")).To(And(has("data.v", "theirs"), unmarked()))
		c.Expect(c.live(ctx, "configmaps/b")).To(c.ours("app"))
		c.change(ctx, func(r *corev1alpha1.Release) { r.Spec.Sync.Conflicts = corev1alpha1.ConflictsOverride })
		c.ready(ctx)
		c.Expect(c.live(ctx, "configmaps/a")).To(has("data.v", "ours"))
	}},
	entry{name: "renumbers a port instead of adding one", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, service("web", "{name: http, port: 80}"))
		uid := c.uid(ctx, "services/web")
		c.deliver(ctx, service("web", "{name: http, port: 8080}"))
		web := c.live(ctx, "services/web")
		c.Expect(at(web, "spec.ports")).To(HaveLen(1))
		c.Expect(web).To(And(has("spec.ports.0.port", int64(8080)), has("metadata.uid", uid)))
	}},
	entry{name: "leaves the fields that drift.ignore names, with a new image too", play: func(ctx context.Context, c *scene) {
		c.spec.Drift = &corev1alpha1.DriftSpec{Ignore: []corev1alpha1.DriftIgnore{
			{Target: corev1alpha1.ObjectSelector{Kind: "Deployment"}, Paths: []string{"/spec/replicas"}}}}
		c.deliver(ctx, deployment("web", "i:1"))
		c.edit(ctx, "deployments.apps/web", "autoscaler", `{"spec":{"replicas":3}}`)
		c.deliver(ctx, deployment("web", "i:2"))
		c.Expect(c.live(ctx, "deployments.apps/web")).To(And(has("spec.replicas", int64(3)), has("spec.template.spec.containers.0.image", "i:2")))
	}},
	entry{name: "leaves the rules of an aggregated ClusterRole to who fills them in", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx,
			object("rbac.authorization.k8s.io/v1 ClusterRole", "$ns", `aggregationRule: {clusterRoleSelectors: [{matchLabels: {part-of: $ns}}]}, rules: []`),
			object("rbac.authorization.k8s.io/v1 ClusterRole", "$ns-part, labels: {part-of: $ns}", `rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`))
		c.Eventually(ctx, func() any { return at(c.live(ctx, "clusterroles.rbac.authorization.k8s.io/$ns"), "rules") }).Should(HaveLen(1))
		filled := c.live(ctx, "clusterroles.rbac.authorization.k8s.io/$ns").GetResourceVersion()
		c.sync(ctx)
		c.ready(ctx)
		c.Expect(c.live(ctx, "clusterroles.rbac.authorization.k8s.io/$ns").GetResourceVersion()).To(Equal(filled))
	}},
	entry{name: "folds stringData, which is then no difference", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, object("v1 Secret", "s", "stringData: {a: x}, data: {b: eQ==}"))
		s := c.live(ctx, "secrets/s")
		c.Expect(at(s, "data")).To(Equal(map[string]any{"a": "eA==", "b": "eQ=="}))
		c.says(ctx, "InSync", metav1.ConditionTrue, corev1alpha1.ReasonInSync)
		c.sync(ctx)
		c.ready(ctx)
		c.Expect(c.live(ctx, "secrets/s").GetResourceVersion()).To(Equal(s.GetResourceVersion()))
	}},
	entry{name: "drops what only the server sets from manifests", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, object("v1 ConfigMap", `a, uid: 0f0e3ea6-7cc0-4a34-8a8c-a2f0a4b4f6d1, resourceVersion: "1", generation: 7, creationTimestamp: "2020-01-01T00:00:00Z",
  managedFields: [{manager: x, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {}}]`, `data: {v: "1"}`))
		c.Expect(managers(c.live(ctx, "configmaps/a"))).To(Equal([]string{"convoy Apply"}))
	}},
)

var _ = table("Only what changed is sent",
	entry{name: "one of five hundred: one request", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, many(500, "1"))
		start := c.now(ctx)
		c.withoutRequest(ctx, func() {
			c.revision = c.commit(ctx, map[string]string{"app/all.yaml": strings.Replace(many(500, "1"), `cm-250}, data: {v: "1"}`, `cm-250}, data: {v: "2"}`, 1)})
		})
		var texts []string
		for _, r := range c.requests(ctx, start) {
			texts = append(texts, r.String())
		}
		c.Expect(texts).To(Equal([]string{"patch configmaps/cm-250"}), "and no read")
	}},
	entry{name: "the same objects from another commit: none", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, configMap("a", "1"), deployment("web", "i"))
		start := c.now(ctx)
		c.withoutRequest(ctx, func() {
			c.revision = c.commit(ctx, map[string]string{"app/all.yaml": "# moved\n" + configMap("a", "1") + "\n---\n" + deployment("web", "i") + "\n"})
		})
		c.Expect(c.requests(ctx, start)).To(BeEmpty())
	}},
	entry{name: "another spec that renders the same: none", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, configMap("a", "1"))
		start := c.now(ctx)
		c.change(ctx, func(r *corev1alpha1.Release) { r.Spec.Wave = 3 })
		c.ready(ctx)
		c.Expect(c.requests(ctx, start)).To(BeEmpty())
	}},
	entry{name: "a requested sync: what somebody wrote to", play: func(ctx context.Context, c *scene) {
		c.withoutDrift()
		c.deliver(ctx, configMap("a", "1"), configMap("b", "1"))
		b, start := c.live(ctx, "configmaps/b").GetResourceVersion(), c.now(ctx)
		c.edit(ctx, "configmaps/a", "somebody", `{"data":{"v":"by hand"}}`)
		c.sync(ctx)
		c.ready(ctx)
		c.Expect(c.writes(ctx, start)).To(Equal([]string{"patch configmaps/a"}))
		c.Expect(c.live(ctx, "configmaps/a")).To(has("data.v", "1"))
		c.Expect(c.live(ctx, "configmaps/b").GetResourceVersion()).To(Equal(b))
	}},
	entry{name: "what was deleted by hand comes back, and nothing else is written", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, configMap("a", "1"), configMap("b", "1"))
		c.says(ctx, "InSync", metav1.ConditionTrue, corev1alpha1.ReasonInSync)
		b := c.live(ctx, "configmaps/b").GetResourceVersion()
		c.erase(ctx, "configmaps/a")
		c.Expect(c.appears(ctx, "configmaps/a")).To(has("data.v", "1"))
		c.ready(ctx)
		c.Expect(c.live(ctx, "configmaps/b").GetResourceVersion()).To(Equal(b))
	}},
)

// withoutRequest has a commit seen by the look at the source that comes with an interval,
// which the Release gets for that, so that not everything is sent again.
func (a *app) withoutRequest(ctx context.Context, commit func()) {
	commit()
	a.change(ctx, func(r *corev1alpha1.Release) { r.Spec.Sync.Interval = &metav1.Duration{Duration: second} })
	a.ready(ctx)
}

var _ = table("What kubectl wrote",
	entry{name: "by apply is taken over, with what the source has no more", play: func(ctx context.Context, c *scene) {
		c.kubectlOnTarget(ctx, object("v1 ConfigMap", "a", `data: {a: "1", legacy: x}`), "apply", "-f", "-")
		start := c.now(ctx)
		c.deliver(ctx, object("v1 ConfigMap", "a", `data: {a: "1"}`))
		a := c.live(ctx, "configmaps/a")
		c.Expect(at(a, "data")).To(Equal(map[string]any{"a": "1"}))
		c.Expect(a.GetAnnotations()).NotTo(HaveKey(lastApplied))
		c.Expect(managers(a)).To(Equal([]string{"convoy Apply"}))
		c.Expect(c.writes(ctx, start)).To(Equal([]string{"patch configmaps/a", "patch configmaps/a", "patch configmaps/a"}), "the create that meets it, the migration, the apply")
		start = c.now(ctx)
		c.deliver(ctx, object("v1 ConfigMap", "a", `data: {b: "2"}`))
		c.Expect(at(c.live(ctx, "configmaps/a"), "data")).To(Equal(map[string]any{"b": "2"}))
		c.Expect(c.writes(ctx, start)).To(Equal([]string{"patch configmaps/a"}), "once only")
	}},
	entry{name: "by create, edit and patch is taken over", play: func(ctx context.Context, c *scene) {
		c.byHand(ctx, "kubectl-create", object("v1 ConfigMap", "a", `data: {a: "1", created: x}`))
		c.edit(ctx, "configmaps/a", "kubectl-edit", `{"data":{"edited":"x"}}`)
		c.edit(ctx, "configmaps/a", "kubectl-patch", `{"data":{"patched":"x"}}`)
		c.deliver(ctx, object("v1 ConfigMap", "a", `data: {a: "1"}`))
		c.Expect(at(c.live(ctx, "configmaps/a"), "data")).To(Equal(map[string]any{"a": "1"}))
	}},
	entry{name: "by scale, label and annotate stays", play: func(ctx context.Context, c *scene) {
		without := strings.Replace(deployment("web", "i"), "replicas: 1, ", "", 1)
		c.kubectlOnTarget(ctx, without, "create", "-f", "-")
		c.kubectlOnTarget(ctx, "", "scale", "deployment/web", "--replicas=3")
		c.kubectlOnTarget(ctx, "", "label", "deployment/web", "team=x")
		c.deliver(ctx, without)
		web := c.live(ctx, "deployments.apps/web")
		c.Expect(web).To(And(has("spec.replicas", int64(3)), c.ours("app")))
		c.Expect(web.GetLabels()).To(HaveKeyWithValue("team", "x"))
	}},
	entry{name: "and other tools wrote: theirs stays", play: func(ctx context.Context, c *scene) {
		c.byHand(ctx, "helm", object("v1 ConfigMap", "a", `data: {a: "1", theirs: x}`))
		c.deliver(ctx, object("v1 ConfigMap", "a", `data: {a: "1"}`))
		c.Expect(at(c.live(ctx, "configmaps/a"), "data")).To(Equal(map[string]any{"a": "1", "theirs": "x"}))
	}},
	entry{name: "in a Service: one port is left when it is renumbered", play: func(ctx context.Context, c *scene) {
		c.byHand(ctx, "kubectl-create", service("web", "{name: http, port: 80}"))
		uid := c.uid(ctx, "services/web")
		c.deliver(ctx, service("web", "{name: http, port: 8080}"))
		web := c.live(ctx, "services/web")
		c.Expect(at(web, "spec.ports")).To(HaveLen(1))
		c.Expect(web).To(And(has("spec.ports.0.port", int64(8080)), has("metadata.uid", uid)))
	}},
	entry{name: "is not touched where conflicts fail", play: func(ctx context.Context, c *scene) {
		failOnConflict(&c.spec)
		c.byHand(ctx, "kubectl-create", object("v1 ConfigMap", "a", `data: {a: theirs, legacy: x}`))
		c.offer(ctx, object("v1 ConfigMap", "a", `data: {a: ours}`))
		c.fails(ctx, "Applied", corev1alpha1.ReasonApplyConflict, ".data.a (kubectl-create)")
		c.Expect(at(c.live(ctx, "configmaps/a"), "data")).To(Equal(map[string]any{"a": "theirs", "legacy": "x"}))
	}},
)
