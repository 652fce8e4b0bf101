// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kumodo.io/convoy/e2e/framework/httpserver"
)

// webhook is an admission webhook of the host's that records what it is asked.
type webhook struct {
	server *httpserver.Server

	mu     sync.Mutex
	asked  []*admissionv1.AdmissionRequest
	decide func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse
}

// startWebhook starts a webhook for the spec, which allows everything at first.
func (r *rig) startWebhook() *webhook {
	GinkgoHelper()
	pair, err := r.host.CA().Server("webhook", "127.0.0.1")
	Expect(err).NotTo(HaveOccurred())
	w := &webhook{decide: allow}
	w.server, err = httpserver.Start(httpserver.Options{Handler: http.HandlerFunc(w.serve), Certificate: &pair})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { _ = w.server.Close(ctx) })
	return w
}

func allow(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Allowed: true}
}

// deny refuses everything, with a message.
func deny(message string) func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: message, Code: http.StatusForbidden}}
	}
}

// patchWith allows, with the JSON patch that there is for the operation and subresource.
func patchWith(patches map[string]string) func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return func(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		response := &admissionv1.AdmissionResponse{Allowed: true}
		if patch, ok := patches[string(request.Operation)+" "+request.SubResource]; ok {
			kind := admissionv1.PatchTypeJSONPatch
			response.Patch, response.PatchType = []byte(patch), &kind
		}
		return response
	}
}

func (w *webhook) decideBy(decide func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.decide = decide
}

// take returns what was asked since the last call.
func (w *webhook) take() []*admissionv1.AdmissionRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.asked
	w.asked = nil
	return taken
}

func (w *webhook) serve(out http.ResponseWriter, in *http.Request) {
	review := &admissionv1.AdmissionReview{}
	if err := json.NewDecoder(in.Body).Decode(review); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	w.asked = append(w.asked, review.Request)
	response := w.decide(review.Request)
	w.mu.Unlock()
	response.UID = review.Request.UID
	review.Request, review.Response = nil, response
	out.Header().Set("Content-Type", jsonType)
	_ = json.NewEncoder(out).Encode(review)
}

// register makes a configuration for the kinds of convoy in a namespace. The kind is
// Validating or Mutating; the URL may be that of nobody.
func (r *rig) registerWebhook(ctx context.Context, kind, namespace, url, failurePolicy string) {
	GinkgoHelper()
	r.applyYAML(ctx, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: %[1]sWebhookConfiguration
metadata: {name: "%[2]s"}
webhooks:
- name: hook.convoy.test
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: %[3]s
  timeoutSeconds: 5
  clientConfig: {url: "%[4]s/admit", caBundle: "%[5]s"}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "%[2]s"}}
  rules:
  - {apiGroups: [core.convoy.kumodo.io], apiVersions: ["*"], operations: ["*"], resources: ["*/*"]}
`, kind, namespace, failurePolicy, url, base64.StdEncoding.EncodeToString(r.host.CA().Bundle())))
}

// awaitAsked returns when every replica knows of the webhook.
func (w *webhook) awaitAsked(ctx context.Context, namespace string) {
	GinkgoHelper()
	for _, one := range suite.replicas {
		Eventually(ctx, func() []*admissionv1.AdmissionRequest {
			suite.admin.at(one).post(ctx, releasesPath(namespace)+"?dryRun=All", newRelease(namespace, "probe"))
			return w.take()
		}).ShouldNot(BeEmpty(), "the webhook is asked by %s", one.Name())
	}
}
