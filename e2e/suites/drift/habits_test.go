// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kumodo.io/convoy/e2e/framework/httpserver"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// habits are what clusters do to objects besides Kubernetes itself: a mutating webhook, an
// aggregated API, and a controller that fills in bundles of authorities.
type habits struct {
	server  *httpserver.Server
	mutated atomic.Int64
}

// startHabits serves the webhook and the API, and has the target ask the webhook; all ends
// with the test.
func startHabits(ctx context.Context, n *scenario.Namespace) *habits {
	GinkgoHelper()
	h := &habits{}
	pair, err := suite.Target.CA().Server("habits", "127.0.0.1", "backend."+n.Name+".svc")
	Expect(err).NotTo(HaveOccurred())
	mux := http.NewServeMux()
	mux.HandleFunc("/mutate", h.mutate)
	mux.HandleFunc("/apis/served.drift.test/v1", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "served.drift.test/v1", "resources": []any{}})
	})
	h.server, err = httpserver.Start(httpserver.Options{Certificate: &pair, Handler: mux})
	Expect(err).NotTo(HaveOccurred())
	webhooks := targetDynamic().Resource(schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"})
	_, err = webhooks.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": map[string]any{"name": "drift-mutating"},
		"webhooks": []any{map[string]any{
			"name": "mutate.drift.test", "sideEffects": "None", "admissionReviewVersions": []any{"v1"}, "reinvocationPolicy": "IfNeeded",
			"objectSelector": map[string]any{"matchExpressions": []any{map[string]any{"key": "drift.test/inject", "operator": "Exists"}}},
			"clientConfig":   map[string]any{"url": h.server.URL() + "/mutate", "caBundle": bundle()},
			"rules": []any{map[string]any{
				"apiGroups": []any{"", "apps"}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE", "UPDATE"}, "resources": []any{"configmaps", "deployments"},
			}},
		}},
	}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(webhooks.Delete(ctx, "drift-mutating", metav1.DeleteOptions{})).To(Succeed())
		Expect(h.server.Close(ctx)).To(Succeed())
	})
	h.startInjector()
	return h
}

func (h *habits) port() string {
	_, port, err := net.SplitHostPort(h.server.Address())
	Expect(err).NotTo(HaveOccurred())
	return port
}

func bundle() string { return base64.StdEncoding.EncodeToString(suite.Target.CA().Bundle()) }

func targetDynamic() dynamic.Interface {
	GinkgoHelper()
	config, err := suite.Target.RESTConfig()
	Expect(err).NotTo(HaveOccurred())
	client, err := dynamic.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	return client
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// mutate is the webhook: it spells values in lower case, or adds a container, and notes in an
// annotation how often it was asked, which is another number each time.
func (h *habits) mutate(w http.ResponseWriter, r *http.Request) {
	var review struct {
		Request struct {
			UID    string                    `json:"uid"`
			Object unstructured.Unstructured `json:"object"`
		} `json:"request"`
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var patch []map[string]any
	set := func(path string, value any) {
		patch = append(patch, map[string]any{"op": "add", "path": path, "value": value})
	}
	live := review.Request.Object
	switch live.GetLabels()["drift.test/inject"] {
	case "lower":
		level, _, _ := unstructured.NestedString(live.Object, "data", "level")
		set("/data/level", strings.ToLower(level))
	case "sidecar":
		annotations := live.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations["drift.test/asked"] = fmt.Sprint(h.mutated.Add(1))
		set("/metadata/annotations", annotations)
		containers, _, _ := unstructured.NestedSlice(live.Object, "spec", "template", "spec", "containers")
		if len(containers) == 1 {
			set("/spec/template/spec/containers/-", map[string]any{"name": "sidecar", "image": "example.com/sidecar", "env": []any{map[string]any{"name": "EMPTY", "value": ""}}})
		}
	}
	data, _ := json.Marshal(patch)
	writeJSON(w, map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": map[string]any{
		"uid": review.Request.UID, "allowed": true, "patchType": "JSONPatch", "patch": base64.StdEncoding.EncodeToString(data),
	}})
}

// injected are the kinds that the controller fills bundles into.
var injected = []schema.GroupVersionResource{
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
	{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
}

// startInjector runs the controller until the end of the test.
func (h *habits) startInjector() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	DeferCleanup(func() { cancel(); <-done })
	client := targetDynamic()
	go func() {
		defer close(done)
		for {
			for _, resource := range injected {
				inject(ctx, client.Resource(resource))
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
}

// inject fills in what is empty; what fails is tried again soon.
func inject(ctx context.Context, client dynamic.ResourceInterface) {
	list, err := client.List(ctx, metav1.ListOptions{LabelSelector: "drift.test/inject-ca=yes"})
	if err != nil {
		return
	}
	for _, item := range list.Items {
		changed := false
		fill := func(config map[string]any) {
			if text, _ := config["caBundle"].(string); text == "" {
				config["caBundle"], changed = bundle(), true
			}
		}
		if spec, ok := item.Object["spec"].(map[string]any); ok {
			fill(spec)
		}
		webhooks, _ := item.Object["webhooks"].([]any)
		for _, webhook := range webhooks {
			fill(webhook.(map[string]any)["clientConfig"].(map[string]any))
		}
		if changed {
			_, _ = client.Update(ctx, &item, metav1.UpdateOptions{FieldManager: "ca-injector"})
		}
	}
}
