// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/kubectl-convoy/internal/check"
)

func TestCheckOfWhatIsWell(t *testing.T) {
	g := NewWithT(t)
	code, out, errOut := wellHost(t).run(t, "check")
	g.Expect(errOut).To(BeEmpty())
	g.Expect(code).To(Equal(0))
	g.Expect(words(out)).To(HaveExactElements(
		"Host", "✔ the host is Kubernetes v1.37.2", "",
		"API", "✔ APIService v1alpha1.core.convoy.kumodo.io is available",
		MatchRegexp(`^✔ the caBundle of APIService v1alpha1.core.convoy.kumodo.io is valid until \d{4}-\d\d-\d\d$`),
		"✔ APIService v1alpha1.source.convoy.kumodo.io is available", "✔ APIService v1alpha1.extensions.convoy.kumodo.io is available",
		"✔ convoy-apiserver answers, and reads from its etcd", "",
		"Processes", "✔ Deployment convoy-apiserver has 2 of 2 replicas ready", "✔ Deployment convoy-observer has 2 of 2 replicas ready",
		"✔ convoy-controller-manager: all of 2 shards are worked on, by 2 replicas", "✔ convoy-observer: all of 2 shards are worked on, by 2 replicas", "",
		"Clusters and sources", "✔ 2 Clusters answer", "✔ 1 GitRepositories answer", "- there are no HelmRegistries", "- there are no OCIRegistries",
	))
}

func TestCheckTellsWhatFails(t *testing.T) {
	apiService := "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.core.convoy.kumodo.io"
	for _, test := range []struct {
		name   string
		change func(t *testing.T, h *host)
		want   string
	}{
		{"an old host", func(t *testing.T, h *host) { h.objects["/version"] = object(t, `{"gitVersion":"v1.29.9"}`) },
			"✗ the host is Kubernetes v1.29.9: 1.30 or newer is needed\n    → upgrade the host\n"},
		{"no API", func(t *testing.T, h *host) { h.set(t, apiService, nil) },
			"✗ APIService v1alpha1.core.convoy.kumodo.io: " + apiService + " not found\n    → install convoy, or name"},
		{"an API that is not available", func(t *testing.T, h *host) {
			h.set(t, apiService, func(o map[string]any) {
				o["status"] = object(t, `{"conditions":[{"type":"Available","status":"False","message":"no\nendpoints"}]}`)
			})
		}, "✗ APIService v1alpha1.core.convoy.kumodo.io is not available: no endpoints\n    → kubectl describe apiservice v1alpha1.core.convoy.kumodo.io; kubectl -n convoy-system logs"},
		{"an authority that ends", func(t *testing.T, h *host) {
			h.set(t, apiService, func(o map[string]any) {
				o["spec"] = map[string]any{"caBundle": certificateUntil(t, time.Now().Add(24*time.Hour))}
			})
		}, ", and should have been replaced before\n"},
		{"a certificate that ended", func(t *testing.T, h *host) {
			h.objects["/api/v1/namespaces/convoy-system/secrets/convoy-etcd"] = object(t, `{"data":{"tls.crt":"`+certificateUntil(t, time.Now().Add(-time.Hour))+`"}}`)
		}, "✗ the certificate in Secret convoy-system/convoy-etcd expired on "},
		{"an etcd that does not answer", func(t *testing.T, h *host) {
			h.objects["/apis/core.convoy.kumodo.io/v1alpha1/namespaces/convoy-system/clusters"] = func(*http.Request) any {
				return map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "etcdserver: request timed out", "code": 500}
			}
		}, "✗ convoy-apiserver and its etcd: etcdserver: request timed out\n"},
		{"a process that crashes", func(t *testing.T, h *host) {
			h.set(t, system+"deployments", func(o map[string]any) { firstOf(o)["status"].(map[string]any)["readyReplicas"] = 1 })
			h.objects["/api/v1/namespaces/convoy-system/pods"] = listOf(t, "PodList", `{"metadata":{"name":"api-1","labels":{"app":"convoy-apiserver"}},"status":{"phase":"Running",
				"containerStatuses":[{"name":"c","restartCount":7,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}}`)
		}, "✗ Deployment convoy-apiserver has 1 of 2 replicas ready: Pod api-1: CrashLoopBackOff, restarted 7 times\n    → kubectl -n convoy-system logs deployment/convoy-apiserver"},
		{"no replicas", func(t *testing.T, h *host) {
			h.set(t, system+"deployments", func(o map[string]any) { firstOf(o)["spec"].(map[string]any)["replicas"] = 0 })
		}, "✗ Deployment convoy-apiserver has no replicas\n"},
		{"an etcd for trials that is not ready", func(t *testing.T, h *host) {
			h.objects[system+"statefulsets"] = listOf(t, "StatefulSetList", `{"metadata":{"name":"convoy-etcd","namespace":"convoy-system"},"spec":{"replicas":1},"status":{}}`)
		}, "✗ StatefulSet convoy-etcd has 0 of 1 replicas ready\n"},
		{"shards on which nobody works", func(t *testing.T, h *host) { h.objects[leasesPath] = listOf(t, "LeaseList") },
			"✗ convoy-observer: no replica has been heard of for 1m0s\n    → kubectl convoy shards"},
		{"a Cluster that is not reached", func(t *testing.T, h *host) {
			h.set(t, coreAPI+"clusters", func(o map[string]any) {
				firstOf(o)["status"] = object(t, `{"conditions":[{"type":"Ready","status":"False","reason":"Unreachable","message":"no\nroute"}]}`)
			})
		}, "✗ Cluster shop/edge: Unreachable: no route\n    → kubectl convoy -n shop events cluster/edge\n"},
		{"a source that nobody looked at", func(t *testing.T, h *host) {
			h.objects["/apis/source.convoy.kumodo.io/v1alpha1/ociregistries"] = listOf(t, "OCIRegistryList", `{"metadata":{"namespace":"shop","name":"images"},"spec":{}}`)
		}, "✗ OCIRegistry shop/images: nobody has looked at it yet\n    → kubectl convoy -n shop events ociregistry/images\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			h := wellHost(t)
			test.change(t, h)
			code, out, errOut := h.run(t, "check")
			g.Expect(code).To(Equal(1))
			g.Expect(out).To(ContainSubstring(test.want))
			g.Expect(errOut).To(MatchRegexp(`^error: \d of \d+ checks failed\n$`))
		})
	}
}

func TestCheckSkipsWhatMayNotBeRead(t *testing.T) {
	g := NewWithT(t)
	h := wellHost(t)
	h.forbidden = []string{"/apis/apiregistration", "/api/v1/", "/apis/apps", leasesPath, "/apis/source"}
	code, out, errOut := h.run(t, "check")
	g.Expect(code).To(Equal(0), errOut)
	g.Expect(out).To(And(
		ContainSubstring("- APIService v1alpha1.core.convoy.kumodo.io: you may not read that\n"), ContainSubstring("- Secret convoy-system/convoy-etcd: you may not read that\n"),
		ContainSubstring("- Deployments of namespace convoy-system: you may not read that\n"), ContainSubstring("- who works on the shards: you may not read that\n"),
		ContainSubstring("- GitRepositories: you may not read that\n"), ContainSubstring("✔ 2 Clusters answer\n")))
}

func TestCheckSaysThatNothingIsInstalled(t *testing.T) {
	g := NewWithT(t)
	h := &host{objects: map[string]any{"/version": object(t, `{"gitVersion":"v1.37.2"}`)}}
	code, out, _ := h.run(t, "check", "--convoy-namespace", "elsewhere")
	g.Expect(code).To(Equal(1))
	g.Expect(out).To(ContainSubstring("- no Deployments of convoy in namespace elsewhere: it runs elsewhere (--convoy-namespace), or not in Pods of this cluster\n"))
}

func TestCheckBeforeAnInstallation(t *testing.T) {
	authentication := "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
	review := "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	fit := func(t *testing.T) *host {
		return &host{objects: map[string]any{
			"/version": object(t, `{"gitVersion":"v1.37.2"}`), authentication: object(t, `{"data":{"requestheader-client-ca-file":"PEM"}}`),
			review: object(t, `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","status":{"allowed":true}}`),
		}}
	}
	g := NewWithT(t)
	h := fit(t)
	code, out, errOut := h.run(t, "check", "--pre")
	g.Expect(code).To(Equal(0), errOut)
	g.Expect(words(out)).To(HaveExactElements("Host", "✔ the host is Kubernetes v1.37.2", "✔ the aggregation layer is configured", "✔ you may install"))

	h.objects[authentication] = object(t, `{"data":{}}`)
	h.objects[review] = func(req *http.Request) any {
		var asked map[string]any
		_ = json.NewDecoder(req.Body).Decode(&asked)
		attributes := asked["spec"].(map[string]any)["resourceAttributes"].(map[string]any)
		asked["status"] = map[string]any{"allowed": attributes["resource"] != "apiservices" && attributes["resource"] != "deployments"}
		return asked
	}
	code, out, errOut = h.run(t, "check", "--pre", "-o", "json")
	g.Expect(code).To(Equal(1))
	g.Expect(errOut).To(Equal("error: 2 of 3 checks failed\n"))
	var report check.Report
	g.Expect(json.Unmarshal([]byte(out), &report)).To(Succeed())
	g.Expect(report.Failed).To(Equal(2))
	g.Expect(report.Checks[1]).To(And(HaveField("Status", check.Failed), HaveField("Message", ContainSubstring("has no requestheader-client-ca-file"))))
	g.Expect(report.Checks[2]).To(And(HaveField("Message", "you may not create apiservices.apiregistration.k8s.io, create deployments.apps in convoy-system"),
		HaveField("Do", "install as a cluster administrator")))
}
