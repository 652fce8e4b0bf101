// SPDX-License-Identifier: Apache-2.0

package references

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
)

var inTeam = metav1.ObjectMeta{Namespace: "team", Name: "a"}

func TestWhatAReleaseRefersTo(t *testing.T) {
	g := NewWithT(t)
	release := &corev1alpha1.Release{ObjectMeta: inTeam}
	g.Expect(OfRelease(release)).To(BeEmpty())
	release.Spec.Render = &corev1alpha1.RenderSpec{}
	g.Expect(OfRelease(release)).To(BeEmpty())
	release.Spec.Render.Helm = &corev1alpha1.HelmRender{ValuesFrom: []corev1alpha1.ValuesReference{
		{Kind: "ConfigMap", Name: "v"}, {Kind: "GitRepository", Name: "g"}, {Kind: "Secret", Name: "v"}, {Kind: "ConfigMap", Name: "v", Key: "other"},
	}}
	g.Expect(OfRelease(release)).To(Equal([]Object{{KindConfigMap, "team", "v"}, {KindSecret, "team", "v"}}))
}

func TestWhatAClusterRefersTo(t *testing.T) {
	g := NewWithT(t)
	cluster := &corev1alpha1.Cluster{ObjectMeta: inTeam}
	g.Expect(OfCluster(cluster)).To(BeEmpty())
	cluster.Spec.Agentless = &corev1alpha1.AgentlessAccess{}
	g.Expect(OfCluster(cluster)).To(BeEmpty())
	cluster.Spec.Agentless.Auth.Kubeconfig = &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: "k"}}
	g.Expect(OfCluster(cluster)).To(Equal([]Object{{KindSecret, "team", "k"}}))
}

func TestWhatASourceRefersTo(t *testing.T) {
	secret := func(name string) *sourcev1alpha1.SecretReference { return &sourcev1alpha1.SecretReference{Name: name} }
	git := &sourcev1alpha1.GitRepository{ObjectMeta: inTeam, Spec: sourcev1alpha1.GitRepositorySpec{
		SecretRef: secret("login"), CASecretRef: secret("ca"), ProxySecretRef: secret("proxy"), Verify: &sourcev1alpha1.GitVerification{SecretRef: *secret("keys")},
	}}
	helm := &sourcev1alpha1.HelmRegistry{ObjectMeta: inTeam, Spec: sourcev1alpha1.HelmRegistrySpec{
		SecretRef: secret("login"), CASecretRef: secret("login"), Verify: &sourcev1alpha1.HelmVerification{SecretRef: *secret("keys")},
	}}
	oci := &sourcev1alpha1.OCIRegistry{ObjectMeta: inTeam, Spec: sourcev1alpha1.OCIRegistrySpec{
		SecretRef: secret("login"), CASecretRef: secret("ca"), Verify: &sourcev1alpha1.OCIVerification{SecretRef: secret("keys")},
	}}
	tests := []struct {
		name  string
		given runtime.Object
		want  []string
	}{
		{"a repository", git, []string{"login", "ca", "proxy", "keys"}},
		{"a chart registry", helm, []string{"login", "keys"}},
		{"a registry", oci, []string{"login", "ca", "keys"}},
		{"a repository without any", &sourcev1alpha1.GitRepository{ObjectMeta: inTeam}, nil},
		{"a chart registry without any", &sourcev1alpha1.HelmRegistry{ObjectMeta: inTeam}, nil},
		{"a registry verified without keys", &sourcev1alpha1.OCIRegistry{ObjectMeta: inTeam, Spec: sourcev1alpha1.OCIRegistrySpec{
			Verify: &sourcev1alpha1.OCIVerification{},
		}}, nil},
		{"something else", &corev1alpha1.Cluster{ObjectMeta: inTeam}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var want []Object
			for _, name := range tt.want {
				want = append(want, Object{KindSecret, "team", name})
			}
			NewWithT(t).Expect(OfSource(tt.given)).To(Equal(want))
		})
	}
}
