// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/suites/scenario"
)

var _ = Describe("suspend and resume", func() {
	It("stop and go on with what is named, or chosen and confirmed", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/cm.yaml": scenario.ConfigMap("cm", "v", "1")})
		for _, name := range []string{"a", "b"} {
			release := held(n, name, name)
			release.Labels = map[string]string{"team": name}
			n.Create(ctx, release)
		}
		isSuspended := func(name string) bool { return n.Release(ctx, name).Spec.Suspend }
		Expect(convoy(ctx, n, "suspend", "a", "--dry-run=server")).To(Equal("release.core.convoy.kumodo.io/a suspended (server dry run)\n"))
		Expect(isSuspended("a")).To(BeFalse())
		Expect(convoy(ctx, n, "suspend", "a", "cluster/here")).To(Equal(
			"release.core.convoy.kumodo.io/a suspended\ncluster.core.convoy.kumodo.io/here suspended\n"))
		Expect(isSuspended("a")).To(BeTrue())
		Expect(convoy(ctx, n, "suspend", "a")).To(Equal("release.core.convoy.kumodo.io/a unchanged\n"))
		Expect(convoy(ctx, n, "resume", "a", "ccl/here", "-o", "jsonpath={.items[*].spec.suspend}")).NotTo(ContainSubstring("true"))

		_, errOut, code := n.Kubectl(ctx, "convoy", "-n", n.Name, "suspend", "-l", "team=b")
		Expect(code).To(Equal(1))
		Expect(errOut).To(Equal("1 Release would be suspended:\n  Release " + n.Name + "/b\n" +
			"error: nothing was done: there is nobody to ask; give --yes if that is meant\n"))
		Expect(isSuspended("b")).To(BeFalse())
		convoy(ctx, n, "suspend", "releases", "gitrepositories", "--all", "--yes")
		Expect([]bool{isSuspended("a"), isSuspended("b")}).To(Equal([]bool{true, true}))
		convoy(ctx, n, "resume", "-l", "team=b", "-y")
		Expect(isSuspended("b")).To(BeFalse())

		Expect(refused(ctx, n, "suspend", "cluster/nobody")).To(HavePrefix(`error: Cluster ` + n.Name + `/nobody: clusters.core.convoy.kumodo.io "nobody" not found`))
		Expect(refused(ctx, n, "suspend", "pod/a")).To(ContainSubstring(`unknown kind "pod", must be one of release, cluster, gitrepository`))
		Expect(refused(ctx, n, "suspend", "-l", "team=c")).To(ContainSubstring("nothing fits"))
	}, NodeTimeout(limit))
})

var _ = Describe("pin, unpin and rollback", func() {
	It("hold a Release, bring back what was, and let it go", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/cm.yaml": scenario.ConfigMap("cm", "v", "1")})
		n.Create(ctx, n.GitRelease("web", scenario.Edge, "a"))
		n.AwaitReady(ctx, "web")
		Expect(refused(ctx, n, "rollback", "web")).To(ContainSubstring("has nothing that was healthy but what is applied; name an id, see kubectl convoy -n " + n.Name + " history web"))

		Expect(convoy(ctx, n, "pin", "web", "--reason", "frozen")).To(HavePrefix("release.core.convoy.kumodo.io/web pinned to revision main@sha1:"))
		n.Commit(ctx, map[string]string{"a/cm.yaml": scenario.ConfigMap("cm", "v", "2")})
		convoy(ctx, n, "sync", "web", "--wait")
		Expect(n.Data(ctx, "cm")()).To(HaveKeyWithValue("v", "1"))
		Expect(convoy(ctx, n, "why", "web")).To(And(ContainSubstring("\nNote\n  spec.pin\n    fixed to main@sha1:"), ContainSubstring("(frozen)"), ContainSubstring("→ kubectl convoy -n "+n.Name+" unpin web")))

		Expect(convoy(ctx, n, "unpin", "web")).To(Equal("release.core.convoy.kumodo.io/web unpinned\n"))
		Expect(convoy(ctx, n, "unpin", "web")).To(Equal("release.core.convoy.kumodo.io/web unchanged: it is not pinned\n"))
		convoy(ctx, n, "sync", "web", "--wait")
		Expect(n.Data(ctx, "cm")()).To(HaveKeyWithValue("v", "2"))

		second := n.Release(ctx, "web").Status.History[0].ID
		convoy(ctx, n, "rollback", "web", "--reason", "checkout is broken")
		Eventually(ctx, n.Data(ctx, "cm")).Should(HaveKeyWithValue("v", "1"))
		Expect(n.Release(ctx, "web").Spec.Pin).To(HaveField("Reason", "checkout is broken"))
		n.AwaitReady(ctx, "web")
		Expect(refused(ctx, n, "rollback", "web", "77")).To(ContainSubstring("has no id 77; see "))
		convoy(ctx, n, "rollback", "web", fmt.Sprint(second))
		Eventually(ctx, n.Data(ctx, "cm")).Should(HaveKeyWithValue("v", "2"))
		Expect(refused(ctx, n, "pin", "web", "--revision", "a", "--render", "b")).To(ContainSubstring("exclude each other"))
	}, NodeTimeout(limit))
})

var _ = Describe("mutate", func() {
	It("changes what is rendered, and takes that back", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/cm.yaml": scenario.ConfigMap("cm", "v", "1")})
		n.Create(ctx, n.GitRelease("web", scenario.Edge, "a"))
		n.AwaitReady(ctx, "web")
		_, errOut, code := n.Kubectl(ctx, "convoy", "-n", n.Name, "mutate", "web")
		Expect(code).To(BeZero())
		Expect(errOut).To(Equal("Release " + n.Name + "/web has no mutations.\n"))

		Expect(convoy(ctx, n, "mutate", "web", "v", "--target-kind", "ConfigMap", "--patch", "{data: {v: '2'}}", "--dry-run=server")).To(
			Equal("release.core.convoy.kumodo.io/web mutation v added (server dry run)\n"))
		Expect(n.Release(ctx, "web").Spec.Mutations).To(BeEmpty())
		Expect(convoy(ctx, n, "mutate", "web", "v", "--target-kind", "ConfigMap", "--patch", "{data: {v: '2'}}")).To(Equal("release.core.convoy.kumodo.io/web mutation v added\n"))
		Eventually(ctx, n.Data(ctx, "cm")).Should(HaveKeyWithValue("v", "2"))
		convoy(ctx, n, "mutate", "web", "w", "--target-name", "cm", "--type", "json", "--patch", `[{"op":"add","path":"/data/w","value":"1"}]`, "--before", "v")
		Eventually(ctx, n.Data(ctx, "cm")).Should(And(HaveKeyWithValue("v", "2"), HaveKeyWithValue("w", "1")))
		Expect(convoy(ctx, n, "mutate", "web")).To(Equal("NAME   TYPE        OPTIONAL   TARGET\nw      json        false      name cm\nv      strategic   false      kind ConfigMap\n"))
		Expect(convoy(ctx, n, "mutate", "web", "v")).To(Equal("name: v\npatch: '{data: {v: ''2''}}'\ntarget:\n  kind: ConfigMap\ntype: strategic\n"))
		Expect(convoy(ctx, n, "mutate", "web", "v", "--remove")).To(Equal("release.core.convoy.kumodo.io/web mutation v removed\n"))
		Eventually(ctx, n.Data(ctx, "cm")).Should(HaveKeyWithValue("v", "1"))

		Expect(refused(ctx, n, "mutate", "web", "x", "--patch", "a: [")).To(And(ContainSubstring("mutations of Release "+n.Name+"/web: "), ContainSubstring("spec.mutations[1].patch")))
		Expect(refused(ctx, n, "mutate", "web", "v", "--remove")).To(ContainSubstring(`has no mutation "v", but w`))
		Expect(refused(ctx, n, "mutate", "nobody")).To(HavePrefix("error: Release " + n.Name + "/nobody: "))
		convoy(ctx, n, "mutate", "web", "none", "--target-kind", "Job", "--patch", "{}")
		Eventually(ctx, func() string { return convoy(ctx, n, "why", "web") }).Should(ContainSubstring("none"))
	}, NodeTimeout(limit))
})

// failingHook is a preSync hook whose Job fails.
func failingHook(name string) corev1alpha1.Hook {
	return corev1alpha1.Hook{Name: name, On: corev1alpha1.HookPreSync, Template: runtime.RawExtension{Raw: []byte(
		`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"` + name + `"},"spec":{"backoffLimit":0,"template":{
			"metadata":{"annotations":{"kwok.convoy.test/behaviour":"fail"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`)}}
}

var _ = Describe("approve", func() {
	It("lets through what waits, and nothing else", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/cm.yaml": scenario.ConfigMap("cm", "v", "1")})
		release := n.GitRelease("web", scenario.Edge, "a")
		release.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Gates: []corev1alpha1.Gate{{Name: "qa", Before: "sync"}, {Name: "ops", Before: "sync"}}}
		n.Create(ctx, release)
		n.Create(ctx, held(n, "free", "a"))
		Expect(refused(ctx, n, "approve", "free")).To(ContainSubstring("has no gates; see kubectl convoy -n " + n.Name + " why free"))
		Eventually(ctx, func() *corev1alpha1.LifecycleStatus { return n.Release(ctx, "web").Status.Lifecycle }).ShouldNot(BeNil())

		Expect(refused(ctx, n, "approve", "web", "law")).To(ContainSubstring(`has no gate "law", but qa, ops`))
		Expect(refused(ctx, n, "approve", "web", "--render", "sha256:0000")).To(ContainSubstring("sha256:0000 is not what waits at gate "))
		Expect(convoy(ctx, n, "approve", "web", "qa")).To(HavePrefix("release.core.convoy.kumodo.io/web approved at gate qa: main@sha1:"))
		Expect(convoy(ctx, n, "approve", "web", "--withdraw")).To(Equal("release.core.convoy.kumodo.io/web not approved any more at gate qa\n"))
		Expect(convoy(ctx, n, "approve", "web")).To(HavePrefix("release.core.convoy.kumodo.io/web approved at gate qa, ops: main@sha1:"))
		n.AwaitReady(ctx, "web")
		Expect(refused(ctx, n, "approve", "web")).To(ContainSubstring("nothing waits at the gates of Release"))
	}, NodeTimeout(limit))
})

var _ = Describe("retry and skip", func() {
	It("go on after a hook that failed", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/cm.yaml": scenario.ConfigMap("cm", "v", "1")})
		release := n.GitRelease("web", scenario.Edge, "a")
		release.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Hooks: []corev1alpha1.Hook{failingHook("migrate")}}
		n.Create(ctx, release)
		failed := func(other string) corev1alpha1.HookStatus {
			GinkgoHelper()
			var found corev1alpha1.HookStatus
			Eventually(ctx, func(g Gomega) {
				lifecycle := n.Release(ctx, "web").Status.Lifecycle
				g.Expect(lifecycle).NotTo(BeNil())
				g.Expect(lifecycle.Hooks).To(HaveExactElements(HaveField("Phase", corev1alpha1.HookFailed)))
				found = lifecycle.Hooks[0]
				g.Expect(string(found.Object.UID)).NotTo(Equal(other))
			}).Should(Succeed())
			return found
		}
		first := failed("")
		n.AwaitCondition(ctx, "web", corev1alpha1.ConditionApplied, metav1.ConditionFalse)
		Eventually(ctx, func() string { return convoy(ctx, n, "why", "web") }).Should(And(
			ContainSubstring("    preSync hook migrate, for "), ContainSubstring("→ kubectl convoy -n "+n.Name+" skip web migrate\n")))
		Expect(refused(ctx, n, "retry", "web", "backup")).To(ContainSubstring("hook backup of Release " + n.Name + "/web has no run on record, and has not failed; see "))
		Expect(convoy(ctx, n, "retry", "web")).To(Equal("release.core.convoy.kumodo.io/web hook migrate run again\n"))
		failed(string(first.Object.UID))

		Expect(refused(ctx, n, "skip", "web")).To(ContainSubstring("takes the name of a Release and those of hooks"))
		Expect(convoy(ctx, n, "skip", "web", "migrate")).To(Equal("release.core.convoy.kumodo.io/web hook migrate skipped\n"))
		n.AwaitReady(ctx, "web")
		Expect(n.Data(ctx, "cm")()).To(HaveKeyWithValue("v", "1"))
		Expect(n.Release(ctx, "web").Status.Lifecycle.Hooks[0].Message).To(HavePrefix("skipped by hand; it had failed: "))
		Expect(refused(ctx, n, "retry", "web")).To(ContainSubstring("no hook of Release " + n.Name + "/web has failed"))
	}, NodeTimeout(limit))
})

var _ = Describe("skip", func() {
	It("lets a deletion end that a hook holds up", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/cm.yaml": scenario.ConfigMap("cm", "v", "1")})
		release := n.GitRelease("web", scenario.Edge, "a")
		hook := failingHook("backup")
		hook.On = corev1alpha1.HookPreDelete
		release.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Hooks: []corev1alpha1.Hook{hook}}
		n.Create(ctx, release)
		n.AwaitReady(ctx, "web")
		n.MustKubectl(ctx, "-n", n.Name, "delete", "release", "web", "--wait=false")
		Eventually(ctx, func() string { return convoy(ctx, n, "why", "web") }).Should(And(
			ContainSubstring("  the deletion of the Release: HookFailed, for "), ContainSubstring("    preDelete hook backup, for "),
			ContainSubstring("→ kubectl convoy -n "+n.Name+" retry web backup\n")))
		Expect(convoy(ctx, n, "status", "web")).To(MatchRegexp("Run hooks again with: +kubectl convoy -n " + n.Name + " retry web\n"))
		convoy(ctx, n, "skip", "web", "backup")
		Eventually(ctx, n.Data(ctx, "cm")).Should(BeNil())
		Eventually(ctx, func() string { return convoy(ctx, n, "status", "-o", "name") }).Should(BeEmpty())
	}, NodeTimeout(limit))
})

var _ = Describe("sync", func() {
	It("waits for many, and tells the end of each hook", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/cm.yaml": scenario.ConfigMap("cm", "v", "1"), "b/cm.yaml": scenario.ConfigMap("other", "v", "1")})
		for _, name := range []string{"a", "b"} {
			release := held(n, name, name)
			if name == "a" {
				hook := failingHook("migrate")
				hook.FailurePolicy = corev1alpha1.HookFailureIgnore
				release.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Hooks: []corev1alpha1.Hook{hook}}
			}
			n.Create(ctx, release)
		}
		out, errOut, code := n.Kubectl(ctx, "convoy", "-n", n.Name, "sync", "--all", "--yes", "--wait")
		Expect(code).To(BeZero(), errOut)
		Expect(out).To(Equal("release.core.convoy.kumodo.io/a sync requested\nrelease.core.convoy.kumodo.io/b sync requested\n"))
		Expect(errOut).To(And(MatchRegexp(`(?m)^%s/a: preSync hook migrate failed after `, n.Name), MatchRegexp(`(?m)^%s/b: Ready: `, n.Name)))
		Expect(refused(ctx, n, "sync", "nobody")).To(HavePrefix("error: sync of Release " + n.Name + "/nobody: "))
	}, NodeTimeout(limit))
})
