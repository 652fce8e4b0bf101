// SPDX-License-Identifier: Apache-2.0

package health

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// assessment is a case of testdata: what Assess must make of an object. Its rule is
// checked where the case gives one.
type assessment struct {
	Name  string          `json:"name"`
	Given json.RawMessage `json:"given"`
	Want  struct {
		Status  corev1alpha1.HealthStatus `json:"status"`
		Message string                    `json:"message"`
		Rule    string                    `json:"rule"`
	} `json:"want"`
}

func TestAssess(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(files).NotTo(BeEmpty())
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			for _, test := range readAssessments(t, file) {
				t.Run(test.Name, func(t *testing.T) {
					g := NewWithT(t)
					obj := objectFromJSON(t, test.Given)
					before := obj.DeepCopy()

					got := Assess(obj)

					g.Expect(got.Status).To(Equal(test.Want.Status), got.Message)
					g.Expect(got.Message).To(Equal(test.Want.Message))
					if test.Want.Rule != "" {
						g.Expect(got.Rule).To(Equal(test.Want.Rule))
					}
					g.Expect(got.Rule).NotTo(BeEmpty())
					g.Expect(obj).To(Equal(before), "the object must not be changed")
				})
			}
		})
	}
}

func readAssessments(t *testing.T, file string) []assessment {
	t.Helper()
	g := NewWithT(t)
	data, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	var tests []assessment
	g.Expect(yaml.UnmarshalStrict(data, &tests)).To(Succeed())
	g.Expect(tests).NotTo(BeEmpty())
	return tests
}

func objectFromJSON(t *testing.T, data []byte) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	NewWithT(t).Expect(obj.UnmarshalJSON(data)).To(Succeed())
	return obj
}

func objectFromYAML(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return objectFromJSON(t, data)
}

func TestAssessMissing(t *testing.T) {
	g := NewWithT(t)
	want := Result{Status: corev1alpha1.HealthMissing, Message: "not in the cluster", Rule: "generic/missing"}
	g.Expect(Assess(nil)).To(Equal(want))
	g.Expect(NewAssessor(nil).Assess(nil)).To(Equal(want))
}

// Fields of a wrong type come from kinds that share a name with a known one, and from
// servers that are not strict; they must not stop the judging.
func TestAssessWrongTypes(t *testing.T) {
	kinds := []string{
		"v1 Pod", "v1 Service", "v1 PersistentVolumeClaim", "v1 Namespace", "apps/v1 Deployment", "apps/v1 StatefulSet",
		"apps/v1 DaemonSet", "apps/v1 ReplicaSet", "batch/v1 Job", "networking.k8s.io/v1 Ingress",
		"autoscaling/v2 HorizontalPodAutoscaler", "policy/v1 PodDisruptionBudget", "example.com/v1 Widget",
		"v1 Node", "v1 ResourceQuota", "v1 PersistentVolume", "batch/v1 CronJob", "storage.k8s.io/v1 VolumeAttachment",
		"certificates.k8s.io/v1 CertificateSigningRequest", "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy",
		"flowcontrol.apiserver.k8s.io/v1 FlowSchema", "resource.k8s.io/v1 ResourceClaim",
		"storagemigration.k8s.io/v1beta1 StorageVersionMigration", "core.convoy.kumodo.io/v1alpha1 Release",
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			apiVersion, name, _ := strings.Cut(kind, " ")
			for _, status := range []any{
				"text", int64(3), []any{"text"}, map[string]any{"conditions": "text"},
				map[string]any{"conditions": []any{"text", map[string]any{"type": int64(1)}}, "loadBalancer": []any{}, "phase": int64(1)},
			} {
				obj := &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": apiVersion, "kind": name, "spec": "text", "status": status,
				}}
				NewWithT(t).Expect(Assess(obj).Status).NotTo(BeEmpty())
			}
		})
	}
}

func TestWorst(t *testing.T) {
	const (
		healthy     = corev1alpha1.HealthHealthy
		suspended   = corev1alpha1.HealthSuspended
		progressing = corev1alpha1.HealthProgressing
		unknown     = corev1alpha1.HealthUnknown
		missing     = corev1alpha1.HealthMissing
		degraded    = corev1alpha1.HealthDegraded
	)
	for _, test := range []struct {
		name  string
		given []corev1alpha1.HealthStatus
		want  corev1alpha1.HealthStatus
	}{
		{"nothing", nil, healthy},
		{"all healthy", []corev1alpha1.HealthStatus{healthy, healthy}, healthy},
		{"suspended beside healthy", []corev1alpha1.HealthStatus{healthy, suspended, healthy}, suspended},
		{"progressing beside suspended", []corev1alpha1.HealthStatus{progressing, suspended}, progressing},
		{"unknown beside progressing", []corev1alpha1.HealthStatus{progressing, unknown}, unknown},
		{"missing beside unknown", []corev1alpha1.HealthStatus{missing, unknown}, missing},
		{"degraded beside all", []corev1alpha1.HealthStatus{missing, degraded, unknown, healthy}, degraded},
		{"a status that is none", []corev1alpha1.HealthStatus{healthy, "fine"}, unknown},
		{"no status", []corev1alpha1.HealthStatus{""}, unknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(Worst(test.given...)).To(Equal(test.want))
		})
	}
}

func TestReasoned(t *testing.T) {
	for _, test := range []struct{ reason, message, want string }{
		{"", "", ""},
		{"Failed", "", "Failed"},
		{"", "no luck", "no luck"},
		{"Failed", "no luck", "Failed: no luck"},
		{"Failed", "Failed", "Failed"},
		{"ErrImagePull", "ErrImagePull: no such image", "ErrImagePull: no such image"},
		{"Job", "Jobs wait", "Job: Jobs wait"},
	} {
		NewWithT(t).Expect(reasoned(test.reason, test.message)).To(Equal(test.want))
	}
}

// The page names every kind that testdata has a built-in judgement of.
func TestDocsNameBuiltinKinds(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile("../docs/health.md")
	g.Expect(err).NotTo(HaveOccurred())
	files, err := filepath.Glob("testdata/*.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range files {
		for _, test := range readAssessments(t, file) {
			parts := strings.Split(test.Want.Rule, "/")
			if parts[0] != "builtin" {
				continue
			}
			named := strings.Contains(string(page), parts[2]) || strings.Contains(string(page), "`"+parts[1]+"`") ||
				strings.HasSuffix(parts[1], ".convoy.kumodo.io") || parts[1] == "rbac.authorization.k8s.io"
			g.Expect(named).To(BeTrue(), "docs/health.md does not name %s", test.Want.Rule)
		}
	}
}
