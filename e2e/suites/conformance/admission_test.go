// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"errors"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/framework/poll"
)

const policyPath = "/apis/admissionregistration.k8s.io/v1/"

// matching matches the probe's namespace and resource.
func (p *probe) matching(operations ...any) object {
	return object{
		"namespaceSelector": object{"matchLabels": object{"kubernetes.io/metadata.name": p.namespace}},
		"resourceRules": []any{object{
			"apiGroups": []any{p.group}, "apiVersions": []any{p.version}, "resources": []any{p.plural, p.plural + "/status"}, "operations": operations,
		}},
	}
}

func (p *probe) must(r *response) *response {
	GinkgoHelper()
	Expect(r.code).To(Equal(http.StatusCreated), string(r.body))
	return r
}

var _ = Describe("Admission", func() {
	table(
		behaviour{name: "by a validating policy of the host", of: namespaced, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.must(p.post(ctx, policyPath+"validatingadmissionpolicies", object{"metadata": object{"name": p.namespace}, "spec": object{
				"matchConstraints": p.matching("CREATE", "UPDATE", "DELETE"),
				"validations": []any{object{
					"expression":        "(request.operation == 'DELETE' ? oldObject : object).metadata.?labels['deny'].orValue('') != 'yes'",
					"messageExpression": "request.operation + ' of ' + request.resource.resource + ' ' + request.name + ' by ' + request.userInfo.username + request.subResource",
					"reason":            "Invalid",
				}},
			}}))
			p.must(p.post(ctx, policyPath+"validatingadmissionpolicybindings", object{"metadata": object{"name": p.namespace}, "spec": object{
				"policyName": p.namespace, "validationActions": []any{"Deny"},
			}}))
			denied := setting(at("metadata.labels.deny"), "yes")
			o := p.object("b")
			denied(o)
			Eventually(ctx, func() int { return p.post(ctx, p.collection(), o, "dryRun=All").code }).Should(Equal(http.StatusUnprocessableEntity))
			p.saw("create", p.post(ctx, p.collection(), o))
			p.saw("apply", p.apply(ctx, "b", "me", o))
			p.saw("patch", p.patch(ctx, p.item("a"), mergePatch, `{"metadata":{"labels":{"deny":"yes"}}}`))
			p.saw("allowed", p.patch(ctx, p.item("a"), mergePatch, p.change(2)))
			p.saw("status", p.patch(ctx, p.item("a", "status"), mergePatch, containing(observedGeneration, 1)))
		}},
		behaviour{
			name: "by a mutating policy of the host", of: namespaced,
			decided: "docs/limits.md",
			does: func(ctx context.Context, p *probe) {
				p.must(p.post(ctx, policyPath+"mutatingadmissionpolicies", object{"metadata": object{"name": p.namespace}, "spec": object{
					"matchConstraints":   p.matching("CREATE"),
					"reinvocationPolicy": "Never",
					"mutations": []any{object{"patchType": "ApplyConfiguration", "applyConfiguration": object{
						"expression": "Object{metadata: Object.metadata{labels: {'mutated': 'yes'}}}",
					}}},
				}}))
				p.must(p.post(ctx, policyPath+"mutatingadmissionpolicybindings", object{"metadata": object{"name": p.namespace}, "spec": object{"policyName": p.namespace}}))
				p.note("holds", soon(ctx, func() bool {
					return p.post(ctx, p.collection(), p.object("a"), "dryRun=All").string(at("metadata.labels.mutated")) == "yes"
				}))
			},
		},
		behaviour{
			name: "by a quota of the namespace", of: namespaced,
			decided: "docs/limits.md",
			does: func(ctx context.Context, p *probe) {
				hard := object{"count/" + p.resource(): "1"}
				path := "/api/v1/namespaces/" + p.namespace + "/resourcequotas"
				quota := p.must(p.post(ctx, path, object{"metadata": object{"name": "q"}, "spec": object{"hard": hard}})).object()
				// The controller that would count what is there does not run.
				quota["status"] = object{"hard": hard, "used": object{"count/" + p.resource(): "0"}}
				Expect(p.put(ctx, path+"/q/status", quota).code).To(Equal(http.StatusOK))
				p.note("first", soon(ctx, func() bool { return p.post(ctx, p.collection(), p.object("a")).code == http.StatusCreated }))
				p.saw("second", p.post(ctx, p.collection(), p.object("b")))
			},
		},
	)
})

// soon tells whether something comes true within a few seconds: more than what a server
// needs to hear of a change, and not so much that what never comes true holds up the suite.
func soon(ctx context.Context, check func() bool) bool {
	deadline, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return poll.Until(deadline, 50*time.Millisecond, func(context.Context) error {
		if check() {
			return nil
		}
		return errors.New("not yet")
	}) == nil
}
