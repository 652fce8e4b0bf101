// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

var _ = table("Order",
	entry{name: "namespace, definition, custom resource and content come in one first sync without a failed attempt", play: func(ctx context.Context, c *scene) {
		c.spec.Sync.Mode = corev1alpha1.SyncModeManual
		start := c.now(ctx)
		c.offer(ctx, widget("w, namespace: $ns-x"), configMap("a, namespace: $ns-x", "1"), object("v1 Namespace", "$ns-x", ""), definition(""))
		c.fails(ctx, "Applied", corev1alpha1.ReasonWaitingForSync)
		c.Expect(c.plan(ctx)).To(ConsistOf("create Namespace/"+c.ns+"-x", "create CustomResourceDefinition/widgets."+c.ns+".test",
			"create ConfigMap/a simulated", "create Widget/w simulated"))
		c.sync(ctx)
		c.ready(ctx)
		for _, request := range c.requests(ctx, start) {
			c.Expect(request.writes() && request.ResponseStatus.Code >= 400).To(BeFalse(), request.String())
		}
		c.Expect(c.writes(ctx, start)).To(inOrder("patch customresourcedefinitions/widgets."+c.ns+".test", "patch configmaps/a", "patch widgets/w"))
		c.Expect(c.get(ctx).Status.History).To(HaveLen(1))
	}},
	entry{name: "createNamespace makes the namespace first, which is nobody's and stays", play: func(ctx context.Context, c *scene) {
		c.spec.TargetNamespace, c.spec.CreateNamespace = c.ns+"-x", true
		start := c.now(ctx)
		c.deliver(ctx, configMap("a", "1"))
		c.Expect(c.writes(ctx, start)).To(Equal([]string{"create namespaces/" + c.ns + "-x", "patch configmaps/a"}))
		c.Expect(c.live(ctx, "namespaces/$ns-x")).To(unmarked())
		c.remove(ctx)
		c.gone(ctx)
		c.Expect(c.find(ctx, "configmaps/$ns-x/a")).To(BeNil())
		c.Expect(at(c.live(ctx, "namespaces/$ns-x"), "status.phase")).To(Equal("Active"))
	}},
	entry{name: "a definition that comes late is followed by its custom resources", play: func(ctx context.Context, c *scene) {
		start := c.now(ctx)
		c.deliver(ctx, widget("w"), definition(`, annotations: {convoy.kumodo.io/stage: "3"}`))
		c.Expect(c.writes(ctx, start)).To(Equal([]string{"patch customresourcedefinitions/widgets." + c.ns + ".test", "patch widgets/w"}))
	}},
	entry{name: "a namespace that comes late is followed by what is in it, and goes after that", play: func(ctx context.Context, c *scene) {
		start := c.now(ctx)
		c.deliver(ctx, configMap("a, namespace: $ns-late", "1"), object("v1 Namespace", `$ns-late, annotations: {convoy.kumodo.io/stage: "2"}`, ""))
		c.Expect(c.writes(ctx, start)).To(Equal([]string{"patch namespaces/" + c.ns + "-late", "patch configmaps/a"}))
		c.remove(ctx)
		c.gone(ctx)
		c.Expect(c.deletions(ctx, start)).To(Equal([]string{"delete configmaps/a", "delete namespaces/" + c.ns + "-late"}))
	}},
	entry{name: "configuration comes before workloads, webhooks come after them", play: func(ctx context.Context, c *scene) {
		start := c.now(ctx)
		c.deliver(ctx, object("admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration", "$ns", ""), deployment("web", "i"), configMap("a", "1"),
			object("rbac.authorization.k8s.io/v1 Role", "r", "rules: []"), object("v1 ServiceAccount", "s", ""))
		writes := c.writes(ctx, start)
		c.Expect(writes).To(inOrder("patch configmaps/a", "patch deployments/web", "patch validatingwebhookconfigurations/"+c.ns))
		c.Expect(writes).To(inOrder("patch serviceaccounts/s", "patch deployments/web"))
	}},
	entry{name: "a stage that failed stops the later ones, and the next revision goes on by itself", play: func(ctx context.Context, c *scene) {
		early := `, annotations: {convoy.kumodo.io/stage: "-1"}`
		start := c.now(ctx)
		c.offer(ctx, job("prepare-1"+early, failing), deployment("web", "i"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonWaitingForStage, "stage -1", "Job $ns/prepare-1 is degraded", "ailed")
		c.Expect(c.writes(ctx, start)).To(Equal([]string{"patch jobs/prepare-1"}))
		c.deliver(ctx, job("prepare-2"+early, ""), deployment("web", "i"))
		c.Expect(c.writes(ctx, start)).To(inOrder("patch jobs/prepare-1", "patch jobs/prepare-2", "patch deployments/web", "delete jobs/prepare-1"))
	}},
	entry{name: "a stage begins when the one before is healthy, not when it is on its way", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, slowDeployment("web", "i", "2s"), configMap(`after, annotations: {convoy.kumodo.io/stage: "5"}`, "1"))
		web, after := c.live(ctx, "deployments.apps/web"), c.live(ctx, "configmaps/after")
		c.Expect(after.GetCreationTimestamp().Sub(web.GetCreationTimestamp().Time)).To(BeNumerically(">=", 2*time.Second))
	}},
	entry{name: "so many objects are sent at once, and no more", play: func(ctx context.Context, c *scene) {
		start := c.now(ctx)
		c.deliver(ctx, many(80, "1"))
		var open []request
		most := 0
		for _, r := range c.requests(ctx, start) {
			if r.Verb != "patch" {
				continue
			}
			var still []request
			for _, other := range open {
				if other.StageTimestamp.After(r.RequestReceivedTimestamp) {
					still = append(still, other)
				}
			}
			open = append(still, r)
			most = max(most, len(open))
		}
		c.Expect(most).To(And(BeNumerically(">", 1), BeNumerically("<=", 8)), "--apply-concurrency")
	}},
	entry{name: "one commit for two Releases keeps their order", play: func(ctx context.Context, c *scene) {
		base := c.second("base")
		c.spec.DependsOn = []corev1alpha1.Dependency{{Name: "base"}}
		both := func(n string) map[string]string {
			return map[string]string{"base/all.yaml": job("migrate-"+n, "kwok.convoy.test/delay: 1s"), "app/all.yaml": configMap("a", n)}
		}
		c.revision = c.commit(ctx, both("1"))
		base.revision = c.revision
		base.sync(ctx)
		c.sync(ctx)
		c.ready(ctx)
		start := c.now(ctx)
		c.revision = c.commit(ctx, both("2"))
		c.sync(ctx) // the one that has to wait is asked first
		c.ready(ctx)
		c.Expect(c.writes(ctx, start)).To(inOrder("patch jobs/migrate-2", "patch configmaps/a"))
		finished, err := time.Parse(time.RFC3339, at(c.live(ctx, "jobs.batch/migrate-2"), "status.completionTime").(string))
		c.Expect(err).NotTo(HaveOccurred())
		for _, r := range c.requests(ctx, start) {
			if r.String() == "patch configmaps/a" {
				c.Expect(r.RequestReceivedTimestamp).To(BeTemporally(">=", finished))
			}
		}
	}},
	entry{name: "a Release keeps what it has while the one that it depends on fails", play: func(ctx context.Context, c *scene) {
		base := c.second("base")
		c.spec.DependsOn = []corev1alpha1.Dependency{{Name: "base"}}
		c.revision = c.commit(ctx, map[string]string{"base/all.yaml": configMap("b", "1"), "app/all.yaml": configMap("a", "1")})
		base.sync(ctx)
		c.sync(ctx)
		c.ready(ctx)
		c.revision = c.commit(ctx, map[string]string{"base/all.yaml": job("migrate", failing), "app/all.yaml": configMap("a", "2")})
		c.sync(ctx)
		c.Eventually(ctx, func() []string {
			if sync := c.get(ctx).Status.Sync; sync != nil {
				return sync.BlockedBy
			}
			return nil
		}).Should(ContainElement(ContainSubstring("base")))
		base.fails(ctx, "Healthy", corev1alpha1.ReasonDegraded, "Job $ns/migrate")
		c.Expect(c.live(ctx, "configmaps/a")).To(has("data.v", "1"))
		c.revision = c.commit(ctx, map[string]string{"base/all.yaml": configMap("b", "2")})
		base.sync(ctx)
		base.revision = c.revision
		base.ready(ctx)
		c.ready(ctx)
		c.Expect(c.live(ctx, "configmaps/a")).To(has("data.v", "2"))
	}},
)

var _ = table("What is large",
	entry{name: "fits: inline values of 800 kB", play: func(ctx context.Context, c *scene) {
		values, err := json.Marshal(map[string]string{"v": "1", "filler": strings.Repeat("x", 800_000)})
		c.Expect(err).NotTo(HaveOccurred())
		c.spec.Render = &corev1alpha1.RenderSpec{Type: corev1alpha1.RenderHelm, Helm: &corev1alpha1.HelmRender{Values: &runtime.RawExtension{Raw: values}}}
		c.offerFiles(ctx, map[string]string{"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n",
			"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {v: {{ .Values.v | quote }}, size: {{ len .Values.filler | quote }}}\n"})
		c.ready(ctx)
		c.Expect(at(c.live(ctx, "configmaps/a"), "data")).To(Equal(map[string]any{"v": "1", "size": "800000"}))
	}},
)
