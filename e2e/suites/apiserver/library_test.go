// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What the library that convoy-apiserver is built on makes of some requests is the same with
// built-in kinds: here is what is known of that.

// libraryAnswers are answers 500 of the library. They are clear, and that a built-in kind is
// answered in the same words is checked.
var libraryAnswers = []struct {
	message *regexp.Regexp
	builtIn func(configMaps string) call
}{
	{regexp.MustCompile(`^invalid key: `), func(string) call {
		return call{method: http.MethodGet, path: "/api/v1/namespaces/../configmaps/a"}
	}},
	{regexp.MustCompile(`invalid resource name `), func(string) call {
		return call{method: http.MethodPost, path: "/api/v1/namespaces/%25/configmaps", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`}
	}},
	{regexp.MustCompile(`^resourceVersion should not be set on objects to be created$`), func(configMaps string) call {
		return call{method: http.MethodPost, path: configMaps, body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"new","resourceVersion":"1"}}`}
	}},
	{regexp.MustCompile(`strconv.ParseUint: parsing `), func(configMaps string) call {
		return call{method: http.MethodGet, path: configMaps + "/app?resourceVersion=x"}
	}},
	{regexp.MustCompile(`^failed to create typed patch object `), func(configMaps string) call {
		return call{method: http.MethodPatch, path: configMaps + "/app?fieldManager=x", contentType: applyPatch, body: `{"apiVersion":"v1","kind":"ConfigMap","spec":{}}`}
	}},
	{regexp.MustCompile(`^unknown patch type: `), strategicOn(`{"data":{"$patch":"x"}}`)},
	{regexp.MustCompile(`^list element types are not identical: `), strategicOn(`{"metadata":{"$deleteFromPrimitiveList/finalizers":[true]}}`)},
	{regexp.MustCompile(`^unable to find api field in struct `), strategicOn(`{"metadata":{"$setElementOrder/x":["a"]}}`)},
	{regexp.MustCompile(`control characters are not allowed`), func(configMaps string) call {
		return call{method: http.MethodPatch, path: configMaps + "/app", contentType: mergePatch, header: map[string]string{"Accept": yamlType}, body: "{\"data\":{\"a\":\"\x7f\"}}"}
	}},
}

func strategicOn(patch string) func(string) call {
	return func(configMaps string) call {
		return call{method: http.MethodPatch, path: configMaps + "/app", contentType: strategicPatch, body: patch}
	}
}

func likeBuiltIn(code int, message string) bool {
	for _, known := range libraryAnswers {
		if code == http.StatusInternalServerError && known.message.MatchString(message) {
			return true
		}
	}
	return false
}

// panics are those that a log tells of.
func panics(log string) []string {
	var found []string
	for _, part := range strings.Split(log, `"Observed a panic"`)[1:] {
		found = append(found, fmt.Sprintf("%.6000s", part))
	}
	return found
}

var _ = Describe("Answers 500 of the library", func() {
	It("are given for built-in kinds too", func(ctx SpecContext) {
		namespace := suite.namespace(ctx)
		_, err := suite.kube.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "app", Finalizers: []string{"convoy.test/hold"}}, Data: map[string]string{"a": "b"}}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		for _, known := range libraryAnswers {
			got := suite.admin.do(ctx, known.builtIn("/api/v1/namespaces/"+namespace+"/configmaps"))
			Expect(got.code).To(Equal(http.StatusInternalServerError), "%s: %s", known.message, got)
			status, _ := got.status()
			Expect(status.Message).To(MatchRegexp(known.message.String()))
		}
	})
})

// A kube-apiserver has the faults that these specs look for as well. convoy-apiserver need not.
var _ = Describe("Nonsense that the library stumbles over", func() {
	for name, patch := range map[string]call{
		"in $retainKeys of a strategic merge patch":   {contentType: strategicPatch, body: `{"spec":{"$retainKeys":[["source"]]}}`},
		"in a test of a JSON patch against a null":    {contentType: jsonPatch, body: `[{"op":"test","path":"/metadata/finalizers","value":[null]}]`},
		"of that kind in a patch of a subresource":    {contentType: jsonPatch, body: `[{"op":"test","path":"/metadata/finalizers","value":[null]}]`, path: "status"},
		"of that kind in a patch of a part of a kind": {contentType: jsonPatch, body: `[{"op":"test","path":"/metadata/finalizers","value":[null]}]`, path: "pin"},
	} {
		It(name+" gets an answer", func(ctx SpecContext) {
			namespace := suite.namespace(ctx)
			Expect(suite.admin.post(ctx, releasesPath(namespace), with(newRelease(namespace, "app"), "metadata.finalizers", []any{"convoy.test/hold"})).code).To(Equal(http.StatusCreated))
			DeferCleanup(func(ctx SpecContext) {
				suite.admin.patch(ctx, releasePath(namespace, "app"), `{"metadata":{"finalizers":null}}`)
			})
			patch.method, patch.path = http.MethodPatch, strings.TrimSuffix(releasePath(namespace, "app", patch.path), "/")
			got, err := suite.admin.at(suite.replicas[0]).try(ctx, patch)
			Expect(err).NotTo(HaveOccurred(), "the handler panics")
			Expect(got.code).To(Equal(http.StatusBadRequest), got.body)
			Expect(got.message()).To(HavePrefix("the patch cannot be applied: "))
			Expect(panics(suite.replicas[0].log())).To(BeEmpty())
		})
	}

	It("in a path that is no UTF-8 gets an answer", func(ctx SpecContext) {
		stranger := suite.anonymous().at(suite.replicas[0])
		_, err := stranger.try(ctx, call{method: http.MethodGet, path: releasePath("a", "b", "%ff") + "?timeout=1ns"})
		Expect(err).NotTo(HaveOccurred(), "the handler panics")
	})

	It("is not remembered: strangers cannot fill the memory", func(ctx SpecContext) {
		one := suite.replicas[0]
		stranger := suite.anonymous().at(one)
		series := func() int {
			return strings.Count(suite.admin.at(one).get(ctx, "/metrics").body, "\napiserver_request_terminations_total{")
		}
		before := series()
		const requests = 300
		for i := range requests {
			stranger.get(ctx, releasePath("a", "b", fmt.Sprintf("invented-%d", i))+"?timeout=1ns")
		}
		Expect(series()-before).To(BeNumerically("<", requests/10), "each invented subresource becomes a time series for ever")
	})
})
