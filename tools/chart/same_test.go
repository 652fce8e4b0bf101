// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The chart and config/ are two forms of one installation.
func TestBothFormsRenderToTheSameObjects(t *testing.T) {
	for _, one := range []struct {
		name    string
		values  string
		folders []string
	}{
		{"as shipped", "", []string{"default", "health-rules"}},
		{"certificates by cert-manager", "{certificates: {issuer: cert-manager}}", []string{"cert-manager", "health-rules"}},
		{"certificates of one's own", "{certificates: {issuer: secrets}}", []string{"own-certificates", "health-rules"}},
		{"an etcd for trials", "{etcd: {trial: {enabled: true}}}", []string{"trial", "health-rules"}},
		{"the host as a target", "{rbac: {inCluster: true}}", []string{"default", "health-rules", "in-cluster"}},
		{"monitoring", "{monitoring: {scrape: true, alerts: true, dashboard: true}}", []string{"default", "health-rules", "monitoring"}},
		{"no health rules", "{healthRules: {enabled: false}}", []string{"default"}},
	} {
		t.Run(one.name, func(t *testing.T) {
			want := kustomized(t, one.folders...)
			// Helm makes the namespace of a release, if it is asked to.
			delete(want, "v1 Namespace  "+defaultNamespace)
			if difference := cmp.Diff(want, installed(t, rendered(t, defaultNamespace, one.values))); difference != "" {
				t.Errorf("config/ (-) and the chart (+) differ:\n%s", difference)
			}
		})
	}
}

// installed are the objects that there are once the Job of the chart has applied the rules of
// health: they are in place of what it needs for that.
func installed(t *testing.T, objects map[string]object) map[string]object {
	t.Helper()
	rules := map[string]object{}
	maps.DeleteFunc(objects, func(_ string, one object) bool {
		if !strings.HasPrefix(one.text("metadata", "name"), "convoy-health-rules") {
			return false
		}
		if data, ok := one.field("data").(map[string]any); ok {
			for _, text := range data {
				maps.Copy(rules, parse(t, text.(string)))
			}
		}
		return true
	})
	maps.Copy(objects, rules)
	return objects
}
