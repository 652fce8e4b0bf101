// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// reviewedLabel is on the namespaces whose objects the webhooks are asked about.
const reviewedLabel = "reviewed"

// webhooks are a mutating and a validating admission webhook that keep what they are asked.
type webhooks struct {
	mu      sync.Mutex
	reviews map[string][]object // by path and namespace
}

// ServeHTTP keeps the review and answers: a mutating webhook adds a label, a validating one
// refuses what is labelled to be refused, and warns.
func (w *webhooks) ServeHTTP(writer http.ResponseWriter, r *http.Request) {
	var review object
	if json.NewDecoder(r.Body).Decode(&review) != nil {
		http.Error(writer, "no review", http.StatusBadRequest)
		return
	}
	asked, _ := review["request"].(object)
	w.mu.Lock()
	key := r.URL.Path + fmt.Sprint(asked["namespace"])
	w.reviews[key] = append(w.reviews[key], asked)
	w.mu.Unlock()
	answer := object{"uid": asked["uid"], "allowed": true}
	switch labels, _ := get(asked, at("object.metadata.labels")).(object); {
	case r.URL.Path == "/mutate" && asked["operation"] == "CREATE":
		patch := encoded([]any{operation("add", "/metadata/labels/mutated", "yes")})
		answer["patchType"], answer["patch"] = "JSONPatch", base64.StdEncoding.EncodeToString([]byte(patch))
	case r.URL.Path == "/validate" && labels["deny"] == "yes":
		answer["allowed"], answer["warnings"] = false, []any{"careful"}
		answer["status"] = object{"code": 418, "message": "not this one", "reason": "Teapot"}
	}
	writer.Header().Set("Content-Type", jsonType)
	_ = json.NewEncoder(writer).Encode(object{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer})
}

func (w *webhooks) of(path, namespace string) []object {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]object(nil), w.reviews[path+namespace]...)
}

// startWebhooks serves the webhooks and tells the host of them, once for all subjects.
var startWebhooks = sync.OnceValue(func() *webhooks {
	GinkgoHelper()
	w := &webhooks{reviews: map[string][]object{}}
	pair, err := suite.host.CA().Server("webhooks", "127.0.0.1")
	Expect(err).NotTo(HaveOccurred())
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	Expect(err).NotTo(HaveOccurred())
	server := httptest.NewUnstartedServer(w)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	DeferCleanup(server.Close)
	for path, resource := range map[string]string{"/mutate": "mutatingwebhookconfigurations", "/validate": "validatingwebhookconfigurations"} {
		r := send(context.Background(), suite.admin, request{method: "POST", path: policyPath + resource, body: object{
			"metadata": object{"name": "conformance"},
			"webhooks": []any{object{
				"name": "webhook.example.test", "admissionReviewVersions": []any{"v1"}, "sideEffects": "None", "failurePolicy": "Ignore",
				"clientConfig":      object{"url": server.URL + path, "caBundle": suite.host.CA().Bundle()},
				"namespaceSelector": object{"matchLabels": object{reviewedLabel: "yes"}},
				"rules":             []any{object{"apiGroups": []any{"*"}, "apiVersions": []any{"*"}, "operations": []any{"*"}, "resources": []any{"*/*"}, "scope": "Namespaced"}},
			}},
		}})
		Expect(r.code).To(Equal(http.StatusCreated), string(r.body))
	}
	return w
})

var _ = Describe("Admission", func() {
	table(behaviour{name: "by webhooks of the host", of: namespaced, does: func(ctx context.Context, p *probe) {
		w := startWebhooks()
		p.patch(ctx, namespacePath+"/"+p.namespace, mergePatch, containing(at("metadata.labels."+reviewedLabel), "yes"))
		p.note("asked", soon(ctx, func() bool {
			p.post(ctx, p.collection(), p.object("trial"), "dryRun=All")
			return len(w.of("/mutate", p.namespace)) > 0 && len(w.of("/validate", p.namespace)) > 0
		}))
		before := map[string]int{"/mutate": len(w.of("/mutate", p.namespace)), "/validate": len(w.of("/validate", p.namespace))}
		p.note("mutated", p.post(ctx, p.collection(), p.object("a"), "fieldManager=me").string(at("metadata.labels.mutated")))
		denied := p.object("b")
		set(denied, at("metadata.labels.deny"), "yes")
		p.saw("denied", p.post(ctx, p.collection(), denied))
		p.saw("denied patch", p.patch(ctx, p.item("a"), mergePatch, `{"metadata":{"labels":{"deny":"yes"}}}`, "dryRun=All"))
		p.patch(ctx, p.item("a"), mergePatch, p.change(2))
		p.patch(ctx, p.item("a", "status"), mergePatch, containing(observedGeneration, 1))
		p.apply(ctx, "c", "me", p.object("c"))
		p.send(ctx, request{method: "DELETE", path: p.collection(), query: p.scope("fieldSelector=metadata.name=c")})
		p.remove(ctx, p.item("a"), object{"propagationPolicy": "Background"})
		for _, path := range []string{"/mutate", "/validate"} {
			for _, review := range w.of(path, p.namespace)[before[path]:] {
				p.note(path, p.reviewShape(review))
			}
		}
	}})
})

// reviewShape is what a webhook was asked, in general words.
func (p *probe) reviewShape(review object) object {
	kindOf := func(value any) string {
		of, _ := value.(object)
		return p.text(fmt.Sprint(of["group"], " ", of["version"] == p.version, " ", of["kind"], of["resource"]))
	}
	shown := object{
		"kind": kindOf(review["kind"]), "resource": kindOf(review["resource"]), "requestKind": kindOf(review["requestKind"]), "requestResource": kindOf(review["requestResource"]),
		"options": review["options"], "user": get(review, at("userInfo.username")), "groups": get(review, at("userInfo.groups")),
	}
	for _, field := range []string{"subResource", "requestSubResource", "name", "operation", "dryRun"} {
		shown[field] = review[field]
	}
	for _, field := range []string{"object", "oldObject"} {
		o, _ := review[field].(object)
		if o == nil {
			continue
		}
		// Before they are stored, objects have their versions and times by accident of the way.
		shape := p.shape(o)
		meta := shape["metadata"].(object)
		for _, name := range []string{"resourceVersion", "uid", "creationTimestamp"} {
			delete(meta, name)
		}
		shape["managed"] = get(o, at("metadata.managedFields")) != nil
		shown[field] = shape
	}
	return shown
}
