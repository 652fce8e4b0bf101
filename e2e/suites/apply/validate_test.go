// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"strings"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

var _ = table("Before the first write",
	entry{name: "a kind that nobody serves is refused", play: func(ctx context.Context, c *scene) {
		start := c.now(ctx)
		c.offer(ctx, configMap("a", "1"), object("nowhere.example/v1 Gadget", "g", ""))
		c.fails(ctx, "Rendered", corev1alpha1.ReasonUnknownKind, "Gadget", "app/all.yaml")
		c.Expect(c.writes(ctx, start)).To(BeEmpty())
	}},
	entry{name: "the same object twice is refused, with both places", play: func(ctx context.Context, c *scene) {
		start := c.now(ctx)
		c.offer(ctx, configMap("a", "1"), configMap("a, namespace: $ns", "2"))
		c.fails(ctx, "Rendered", corev1alpha1.ReasonInvalidObjects, "ConfigMap", "app/all.yaml")
		c.Expect(c.writes(ctx, start)).To(BeEmpty())
	}},
	entry{name: "the same environment variable twice is refused, what is deployed stays, and the mended one has one", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, configMap("a", "1"), deployment("web", "i:1"))
		start := c.now(ctx)
		c.offer(ctx, configMap("a", "2"), deployment("web", "i:2", `env: [{name: A, value: "1"}, {name: B, value: b}, {name: A, value: "2"}]`))
		c.fails(ctx, "Applied", corev1alpha1.ReasonInvalidObjects, "Deployment.apps $ns/web", "env[0]", "env[2]", `name "A"`, "mutation")
		c.Expect(c.writes(ctx, start)).To(BeEmpty())
		c.Expect(c.live(ctx, "configmaps/a")).To(has("data.v", "1"))
		c.deliver(ctx, configMap("a", "2"), deployment("web", "i:2", `env: [{name: A, value: "2"}]`))
		c.Expect(at(c.live(ctx, "deployments.apps/web"), "spec.template.spec.containers.0.env")).To(Equal([]any{map[string]any{"name": "A", "value": "2"}}))
	}},
	entry{name: "two names for one port of a Service are refused", play: func(ctx context.Context, c *scene) {
		start := c.now(ctx)
		c.offer(ctx, configMap("a", "1"), service("web", "{name: http, port: 80}, {name: web, port: 80, protocol: TCP}"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonInvalidObjects, "Service $ns/web", "spec.ports[0]", "spec.ports[1]")
		c.Expect(c.writes(ctx, start)).To(BeEmpty())
	}},
	entry{name: "two host ports for one port of a container are refused, and a live object with them is not reduced", play: func(ctx context.Context, c *scene) {
		two := deployment("web", "i", "ports: [{containerPort: 80, hostPort: 80}, {containerPort: 80, hostPort: 81}]")
		c.byHand(ctx, "some-tool", two)
		c.offer(ctx, two)
		c.fails(ctx, "Applied", corev1alpha1.ReasonInvalidObjects, "ports[0]", "ports[1]", "containerPort")
		c.Expect(at(c.live(ctx, "deployments.apps/web"), "spec.template.spec.containers.0.ports")).To(HaveLen(2))
	}},
	entry{name: "what is wrong with a hook is seen, too", play: func(ctx context.Context, c *scene) {
		start := c.now(ctx)
		c.hook("smoke", corev1alpha1.HookPostSync, `{apiVersion: batch/v1, kind: Job, metadata: {name: smoke}, spec: {template: {spec: {
  restartPolicy: Never, containers: [{name: c, image: i, env: [{name: A, value: "1"}, {name: A, value: "2"}]}]}}}}`)
		c.offer(ctx, configMap("a", "1"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonInvalidObjects, "Job.batch $ns/smoke", "env[0]", "env[1]")
		c.Expect(c.writes(ctx, start)).To(BeEmpty())
		c.Expect(c.inventory(ctx)).To(BeEmpty())
	}},
	entry{name: "one port for two protocols is fine", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, service("dns", "{name: udp, port: 53, protocol: UDP}, {name: tcp, port: 53, protocol: TCP}"))
		c.Expect(at(c.live(ctx, "services/dns"), "spec.ports")).To(HaveLen(2))
	}},
	entry{name: "a bad duration of orphan-after is refused by the API, with its name", play: func(ctx context.Context, c *scene) {
		c.deliver(ctx, configMap("a", "1"))
		_, err := c.api.CoreV1alpha1().Releases(c.ns).Patch(ctx, c.name, types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"convoy.kumodo.io/orphan-after":"an hour"}}}`), metav1.PatchOptions{})
		c.Expect(err).To(MatchError(ContainSubstring("metadata.annotations[convoy.kumodo.io/orphan-after]")))
	}},
)

var _ = table("What the target refuses",
	entry{name: "is named with the field; its stage is sent, later stages are not", play: func(ctx context.Context, c *scene) {
		start := c.now(ctx)
		c.offer(ctx, configMap("early", "1"), service("bad", "{port: 70000}"), service("good", "{port: 80}"),
			configMap("later, annotations: {convoy.kumodo.io/stage: \"3\"}", "1"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonApplyFailed, "Service $ns/bad", "spec.ports[0].port", "1 of 2 objects failed", "1 object of a later stage was not tried")
		c.Expect(c.writes(ctx, start)).To(And(ContainElements("patch configmaps/early", "patch services/good"), Not(ContainElement("patch configmaps/later"))))
	}},
	entry{name: "is not quoted when it is a Secret", play: func(ctx context.Context, c *scene) {
		c.offer(ctx, object("v1 Secret", "login", "type: kubernetes.io/dockerconfigjson, stringData: {.dockerconfigjson: hunter2-canary}"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonApplyFailed, "Secret $ns/login")
		c.Expect(c.message(ctx, "Applied")).NotTo(ContainSubstring("canary"))
		c.Expect(c.message(ctx, "Ready")).NotTo(ContainSubstring("canary"))
	}},
	entry{name: "because it is too large says so, and nobody else is held up", play: func(ctx context.Context, c *scene) {
		c.offer(ctx, configMap("large", strings.Repeat("x", 1_040_000)), configMap("larger", strings.Repeat("x", 1_200_000)), configMap("a", "1"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonApplyFailed, "ConfigMap $ns/larger", "1 of 3 objects failed", "Too long")
		c.Expect(at(c.live(ctx, "configmaps/large"), "data.v")).To(HaveLen(1_040_000))
		c.Expect(c.live(ctx, "configmaps/large").GetAnnotations()).NotTo(HaveKey("kubectl.kubernetes.io/last-applied-configuration"))
		c.Expect(c.live(ctx, "configmaps/a")).To(c.ours("app"))
	}},
	entry{name: "two hundred times is counted, and the first few are named", play: func(ctx context.Context, c *scene) {
		var bad []string
		for i := range 200 {
			bad = append(bad, service("bad-"+string(rune('a'+i/26))+string(rune('a'+i%26)), "{port: 70000}"))
		}
		c.offer(ctx, bad...)
		c.fails(ctx, "Applied", corev1alpha1.ReasonApplyFailed, "200 of 200 objects failed", "and 195 more")
		for _, condition := range c.get(ctx).Status.Conditions {
			c.Expect(len(condition.Message)).To(BeNumerically("<", 32<<10))
		}
	}},
	entry{name: "because its namespace does not exist says what helps", play: func(ctx context.Context, c *scene) {
		c.spec.TargetNamespace = c.ns + "-none"
		c.offer(ctx, configMap("a", "1"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonApplyFailed, `namespace "$ns-none" does not exist`, "spec.createNamespace")
	}},
	entry{name: "because its namespace is going is waited for", play: func(ctx context.Context, c *scene) {
		c.spec.TargetNamespace, c.spec.CreateNamespace = c.ns+"-going", true
		c.byHand(ctx, "hand", object("v1 Namespace", "$ns-going", "")+"\n---\n"+configMap("holds, namespace: $ns-going, finalizers: [example.test/hold]", "1"))
		c.erase(ctx, "namespaces/$ns-going")
		c.offer(ctx, configMap("a", "1"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonProgressing, `waits for namespace "$ns-going" to be gone: it is being deleted`)
		c.edit(ctx, "configmaps/$ns-going/holds", "hand", `{"metadata":{"finalizers":null}}`)
		c.ready(ctx)
		c.Expect(c.live(ctx, "configmaps/$ns-going/a")).To(c.ours("app"))
	}},
)
