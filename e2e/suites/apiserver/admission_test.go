// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// act is a request about the Release "app" of a namespace, and what admission is told of it.
type act struct {
	name        string
	request     func(namespace string) call
	operation   admissionv1.Operation
	subresource string
	// kind of the object that admission is shown; empty when it is shown none.
	kind string
	// always is true for what has no dry run.
	always bool
}

func patchOf(subresource, body string) func(string) call {
	return func(namespace string) call {
		return call{method: http.MethodPatch, path: releasePath(namespace, "app", subresource), body: body, contentType: mergePatch}
	}
}

var acts = []act{
	{name: "create", operation: admissionv1.Create, kind: "Release", request: func(namespace string) call {
		return call{method: http.MethodPost, path: releasesPath(namespace), body: newRelease(namespace, "app2")}
	}},
	{name: "update", operation: admissionv1.Update, kind: "Release", request: func(namespace string) call {
		return call{method: http.MethodPatch, path: releasePath(namespace, "app"), body: `{"spec":{"wave":5}}`, contentType: mergePatch}
	}},
	{name: "server-side apply", operation: admissionv1.Update, kind: "Release", request: func(namespace string) call {
		return call{method: http.MethodPatch, path: releasePath(namespace, "app") + "?fieldManager=t&force=true", contentType: applyPatch, body: newRelease(namespace, "app")}
	}},
	{name: "status", operation: admissionv1.Update, subresource: "status", kind: "Release", request: patchOf("status", `{"status":{"observedGeneration":9}}`)},
	{name: "pin", operation: admissionv1.Update, subresource: "pin", kind: "Release", request: patchOf("pin", `{"spec":{"pin":{"revision":"main@sha1:0123456789012345678901234567890123456789","reason":"r"}}}`)},
	{name: "mutations", operation: admissionv1.Update, subresource: "mutations", kind: "Release",
		request: patchOf("mutations", `{"spec":{"mutations":[{"name":"m","target":{"kind":"ConfigMap"},"type":"merge","patch":"{\"data\":{}}"}]}}`)},
	{name: "lifecycle", operation: admissionv1.Update, subresource: "lifecycle", kind: "Release", request: patchOf("lifecycle", `{"status":{"lifecycle":{"hooks":[{"name":"h","on":"preSync","phase":"succeeded"}]}}}`)},
	{name: "sync", operation: admissionv1.Connect, subresource: "sync", kind: "ReleaseSyncOptions", request: func(namespace string) call {
		return call{method: http.MethodPost, path: releasePath(namespace, "app", "sync")}
	}},
	{name: "preview", operation: admissionv1.Connect, subresource: "preview", kind: "ReleasePreviewOptions", always: true, request: func(namespace string) call {
		return call{method: http.MethodGet, path: releasePath(namespace, "app", "preview")}
	}},
	{name: "delete", operation: admissionv1.Delete, request: func(namespace string) call {
		return call{method: http.MethodDelete, path: releasePath(namespace, "app")}
	}},
}

var _ = Describe("The namespace of an object", func() {
	It("has to exist", func(ctx SpecContext) {
		got := suite.admin.post(ctx, releasesPath("nowhere"), newRelease("nowhere", "app"))
		Expect(got.code).To(Equal(http.StatusNotFound), got.body)
		Expect(got.message()).To(Equal(`namespaces "nowhere" not found`))
	})

	It("takes nothing new while it is terminating, and lets what is there change and go", func(ctx SpecContext) {
		namespace := suite.namespace(ctx)
		suite.createRelease(ctx, namespace, "app")
		held, err := suite.kube.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"convoy.test/hold"}}}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		// A finalizer holds the Release, so that it outlives the first sweep.
		Expect(suite.admin.patch(ctx, releasePath(namespace, "app"), `{"metadata":{"finalizers":["convoy.test/hold"]}}`).code).To(Equal(http.StatusOK))
		Expect(suite.kube.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{})).To(Succeed())

		var got answer
		Eventually(ctx, func() int {
			got = suite.admin.post(ctx, releasesPath(namespace)+"?dryRun=All", newRelease(namespace, "late"))
			return got.code
		}).Should(Equal(http.StatusForbidden), "as soon as convoy-apiserver knows of the deletion")
		Expect(got.message()).To(ContainSubstring("because it is being terminated"))
		Expect(got.body).To(ContainSubstring("NamespaceTerminating"))
		Expect(suite.admin.patch(ctx, releasePath(namespace, "app"), `{"metadata":{"labels":{"a":"b"}}}`).code).To(Equal(http.StatusOK))

		Expect(suite.admin.patch(ctx, releasePath(namespace, "app"), `{"metadata":{"finalizers":null}}`).code).To(Equal(http.StatusOK))
		held.Finalizers = nil
		_, err = suite.kube.CoreV1().ConfigMaps(namespace).Update(ctx, held, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, func() int { return suite.admin.get(ctx, "/api/v1/namespaces/"+namespace).code }).Should(Equal(http.StatusNotFound))
	}, NodeTimeout(90*time.Second))
})

var _ = Describe("A validating webhook of the host", Ordered, func() {
	var namespace string
	var hook *webhook

	BeforeAll(func(ctx SpecContext) {
		namespace = suite.namespace(ctx)
		suite.createRelease(ctx, namespace, "app")
		hook = suite.startWebhook()
		suite.registerWebhook(ctx, "Validating", namespace, hook.server.URL(), "Fail")
		hook.awaitAsked(ctx, namespace)
	})

	for _, a := range acts {
		It("is asked about "+a.name+", in a dry run too, and can refuse it", func(ctx SpecContext) {
			hook.decideBy(deny("not on a Friday"))
			suite.observer.take()
			before := suite.readRelease(ctx, namespace, "app")
			for _, dry := range []bool{false, true} {
				if dry && a.always {
					continue
				}
				request := a.request(namespace)
				if dry {
					request.path = withQuery(request.path, "dryRun=All")
				}
				hook.take()
				got := suite.admin.do(ctx, request)
				Expect(got.code).To(Equal(http.StatusForbidden), got.body)
				Expect(got.message()).To(ContainSubstring("not on a Friday"))
				asked := hook.take()
				Expect(asked).To(HaveLen(1))
				Expect(asked[0].Operation).To(Equal(a.operation))
				Expect(asked[0].SubResource).To(Equal(a.subresource))
				Expect(asked[0].Resource.Resource).To(Equal("releases"))
				Expect(asked[0].UserInfo.Username).To(Equal("admin"))
				Expect(*asked[0].DryRun).To(Equal(dry))
				Expect(kindOf(asked[0].Object.Raw)).To(Equal(a.kind))
			}
			Expect(suite.readRelease(ctx, namespace, "app")).To(Equal(before), "nothing was written")
			Expect(suite.admin.get(ctx, releasePath(namespace, "app2")).code).To(Equal(http.StatusNotFound))
			Expect(suite.observer.take()).To(BeEmpty(), "the observer was not asked")
		})
	}

	It("sees the shard label that will be stored, and the options of a sync", func(ctx SpecContext) {
		hook.decideBy(allow)
		hook.take()
		Expect(suite.admin.post(ctx, releasePath(namespace, "app", "sync")+"?force=true", nil).code).To(Equal(http.StatusOK))
		asked := hook.take()
		Expect(asked).To(HaveLen(1), "a sync is one CONNECT, and no UPDATE of the Release")
		Expect(string(asked[0].Object.Raw)).To(ContainSubstring(`"force":true`))

		body := with(newRelease(namespace, "dry"), "metadata.labels", object{corev1alpha1.LabelShard: "99"})
		Expect(suite.admin.post(ctx, releasesPath(namespace)+"?dryRun=All", body).code).To(Equal(http.StatusCreated))
		asked = hook.take()
		Expect(asked).To(HaveLen(1))
		Expect(string(asked[0].Object.Raw)).To(ContainSubstring(`"` + corev1alpha1.LabelShard + `":"0"`))
		Expect(suite.admin.get(ctx, releasePath(namespace, "dry")).code).To(Equal(http.StatusNotFound))
	})
})

var _ = Describe("A mutating webhook of the host", func() {
	It("changes what is written, within what the request may write", func(ctx SpecContext) {
		namespace := suite.namespace(ctx)
		hook := suite.startWebhook()
		suite.registerWebhook(ctx, "Mutating", namespace, hook.server.URL(), "Fail")
		hook.awaitAsked(ctx, namespace)
		hook.decideBy(patchWith(map[string]string{
			"CREATE ":      `[{"op":"add","path":"/spec/wave","value":7},{"op":"add","path":"/metadata/labels","value":{"convoy.kumodo.io/shard":"99","by":"hook"}},{"op":"add","path":"/status","value":{"observedGeneration":9}}]`,
			"UPDATE pin":   `[{"op":"replace","path":"/spec/pin/reason","value":"hook"},{"op":"add","path":"/spec/wave","value":99}]`,
			"CONNECT sync": `[{"op":"add","path":"/force","value":true}]`,
		}))

		By("creating")
		created := suite.createRelease(ctx, namespace, "app")
		Expect(field(created, "spec.wave")).To(BeEquivalentTo(7))
		Expect(field(created, "metadata.labels")).To(Equal(object{"by": "hook", corev1alpha1.LabelShard: "0"}))
		Expect(field(created, "status.observedGeneration")).To(BeNil(), "no webhook sets the status of a new object")

		By("pinning: only the pin is written")
		pinned := suite.admin.patch(ctx, releasePath(namespace, "app", "pin"), `{"spec":{"pin":{"revision":"main@sha1:0123456789012345678901234567890123456789","reason":"mine"}}}`)
		Expect(pinned.code).To(Equal(http.StatusOK), pinned.body)
		Expect(field(pinned.object(), "spec.pin.reason")).To(Equal("hook"))
		Expect(field(pinned.object(), "spec.wave")).To(BeEquivalentTo(7))

		By("asking for a sync: the options")
		synced := suite.admin.post(ctx, releasePath(namespace, "app", "sync"), nil)
		Expect(synced.code).To(Equal(http.StatusOK), synced.body)
		Expect(field(synced.object(), "metadata.annotations", corev1alpha1.AnnotationSyncForceRequestedAt)).NotTo(BeNil())

		By("what it makes invalid is refused, and names the field")
		hook.decideBy(patchWith(map[string]string{"CREATE ": `[{"op":"add","path":"/spec/wave","value":-1000000}]`}))
		got := suite.admin.post(ctx, releasesPath(namespace), newRelease(namespace, "bad"))
		Expect(got.code).To(Equal(http.StatusUnprocessableEntity), got.body)
		Expect(got.message()).To(ContainSubstring("spec.wave"))
	})
})

var _ = Describe("A webhook that does not answer", func() {
	for policy, code := range map[string]int{"Ignore": http.StatusCreated, "Fail": http.StatusInternalServerError} {
		It("with failurePolicy "+policy, func(ctx SpecContext) {
			namespace := suite.namespace(ctx)
			// One that is asked shows that convoy-apiserver knows of the configurations; then it
			// goes away.
			hook := suite.startWebhook()
			suite.registerWebhook(ctx, "Validating", namespace, hook.server.URL(), policy)
			hook.awaitAsked(ctx, namespace)
			Expect(hook.server.Close(ctx)).To(Succeed())

			got := suite.admin.post(ctx, releasesPath(namespace), newRelease(namespace, "app"))
			Expect(got.code).To(Equal(code), got.body)
			if policy == "Fail" {
				Expect(got.message()).To(ContainSubstring(`failed calling webhook "hook.convoy.test"`))
			}
		})
	}
})

func kindOf(raw []byte) string {
	var typed metav1.TypeMeta
	_ = json.Unmarshal(raw, &typed)
	return typed.Kind
}

func withQuery(path, query string) string {
	for _, c := range path {
		if c == '?' {
			return path + "&" + query
		}
	}
	return path + "?" + query
}
