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
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
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
convoy_release_lead_time_seconds_bucket{target_cluster="team/here",le="1"} 0
convoy_release_lead_time_seconds_bucket{target_cluster="team/here",le="5"} 0
convoy_release_lead_time_seconds_bucket{target_cluster="team/here",le="15"} 0
convoy_release_lead_time_seconds_bucket{target_cluster="team/here",le="60"} 1
convoy_release_lead_time_seconds_bucket{target_cluster="team/here",le="300"} 1
convoy_release_lead_time_seconds_bucket{target_cluster="team/here",le="1800"} 1
convoy_release_lead_time_seconds_bucket{target_cluster="team/here",le="+Inf"} 1
convoy_release_lead_time_seconds_sum{target_cluster="team/here"} 20
convoy_release_lead_time_seconds_count{target_cluster="team/here"} 1
# HELP convoy_release_objects_total Objects that were sent to a cluster or removed from it, by what came of it.
# TYPE convoy_release_objects_total counter
convoy_release_objects_total{outcome="created",target_cluster="team/here"} 2
convoy_release_objects_total{outcome="failed",target_cluster="team/here"} 1
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

func TestReleasesAreCountedByTheirConditions(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.create(other("new"))
	w.create(other("elsewhere", func(r *corev1alpha1.Release) { r.Spec.ClusterRef.Name = "there" }))
	w.sync()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(census{w.Controller})
	w.Expect(testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP convoy_releases Releases, by what a condition of theirs says.
# TYPE convoy_releases gauge
convoy_releases{condition="Applied",status="True",target_cluster="team/here"} 1
convoy_releases{condition="Applied",status="Unknown",target_cluster="team/here"} 1
convoy_releases{condition="Applied",status="Unknown",target_cluster="team/there"} 1
convoy_releases{condition="Healthy",status="True",target_cluster="team/here"} 1
convoy_releases{condition="Healthy",status="Unknown",target_cluster="team/here"} 1
convoy_releases{condition="Healthy",status="Unknown",target_cluster="team/there"} 1
convoy_releases{condition="InSync",status="Unknown",target_cluster="team/here"} 2
convoy_releases{condition="InSync",status="Unknown",target_cluster="team/there"} 1
convoy_releases{condition="Ready",status="True",target_cluster="team/here"} 1
convoy_releases{condition="Ready",status="Unknown",target_cluster="team/here"} 1
convoy_releases{condition="Ready",status="Unknown",target_cluster="team/there"} 1
`))).To(Succeed())
	w.config.Harness.Owned = func(release types.NamespacedName) bool { return release == key }
	w.Expect(testutil.CollectAndCount(census{w.Controller})).To(Equal(4), "those of others are others' to tell")
}
