// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// times and random endings of names, which no two runs have in common.
var changing = regexp.MustCompile(`\b(\d+[smhd])+\b|-[a-z0-9]{5,10}\b`)

// steady gives lines with single spaces, with NS for the namespace and without times and random
// names.
func steady(n *scenario.Namespace, text string) []string {
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(text, n.Name, "NS")) {
		lines = append(lines, strings.Join(strings.Fields(changing.ReplaceAllString(line, "")), " "))
	}
	return lines
}

var _ = Describe("tree", func() {
	It("shows the objects of a Release, and what they own", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/d.yaml": deployment("web", ""), "a/cm.yaml": scenario.ConfigMap("settings", "v", "1")})
		n.Create(ctx, n.GitRelease("web", scenario.Edge, "a"))
		n.AwaitReady(ctx, "web")
		Eventually(ctx, func() []string { return steady(n, convoy(ctx, n, "tree", "web", "--no-headers")) }).Should(HaveExactElements(
			HavePrefix("Release NS/web healthy main@sha1:"),
			"├─ ConfigMap NS/settings healthy",
			HavePrefix("└─ Deployment.apps NS/web healthy"),
		))
		Expect(steady(n, convoy(ctx, n, "tree", "web", "--deep"))).To(HaveExactElements(
			"OBJECT STATUS SINCE MESSAGE",
			HavePrefix("Release "), HavePrefix("├─ ConfigMap "), HavePrefix("└─ Deployment.apps "),
			HavePrefix("└─ ReplicaSet.apps NS/web healthy"), HavePrefix("└─ Pod NS/web healthy"),
		))
		Expect(convoy(ctx, n, "tree", "web", "-o", "name")).To(Equal("configmap/settings\ndeployment.apps/web\n"))
		var health corev1alpha1.ReleaseHealth
		Expect(json.Unmarshal([]byte(convoy(ctx, n, "tree", "web", "--deep", "-o", "json")), &health)).To(Succeed())
		Expect(health.Objects).To(ContainElement(HaveField("Children", Not(BeEmpty()))))
	}, NodeTimeout(limit))

	It("says that there is no such Release", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, nil)
		Expect(refused(ctx, n, "tree", "nobody")).To(Equal("error: Release " + n.Name +
			"/nobody: releases.core.convoy.kumodo.io \"nobody\" not found\ntry: kubectl convoy status -A\n"))
	}, NodeTimeout(limit))
})

var _ = Describe("why", func() {
	It("follows who waits for whom to the cause", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{
			"db/d.yaml": deployment("db", "kwok.convoy.test/behaviour: crash"), "web/cm.yaml": scenario.ConfigMap("web", "v", "1"),
		})
		n.Create(ctx, n.GitRelease("db", scenario.Edge, "db"))
		web := n.GitRelease("web", scenario.Edge, "web")
		web.Spec.Wave = 1
		n.Create(ctx, web)
		Eventually(ctx, func() string { return convoy(ctx, n, "why", "web") }).Should(And(
			HavePrefix("Release "+n.Name+"/web is not Ready, for "),
			MatchRegexp(`(?m)^  Applied: WaitingForWave, for \w+\n    waiting for Release db \(wave 0\)`),
			MatchRegexp(`(?m)^    Release db \(wave 0\)\n      is not Healthy`),
			ContainSubstring("→ kubectl convoy -n "+n.Name+" tree db --deep\n"),
		))
		Eventually(ctx, func() string { return convoy(ctx, n, "why", "db") }).Should(MatchRegexp(`(?m)^    Deployment.apps %s/db: (progressing|degraded), for `, n.Name))
	}, NodeTimeout(limit))

	It("tells of what is suspended, missing or waits for people, with the way out", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/cm.yaml": scenario.ConfigMap("cm", "v", "1")})
		release := n.GitRelease("web", scenario.Edge, "a")
		release.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Gates: []corev1alpha1.Gate{{Name: "qa", Before: "sync"}}}
		n.Create(ctx, release)
		n.Create(ctx, n.GitRelease("lost", "nowhere", "a"))
		Eventually(ctx, func() string { return convoy(ctx, n, "why", "lost") }).Should(And(
			ContainSubstring("  Cluster nowhere: NotFound\n"), ContainSubstring("cluster add nowhere --target-context CONTEXT\n")))
		Eventually(ctx, func() string { return convoy(ctx, n, "why", "web") }).Should(And(
			ContainSubstring("    gate qa\n      nobody has approved main@sha1:"),
			ContainSubstring("→ approve it: kubectl convoy -n "+n.Name+" approve web --render sha256:")))

		convoy(ctx, n, "suspend", "cluster/edge", "gitrepository/repo")
		Expect(convoy(ctx, n, "why", "web")).To(And(
			ContainSubstring("  Cluster edge: Suspended"), ContainSubstring("→ kubectl convoy -n "+n.Name+" resume cluster/edge\n"),
			ContainSubstring("  GitRepository repo: Suspended"), ContainSubstring("→ kubectl convoy -n "+n.Name+" resume gitrepository/repo\n")))
		convoy(ctx, n, "resume", "cluster/edge", "gitrepository/repo")

		convoy(ctx, n, "approve", "web")
		n.AwaitReady(ctx, "web")
		Expect(convoy(ctx, n, "why", "web")).To(Equal("Release " + n.Name + "/web is Ready: nothing blocks it\n"))
	}, NodeTimeout(limit))

	It("leaves out what may not be read", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/cm.yaml": scenario.ConfigMap("cm", "v", "1")})
		n.Create(ctx, n.GitRelease("lost", "nowhere", "a"))
		n.AwaitCondition(ctx, "lost", corev1alpha1.ConditionReady, metav1.ConditionFalse)
		n.MustKubectl(ctx, "-n", n.Name, "create", "role", "one", "--verb=get", "--resource=releases.core.convoy.kumodo.io")
		n.MustKubectl(ctx, "-n", n.Name, "create", "rolebinding", "one", "--role=one", "--user=eve")
		Eventually(ctx, func() string {
			out, errOut, _ := n.Kubectl(ctx, "convoy", "-n", n.Name, "why", "lost", "--as", "eve")
			return out + errOut
		}).Should(And(ContainSubstring("is not Ready"), ContainSubstring("ClusterNotFound"), Not(ContainSubstring("forbidden"))))
		Expect(refused(ctx, n, "tree", "lost", "--as", "eve")).To(ContainSubstring(`cannot list resource "releaseinventories"`))
	}, NodeTimeout(limit))
})

var _ = Describe("events and render", func() {
	It("tell what happened, and what would be applied", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/cm.yaml": scenario.ConfigMap("cm", "v", "1")})
		n.Create(ctx, n.GitRelease("web", scenario.Edge, "a"))
		n.AwaitReady(ctx, "web")
		Eventually(ctx, func() string { return convoy(ctx, n, "events", "web") }).Should(MatchRegexp(`Normal +Applied +Release/web`))
		Eventually(ctx, func() string { return convoy(ctx, n, "events", "-o", "wide") }).Should(MatchRegexp(`Release/web .* convoy-controller-manager\n`))
		out, errOut, code := n.Kubectl(ctx, "convoy", "-n", n.Name, "events", "nobody")
		Expect([]any{out, errOut, code}).To(Equal([]any{"", "No events found. Events are kept for an hour by most clusters.\n", 0}))

		n.Commit(ctx, map[string]string{"a/cm.yaml": scenario.ConfigMap("cm", "v", "2")})
		Eventually(ctx, func() string { return convoy(ctx, n, "render", "web") }).Should(And(HavePrefix("---\n"), ContainSubstring(`v: "2"`)))
		history := n.Release(ctx, "web").Status.History
		Expect(convoy(ctx, n, "render", "web", "--id", "1")).To(ContainSubstring(`v: "1"`))
		Expect(convoy(ctx, n, "render", "web", "--revision", history[len(history)-1].Revision, "-o", "jsonpath={.items[*].data.v}")).To(Equal("1\n"))
		Expect(refused(ctx, n, "render", "web", "--id", "77")).To(ContainSubstring("history id 77 of Release"))
	}, NodeTimeout(limit))
})

var _ = Describe("status", func() {
	It("chooses, and prints as kubectl does", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/cm.yaml": scenario.ConfigMap("cm", "v", "1")})
		for _, name := range []string{"a", "b"} {
			release := held(n, name, name)
			release.Labels = map[string]string{"name": name}
			n.Create(ctx, release)
		}
		Expect(convoy(ctx, n, "status", "-o", "name")).To(Equal("release.core.convoy.kumodo.io/a\nrelease.core.convoy.kumodo.io/b\n"))
		Expect(convoy(ctx, n, "status", "-l", "name=b", "-o", "jsonpath={.items[*].metadata.name}")).To(Equal("b\n"))
		Expect(convoy(ctx, n, "status", "-l", "name=b", "-o", "wide", "--no-headers")).To(MatchRegexp(`^b +edge +0 +GitRepository/repo `))
		Expect(convoy(ctx, n, "status", "-A")).To(MatchRegexp(`(?m)^NAMESPACE +NAME [\s\S]*^%s +a +edge `, n.Name))
		Expect(refused(ctx, n, "status", "-o", "xml")).To(ContainSubstring(`unknown format "xml"`))
	}, NodeTimeout(limit))
})
