// SPDX-License-Identifier: Apache-2.0

package look

import (
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/suites/scenario"
)

var _ = Describe("A diff", func() {
	secret := func(value string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {same: canary-same, p: canary-" + value + "}\n"
	}

	It("compares any two sides, in any form, and shows no secret", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/cm.yaml": scenario.ConfigMap("cm", "v", "1"), "a/s.yaml": secret("1")})
		n.Create(ctx, n.GitRelease("web", scenario.Edge, "a"))
		n.AwaitReady(ctx, "web")
		n.Commit(ctx, map[string]string{"a/cm.yaml": scenario.ConfigMap("cm", "v", "2"), "a/s.yaml": secret("2"), "a/new.yaml": scenario.ConfigMap("new", "v", "1")})
		n.Sync(ctx, "web")
		Eventually(ctx, n.Data(ctx, "cm")).Should(HaveKeyWithValue("v", "2"))
		var history []corev1alpha1.HistoryEntry
		Eventually(ctx, func() []corev1alpha1.HistoryEntry {
			history = n.Release(ctx, "web").Status.History
			return history
		}).Should(HaveLen(2), "which comes after the objects; Ready stays true in between")

		past := diff(ctx, n, "web", fmt.Sprint(history[1].ID), history[0].Render)
		Expect(past.Objects).To(ConsistOf(
			And(HaveField("Name", "cm"), HaveField("Action", corev1alpha1.ActionUpdate)),
			And(HaveField("Name", "s"), HaveField("Action", corev1alpha1.ActionUpdate)),
			And(HaveField("Name", "new"), HaveField("Action", corev1alpha1.ActionCreate)),
		))
		Expect(diff(ctx, n, "web", "", "").Changed).To(BeFalse())

		forth, back := diff(ctx, n, "web", "live", fmt.Sprint(history[1].ID)), diff(ctx, n, "web", fmt.Sprint(history[1].ID), "live")
		Expect(forth.Objects).To(ContainElement(And(HaveField("Name", "new"), HaveField("Action", corev1alpha1.ActionDelete))))
		Expect(back.Objects).To(ContainElement(And(HaveField("Name", "new"), HaveField("Action", corev1alpha1.ActionCreate))))
		Expect(back.Objects).To(ContainElement(And(HaveField("Name", "cm"),
			HaveField("Changes", []corev1alpha1.FieldChange{{Path: "/data/v", From: `"1"`, To: `"2"`}}))))

		for _, side := range []string{"live", fmt.Sprint(history[1].ID)} {
			for _, format := range []string{"", "json", "yaml", "patch"} {
				out, errOut, code := n.Kubectl(ctx, "convoy", "-n", n.Name, "diff", "web", "--from", fmt.Sprint(history[0].ID), "--to", side, "-o", format)
				Expect(code).To(BeElementOf(0, 1), errOut)
				Expect(out).NotTo(Or(ContainSubstring("canary"), ContainSubstring("Y2FuYXJ5")))
				Expect(strings.Contains(out, "(masked, changed)")).To(Equal(side != "live"), "that it changed is shown, and that it did not")
			}
		}
		var patches []corev1alpha1.ObjectPatch
		out, _, _ := n.Kubectl(ctx, "convoy", "-n", n.Name, "diff", "web", "--from", fmt.Sprint(history[1].ID), "--to", fmt.Sprint(history[0].ID), "-o", "patch")
		Expect(json.Unmarshal([]byte(out), &patches)).To(Succeed())
		Expect(patches).To(ContainElement(And(HaveField("Name", "cm"),
			HaveField("Patch", []corev1alpha1.JSONPatchOperation{{Op: "replace", Path: "/data/v", Value: json.RawMessage(`"2"`)}}))))
	}, NodeTimeout(limit))
})

var _ = Describe("Health", func() {
	It("tells of each object what decided since when, and what it owns", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/d.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}
`})
		n.Create(ctx, n.GitRelease("web", scenario.Edge, "a"))
		n.AwaitReady(ctx, "web")
		plain, err := releases(n).Health(ctx, "web", corev1alpha1.ReleaseHealthOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(plain.Objects).To(HaveExactElements(And(
			HaveField("Rule", "builtin/apps/Deployment"), HaveField("Since", Not(BeNil())), HaveField("Children", BeEmpty()),
		)))
		tree, err := releases(n).Health(ctx, "web", corev1alpha1.ReleaseHealthOptions{Tree: true})
		Expect(err).NotTo(HaveOccurred())
		Expect(tree.Summary).To(Equal(plain.Summary))
		Expect(tree.Objects[0].Children).To(HaveExactElements(HaveField("Kind", "ReplicaSet")))
		Expect(tree.Objects[0].Children[0].Children).To(HaveExactElements(
			And(HaveField("Kind", "Pod"), HaveField("Status", corev1alpha1.HealthHealthy), HaveField("Rule", "builtin/core/Pod")),
			HaveField("Kind", "Pod"),
		))
		Expect(n.MustKubectl(ctx, "convoy", "-n", n.Name, "health", "web", "--tree")).To(MatchRegexp(
			`(?m)^Deployment.apps \S+/web .*\n  ReplicaSet.apps \S+/web-.*\n    Pod \S+/web-.*\n    Pod \S+/web-.*\n1 healthy`))
	}, NodeTimeout(limit))
})

var _ = Describe("History", func() {
	It("tells the renders and their outcomes, and one of them whole", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/cm.yaml": scenario.ConfigMap("cm", "v", "1")})
		n.Create(ctx, n.GitRelease("web", scenario.Edge, "a"))
		n.AwaitReady(ctx, "web")
		Expect(n.TargetClient.CoreV1().ConfigMaps(n.Name).Delete(ctx, "cm", metav1.DeleteOptions{})).To(Succeed())
		history, err := releases(n).History(ctx, "web", corev1alpha1.ReleaseHistoryOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(history.Entries).To(HaveExactElements(HaveField("Outcome", corev1alpha1.OutcomeHealthy)))
		whole, err := releases(n).History(ctx, "web", corev1alpha1.ReleaseHistoryOptions{ID: fmt.Sprint(history.Entries[0].ID)})
		Expect(err).NotTo(HaveOccurred())
		Expect(whole.Objects).To(HaveLen(1))
		Expect(string(whole.Objects[0].Raw)).To(ContainSubstring(`"v":"1"`))
	}, NodeTimeout(limit))
})
