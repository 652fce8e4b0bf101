// SPDX-License-Identifier: Apache-2.0

package look

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// said is an answer of the host.
type said struct {
	code        int
	contentType string
	body        string
}

// asker asks the host for paths of Releases of a namespace, as an administrator.
type asker struct {
	client *http.Client
	base   string
}

func newAsker(n *scenario.Namespace) *asker {
	GinkgoHelper()
	config, err := suite.Host.RESTConfig()
	Expect(err).NotTo(HaveOccurred())
	client, err := rest.HTTPClientFor(config)
	Expect(err).NotTo(HaveOccurred())
	return &asker{client: client, base: config.Host + "/apis/core.convoy.kumodo.io/v1alpha1/namespaces/" + n.Name + "/releases/"}
}

func (a *asker) ask(ctx context.Context, path, accept string) said {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+path, nil)
	Expect(err).NotTo(HaveOccurred())
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	response, err := a.client.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	return said{response.StatusCode, response.Header.Get("Content-Type"), string(body)}
}

var _ = Describe("Answers through the host", func() {
	It("are JSON, YAML or text, as the query or the Accept header asks, and errors likewise", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/cm.yaml": scenario.ConfigMap("cm", "v", "1"), "a/s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: canary}\n"})
		n.Create(ctx, n.GitRelease("web", scenario.Edge, "a"))
		n.AwaitReady(ctx, "web")
		n.Update(ctx, "web", func(r *corev1alpha1.Release) { r.Spec.Sync.Mode = corev1alpha1.SyncModeManual })
		n.AwaitReady(ctx, "web")
		n.Commit(ctx, map[string]string{"a/cm.yaml": scenario.ConfigMap("cm", "v", "2")})
		Eventually(ctx, func() bool { return diff(ctx, n, "web", "", "").Changed }).Should(BeTrue())
		host := newAsker(n)

		want := host.ask(ctx, "web/diff", "")
		Expect(want.code).To(Equal(http.StatusOK), want.body)
		Expect(want.contentType).To(Equal("application/json"))
		plan := &corev1alpha1.ReleaseDiff{}
		Expect(json.Unmarshal([]byte(want.body), plan)).To(Succeed())
		for _, one := range []struct{ path, accept string }{{"web/diff", "application/yaml"}, {"web/diff?output=yaml", ""}, {"web/diff?output=yaml", "application/json, */*"}} {
			got := host.ask(ctx, one.path, one.accept)
			Expect(got.code).To(Equal(http.StatusOK), got.body)
			Expect(got.contentType).To(Equal("application/yaml"))
			same := &corev1alpha1.ReleaseDiff{}
			Expect(yaml.UnmarshalStrict([]byte(got.body), same)).To(Succeed())
			Expect(same).To(Equal(plan))
		}
		for path, begins := range map[string]string{"preview": "revision main@sha1:", "diff": "update ConfigMap " + n.Name + "/cm\n", "health": "OBJECT ", "history": "ID "} {
			for _, one := range []struct{ query, accept string }{{"", "text/plain"}, {"?output=text", ""}} {
				got := host.ask(ctx, "web/"+path+one.query, one.accept)
				Expect(got.code).To(Equal(http.StatusOK), got.body)
				Expect(got.contentType).To(Equal("text/plain; charset=utf-8"))
				Expect(got.body).To(And(HavePrefix(begins), Not(ContainSubstring("canary"))))
			}
		}
		Expect(host.ask(ctx, "web/diff?output=patch", "").body).To(ContainSubstring(`"patch":[{"op":"replace","path":"/data/v","value":"2"}]`))

		failed := func(got said, code int, contentType string, decode func([]byte, any) error) {
			GinkgoHelper()
			Expect(got.code).To(Equal(code), got.body)
			Expect(got.contentType).To(Equal(contentType))
			status := metav1.Status{}
			Expect(decode([]byte(got.body), &status)).To(Succeed())
			Expect(status.Kind).To(Equal("Status"))
			Expect(status.Status).To(Equal(metav1.StatusFailure))
			Expect(status.Code).To(BeEquivalentTo(code))
		}
		asYAML := func(data []byte, into any) error { return yaml.UnmarshalStrict(data, into) }
		for _, path := range []string{"none/preview", "web/preview?revision=none", "web/preview?nonsense=1"} {
			code := map[bool]int{true: http.StatusBadRequest, false: http.StatusNotFound}[strings.Contains(path, "nonsense")]
			and := "?"
			if strings.Contains(path, "?") {
				and = "&"
			}
			failed(host.ask(ctx, path, ""), code, "application/json", json.Unmarshal)
			failed(host.ask(ctx, path, "text/plain"), code, "application/json", json.Unmarshal)
			failed(host.ask(ctx, path, "application/yaml"), code, "application/yaml", asYAML)
			failed(host.ask(ctx, path+and+"output=yaml", "application/json"), code, "application/yaml", asYAML)
			failed(host.ask(ctx, path+and+"output=text", ""), code, "application/json", json.Unmarshal)
		}
		for _, accept := range []string{"image/png", "application/vnd.kubernetes.protobuf", "application/json;as=Table;g=meta.k8s.io;v=v1"} {
			failed(host.ask(ctx, "web/preview", accept), http.StatusNotAcceptable, "application/json", json.Unmarshal)
		}
		failed(host.ask(ctx, "web/preview?output=xml", ""), http.StatusBadRequest, "application/json", json.Unmarshal)

		raw := strings.TrimPrefix(host.base, suite.Host.URL())
		Expect(n.MustKubectl(ctx, "get", "--raw", raw+"web/preview")).To(HavePrefix(`{"kind":"ReleasePreview"`))
		Expect(n.MustKubectl(ctx, "get", "--raw", raw+"web/preview?output=text")).To(HavePrefix("revision main@sha1:"))
		_, errOut, code := n.Kubectl(ctx, "get", "--raw", raw+"none/preview?output=text")
		Expect(code).To(Equal(1))
		Expect(errOut).To(ContainSubstring("(NotFound)"))
		_, errOut, _ = n.Kubectl(ctx, "get", "--raw", raw+"none/preview?output=yaml")
		Expect(errOut).To(ContainSubstring("(NotFound)"))
	}, NodeTimeout(limit))
})
