// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"
)

// Client-side apply, which Argo CD uses by default, keeps an object as JSON in an annotation, and
// the annotations of an object may have 256 KiB.
func TestObjectsFitIntoAnAnnotation(t *testing.T) {
	const most = 200 << 10
	charted := rendered(t, defaultNamespace, "{etcd: {trial: {enabled: true}}, monitoring: {scrape: true, alerts: true, dashboard: true}, rbac: {inCluster: true}}")
	for _, objects := range []map[string]object{charted, kustomized(t, "trial", "health-rules", "monitoring", "in-cluster")} {
		for id, one := range objects {
			kept, err := json.Marshal(one)
			if err != nil {
				t.Fatal(err)
			}
			if len(kept) > most {
				t.Errorf("%s is %d bytes as JSON, more than %d", id, len(kept), most)
			}
		}
	}
}

// The Job mounts all rules, wherever they are.
func TestJobMountsAllRules(t *testing.T) {
	for _, values := range []string{"", "{healthRules: {exclude: [argo-cd, rook-ceph]}}"} {
		objects := rendered(t, defaultNamespace, values)
		var want []string
		for _, one := range objects {
			if name := one.text("metadata", "name"); one.text("kind") == "ConfigMap" && strings.HasPrefix(name, "convoy-health-rules") {
				want = append(want, name)
			}
		}
		slices.Sort(want)
		volumes, _ := find(t, objects, "Job", "convoy-health-rules").field("spec", "template", "spec", "volumes").([]any)
		if len(volumes) != 1 {
			t.Fatalf("the volumes are %v", volumes)
		}
		sources, _ := object(volumes[0].(map[string]any)).field("projected", "sources").([]any)
		var got []string
		for _, source := range sources {
			got = append(got, object(source.(map[string]any)).text("configMap", "name"))
		}
		if len(want) < 2 || !slices.Equal(got, want) {
			t.Errorf("with %q the Job mounts %v of %v", values, got, want)
		}
	}
}

// Some clusters, such as those of GKE, take pods of the system's priority classes in kube-system
// only, unless a ResourceQuota allows them elsewhere.
func TestNoPriorityClassUnlessAskedFor(t *testing.T) {
	objects := kustomized(t, "trial")
	maps.Copy(objects, rendered(t, "charted", "{etcd: {trial: {enabled: true}}}"))
	for id, one := range objects {
		if class := one.text("spec", "template", "spec", "priorityClassName"); class != "" {
			t.Errorf("%s has the priority class %s", id, class)
		}
	}
	quoted := rendered(t, defaultNamespace, "{apiserver: {priorityClassName: system-cluster-critical}}")
	if got := find(t, quoted, "Deployment", "convoy-apiserver").text("spec", "template", "spec", "priorityClassName"); got != "system-cluster-critical" {
		t.Errorf("asked for, the priority class is %q", got)
	}
}

// Helm gives a chart that is a part of another one two keys besides: the condition and global.
func TestAsPartOfAnotherChart(t *testing.T) {
	for enabled, want := range map[string]bool{"true": true, "false": false} {
		one, err := load(chartFolder)
		if err != nil {
			t.Fatal(err)
		}
		parent := &chart.Chart{Metadata: &chart.Metadata{
			APIVersion: chart.APIVersionV2, Name: "platform", Version: "1.0.0",
			Dependencies: []*chart.Dependency{{Name: "convoy", Version: one.Metadata.Version, Condition: "convoy.enabled"}},
		}}
		parent.AddDependency(one)
		values := map[string]any{}
		if err := yaml.Unmarshal([]byte("{global: {anything: 1}, convoy: {enabled: "+enabled+", shards: 2}}"), &values); err != nil {
			t.Fatal(err)
		}
		if err := chartutil.ProcessDependenciesWithMerge(parent, values); err != nil {
			t.Fatal(err)
		}
		made, err := render(parent, defaultNamespace, values)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(made.objects, "--shards=2"); got != want {
			t.Errorf("with enabled %s there are objects: %v", enabled, got)
		}
	}
}

// cert-manager does not renew a certificate because its CA was renewed: all that a CA signed has
// to hold with the next one.
func TestCertificatesOutliveARenewalOfTheirCA(t *testing.T) {
	const leaf = 90 * 24 * time.Hour // cert-manager's default
	authorities := 0
	for _, one := range kustomized(t, "cert-manager") {
		if one.text("kind") != "Certificate" {
			continue
		}
		if one.field("spec", "isCA") != true {
			if duration := one.text("spec", "duration"); duration != "" {
				t.Errorf("%s has the duration %s", one.id(), duration)
			}
			continue
		}
		authorities++
		duration, err := time.ParseDuration(one.text("spec", "duration"))
		if err != nil || duration < 10*leaf {
			t.Errorf("the CA has the duration %v, %v", duration, err)
		}
		if policy := one.text("spec", "privateKey", "rotationPolicy"); policy != "Never" {
			t.Errorf("the rotation policy of the CA's key is %q", policy)
		}
	}
	if authorities != 1 {
		t.Errorf("there are %d CAs", authorities)
	}
}
