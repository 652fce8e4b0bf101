// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// healthOf is the answer for a Release whose worst object has a status.
func healthOf(status corev1alpha1.HealthStatus, summary corev1alpha1.HealthSummary, objects ...corev1alpha1.ObjectHealthDetail) *corev1alpha1.ReleaseHealth {
	return &corev1alpha1.ReleaseHealth{
		TypeMeta: typeMeta("ReleaseHealth"), ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Status: status, Summary: summary, Objects: objects,
	}
}

func TestHealthPrints(t *testing.T) {
	g := NewWithT(t)
	deployment := corev1alpha1.ObjectKey{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	widget := corev1alpha1.ObjectKey{Group: "example.com", Version: "v1", Kind: "Widget", Name: "w"}
	since := metav1.NewTime(time.Now().Add(-time.Hour))
	answer := healthOf(corev1alpha1.HealthProgressing, corev1alpha1.HealthSummary{Healthy: 1, Progressing: 1},
		corev1alpha1.ObjectHealthDetail{ObjectHealth: corev1alpha1.ObjectHealth{ObjectKey: deployment, Status: corev1alpha1.HealthProgressing, Message: "1 of 2\nreplicas", Since: &since}, Rule: "builtin/apps/Deployment"},
		corev1alpha1.ObjectHealthDetail{ObjectHealth: corev1alpha1.ObjectHealth{ObjectKey: widget, Status: corev1alpha1.HealthHealthy}, Rule: "HealthRuleSet/web/phase"})
	answers := map[string]runtime.Object{"GET " + releasesPath + "/web/health": answer}

	code, out, errOut := run(t, answers, "health", "web")
	g.Expect(code).To(Equal(1))
	g.Expect(errOut).To(BeEmpty())
	g.Expect(out).To(MatchRegexp(`^OBJECT +STATUS +RULE +SINCE +MESSAGE\n` +
		`Deployment.apps shop/web +progressing +builtin/apps/Deployment +60m +1 of 2 replicas\n` +
		`Widget.example.com w +healthy +HealthRuleSet/web/phase +<unknown> +\n1 healthy, 1 progressing\n$`))

	_, out, _ = run(t, answers, "health", "web", "-o", "json")
	decoded := &corev1alpha1.ReleaseHealth{}
	g.Expect(json.Unmarshal([]byte(out), decoded)).To(Succeed())
	g.Expect(decoded.TypeMeta).To(Equal(typeMeta("ReleaseHealth")))
	g.Expect(decoded.Objects).To(HaveLen(2))
	g.Expect(decoded.Objects[1].Rule).To(Equal("HealthRuleSet/web/phase"))
}

func TestHealthPrintsTheTree(t *testing.T) {
	g := NewWithT(t)
	node := func(kind, name string, status corev1alpha1.HealthStatus, children ...corev1alpha1.ObjectHealthDetail) corev1alpha1.ObjectHealthDetail {
		return corev1alpha1.ObjectHealthDetail{ObjectHealth: corev1alpha1.ObjectHealth{
			ObjectKey: corev1alpha1.ObjectKey{Version: "v1", Kind: kind, Namespace: "shop", Name: name}, Status: status,
		}, Rule: "r", Children: children}
	}
	top := node("Deployment", "web", corev1alpha1.HealthHealthy,
		node("ReplicaSet", "web-1", corev1alpha1.HealthHealthy, node("Pod", "web-1-a", corev1alpha1.HealthDegraded)))
	since := metav1.NewTime(time.Now().Add(-time.Hour))
	top.Since = &since
	answers := map[string]runtime.Object{
		"GET " + releasesPath + "/web/health?tree=true": healthOf(corev1alpha1.HealthHealthy, corev1alpha1.HealthSummary{Healthy: 1}, top),
	}
	code, out, _ := run(t, answers, "health", "web", "--tree")
	g.Expect(code).To(BeZero(), "what is owned does not count")
	g.Expect(out).To(MatchRegexp(`\nDeployment shop/web +healthy +r +60m +\n  ReplicaSet shop/web-1 +healthy +r +\n    Pod shop/web-1-a +degraded +r +\n1 healthy\n$`))
}

func TestHealthExitStatus(t *testing.T) {
	one := corev1alpha1.HealthSummary{Unknown: 1}
	for _, test := range []struct {
		name   string
		answer *corev1alpha1.ReleaseHealth
		args   []string
		want   int
		told   string
	}{
		{"healthy", healthOf(corev1alpha1.HealthHealthy, corev1alpha1.HealthSummary{Healthy: 1}), nil, 0, ""},
		{"suspended", healthOf(corev1alpha1.HealthSuspended, corev1alpha1.HealthSummary{Suspended: 1}), nil, 0, ""},
		{"progressing", healthOf(corev1alpha1.HealthProgressing, corev1alpha1.HealthSummary{Progressing: 1}), nil, 1, ""},
		{"missing", healthOf(corev1alpha1.HealthMissing, corev1alpha1.HealthSummary{Missing: 1}), nil, 1, ""},
		{"degraded", healthOf(corev1alpha1.HealthDegraded, corev1alpha1.HealthSummary{Degraded: 1}), nil, 1, ""},
		{"unknown", healthOf(corev1alpha1.HealthUnknown, one), nil, 2, "error: the health of 1 object is not known\n"},
		{"nothing applied", healthOf(corev1alpha1.HealthUnknown, corev1alpha1.HealthSummary{}), nil, 2, "error: nothing of Release shop/web is applied yet\n"},
		{"no such Release", nil, nil, 2, "error: health of Release shop/web: releases.core.convoy.kumodo.io \"web\" not found\n"},
		{"an unknown format", healthOf(corev1alpha1.HealthHealthy, one), []string{"-o", "xml"}, 2, "error: --output: unknown format \"xml\", must be json or yaml\n"},
		{"an unknown flag", healthOf(corev1alpha1.HealthHealthy, one), []string{"--nonsense"}, 2, "error: unknown flag: --nonsense\n"},
		{"two names", healthOf(corev1alpha1.HealthHealthy, one), []string{"shop"}, 2, "error: health takes the name of one Release, got 2 arguments; see 'kubectl convoy health --help'\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			answers := map[string]runtime.Object{}
			if test.answer != nil {
				answers["GET "+releasesPath+"/web/health"] = test.answer
			}
			code, _, errOut := run(t, answers, append([]string{"health", "web"}, test.args...)...)
			g.Expect(code).To(Equal(test.want))
			g.Expect(errOut).To(Equal(test.told))
		})
	}
}
