// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"slices"
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

// chart is the files of a chart with a ConfigMap a and the given templates.
func chart(templates ...string) map[string]string {
	return map[string]string{
		"Chart.yaml":         "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"templates/all.yaml": strings.Join(append(templates, configMap("a", "1")), "\n---\n") + "\n",
	}
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
		c.fails(ctx, "Applied", corev1alpha1.ReasonWaitingForHook, "waiting for preSync hook migrate (Job $ns/migrate): waits for the object of its last run to be gone")
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
	entry{name: "of a chart finds what other hooks brought, which goes after it", play: func(ctx context.Context, c *scene) {
		of := func(weight, policy string) string {
			return `, annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-weight: "` + weight + `", helm.sh/hook-delete-policy: "` + policy + `"}`
		}
		start := c.now(ctx)
		c.offerFiles(ctx, chart(
			configMap("settings"+of("-5", "before-hook-creation,hook-succeeded"), "1"),
			object("v1 ServiceAccount", "account"+of("0", "before-hook-creation,hook-succeeded"), ""),
			job("migrate"+of("0", "before-hook-creation,hook-succeeded"), "kwok.convoy.test/delay: 1s"),
		))
		c.ready(ctx)
		c.vanishes(ctx, "configmaps/settings")
		c.Expect(c.writes(ctx, start)).To(inOrder("patch configmaps/settings", "patch serviceaccounts/account", "patch jobs/migrate", "delete jobs/migrate"))
		c.Expect(c.deletions(ctx, start)).To(inOrder("delete jobs/migrate", "delete serviceaccounts/account"))
		c.holds(ctx, "ConfigMap/a")
	}},
	entry{name: "of a chart that is one for two points runs at both", play: func(ctx context.Context, c *scene) {
		start := c.now(ctx)
		c.offerFiles(ctx, chart(job(`toggle, annotations: {helm.sh/hook: "pre-install,post-install"}`, "")))
		c.ready(ctx)
		c.Expect(slices.DeleteFunc(c.writes(ctx, start), func(text string) bool {
			return !strings.HasSuffix(text, "/toggle") && !strings.HasSuffix(text, "configmaps/a")
		})).To(Equal([]string{"patch jobs/toggle", "patch configmaps/a", "delete jobs/toggle", "patch jobs/toggle"}))
	}},
	entry{name: "whose Job was left by Helm runs", play: func(ctx context.Context, c *scene) {
		c.byHand(ctx, "helm", job("migrate, namespace: $ns, annotations: {helm.sh/hook: pre-install}", ""))
		c.Eventually(ctx, func() any { return at(c.live(ctx, "jobs.batch/migrate"), "status.succeeded") }).Should(Equal(int64(1)))
		left := c.uid(ctx, "jobs.batch/migrate")
		c.offerFiles(ctx, chart(chartJob("migrate", "0")))
		c.ready(ctx)
		c.Expect(c.live(ctx, "jobs.batch/migrate")).To(And(c.ours("app"), Not(has("metadata.uid", left))))
	}},
	entry{name: "does not take the name of what somebody made", play: func(ctx context.Context, c *scene) {
		c.byHand(ctx, "hand", job("migrate, namespace: $ns", ""))
		theirs := c.uid(ctx, "jobs.batch/migrate")
		c.hook("migrate", preSync, job("migrate", ""))
		c.offer(ctx, configMap("a", "1"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonOwnershipConflict, "preSync hook migrate (Job $ns/migrate): something bears its name already", "delete it, or give")
		c.Expect(c.live(ctx, "jobs.batch/migrate")).To(And(unmarked(), has("metadata.uid", theirs)))
		c.erase(ctx, "jobs.batch/migrate")
		c.ready(ctx)
	}},
	entry{name: "whose Job was given up by a Release, and has changed, runs in the next one", play: func(ctx context.Context, c *scene) {
		c.hook("migrate", preSync, job("migrate, annotations: {helm.sh/resource-policy: keep}", ""))
		c.spec.DeletionPolicy = corev1alpha1.DeletionPolicyOrphan
		c.deliver(ctx, configMap("a", "1"))
		left := c.uid(ctx, "jobs.batch/migrate")
		c.remove(ctx)
		c.gone(ctx)
		c.Expect(c.live(ctx, "jobs.batch/migrate")).To(And(unmarked(), has("metadata.uid", left)))
		next := c.second("next")
		next.hook("migrate", preSync, strings.ReplaceAll(job("migrate", ""), "image: i", "image: other"))
		next.deliver(ctx, configMap("a", "1"))
		c.Expect(c.live(ctx, "jobs.batch/migrate")).To(And(c.ours("next"), Not(has("metadata.uid", left))))
	}},
	entry{name: "that is to be kept runs again at the next revision", play: func(ctx context.Context, c *scene) {
		c.hook("migrate", preSync, job("migrate, annotations: {helm.sh/resource-policy: keep}", ""))
		c.deliver(ctx, configMap("a", "1"))
		first := c.uid(ctx, "jobs.batch/migrate")
		c.deliver(ctx, configMap("a", "2"))
		second := c.uid(ctx, "jobs.batch/migrate")
		c.Expect(second).NotTo(Equal(first))
		c.remove(ctx)
		c.gone(ctx)
		c.Expect(c.live(ctx, "jobs.batch/migrate")).To(And(unmarked(), has("metadata.uid", second)), "the Release does not take it along")
	}},
	entry{name: "of a kind that the chart's crds define comes after the definition", play: func(ctx context.Context, c *scene) {
		files := chart(widget("w, annotations: {helm.sh/hook: pre-install}"))
		files["crds/widgets.yaml"] = definition("") + "\n"
		start := c.now(ctx)
		c.offerFiles(ctx, files)
		c.ready(ctx)
		c.Expect(c.writes(ctx, start)).To(inOrder(c.of("patch customresourcedefinitions/widgets.$ns.test"), "patch widgets/w", "patch configmaps/a"))
	}},
	entry{name: "that failed before the deletion runs again when it is taken off the record", play: func(ctx context.Context, c *scene) {
		c.hook("backup", preDelete, job("backup", failing))
		c.deliver(ctx, configMap("a", "1"))
		c.remove(ctx)
		c.fails(ctx, "Ready", corev1alpha1.ReasonHookFailed, "backup")
		first := c.uid(ctx, "jobs.batch/backup")
		c.Eventually(ctx, func() error {
			release := c.get(ctx)
			release.Status.Lifecycle.Hooks = nil
			_, err := c.api.CoreV1alpha1().Releases(c.ns).UpdateLifecycle(ctx, "app", release, metav1.UpdateOptions{})
			return err
		}).Should(Succeed())
		c.Eventually(ctx, func() bool {
			live := c.find(ctx, "jobs.batch/backup")
			return live != nil && string(live.GetUID()) != first
		}).Should(BeTrue())
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
