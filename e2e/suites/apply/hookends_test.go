// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func mayFail(h *corev1alpha1.Hook) { h.FailurePolicy = corev1alpha1.HookFailureIgnore }

// withoutJobs keeps Jobs from being made in the scene's namespace on the target.
func (c *scene) withoutJobs(ctx context.Context) {
	c.byHand(ctx, "hand", object("v1 ResourceQuota", "no-jobs, namespace: $ns", `spec: {hard: {count/jobs.batch: "0"}}`))
	c.Eventually(ctx, func() any { return at(c.live(ctx, "resourcequotas/no-jobs"), "status.hard") }).ShouldNot(BeNil())
}

// lifecycle has the entry of a hook in the status say something else, as a person does.
func (a *app) lifecycle(ctx context.Context, change func(*corev1alpha1.HookStatus)) {
	a.c.Eventually(ctx, func() error {
		release := a.get(ctx)
		change(&release.Status.Lifecycle.Hooks[0])
		_, err := a.c.api.CoreV1alpha1().Releases(a.c.ns).UpdateLifecycle(ctx, a.name, release, metav1.UpdateOptions{})
		return err
	}).Should(Succeed())
}

// dropsNamespace deletes a namespace of the target and waits for its end.
func (c *scene) dropsNamespace(ctx context.Context, name string) {
	namespaces := c.targetKube.CoreV1().Namespaces()
	c.Expect(namespaces.Delete(ctx, c.of(name), metav1.DeleteOptions{})).To(Succeed())
	c.Eventually(ctx, func() bool {
		_, err := namespaces.Get(ctx, c.of(name), metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}).Should(BeTrue())
}

var _ = table("A hook that is refused",
	entry{name: "by a quota says so, has failed after its time, and may be forced to run then", play: func(ctx context.Context, c *scene) {
		c.withoutJobs(ctx)
		c.hook("migrate", preSync, job("migrate", ""), within(6*time.Second))
		c.offer(ctx, configMap("a", "1"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonForbidden, "preSync hook migrate (Job $ns/migrate)", "exceeded quota", "it is tried again, and has failed if it cannot be started until")
		phase, message := c.outcome(ctx, "migrate")
		c.Expect(phase).To(Equal(corev1alpha1.HookRunning))
		c.Expect(message).To(ContainSubstring("exceeded quota"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonHookFailed, "did not start within 6s", "exceeded quota")
		c.Expect(c.find(ctx, "configmaps/a")).To(BeNil())
		c.erase(ctx, "resourcequotas/no-jobs")
		c.force(ctx)
		c.ready(ctx)
	}},
	entry{name: "and may fail holds nothing up after its time", play: func(ctx context.Context, c *scene) {
		c.withoutJobs(ctx)
		c.hook("warm", preSync, job("warm", ""), within(2*time.Second), mayFail)
		c.hook("lost", preSync, job("lost, namespace: $ns-nowhere", ""), within(2*time.Second), mayFail)
		c.deliver(ctx, configMap("a", "1"))
		for hook, text := range map[string]string{"warm": "exceeded quota", "lost": `namespace "$ns-nowhere" does not exist`} {
			phase, message := c.outcome(ctx, hook)
			c.Expect(phase).To(Equal(corev1alpha1.HookFailed))
			c.Expect(message).To(ContainSubstring(c.of(text)))
		}
	}},
	entry{name: "runs once it is not any more", play: func(ctx context.Context, c *scene) {
		c.withoutJobs(ctx)
		c.hook("migrate", preSync, job("migrate", ""))
		c.offer(ctx, configMap("a", "1"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonForbidden)
		c.erase(ctx, "resourcequotas/no-jobs")
		c.ready(ctx)
	}},
	entry{name: "before a deletion says what the ways out are, and each is one", play: func(ctx context.Context, c *scene) {
		c.hook("backup", preDelete, job("backup", ""), within(2*time.Second))
		c.deliver(ctx, configMap("a", "1"))
		c.withoutJobs(ctx)
		c.remove(ctx)
		c.fails(ctx, "Ready", corev1alpha1.ReasonHookFailed, "did not start within 2s", "exceeded quota", "taken out of status.lifecycle.hooks", "has the phase succeeded there", "spec.deletionPolicy: orphan")
		c.live(ctx, "configmaps/a")
		c.lifecycle(ctx, func(h *corev1alpha1.HookStatus) { h.Phase = corev1alpha1.HookSucceeded })
		c.gone(ctx)
		c.Expect(c.find(ctx, "configmaps/a")).To(BeNil())
	}},
	entry{name: "before a deletion, in a namespace that is gone, is passed over", play: func(ctx context.Context, c *scene) {
		c.spec.TargetNamespace, c.spec.CreateNamespace = c.of("$ns-own"), true
		c.hook("backup", preDelete, job("backup", ""))
		c.deliver(ctx, configMap("a", "1"))
		c.dropsNamespace(ctx, "$ns-own")
		c.remove(ctx)
		c.gone(ctx)
		c.told(ctx, "HooksSkipped", "preDelete hook backup (Job $ns-own/backup): passed over: namespace $ns-own does not exist any more")
	}},
)

var _ = table("A hook around a deletion",
	entry{name: "in a namespace that the Release takes along runs before that goes", play: func(ctx context.Context, c *scene) {
		c.spec.TargetNamespace = c.of("$ns-own")
		c.hook("farewell", postDelete, job("farewell", ""))
		c.deliver(ctx, object("v1 Namespace", "$ns-own", ""), configMap("a", "1"))
		start := c.now(ctx)
		c.remove(ctx)
		c.gone(ctx)
		c.Expect(c.writes(ctx, start)).To(inOrder("delete configmaps/a", "patch jobs/farewell", "delete jobs/farewell", c.of("delete namespaces/$ns-own")))
	}},
	entry{name: "runs though the source is gone, and what it says counts", play: func(ctx context.Context, c *scene) {
		c.hook("backup", preDelete, job("backup", failing))
		c.deliver(ctx, configMap("a", "1"))
		c.Expect(c.api.SourceV1alpha1().GitRepositories(c.ns).Delete(ctx, repository, metav1.DeleteOptions{})).To(Succeed())
		c.remove(ctx)
		c.fails(ctx, "Ready", corev1alpha1.ReasonHookFailed, "preDelete hook backup (Job $ns/backup) failed")
		c.live(ctx, "configmaps/a")
		c.lifecycle(ctx, func(h *corev1alpha1.HookStatus) { h.Phase = corev1alpha1.HookSucceeded })
		c.gone(ctx)
		c.Expect(c.find(ctx, "configmaps/a")).To(BeNil())
	}},
	entry{name: "waits until what a sync runs has been ended", play: func(ctx context.Context, c *scene) {
		c.hook("backup", preDelete, job("backup", ""))
		c.deliver(ctx, configMap("a", "1"))
		c.hook("migrate", preSync, job("migrate", "kwok.convoy.test/delay: 10m"))
		c.change(ctx, func(r *corev1alpha1.Release) { r.Spec.Lifecycle = c.spec.Lifecycle })
		c.fails(ctx, "Applied", corev1alpha1.ReasonWaitingForHook, "preSync hook migrate")
		start := c.now(ctx)
		c.remove(ctx)
		c.gone(ctx)
		c.Expect(c.writes(ctx, start)).To(inOrder("delete jobs/migrate", "patch jobs/backup", "delete configmaps/a", "delete jobs/backup"))
	}},
	entry{name: "runs though there is nothing but hooks", play: func(ctx context.Context, c *scene) {
		policy := `, annotations: {helm.sh/hook: %s, helm.sh/hook-delete-policy: hook-succeeded}`
		c.offerFiles(ctx, map[string]string{
			"Chart.yaml":       "apiVersion: v2\nname: app\nversion: 1.0.0\n",
			"templates/a.yaml": job("only"+fmt.Sprintf(policy, "pre-install"), "") + "\n",
			"templates/b.yaml": job("bye"+fmt.Sprintf(policy, "pre-delete"), "") + "\n",
		})
		c.ready(ctx)
		c.vanishes(ctx, "jobs.batch/only")
		c.holds(ctx)
		start := c.now(ctx)
		c.remove(ctx)
		c.gone(ctx)
		c.Expect(c.writes(ctx, start)).To(inOrder("patch jobs/bye", "delete jobs/bye"))
	}},
)

var _ = table("A hook of another Release",
	entry{name: "is left alone while it runs and when it has ended", play: func(ctx context.Context, c *scene) {
		migrate := chartJob("migrate", "0")
		account := object("v1 ServiceAccount", `account, annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-weight: "-5"}`, "")
		c.hook("slow", preSync, job("slow", "kwok.convoy.test/delay: 5s"))
		c.offerFiles(ctx, chart(migrate, account))
		c.appears(ctx, "jobs.batch/migrate")
		first, who := c.uid(ctx, "jobs.batch/migrate"), c.uid(ctx, "serviceaccounts/account")
		b := c.second("b")
		offer := func(hook string) {
			b.offerFiles(ctx, map[string]string{
				"Chart.yaml": "apiVersion: v2\nname: b\nversion: 1.0.0\n", "templates/all.yaml": hook + "\n---\n" + configMap("b", "1") + "\n",
			})
		}
		offer(account)
		b.fails(ctx, "Applied", corev1alpha1.ReasonOwnershipConflict, "preSync hook ServiceAccount $ns/account: belongs to Release $ns/app")
		offer(migrate)
		b.fails(ctx, "Applied", corev1alpha1.ReasonOwnershipConflict, "preSync hook Job $ns/migrate: belongs to Release $ns/app")
		c.ready(ctx)
		b.sync(ctx)
		b.fails(ctx, "Applied", corev1alpha1.ReasonOwnershipConflict, "preSync hook Job $ns/migrate")
		c.Expect(c.live(ctx, "jobs.batch/migrate")).To(And(c.ours("app"), has("metadata.uid", first)))
		c.Expect(c.live(ctx, "serviceaccounts/account")).To(And(c.ours("app"), has("metadata.uid", who)))
		c.remove(ctx)
		c.gone(ctx)
		b.ready(ctx)
		c.Expect(c.live(ctx, "jobs.batch/migrate")).To(And(c.ours("b"), Not(has("metadata.uid", first))))
	}},
)

var _ = table("A hook that is overtaken",
	entry{name: "by one of another name is gone before that runs", play: func(ctx context.Context, c *scene) {
		start := c.now(ctx)
		c.offerFiles(ctx, chart(job(`migrate-1, annotations: {helm.sh/hook: "pre-install,pre-upgrade"}`, endless)))
		c.appears(ctx, "jobs.batch/migrate-1")
		c.Eventually(ctx, func() corev1alpha1.HookPhase { phase, _ := c.outcome(ctx, "preSync/Job/migrate-1"); return phase }).Should(Equal(corev1alpha1.HookRunning))
		c.offerFiles(ctx, chart(chartJob("migrate-2", "0")))
		c.ready(ctx)
		c.Expect(c.find(ctx, "jobs.batch/migrate-1")).To(BeNil())
		c.Expect(c.writes(ctx, start)).To(inOrder("patch jobs/migrate-1", "delete jobs/migrate-1", "patch jobs/migrate-2", "patch configmaps/a"))
	}},
	entry{name: "runs again when what it is of comes back", play: func(ctx context.Context, c *scene) {
		stuck := object("apps/v1 Deployment", "web",
			"spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}, annotations: {"+endless+"}}, spec: {containers: [{name: c, image: %q}]}}}")
		last := configMap(`z, annotations: {convoy.kumodo.io/stage: "5"}`, "1")
		c.offerFiles(ctx, chart(chartJob("migrate", "0"), fmt.Sprintf(stuck, "one"), last))
		c.fails(ctx, "Applied", corev1alpha1.ReasonWaitingForStage)
		first := c.uid(ctx, "jobs.batch/migrate")
		c.offerFiles(ctx, chart(fmt.Sprintf(stuck, "two"), last))
		c.Eventually(ctx, func() any { return at(c.live(ctx, "deployments.apps/web"), "spec.template.spec.containers.0.image") }).Should(Equal("two"))
		c.fails(ctx, "Applied", corev1alpha1.ReasonWaitingForStage)
		c.offerFiles(ctx, chart(chartJob("migrate", "0"), fmt.Sprintf(stuck, "one"), last))
		c.Eventually(ctx, func() bool {
			live := c.find(ctx, "jobs.batch/migrate")
			return live != nil && string(live.GetUID()) != first
		}).Should(BeTrue(), "it does not run again")
	}},
)

var _ = table("A namespace that cannot be read",
	entry{name: "and is there holds nothing up", play: func(ctx context.Context, c *scene) {
		c.spec.ServiceAccountName, c.spec.CreateNamespace = "narrow", true
		c.byHand(ctx, "hand", object("rbac.authorization.k8s.io/v1 Role", "narrow, namespace: $ns",
			`rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list, create, patch, delete]}]`)+"\n---\n"+
			object("rbac.authorization.k8s.io/v1 RoleBinding", "narrow, namespace: $ns",
				"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: narrow}, subjects: [{kind: ServiceAccount, name: narrow, namespace: $ns}]"))
		c.deliver(ctx, configMap("a", "1"))
		c.Expect(c.live(ctx, "configmaps/a")).To(c.ours("app"))
	}},
)
