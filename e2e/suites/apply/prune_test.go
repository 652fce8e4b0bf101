// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

var _ = table("What leaves the source",
	entry{name: "is deleted after what is new was applied", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, configMap("a", "1"))
		start := c.now(ctx)
		c.deliver(ctx, configMap("b", "1"))
		c.Expect(c.find(ctx, "configmaps/a")).To(BeNil())
		c.Expect(c.writes(ctx, start)).To(Equal([]string{"patch configmaps/b", "delete configmaps/a"}))
		c.holds(ctx, "ConfigMap/b")
	}},
	entry{name: "stays with prune: false", play: func(ctx context.Context, c *scene) {
		no := false
		c.spec.Sync.Prune = &no
		c.deliver(ctx, configMap("a", "1"), configMap("b", "1"))
		c.deliver(ctx, configMap("b", "1"))
		c.Expect(c.live(ctx, "configmaps/a")).To(c.ours("app"))
	}},
	entry{name: "and was made anew by hand stays", play: func(ctx context.Context, c *scene) {
		c.withoutDrift()
		c.deliver(ctx, configMap("a", "1"), configMap("b", "1"))
		c.erase(ctx, "configmaps/a")
		c.byHand(ctx, "hand", configMap("a", "by hand"))
		c.deliver(ctx, configMap("b", "1"))
		c.Expect(c.live(ctx, "configmaps/a")).To(has("data.v", "by hand"))
		c.Expect(c.kept(ctx)).To(ConsistOf(ContainSubstring("ConfigMap " + c.ns + "/a: is not marked as this Release's any more")))
	}},
	entry{name: "and was restored from a backup, marks and all, stays without them", play: func(ctx context.Context, c *scene) {
		c.withoutDrift()
		c.deliver(ctx, configMap("a", "1"), configMap("b", "1"))
		backup := c.live(ctx, "configmaps/a")
		c.erase(ctx, "configmaps/a")
		restored := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"v": "restored"}}}
		restored.SetName("a")
		restored.SetLabels(backup.GetLabels())
		restored.SetAnnotations(backup.GetAnnotations())
		client, _ := c.resource("configmaps/a")
		_, err := client.Create(ctx, restored, metav1.CreateOptions{FieldManager: "backup"})
		c.Expect(err).NotTo(HaveOccurred())
		c.deliver(ctx, configMap("b", "1"))
		c.Expect(c.live(ctx, "configmaps/a")).To(And(has("data.v", "restored"), unmarked()))
		c.Expect(c.kept(ctx)).To(ConsistOf(ContainSubstring("was replaced by another object of its name")))
	}},
	entry{name: "and is held by a finalizer holds nothing up, and goes when that goes", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, configMap("a", "1"), configMap("b", "1"))
		c.edit(ctx, "configmaps/a", "holder", `{"metadata":{"finalizers":["example.test/hold"]}}`)
		c.deliver(ctx, configMap("b", "1"))
		c.Expect(c.message(ctx, "Applied")).To(ContainSubstring("waiting for the deletion of ConfigMap " + c.ns + "/a (is being deleted, waits for finalizers [example.test/hold])"))
		c.holds(ctx, "ConfigMap/a", "ConfigMap/b")
		c.deliver(ctx, configMap("b", "2"))
		c.edit(ctx, "configmaps/a", "holder", `{"metadata":{"finalizers":null}}`)
		c.holds(ctx, "ConfigMap/b")
	}},
	entry{name: "and may not be deleted stays in the inventory, the rest is gone", play: func(ctx context.Context, c *scene) {
		c.spec.ServiceAccountName = "deployer"
		role := func(verbs string) string {
			return object("rbac.authorization.k8s.io/v1 Role", "deployer, namespace: $ns", `rules: [{apiGroups: [""], resources: [configmaps], verbs: ["*"]}, {apiGroups: [""], resources: [secrets], verbs: [`+verbs+`]}]`)
		}
		c.byHand(ctx, "hand", role("get, list, watch, create, patch")+"\n---\n"+object("rbac.authorization.k8s.io/v1 RoleBinding", "deployer, namespace: $ns",
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: deployer}, subjects: [{kind: ServiceAccount, name: deployer, namespace: $ns}]"))
		c.deliver(ctx, configMap("a", "1"), configMap("b", "1"), object("v1 Secret", "s", "stringData: {a: x}"))
		c.offer(ctx, configMap("b", "1"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonForbidden, "deleting Secret $ns/s", `cannot delete resource "secrets"`)
		c.Expect(c.find(ctx, "configmaps/a")).To(BeNil())
		c.holds(ctx, "ConfigMap/b", "Secret/s")
		c.edit(ctx, "roles.rbac.authorization.k8s.io/deployer", "hand", `{"rules":[{"apiGroups":[""],"resources":["configmaps","secrets"],"verbs":["*"]}]}`)
		c.sync(ctx)
		c.ready(ctx)
		c.holds(ctx, "ConfigMap/b")
		c.Expect(c.find(ctx, "secrets/s")).To(BeNil())
	}},
	entry{name: "goes in the reverse order, and each with its UID", play: func(ctx context.Context, c *scene) {
		c.spec.Sync.PruneCRDs, c.spec.Sync.AllowEmpty = true, true
		everything := []string{
			object("v1 Namespace", "$ns-x", ""), definition(""), widget("w, namespace: $ns-x"), configMap("a, namespace: $ns-x", "1"),
			deployment("web, namespace: $ns-x", "i"), object("rbac.authorization.k8s.io/v1 RoleBinding", "r, namespace: $ns-x",
				"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: none}"),
			object("admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration", "$ns", ""), volume("$ns-0"), claim("data, namespace: $ns-x"),
		}
		c.deliver(ctx, everything...)
		start := c.now(ctx)
		c.offer(ctx, "# nothing")
		c.holds(ctx)
		c.Expect(c.deletions(ctx, start)).To(inOrder("delete validatingwebhookconfigurations/"+c.ns, "delete widgets/w", "delete deployments/web",
			"delete persistentvolumeclaims/data", "delete rolebindings/r", "delete configmaps/a", "delete customresourcedefinitions/widgets."+c.ns+".test",
			"delete namespaces/"+c.ns+"-x"))
		c.vanishes(ctx, "namespaces/$ns-x")
	}},
	entry{name: "takes its pods along before their configuration goes", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, deployment("web", "i"), configMap("settings", "1"), configMap("stays", "1"))
		pods, err := c.targetKube.CoreV1().Pods(c.ns).List(ctx, metav1.ListOptions{})
		c.Expect(err).NotTo(HaveOccurred())
		c.Expect(pods.Items).To(HaveLen(1))
		pod := "pods/" + pods.Items[0].Name
		c.edit(ctx, pod, "shutdown", `{"metadata":{"finalizers":["example.test/shutdown"]}}`)
		c.deliver(ctx, configMap("stays", "1"))
		c.Expect(c.message(ctx, "Applied")).To(ContainSubstring("waiting for the deletion of Deployment " + c.ns + "/web"))
		c.Expect(c.live(ctx, "configmaps/settings")).To(c.ours("app"))
		c.edit(ctx, pod, "shutdown", `{"metadata":{"finalizers":null}}`)
		c.holds(ctx, "ConfigMap/stays")
		c.Expect(c.find(ctx, "configmaps/settings")).To(BeNil())
	}},
	entry{name: "was all there is: nothing goes without allowEmpty", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, configMap("a", "1"))
		start := c.now(ctx)
		c.offer(ctx, "# nothing")
		c.fails(ctx, "Applied", corev1alpha1.ReasonEmptyRender, "spec.sync.allowEmpty")
		c.Expect(c.deletions(ctx, start)).To(BeEmpty())
		c.change(ctx, func(r *corev1alpha1.Release) { r.Spec.Sync.AllowEmpty = true })
		c.ready(ctx)
		c.vanishes(ctx, "configmaps/a")
	}},
)

// protected is a case of an object that is protected, by its source or live by hand: it stays
// when it leaves the source, is told of, is adopted when it comes back, and stays when the
// Release is deleted.
func protected(name, ref, manifest, byHand, told string, others ...string) entry {
	return entry{name: name, play: func(ctx context.Context, c *scene) {
		c.withoutDrift()
		all := append([]string{manifest, configMap("stays", "1")}, others...)
		c.deliver(ctx, all...)
		uid := c.uid(ctx, ref)
		if byHand != "" {
			c.edit(ctx, ref, "hand", byHand)
		}
		c.deliver(ctx, all[1:]...)
		c.Expect(c.live(ctx, ref)).To(And(has("metadata.uid", uid), unmarked()))
		c.Expect(c.kept(ctx)).To(ConsistOf(ContainSubstring(told)))
		c.told(ctx, "Kept", told)
		c.deliver(ctx, all...)
		c.Expect(c.live(ctx, ref)).To(And(has("metadata.uid", uid), c.ours("app")))
		c.remove(ctx)
		c.gone(ctx)
		c.Expect(c.live(ctx, ref)).To(And(has("metadata.uid", uid), unmarked()))
		c.Expect(c.find(ctx, "configmaps/stays")).To(BeNil())
	}}
}

var _ = table("What is protected stays, and is adopted when it comes back:",
	protected("a claim, by Helm's annotation", "persistentvolumeclaims/data", claim("data, annotations: {"+helmed+"}"), "",
		"kept, as its annotation helm.sh/resource-policy: keep says", volume("$ns-0")), // which stays for the claim
	protected("a definition, by Helm's annotation", "customresourcedefinitions/widgets.$ns.test", definition(", annotations: {"+helmed+"}"), "",
		"kept, as its annotation helm.sh/resource-policy: keep says"),
	protected("a Secret, by convoy's annotation", "secrets/s", object("v1 Secret", "s, annotations: {"+kept+"}", "stringData: {a: x}"), "",
		"kept, as its annotation convoy.kumodo.io/prune: disabled says"),
	protected("a ConfigMap, by hand", "configmaps/a", configMap("a", "1"), fmt.Sprintf(`{"metadata":{"annotations":{%q:"disabled"}}}`, corev1alpha1.AnnotationPrune),
		"kept, as its annotation convoy.kumodo.io/prune: disabled says"),
)

var _ = table("Claims and namespaces",
	entry{name: "a claim of the source is pruned, one that a StatefulSet made is not", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, volume("$ns-0"), volume("$ns-1"), claim("data"), statefulSet("db", "db", "i", "1Gi"), configMap("stays", "1"))
		made := c.uid(ctx, "persistentvolumeclaims/data-db-0")
		c.deliver(ctx, volume("$ns-0"), volume("$ns-1"), configMap("stays", "1"))
		c.vanishes(ctx, "statefulsets.apps/db")
		c.vanishes(ctx, "persistentvolumeclaims/data")
		c.holds(ctx, "PersistentVolume/"+c.ns+"-0", "PersistentVolume/"+c.ns+"-1", "ConfigMap/stays")
		c.Expect(c.live(ctx, "persistentvolumeclaims/data-db-0")).To(And(has("metadata.uid", made), has("metadata.deletionTimestamp", nil)))
	}},
	entry{name: "a volume stays with the claim that is bound to it", play: func(ctx context.Context, c *scene) {
		c.byHand(ctx, "hand", claim("data, namespace: $ns"))
		c.deliver(ctx, volume("$ns-0"), configMap("stays", "1"))
		c.Eventually(ctx, func() any { return at(c.live(ctx, "persistentvolumeclaims/data"), "status.phase") }).Should(Equal("Bound"))
		c.deliver(ctx, configMap("stays", "1"))
		c.holds(ctx, "ConfigMap/stays")
		c.Expect(c.live(ctx, "persistentvolumes/$ns-0")).To(And(unmarked(), has("metadata.deletionTimestamp", nil), has("status.phase", "Bound")))
		c.Expect(c.kept(ctx)).To(ConsistOf(ContainSubstring("PersistentVolumeClaim " + c.ns + "/data is bound to it")))
	}},
	entry{name: "a namespace stays with the claims that a StatefulSet made in it", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, object("v1 Namespace", "$ns-x", ""), volume("$ns-0"), statefulSet("db, namespace: $ns-x", "db", "i", "1Gi"))
		c.remove(ctx)
		c.gone(ctx)
		c.told(ctx, "Kept", "Namespace $ns-x", "PersistentVolumeClaim $ns-x/data-db-0 is in it", "prune: enabled")
		c.told(ctx, "Kept", "PersistentVolume $ns-0", "bound to it")
		c.Expect(c.live(ctx, "namespaces/$ns-x")).To(And(unmarked(), has("status.phase", "Active")))
		c.Expect(c.live(ctx, "persistentvolumeclaims/$ns-x/data-db-0")).To(has("metadata.deletionTimestamp", nil))
	}},
	entry{name: "a namespace goes with those claims where its annotation allows it", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, object("v1 Namespace", "$ns-x, annotations: {convoy.kumodo.io/prune: enabled}", ""), volume("$ns-0"), statefulSet("db, namespace: $ns-x", "db", "i", "1Gi"))
		c.remove(ctx)
		c.gone(ctx)
		c.Expect(c.find(ctx, "namespaces/$ns-x")).To(BeNil())
	}},
	entry{name: "a namespace waits for claims that go with their StatefulSet, and goes", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, object("v1 Namespace", "$ns-x", ""), volume("$ns-0"), withRetention(statefulSet("db, namespace: $ns-x", "db", "i", "1Gi")))
		c.remove(ctx)
		c.gone(ctx)
		c.Expect(c.find(ctx, "namespaces/$ns-x")).To(BeNil())
	}},
	entry{name: "a namespace stays for what is kept in it, and says so", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, object("v1 Namespace", "$ns-x", ""), configMap("a, namespace: $ns-x, annotations: {"+kept+"}", "1"), configMap("b, namespace: $ns-x", "1"))
		c.remove(ctx)
		c.gone(ctx)
		c.Expect(c.live(ctx, "configmaps/$ns-x/a")).To(unmarked())
		c.Expect(c.find(ctx, "configmaps/$ns-x/b")).To(BeNil())
		c.Expect(c.live(ctx, "namespaces/$ns-x")).To(has("status.phase", "Active"))
	}},
	entry{name: "a namespace stays for the objects of another Release", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, object("v1 Namespace", "$ns-x", ""), configMap("a, namespace: $ns-x", "1"))
		b := c.second("b")
		b.deliver(ctx, configMap("b, namespace: $ns-x", "1"))
		c.remove(ctx)
		c.gone(ctx)
		c.told(ctx, "Kept", "Namespace $ns-x", "objects of Release $ns/b are in it")
		c.Expect(c.live(ctx, "configmaps/$ns-x/b")).To(c.ours("b"))
		c.Expect(c.live(ctx, "namespaces/$ns-x")).To(unmarked())
	}},
)
