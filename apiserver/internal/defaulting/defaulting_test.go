// SPDX-License-Identifier: Apache-2.0

package defaulting

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
)

func TestCluster(t *testing.T) {
	for _, test := range []struct {
		name  string
		given corev1alpha1.ClusterSpec
		want  corev1alpha1.ClusterSpec
	}{
		{
			name: "nothing said is the cluster convoy runs in",
			want: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeInCluster},
		},
		{
			name: "credentials make it agentless",
			given: corev1alpha1.ClusterSpec{Agentless: &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{
				Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: "a"}}}}},
			want: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeAgentless, Agentless: &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{
				Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: "a", Key: "kubeconfig"}}}}},
		},
		{
			name:  "what is said stays",
			given: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeAgent},
			want:  corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeAgent},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			cluster := &corev1alpha1.Cluster{Spec: test.given}
			Cluster(cluster)
			Cluster(cluster)
			g.Expect(cluster.Spec).To(Equal(test.want))
		})
	}
}

func TestReleaseSaysAllDefaults(t *testing.T) {
	g := NewWithT(t)
	release := &corev1alpha1.Release{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"},
		Spec: corev1alpha1.ReleaseSpec{
			Render:    &corev1alpha1.RenderSpec{Helm: &corev1alpha1.HelmRender{ValuesFrom: []corev1alpha1.ValuesReference{{Kind: "Secret"}, {Kind: "GitRepository"}}}},
			Mutations: []corev1alpha1.Mutation{{}},
			Sync:      corev1alpha1.SyncSpec{Windows: []corev1alpha1.SyncWindow{{}}},
			Lifecycle: &corev1alpha1.LifecycleSpec{Hooks: []corev1alpha1.Hook{{}}},
		},
	}
	Release(release)
	again := release.DeepCopy()
	Release(again)
	g.Expect(again).To(Equal(release))
	minutes := func(n int) *metav1.Duration {
		return &metav1.Duration{Duration: time.Duration(n) * time.Minute}
	}
	g.Expect(release.Spec).To(Equal(corev1alpha1.ReleaseSpec{
		TargetNamespace: "team",
		Render: &corev1alpha1.RenderSpec{Type: "auto", Helm: &corev1alpha1.HelmRender{
			ReleaseName: "web", SkipTests: ptr.To(true),
			ValuesFrom: []corev1alpha1.ValuesReference{{Kind: "Secret", Key: "values.yaml"}, {Kind: "GitRepository"}},
		}},
		Mutations: []corev1alpha1.Mutation{{Type: "strategic"}},
		Sync: corev1alpha1.SyncSpec{
			Mode: "automatic", Windows: []corev1alpha1.SyncWindow{{TimeZone: "UTC"}}, Prune: ptr.To(true),
			Replace: "never", Conflicts: "override", Interval: minutes(5), Timeout: minutes(5), OnFailure: "none",
			Retry: &corev1alpha1.RetrySpec{Limit: ptr.To[int32](-1), InitialBackoff: &metav1.Duration{Duration: 5 * time.Second}, MaxBackoff: minutes(5)},
		},
		Drift:          &corev1alpha1.DriftSpec{Mode: "enabled"},
		Lifecycle:      &corev1alpha1.LifecycleSpec{Hooks: []corev1alpha1.Hook{{DeletePolicy: "beforeHookCreation", FailurePolicy: "fail"}}},
		History:        &corev1alpha1.HistorySpec{Limit: ptr.To[int32](10)},
		DeletionPolicy: "delete",
	}))
}

func TestBackoffDefaultsFitTheGivenBound(t *testing.T) {
	second := func(n int) *metav1.Duration {
		return &metav1.Duration{Duration: time.Duration(n) * time.Second}
	}
	for _, test := range []struct {
		name                       string
		givenInitial, givenLongest *metav1.Duration
		wantInitial, wantLongest   *metav1.Duration
	}{
		{name: "none", wantInitial: second(5), wantLongest: second(300)},
		{name: "short longest", givenLongest: second(2), wantInitial: second(2), wantLongest: second(2)},
		{name: "long initial", givenInitial: second(600), wantInitial: second(600), wantLongest: second(600)},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			retry := &corev1alpha1.RetrySpec{InitialBackoff: test.givenInitial, MaxBackoff: test.givenLongest}
			fillBackoff(retry)
			g.Expect(retry.InitialBackoff).To(Equal(test.wantInitial))
			g.Expect(retry.MaxBackoff).To(Equal(test.wantLongest))
		})
	}
}

func TestLongNamesGiveNoHelmReleaseName(t *testing.T) {
	g := NewWithT(t)
	release := &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Name: "a-name-that-has-more-characters-than-helm-would-ever-take"}}
	release.Spec.Render = &corev1alpha1.RenderSpec{Helm: &corev1alpha1.HelmRender{}}
	Release(release)
	g.Expect(release.Spec.Render.Helm.ReleaseName).To(BeEmpty())
}

func TestSources(t *testing.T) {
	g := NewWithT(t)
	git, helm, oci := &sourcev1alpha1.GitRepository{}, &sourcev1alpha1.HelmRegistry{}, &sourcev1alpha1.OCIRegistry{}
	GitRepository(git)
	HelmRegistry(helm)
	OCIRegistry(oci)
	interval, timeout := &metav1.Duration{Duration: 10 * time.Minute}, &metav1.Duration{Duration: time.Minute}
	g.Expect(git.Spec).To(Equal(sourcev1alpha1.GitRepositorySpec{Provider: "generic", Interval: interval, Timeout: timeout}))
	g.Expect(helm.Spec).To(Equal(sourcev1alpha1.HelmRegistrySpec{Interval: interval, Timeout: timeout}))
	g.Expect(oci.Spec).To(Equal(sourcev1alpha1.OCIRegistrySpec{Provider: "generic", Interval: interval, Timeout: timeout}))
}

func TestCanonicalize(t *testing.T) {
	for _, test := range []struct{ name, given, want string }{
		{"keys are sorted, white space goes", "{ \"b\": [1, 2],\n \"a\": {\"d\":null,\"c\":true} }", `{"a":{"c":true,"d":null},"b":[1,2]}`},
		{"digits are kept", `{"big":18446744073709551615,"one":1.10,"e":1e3}`, `{"big":18446744073709551615,"e":1e3,"one":1.10}`},
		{"markup is written as storage writes it", `{"a":"<&>"}`, `{"a":"\u003c\u0026\u003e"}`},
		{"no JSON is left alone", `{"a"`, `{"a"`},
		{"two documents are left alone", `{"b":1,"a":2} {}`, `{"b":1,"a":2} {}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			extension := &runtime.RawExtension{Raw: []byte(test.given)}
			canonicalize(extension)
			g.Expect(string(extension.Raw)).To(Equal(test.want))
		})
	}
}
