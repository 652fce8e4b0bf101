// SPDX-License-Identifier: Apache-2.0

package release

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestMetricsOfPasses(t *testing.T) {
	w := newWorld(t, newRelease())
	registry := prometheus.NewPedanticRegistry()
	w.metrics = newMetrics(registry)
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"), objectOf("ConfigMap", "b", 0, "b1"))
	w.target.failures["b"] = apierrors.NewBadRequest("no")
	w.pass()
	delete(w.target.failures, "b")
	w.clock.SetTime(w.clock.Now().Add(20 * time.Second))
	w.pass()
	w.Expect(w.condition("Applied")).To(Equal("True Applied"))
	w.Expect(testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP convoy_release_lead_time_seconds Time from when a new revision was first seen until it was applied.
# TYPE convoy_release_lead_time_seconds histogram
convoy_release_lead_time_seconds_bucket{cluster="team/here",le="1"} 0
convoy_release_lead_time_seconds_bucket{cluster="team/here",le="5"} 0
convoy_release_lead_time_seconds_bucket{cluster="team/here",le="15"} 0
convoy_release_lead_time_seconds_bucket{cluster="team/here",le="60"} 1
convoy_release_lead_time_seconds_bucket{cluster="team/here",le="300"} 1
convoy_release_lead_time_seconds_bucket{cluster="team/here",le="1800"} 1
convoy_release_lead_time_seconds_bucket{cluster="team/here",le="+Inf"} 1
convoy_release_lead_time_seconds_sum{cluster="team/here"} 20
convoy_release_lead_time_seconds_count{cluster="team/here"} 1
# HELP convoy_release_objects_total Objects that were sent to a cluster or removed from it, by what came of it.
# TYPE convoy_release_objects_total counter
convoy_release_objects_total{cluster="team/here",outcome="created"} 2
convoy_release_objects_total{cluster="team/here",outcome="failed"} 1
`), "convoy_release_lead_time_seconds", "convoy_release_objects_total")).To(Succeed())
	w.Expect(testutil.CollectAndCount(w.metrics.steps)).To(BeNumerically(">", 5))

	w.observe()
	w.pass()
	w.pass()
	w.Expect(testutil.CollectAndCount(w.metrics.lead)).To(Equal(1))
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a1"))
	w.pass()
	w.Expect(testutil.ToFloat64(w.metrics.objects.WithLabelValues("team/here", "pruned"))).To(Equal(1.0))

	w.deleteRelease()
	w.pass()
	w.pass()
	w.Expect(testutil.CollectAndCount(w.metrics.objects)+testutil.CollectAndCount(w.metrics.lead)).To(BeZero(), "a cluster without Releases has no series")
}
