// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func valuesOf(raw string, origins ...corev1alpha1.ValueOrigin) *corev1alpha1.ReleaseValues {
	return &corev1alpha1.ReleaseValues{TypeMeta: typeMeta("ReleaseValues"), Values: runtime.RawExtension{Raw: []byte(raw)}, Origins: origins}
}

func TestValuesPrints(t *testing.T) {
	answers := map[string]runtime.Object{
		"GET " + releasesPath + "/web/values": valuesOf(`{"plain":"default","replicas":3}`,
			corev1alpha1.ValueOrigin{Path: "plain", Kind: corev1alpha1.ValueOriginChart, Name: "web/values.yaml"},
			corev1alpha1.ValueOrigin{Path: "replicas", Kind: corev1alpha1.ValueOriginFile, Name: "values-production.yaml"}),
		"GET " + releasesPath + "/web/values?revision=v1": valuesOf(`{"replicas":1}`, corev1alpha1.ValueOrigin{Path: "replicas", Kind: corev1alpha1.ValueOriginRelease}),
		"GET " + releasesPath + "/bare/values":            valuesOf(`{}`),
	}
	for _, c := range []struct {
		name      string
		args      []string
		code      int
		out, told string
	}{
		{"what the Release sets", []string{"web"}, 0, "replicas: 3\n", ""},
		{"where it comes from", []string{"web", "--show-origin"}, 0, "replicas: 3  # values-production.yaml\n", ""},
		{"with defaults", []string{"web", "-a"}, 0, "plain: default\nreplicas: 3\n", ""},
		{"with both", []string{"web", "--all", "--show-origin"}, 0, "plain: default  # chart default, web/values.yaml\nreplicas: 3  # values-production.yaml\n", ""},
		{"of a revision", []string{"web", "--revision", "v1"}, 0, "replicas: 1\n", ""},
		{"none", []string{"bare"}, 0, "", "Release shop/bare sets no values; --all shows the chart's own.\n"},
		{"none at all", []string{"bare", "--all"}, 0, "", "The chart of Release shop/bare has no values.\n"},
		{"an unknown Release", []string{"other"}, 1, "", "error: values of Release shop/other: releases.core.convoy.kumodo.io \"web\" not found\n"},
		{"no name", nil, 1, "", "error: values takes the name of one Release, got 0 arguments; see 'kubectl convoy values --help'\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			code, out, errOut := run(t, answers, append([]string{"values"}, c.args...)...)
			g.Expect(out).To(Equal(c.out))
			g.Expect(errOut).To(Equal(c.told))
			g.Expect(code).To(Equal(c.code))
		})
	}

	g := NewWithT(t)
	_, out, _ := run(t, answers, "values", "web", "-o", "json")
	decoded := &corev1alpha1.ReleaseValues{}
	g.Expect(json.Unmarshal([]byte(out), decoded)).To(Succeed())
	g.Expect(decoded.TypeMeta).To(Equal(typeMeta("ReleaseValues")))
	g.Expect(decoded.Values.Raw).To(MatchJSON(`{"replicas":3}`), "as without -o")
	g.Expect(decoded.Origins).To(Equal([]corev1alpha1.ValueOrigin{{Path: "replicas", Kind: corev1alpha1.ValueOriginFile, Name: "values-production.yaml"}}))
}

func TestValuesOfWhatIsNoChart(t *testing.T) {
	g := NewWithT(t)
	const cause = "there are no values: only charts have any, and spec.render.type is plain"
	code, out, errOut := runAgainst(t, context.Background(), func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, cause)
	}, "values", "web")
	g.Expect(code).To(Equal(1))
	g.Expect(out).To(BeEmpty())
	g.Expect(errOut).To(Equal("error: values of Release shop/web: " + cause + "\n"))
}
