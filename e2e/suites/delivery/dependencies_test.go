// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"fmt"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/framework/controlplane"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/suites/scenario"
)

var _ = Describe("A Release that depends on another one", func() {
	const (
		held = "never-ready" // until it is let go
		fail = "fail"
	)
	// version gives both Releases' content: a Job, and what must not be there before the Job is done.
	version := func(v, behaviour string) map[string]string {
		return map[string]string{
			"migrate/job.yaml": fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: migrate-%s}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {%s: %q}}
    spec: {restartPolicy: Never, containers: [{name: c, image: i}]}
`, v, controlplane.BehaviourAnnotation, behaviour),
			"app/cm.yaml": scenario.ConfigMap("app", "v", v),
		}
	}
	start := func(ctx context.Context, change func(app *corev1alpha1.Release)) *scenario.Namespace {
		n := suite.NewNamespace(ctx, version("1", ""))
		app := n.GitRelease("app", scenario.Edge, "app")
		app.Spec.DependsOn = []corev1alpha1.Dependency{{Name: "migrate"}}
		change(app)
		n.Create(ctx, app)
		Eventually(ctx, blockedBy(ctx, n, "app")).Should(ConsistOf(ContainSubstring("migrate")), "which does not exist yet")
		n.Create(ctx, n.GitRelease("migrate", scenario.Edge, "migrate"))
		n.AwaitReady(ctx, "app")
		expectAfter(ctx, n, "migrate-1")
		return n
	}
	// letGo lets the Pods of a Job end.
	letGo := func(ctx context.Context, n *scenario.Namespace, job string) {
		GinkgoHelper()
		pods, err := n.TargetClient.CoreV1().Pods(n.Name).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
		Expect(err).NotTo(HaveOccurred())
		Expect(pods.Items).NotTo(BeEmpty())
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, controlplane.BehaviourAnnotation)
		for _, pod := range pods.Items {
			_, err := n.TargetClient.CoreV1().Pods(n.Name).Patch(ctx, pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			Expect(err).NotTo(HaveOccurred())
		}
	}

	It("gets a commit that changes both after the other one has it, a restart in between or not", func(ctx SpecContext) {
		n := start(ctx, func(*corev1alpha1.Release) {})
		for i, interrupt := range []func(){func() {}, func() {
			process := suite.Environment.Convoy.Process(installation.ControllerManager)
			Expect(process.Kill()).To(Succeed())
			Expect(process.Restart(ctx)).To(Succeed())
		}} {
			v := strconv.Itoa(i + 2)
			n.Commit(ctx, version(v, held))
			n.Sync(ctx, "app")
			Eventually(ctx, blockedBy(ctx, n, "app")).Should(ConsistOf(ContainSubstring("migrate")))
			Eventually(ctx, func() error { return running(ctx, n, "migrate-"+v) }).Should(Succeed())
			interrupt()
			Consistently(ctx, n.Data(ctx, "app"), "2s").Should(HaveKeyWithValue("v", strconv.Itoa(i+1)))

			letGo(ctx, n, "migrate-"+v)
			Eventually(ctx, n.Data(ctx, "app")).Should(HaveKeyWithValue("v", v))
			expectAfter(ctx, n, "migrate-"+v)
			n.AwaitReady(ctx, "app")
			Eventually(ctx, blockedBy(ctx, n, "app")).Should(BeEmpty(), "Ready stays true while it waits, and is no sign of the end")
		}
	}, NodeTimeout(5*time.Minute))

	It("keeps what it has when the other one fails, until a commit mends that", func(ctx SpecContext) {
		n := start(ctx, func(*corev1alpha1.Release) {})
		n.Commit(ctx, version("2", fail))
		n.Sync(ctx, "app")
		n.AwaitCondition(ctx, "migrate", corev1alpha1.ConditionHealthy, metav1.ConditionFalse)
		Eventually(ctx, func() string {
			return meta.FindStatusCondition(n.Release(ctx, "app").Status.Conditions, corev1alpha1.ConditionReady).Message
		}).Should(ContainSubstring("waiting for Release migrate: not Healthy (Degraded)"))
		Expect(blockedBy(ctx, n, "app")()).To(ConsistOf("Release migrate"))
		Consistently(ctx, n.Data(ctx, "app"), "2s").Should(HaveKeyWithValue("v", "1"))

		n.Commit(ctx, version("3", ""))
		n.Sync(ctx, "migrate")
		Eventually(ctx, n.Data(ctx, "app")).Should(HaveKeyWithValue("v", "3"))
		expectAfter(ctx, n, "migrate-3")
	}, NodeTimeout(4*time.Minute))

	It("does not wait for a commit that changes it alone", func(ctx SpecContext) {
		n := start(ctx, func(*corev1alpha1.Release) {})
		before := n.Release(ctx, "migrate").Status.Applied.Render
		n.Commit(ctx, map[string]string{"app/cm.yaml": scenario.ConfigMap("app", "v", "2")})
		n.Sync(ctx, "app")
		Eventually(ctx, n.Data(ctx, "app")).Should(HaveKeyWithValue("v", "2"))
		Expect(n.Release(ctx, "migrate").Status.Applied.Render).To(Equal(before))
	}, NodeTimeout(3*time.Minute))

	It("waits across clusters, for what its expression says", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, version("1", ""))
		n.Create(ctx, n.GitRelease("migrate", scenario.Edge, "migrate"))
		app := n.GitRelease("app", scenario.Here, "app")
		app.Spec.DependsOn = []corev1alpha1.Dependency{{Name: "migrate",
			ReadyExpr: "release.status.applied.objects == 1 && 'go' in release.metadata.labels"}}
		n.Create(ctx, app)
		n.AwaitReady(ctx, "migrate")
		Consistently(ctx, blockedBy(ctx, n, "app"), "2s").Should(ConsistOf(ContainSubstring("migrate")))

		n.Update(ctx, "migrate", func(r *corev1alpha1.Release) { metav1.SetMetaDataLabel(&r.ObjectMeta, "go", "") })
		n.AwaitReady(ctx, "app")
		_, err := n.HostClient.CoreV1().ConfigMaps(n.Name).Get(ctx, "app", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
	}, NodeTimeout(3*time.Minute))

	It("cannot be waited for by what it depends on", func(ctx SpecContext) {
		n := start(ctx, func(*corev1alpha1.Release) {})
		migrate := n.Release(ctx, "migrate")
		migrate.Spec.DependsOn = []corev1alpha1.Dependency{{Name: "app"}}
		_, err := n.API.CoreV1alpha1().Releases(n.Name).Update(ctx, migrate, metav1.UpdateOptions{})
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(And(ContainSubstring("spec.dependsOn"), ContainSubstring("app"))))
	}, NodeTimeout(3*time.Minute))
})

func blockedBy(ctx context.Context, n *scenario.Namespace, name string) func() []string {
	return func() []string {
		if sync := n.Release(ctx, name).Status.Sync; sync != nil {
			return sync.BlockedBy
		}
		return nil
	}
}

// running fails until a Job has a Pod that runs.
func running(ctx context.Context, n *scenario.Namespace, name string) error {
	job, err := n.TargetClient.BatchV1().Jobs(n.Name).Get(ctx, name, metav1.GetOptions{})
	if err == nil && job.Status.Active == 0 {
		err = fmt.Errorf("Job %s has no Pod", name)
	}
	return err
}

// expectAfter expects what depends on a Job to be written after the end of the Job, by the
// versions of one API server.
func expectAfter(ctx context.Context, n *scenario.Namespace, name string) {
	GinkgoHelper()
	job, err := n.TargetClient.BatchV1().Jobs(n.Name).Get(ctx, name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	Expect(job.Status.Succeeded).To(BeEquivalentTo(1))
	app, err := n.TargetClient.CoreV1().ConfigMaps(n.Name).Get(ctx, "app", metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	Expect(revision(app.ResourceVersion)).To(BeNumerically(">", revision(job.ResourceVersion)))
}

func revision(resourceVersion string) int64 {
	GinkgoHelper()
	n, err := strconv.ParseInt(resourceVersion, 10, 64)
	Expect(err).NotTo(HaveOccurred())
	return n
}
