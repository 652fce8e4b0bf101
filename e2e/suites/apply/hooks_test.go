// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/framework/installation"
)

const (
	preSync    = corev1alpha1.HookPreSync
	postSync   = corev1alpha1.HookPostSync
	preDelete  = corev1alpha1.HookPreDelete
	postDelete = corev1alpha1.HookPostDelete
	ttl        = "ttlSecondsAfterFinished: 0"
)

// chartJob is the manifest of a hook of a chart, with a weight.
func chartJob(name, weight string) string {
	return job(name+`, annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-weight: "`+weight+`"}`, "") + "\n"
}

var _ = table("A hook",
	entry{name: "whose Job removes itself is judged by its end, and its Job is gone after that", play: func(ctx context.Context, c *scene) {
		c.hook("migrate", preSync, job("migrate", "kwok.convoy.test/delay: 1s", ttl))
		start := c.now(ctx)
		c.offer(ctx, configMap("a", "1"))
		running := c.appears(ctx, "jobs.batch/migrate")
		c.Expect(at(running, "spec.ttlSecondsAfterFinished")).To(BeNil())
		c.Expect(running.GetFinalizers()).To(BeEmpty())
		c.ready(ctx)
		phase, _ := c.outcome(ctx, "migrate")
		c.Expect(phase).To(Equal(corev1alpha1.HookSucceeded))
		c.vanishes(ctx, "jobs.batch/migrate")
		c.holds(ctx, "ConfigMap/a")
		c.Expect(c.deletions(ctx, start)).To(Equal([]string{"delete jobs/migrate"}))
		c.sync(ctx)
		c.ready(ctx)
		c.Expect(c.find(ctx, "jobs.batch/migrate")).To(BeNil(), "it does not run again")
	}},
	entry{name: "whose Job removes itself and fails stops the sync, and its Job is gone after that", play: func(ctx context.Context, c *scene) {
		c.hook("migrate", preSync, job("migrate", failing, ttl))
		c.offer(ctx, configMap("a", "1"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonHookFailed, "preSync hook migrate (Job $ns/migrate) failed")
		c.vanishes(ctx, "jobs.batch/migrate")
		c.Expect(c.find(ctx, "configmaps/a")).To(BeNil())
		c.fails(ctx, "Applied", corev1alpha1.ReasonHookFailed)
	}},
	entry{name: "that somebody deletes while it runs has failed", play: func(ctx context.Context, c *scene) {
		c.hook("migrate", preSync, job("migrate", endless))
		c.offer(ctx, configMap("a", "1"))
		c.appears(ctx, "jobs.batch/migrate")
		c.Eventually(ctx, func() corev1alpha1.HookPhase { phase, _ := c.outcome(ctx, "migrate"); return phase }).Should(Equal(corev1alpha1.HookRunning))
		c.erase(ctx, "jobs.batch/migrate")
		c.fails(ctx, "Applied", corev1alpha1.ReasonHookFailed, "vanished before it finished")
	}},
	entry{name: "that takes too long has failed, and is stopped", play: func(ctx context.Context, c *scene) {
		c.hook("migrate", preSync, job("migrate", endless), within(3*time.Second))
		c.offer(ctx, configMap("a", "1"))
		c.Expect(c.appears(ctx, "jobs.batch/migrate")).To(has("spec.activeDeadlineSeconds", int64(3)))
		c.fails(ctx, "Applied", corev1alpha1.ReasonHookFailed, "migrate")
		c.Eventually(ctx, func() (int, error) {
			pods, err := c.targetKube.CoreV1().Pods(c.ns).List(ctx, metav1.ListOptions{})
			return len(pods.Items), err
		}).Should(BeZero(), "its pod does not go on")
		c.Expect(c.live(ctx, "jobs.batch/migrate")).To(c.ours("app"), "what is left of it can be looked at")
	}},
	entry{name: "of the last run is gone, pods and all, before the next one runs", play: func(ctx context.Context, c *scene) {
		c.hook("migrate", preSync, job("migrate", ""))
		c.deliver(ctx, configMap("a", "1"))
		pods, err := c.targetKube.CoreV1().Pods(c.ns).List(ctx, metav1.ListOptions{})
		c.Expect(err).NotTo(HaveOccurred())
		c.Expect(pods.Items).To(HaveLen(1))
		first, pod := c.uid(ctx, "jobs.batch/migrate"), "pods/"+pods.Items[0].Name
		c.edit(ctx, pod, "shutdown", `{"metadata":{"finalizers":["example.test/shutdown"]}}`)
		c.offer(ctx, configMap("a", "2"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonWaitingForHook, "waiting for the object of the last run of preSync hook migrate (Job $ns/migrate) to be gone")
		c.edit(ctx, pod, "shutdown", `{"metadata":{"finalizers":null}}`)
		c.ready(ctx)
		c.Expect(c.uid(ctx, "jobs.batch/migrate")).NotTo(Equal(first))
	}},
	entry{name: "of a chart runs in order of weight, accounts before Jobs", play: func(ctx context.Context, c *scene) {
		account := `{apiVersion: v1, kind: ServiceAccount, metadata: {name: z-account, annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-weight: "-3"}}}` + "\n"
		start := c.now(ctx)
		c.offerFiles(ctx, map[string]string{
			"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n", "templates/a.yaml": configMap("a", "1") + "\n",
			"templates/1.yaml": chartJob("ten", "10"), "templates/2.yaml": chartJob("two", "2"),
			"templates/3.yaml": strings.Replace(chartJob("a-job", "-3"), "restartPolicy: Never,", "restartPolicy: Never, serviceAccountName: z-account,", 1),
			"templates/4.yaml": account,
		})
		c.ready(ctx)
		c.Expect(c.writes(ctx, start)).To(inOrder("patch serviceaccounts/z-account", "patch jobs/a-job", "patch jobs/two", "patch jobs/ten", "patch configmaps/a"))
	}},
	entry{name: "after the sync runs when everything is healthy", play: func(ctx context.Context, c *scene) {
		c.hook("smoke", postSync, job("smoke", ""))
		c.deliver(ctx, slowDeployment("web", "i", "2s"))
		web, smoke := c.live(ctx, "deployments.apps/web"), c.live(ctx, "jobs.batch/smoke")
		c.Expect(smoke.GetCreationTimestamp().Sub(web.GetCreationTimestamp().Time)).To(BeNumerically(">=", 2*time.Second))
	}},
	entry{name: "before and after the deletion runs then, and leaves nothing", play: func(ctx context.Context, c *scene) {
		c.hook("backup", preDelete, job("backup", ""))
		c.hook("farewell", postDelete, job("farewell", ""))
		c.deliver(ctx, configMap("a", "1"))
		start := c.now(ctx)
		c.remove(ctx)
		c.gone(ctx)
		c.Expect(c.writes(ctx, start)).To(inOrder("patch jobs/backup", "delete configmaps/a", "patch jobs/farewell", "delete jobs/backup"))
		c.Expect(c.find(ctx, "jobs.batch/backup")).To(BeNil())
		c.Expect(c.find(ctx, "jobs.batch/farewell")).To(BeNil())
	}},
)

var _ = alone("A hook while nobody looks",
	entry{name: "is judged by its end, however late", play: func(ctx context.Context, c *scene) {
		c.hook("migrate", preSync, job("migrate", "", ttl))
		observer := c.convoy.Process(installation.Observer)
		c.Expect(observer.Stop(ctx)).To(Succeed())
		c.offer(ctx, configMap("a", "1"))
		c.appears(ctx, "jobs.batch/migrate")
		c.Eventually(ctx, func() any { return at(c.live(ctx, "jobs.batch/migrate"), "status.succeeded") }).Should(Equal(int64(1)))
		c.fails(ctx, "Applied", corev1alpha1.ReasonWaitingForHook)
		c.Expect(observer.Restart(ctx)).To(Succeed())
		c.ready(ctx)
		c.vanishes(ctx, "jobs.batch/migrate")
	}},
)
