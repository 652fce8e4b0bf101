// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// aChart has a subchart, and values of its own in a file.
var aChart = map[string]string{
	"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies: [{name: sub, version: 1.0.0}]\n", "values-more.yaml": "v: more\n",
	"templates/a.yaml":            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {v: {{ .Values.v }}}\n",
	"charts/sub/Chart.yaml":       "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
	"charts/sub/templates/b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n",
}

// incomplete is a case of a commit that leaves less than there was, by accident: nothing is
// deleted, nothing in the inventory changes, and what is applied stays.
func incomplete(name string, before, commit map[string]string, change func(*corev1alpha1.ReleaseSpec), condition string, told ...string) entry {
	return entry{name: name, play: func(ctx context.Context, c *scene) {
		if change != nil {
			change(&c.spec)
		}
		c.offerFiles(ctx, before)
		c.ready(ctx)
		had, start := c.inventory(ctx), c.now(ctx)
		c.Expect(had).To(HaveLen(2))
		c.offerFiles(ctx, commit)
		c.fails(ctx, condition, "", told...)
		c.sync(ctx)
		c.fails(ctx, "Ready", "", told...)
		c.Expect(c.writes(ctx, start)).To(BeEmpty())
		c.Expect(c.inventory(ctx)).To(Equal(had))
	}}
}

var _ = table("An incomplete render prunes nothing:",
	incomplete("the path is gone", map[string]string{"a.yaml": configMap("a", "1"), "b.yaml": configMap("b", "1"), "../other/c.yaml": configMap("c", "1")},
		map[string]string{"a.yaml": "", "b.yaml": ""}, nil, "SourceReady", "app"),
	incomplete("kustomize lists a file that is not there",
		map[string]string{"kustomization.yaml": "resources: [a.yaml, b.yaml]\n", "a.yaml": configMap("a", "1") + "\n", "b.yaml": configMap("b", "1") + "\n"},
		map[string]string{"b.yaml": ""}, nil, "Rendered", "b.yaml"),
	incomplete("a file ends in the middle of a document", map[string]string{"a.yaml": configMap("a", "1") + "\n---\n" + configMap("b", "1") + "\n"},
		map[string]string{"a.yaml": configMap("a", "1") + "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {na"}, nil, "Rendered", "a.yaml"),
	incomplete("a file of values is missing", aChart, map[string]string{"values-more.yaml": ""}, func(spec *corev1alpha1.ReleaseSpec) {
		spec.Render = &corev1alpha1.RenderSpec{Type: corev1alpha1.RenderHelm, Helm: &corev1alpha1.HelmRender{ValuesFiles: []string{"values-more.yaml"}}}
	}, "Rendered", "values-more.yaml"),
	incomplete("one subchart fails", aChart, map[string]string{"charts/sub/templates/b.yaml": "{{ fail \"no b today\" }}\n"}, nil, "Rendered", "no b today"),
)
