// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/metrics"
)

func TestMetrics(t *testing.T) {
	g := NewWithT(t)
	index := "entries:\n  web:\n  - {version: 1.0.0, urls: [web.tgz], digest: " + strings.Repeat("ab", 32) + "}\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/secret-canary/index.yaml" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(index))
	}))
	t.Cleanup(server.Close)
	c := fetch.New(fetch.Options{})
	want := fetch.Want{
		Namespace: "team",
		Source: &sourcev1alpha1.HelmRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "src"},
			Spec: sourcev1alpha1.HelmRegistrySpec{URL: server.URL + "/secret-canary"}},
		Content: corev1alpha1.ReleaseSource{Helm: &corev1alpha1.HelmSource{Chart: "web"}},
	}
	want.MaxAge = time.Hour
	revision, _, err := c.Resolve(t.Context(), want)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = c.Fetch(t.Context(), want, revision)
	g.Expect(err).To(HaveOccurred(), "the archive is not there")

	registry := prometheus.NewPedanticRegistry()
	g.Expect(registry.Register(metrics.NewCollector(c))).To(Succeed())
	g.Expect(testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP convoy_fetch_fetches_total Fetches of content from sources, failed ones too.
# TYPE convoy_fetch_fetches_total counter
convoy_fetch_fetches_total{kind="GitRepository"} 0
convoy_fetch_fetches_total{kind="HelmRegistry"} 1
convoy_fetch_fetches_total{kind="OCIRegistry"} 0
# HELP convoy_fetch_questions_total Questions to sources about references, indexes and tags, failed ones too.
# TYPE convoy_fetch_questions_total counter
convoy_fetch_questions_total{kind="GitRepository"} 0
convoy_fetch_questions_total{kind="HelmRegistry"} 1
convoy_fetch_questions_total{kind="OCIRegistry"} 0
# HELP convoy_fetch_running Operations on the network that are under way.
# TYPE convoy_fetch_running gauge
convoy_fetch_running 0
`), "convoy_fetch_fetches_total", "convoy_fetch_questions_total", "convoy_fetch_running")).To(Succeed())

	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(families).To(HaveLen(13))
	series := 0
	for _, family := range families {
		series += len(family.GetMetric())
		g.Expect(family.String()).NotTo(ContainSubstring("canary"))
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if family.GetName() == "convoy_fetch_failures_total" && labels["kind"] == "HelmRegistry" && labels["reason"] == "notFound" {
				g.Expect(metric.GetCounter().GetValue()).To(Equal(1.0))
			}
			if family.GetName() == "convoy_fetch_received_bytes_total" && labels["kind"] == "HelmRegistry" {
				g.Expect(metric.GetCounter().GetValue()).To(BeNumerically(">=", len(index)))
			}
		}
	}
	g.Expect(series).To(Equal(3*3+3*10+9), "series do not grow with sources")
}
