// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// host answers for objects by their paths, whatever else is asked for; lists of namespaces and
// kinds that it does not know are empty, and other objects are not found.
type host struct {
	objects map[string]any
	// forbidden are beginnings of paths.
	forbidden []string
	asked     []string
}

func (h *host) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	h.asked = append(h.asked, req.Method+" "+req.URL.RequestURI())
	for _, prefix := range h.forbidden {
		if strings.HasPrefix(req.URL.Path, prefix) {
			refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "you may not")
			return
		}
	}
	switch answer := h.objects[req.URL.Path].(type) {
	case nil:
	case string:
		_, _ = w.Write([]byte(answer))
		return
	case func(*http.Request) any:
		send(w, complete(req, answer(req)))
		return
	default:
		send(w, complete(req, answer))
		return
	}
	if last := req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:]; strings.HasSuffix(last, "s") && !strings.Contains(last, ".") {
		send(w, complete(req, map[string]any{"kind": kindOfList[last], "metadata": map[string]any{}, "items": []any{}}))
		return
	}
	refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, req.URL.Path+" not found")
}

// kindOfList has the kinds of lists that typed clients decode.
var kindOfList = map[string]string{"clusters": "ClusterList", "releases": "ReleaseList"}

// complete gives an answer apiVersion and kind, which every object of the API has.
func complete(req *http.Request, answer any) any {
	content, ok := answer.(map[string]any)
	if !ok {
		return answer
	}
	content = maps.Clone(content)
	if kind, _ := content["kind"].(string); kind == "" {
		content["apiVersion"], content["kind"] = "v1", "Object"
		if content["items"] != nil {
			content["kind"] = "List"
		}
	}
	parts := strings.Split(req.URL.Path, "/")
	if content["items"] != nil && parts[1] == "apis" {
		content["apiVersion"] = parts[2] + "/" + parts[3]
	}
	if content["items"] != nil && strings.Contains(req.Header.Get("Accept"), "PartialObjectMetadataList") {
		content["apiVersion"], content["kind"] = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}
	return content
}

// run executes a command line against the host.
func (h *host) run(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	h.asked = nil
	return runAgainst(t, context.Background(), h.ServeHTTP, args...)
}

// set sets a field of an object, by its path there; nil removes the object.
func (h *host) set(t *testing.T, path string, change func(object map[string]any)) {
	t.Helper()
	if change == nil {
		delete(h.objects, path)
		return
	}
	object, ok := h.objects[path].(map[string]any)
	NewWithT(t).Expect(ok).To(BeTrue(), path)
	change(object)
}

// object decodes JSON, of which the test writes only what matters.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var content map[string]any
	NewWithT(t).Expect(json.Unmarshal([]byte(text), &content)).To(Succeed(), text)
	return content
}

// listOf is a list of objects.
func listOf(t *testing.T, kind string, items ...string) map[string]any {
	t.Helper()
	return object(t, `{"apiVersion":"v1","kind":"`+kind+`","metadata":{},"items":[`+strings.Join(items, ",")+`]}`)
}

// certificateUntil is one that is valid until then, in PEM and as a field of bytes.
func certificateUntil(t *testing.T, end time.Time) string {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotBefore: end.Add(-90 * 24 * time.Hour), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

const (
	system     = "/apis/apps/v1/namespaces/convoy-system/"
	leasesPath = "/apis/coordination.k8s.io/v1/namespaces/convoy-system/leases"
	coreAPI    = "/apis/core.convoy.kumodo.io/v1alpha1/"
)

// wellHost is a host with an installation of two shards, of which nothing is wrong.
func wellHost(t *testing.T) *host {
	t.Helper()
	renewed := time.Now().UTC().Format(metav1.RFC3339Micro)
	lease := func(name, holder string) string {
		return `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"` + name + `","namespace":"convoy-system","annotations":{"convoy.kumodo.io/shards":"2"}},
			"spec":{"holderIdentity":"` + holder + `","leaseDurationSeconds":15,"renewTime":"` + renewed + `"}}`
	}
	var leases []string
	for _, component := range []string{"convoy-cm", "convoy-obs"} {
		leases = append(leases, lease(component+"-member-a", "a"), lease(component+"-member-b", "b"), lease(component+"-0", "a"), lease(component+"-1", "b"))
	}
	deployment := func(name string) string {
		return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"` + name + `","namespace":"convoy-system","generation":1},
			"spec":{"replicas":2,"selector":{"matchLabels":{"app":"` + name + `"}}},"status":{"observedGeneration":1,"readyReplicas":2,"updatedReplicas":2}}`
	}
	metadata := func(name, shard string) string {
		return `{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"namespace":"shop","name":"` + name + `","labels":{"convoy.kumodo.io/shard":"` + shard + `"}}}`
	}
	cluster := func(name, shard, releases string) string {
		return `{"apiVersion":"core.convoy.kumodo.io/v1alpha1","kind":"Cluster","metadata":{"namespace":"shop","name":"` + name + `","labels":{"convoy.kumodo.io/shard":"` + shard + `"}},
			"spec":{},"status":{"releases":{"total":` + releases + `,"ready":1},"conditions":[{"type":"Ready","status":"True","reason":"Reachable","message":""}]}}`
	}
	h := &host{objects: map[string]any{
		"/version":             object(t, `{"gitVersion":"v1.37.2"}`),
		leasesPath:             listOf(t, "LeaseList", leases...),
		system + "deployments": listOf(t, "DeploymentList", deployment("convoy-apiserver"), deployment("convoy-observer")),
		coreAPI + "clusters":   listOf(t, "ClusterList", cluster("edge", "0", "3"), cluster("far", "1", "1")),
		coreAPI + "releases":   listOf(t, "PartialObjectMetadataList", metadata("a", "0"), metadata("b", "0"), metadata("c", "0"), metadata("d", "1")),
		"/apis/source.convoy.kumodo.io/v1alpha1/gitrepositories": listOf(t, "GitRepositoryList",
			`{"metadata":{"namespace":"shop","name":"apps"},"spec":{},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`),
	}}
	bundle := certificateUntil(t, time.Now().Add(200*24*time.Hour))
	for _, name := range ownAPIServices {
		h.objects["/apis/apiregistration.k8s.io/v1/apiservices/"+name] = object(t, `{"metadata":{"name":"`+name+`"},"spec":{"caBundle":"`+bundle+`"},
			"status":{"conditions":[{"type":"Available","status":"True","message":"all checks passed"}]}}`)
	}
	return h
}

// firstOf gives the first object of a list.
func firstOf(list map[string]any) map[string]any { return list["items"].([]any)[0].(map[string]any) }
