// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/framework/httpserver"
	"kumodo.io/convoy/e2e/framework/process"
)

// webhook is the configuration of a webhook for Widgets whose backend listens at a port of
// the loopback, or will.
func (c *scene) webhook(port int) string {
	return object("admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration", "$ns", fmt.Sprintf(`webhooks: [{
  name: widgets.$ns.test, sideEffects: None, admissionReviewVersions: [v1], failurePolicy: Fail, timeoutSeconds: 2,
  clientConfig: {url: "https://127.0.0.1:%d/", caBundle: %s},
  rules: [{apiGroups: [$ns.test], apiVersions: ["*"], operations: ["*"], resources: [widgets]}]}]`,
		port, base64.StdEncoding.EncodeToString(c.target.CA().Bundle())))
}

// backend serves a webhook that allows everything.
func (c *scene) backend(port int) *httpserver.Server {
	pair, err := c.target.CA().Server(c.ns, "127.0.0.1")
	c.Expect(err).NotTo(HaveOccurred())
	server, err := httpserver.Start(httpserver.Options{Address: fmt.Sprintf("127.0.0.1:%d", port), Certificate: &pair,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var review map[string]any
			_ = json.NewDecoder(r.Body).Decode(&review)
			asked, _ := review["request"].(map[string]any)
			_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
				"response": map[string]any{"uid": asked["uid"], "allowed": true}})
		})})
	c.Expect(err).NotTo(HaveOccurred())
	return server
}

var _ = table("A webhook and its backend in one Release",
	entry{name: "are installed with the webhook when the backend is healthy", play: func(ctx context.Context, c *scene) {
		ports, err := process.FreePorts(1)
		c.Expect(err).NotTo(HaveOccurred())
		start := c.now(ctx)
		c.deliver(ctx, c.webhook(ports[0]), service("hook", "{port: 443}"), slowDeployment("hook", "i", "1s"), definition(""), widget("w"))
		c.Expect(c.writes(ctx, start)).To(inOrder("patch widgets/w", "patch validatingwebhookconfigurations/"+c.ns))
		c.Expect(c.live(ctx, "deployments.apps/hook")).To(has("status.availableReplicas", int64(1)))
	}},
	entry{name: "are mended together: the backend although the custom resource cannot be, and that soon after", play: func(ctx context.Context, c *scene) {
		ports, err := process.FreePorts(1)
		c.Expect(err).NotTo(HaveOccurred())
		c.deliver(ctx, c.webhook(ports[0]), deployment("hook", "broken"), definition(""))
		c.offer(ctx, c.webhook(ports[0]), deployment("hook", "mended"), definition(""), widget("w"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonApplyFailed, "Widget $ns/w", `failed calling webhook "widgets.$ns.test"`)
		c.Expect(c.live(ctx, "deployments.apps/hook")).To(has("spec.template.spec.containers.0.image", "mended"))
		server := c.backend(ports[0])
		defer server.Close(ctx)
		c.ready(ctx)
		c.Expect(c.get(ctx).Status.History[0].Outcome).NotTo(Equal(corev1alpha1.OutcomeFailed), "it was no rejection")
	}},
)
