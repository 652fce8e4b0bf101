// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/defaulting"
)

// secret is a value that no error may repeat.
const secret = "hunter2"

// faults gives the errors as "<field>: <type>".
func faults(errs field.ErrorList) []string {
	found := []string{}
	for _, err := range errs {
		found = append(found, err.Field+": "+string(err.Type))
	}
	return found
}

// expect checks that exactly the wanted faults are found, and no secret is told.
func expect(t *testing.T, errs field.ErrorList, want []string) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(faults(errs)).To(ConsistOf(want), "%v", errs)
	for _, err := range errs {
		g.Expect(err.Error()).NotTo(ContainSubstring(secret))
	}
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "team", Name: name}
}

func ref(name string) *sourcev1alpha1.SecretReference {
	return &sourcev1alpha1.SecretReference{Name: name}
}

func lasting(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

func TestCluster(t *testing.T) {
	agentless := func(c *corev1alpha1.Cluster) {
		c.Spec.Agentless = &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{
			Type:       "kubeconfig",
			Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: "far"}},
		}}
	}
	for _, test := range []struct {
		name  string
		given func(*corev1alpha1.Cluster)
		want  []string
	}{
		{name: "in cluster", given: func(*corev1alpha1.Cluster) {}},
		{name: "agentless", given: agentless},
		{
			name:  "mode agent",
			given: func(c *corev1alpha1.Cluster) { c.Spec.Mode = "agent" },
			want:  []string{"spec.mode: FieldValueInvalid"},
		},
		{
			name:  "unknown mode",
			given: func(c *corev1alpha1.Cluster) { c.Spec.Mode = "push" },
			want:  []string{"spec.mode: FieldValueNotSupported"},
		},
		{
			name:  "agentless without access",
			given: func(c *corev1alpha1.Cluster) { c.Spec.Mode = "agentless" },
			want:  []string{"spec.agentless: FieldValueRequired"},
		},
		{
			name:  "access in mode inCluster",
			given: func(c *corev1alpha1.Cluster) { agentless(c); c.Spec.Mode = "inCluster" },
			want:  []string{"spec.agentless: FieldValueForbidden"},
		},
		{
			name: "unknown authenticator",
			given: func(c *corev1alpha1.Cluster) {
				c.Spec.Agentless = &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{Type: "oidc"}}
			},
			want: []string{"spec.agentless.auth.type: FieldValueNotSupported"},
		},
		{
			name: "no authenticator",
			given: func(c *corev1alpha1.Cluster) {
				c.Spec.Agentless = &corev1alpha1.AgentlessAccess{}
			},
			want: []string{"spec.agentless.auth.type: FieldValueRequired"},
		},
		{
			name:  "no Secret",
			given: func(c *corev1alpha1.Cluster) { agentless(c); c.Spec.Agentless.Auth.Kubeconfig = nil },
			want:  []string{"spec.agentless.auth.kubeconfig: FieldValueRequired"},
		},
		{
			name:  "a proxy",
			given: func(c *corev1alpha1.Cluster) { agentless(c); c.Spec.Agentless.ProxyURL = "socks5://proxy:1080" },
		},
		{
			name:  "a proxy at a port that is none",
			given: func(c *corev1alpha1.Cluster) { agentless(c); c.Spec.Agentless.ProxyURL = "http://proxy:99999" },
			want:  []string{"spec.agentless.proxyURL: FieldValueInvalid"},
		},
		{
			name:  "an option as a proxy",
			given: func(c *corev1alpha1.Cluster) { agentless(c); c.Spec.Agentless.ProxyURL = "http://-x:3128" },
			want:  []string{"spec.agentless.proxyURL: FieldValueInvalid"},
		},
		{
			name: "everything at once",
			given: func(c *corev1alpha1.Cluster) {
				agentless(c)
				c.Spec.Agentless.Auth.Kubeconfig.SecretRef = corev1alpha1.SecretKeyReference{Name: "-", Key: "a/b"}
				c.Spec.Agentless.ProxyURL = "http://user:" + secret + "@proxy:3128"
				c.Spec.Agentless.TLSServerName = "not a name"
				c.Spec.Impersonate = &corev1alpha1.Impersonation{}
				c.Spec.QPS, c.Spec.Burst = -1, 1_000_000
			},
			want: []string{
				"spec.agentless.auth.kubeconfig.secretRef.name: FieldValueInvalid",
				"spec.agentless.auth.kubeconfig.secretRef.key: FieldValueInvalid",
				"spec.agentless.proxyURL: FieldValueInvalid",
				"spec.agentless.tlsServerName: FieldValueInvalid",
				"spec.impersonate.serviceAccount.namespace: FieldValueRequired",
				"spec.impersonate.serviceAccount.name: FieldValueRequired",
				"spec.qps: FieldValueInvalid",
				"spec.burst: FieldValueInvalid",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			cluster := &corev1alpha1.Cluster{ObjectMeta: meta("a")}
			test.given(cluster)
			defaulting.Cluster(cluster)
			expect(t, Cluster(cluster), test.want)
		})
	}
}

func TestUnknownAuthenticatorListsTheKnown(t *testing.T) {
	g := NewWithT(t)
	cluster := &corev1alpha1.Cluster{ObjectMeta: meta("a")}
	cluster.Spec.Agentless = &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{Type: "oidc"}}
	defaulting.Cluster(cluster)
	g.Expect(Cluster(cluster).ToAggregate()).To(MatchError(ContainSubstring(`supported values: "kubeconfig"`)))
}

func TestGitRepository(t *testing.T) {
	for _, test := range []struct {
		name  string
		given sourcev1alpha1.GitRepositorySpec
		want  []string
	}{
		{name: "https", given: sourcev1alpha1.GitRepositorySpec{URL: "https://example.com/team/app.git", SecretRef: ref("a")}},
		{name: "ssh with a user", given: sourcev1alpha1.GitRepositorySpec{URL: "ssh://git@example.com:2222/team/app.git"}},
		{name: "file", given: sourcev1alpha1.GitRepositorySpec{URL: "file:///srv/git/app"}},
		{name: "no url", want: []string{"spec.url: FieldValueRequired"}},
		{name: "short form", given: sourcev1alpha1.GitRepositorySpec{URL: "git@example.com:team/app.git"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "white space", given: sourcev1alpha1.GitRepositorySpec{URL: "https://example.com/team app.git"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "trailing line", given: sourcev1alpha1.GitRepositorySpec{URL: "https://example.com/app.git\n"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "no url at all", given: sourcev1alpha1.GitRepositorySpec{URL: "https://%zz:" + secret}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "password", given: sourcev1alpha1.GitRepositorySpec{URL: "https://user:" + secret + "@example.com/a"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "token as user", given: sourcev1alpha1.GitRepositorySpec{URL: "https://" + secret + "@example.com/a"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "ssh password", given: sourcev1alpha1.GitRepositorySpec{URL: "ssh://git:" + secret + "@example.com/a"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "token in the query", given: sourcev1alpha1.GitRepositorySpec{URL: "https://example.com/a?token=" + secret}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "unknown scheme", given: sourcev1alpha1.GitRepositorySpec{URL: "git://example.com/a"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "no host", given: sourcev1alpha1.GitRepositorySpec{URL: "https:///a"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "highest port", given: sourcev1alpha1.GitRepositorySpec{URL: "https://[::1]:65535/a"}},
		{name: "port that is none", given: sourcev1alpha1.GitRepositorySpec{URL: "https://example.com:99999/a"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "port 0", given: sourcev1alpha1.GitRepositorySpec{URL: "http://example.com:0/a"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "port beyond all numbers", given: sourcev1alpha1.GitRepositorySpec{URL: "ssh://example.com:99999999999999999999/a"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "option as a host", given: sourcev1alpha1.GitRepositorySpec{URL: "ssh://-oProxyCommand=x/y"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "option as a host, over https", given: sourcev1alpha1.GitRepositorySpec{URL: "https://-x.example.com/y"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "option as a user", given: sourcev1alpha1.GitRepositorySpec{URL: "ssh://-oProxyCommand=x@example.com/y"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "file with a way up", given: sourcev1alpha1.GitRepositorySpec{URL: "file:///srv/../etc"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "file on a host", given: sourcev1alpha1.GitRepositorySpec{URL: "file://host/srv"}, want: []string{"spec.url: FieldValueInvalid"}},
		{
			name:  "github without keys, over http",
			given: sourcev1alpha1.GitRepositorySpec{URL: "http://example.com/a", Provider: "github"},
			want:  []string{"spec.secretRef: FieldValueRequired", "spec.url: FieldValueInvalid"},
		},
		{
			name: "everything at once",
			given: sourcev1alpha1.GitRepositorySpec{
				URL: "https://example.com/a", SecretRef: ref(""), CASecretRef: ref("A"), ProxySecretRef: ref("b_"), Provider: "gitlab",
				Verify: &sourcev1alpha1.GitVerification{Mode: "all", Provider: "pgp"}, Interval: lasting(0), Timeout: lasting(48 * time.Hour),
			},
			want: []string{
				"spec.secretRef.name: FieldValueRequired", "spec.caSecretRef.name: FieldValueInvalid", "spec.proxySecretRef.name: FieldValueInvalid",
				"spec.provider: FieldValueNotSupported", "spec.verify.mode: FieldValueNotSupported", "spec.verify.provider: FieldValueNotSupported",
				"spec.verify.secretRef.name: FieldValueRequired", "spec.interval: FieldValueInvalid", "spec.timeout: FieldValueInvalid",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			repository := &sourcev1alpha1.GitRepository{ObjectMeta: meta("a"), Spec: test.given}
			defaulting.GitRepository(repository)
			expect(t, GitRepository(repository), test.want)
		})
	}
}

func TestHelmRegistry(t *testing.T) {
	for _, test := range []struct {
		name  string
		given sourcev1alpha1.HelmRegistrySpec
		want  []string
	}{
		{name: "index", given: sourcev1alpha1.HelmRegistrySpec{URL: "https://example.com/charts"}},
		{name: "registry", given: sourcev1alpha1.HelmRegistrySpec{URL: "oci://example.com/charts"}},
		{name: "registry with a tag", given: sourcev1alpha1.HelmRegistrySpec{URL: "oci://example.com/charts:1"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "file", given: sourcev1alpha1.HelmRegistrySpec{URL: "file:///charts"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "password", given: sourcev1alpha1.HelmRegistrySpec{URL: "https://a:" + secret + "@example.com"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "port that is none", given: sourcev1alpha1.HelmRegistrySpec{URL: "https://example.com:65536"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "port of a registry that is none", given: sourcev1alpha1.HelmRegistrySpec{URL: "oci://example.com:65536/charts"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "option as a host", given: sourcev1alpha1.HelmRegistrySpec{URL: "http://-x/charts"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "signatures", given: sourcev1alpha1.HelmRegistrySpec{URL: "https://example.com", Verify: &sourcev1alpha1.HelmVerification{Provider: "gpg", SecretRef: *ref("keys")}}},
		{
			name:  "signatures of another kind",
			given: sourcev1alpha1.HelmRegistrySpec{URL: "https://example.com", Verify: &sourcev1alpha1.HelmVerification{Provider: "cosign"}},
			want:  []string{"spec.verify.provider: FieldValueNotSupported", "spec.verify.secretRef.name: FieldValueRequired"},
		},
		{
			name:  "everything at once",
			given: sourcev1alpha1.HelmRegistrySpec{SecretRef: ref(""), CASecretRef: ref(""), Interval: lasting(-1), Timeout: lasting(1)},
			want: []string{
				"spec.url: FieldValueRequired", "spec.secretRef.name: FieldValueRequired", "spec.caSecretRef.name: FieldValueRequired",
				"spec.interval: FieldValueInvalid", "spec.timeout: FieldValueInvalid",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			registry := &sourcev1alpha1.HelmRegistry{ObjectMeta: meta("a"), Spec: test.given}
			defaulting.HelmRegistry(registry)
			expect(t, HelmRegistry(registry), test.want)
		})
	}
}

func TestOCIRegistry(t *testing.T) {
	keyless := []sourcev1alpha1.OIDCIdentity{{Issuer: "^https://issuer$", Subject: "^ci@"}}
	for _, test := range []struct {
		name  string
		given sourcev1alpha1.OCIRegistrySpec
		want  []string
	}{
		{name: "registry", given: sourcev1alpha1.OCIRegistrySpec{URL: "oci://example.com:5000"}},
		{name: "prefix", given: sourcev1alpha1.OCIRegistrySpec{URL: "oci://example.com/team/apps"}},
		{name: "key", given: sourcev1alpha1.OCIRegistrySpec{URL: "oci://example.com", Verify: &sourcev1alpha1.OCIVerification{Provider: "cosign", SecretRef: ref("a")}}},
		{name: "keyless", given: sourcev1alpha1.OCIRegistrySpec{URL: "oci://example.com", Verify: &sourcev1alpha1.OCIVerification{Provider: "cosign", SecretRef: ref("a"), MatchOIDCIdentity: keyless}}},
		{
			name:  "keyless without a trusted root",
			given: sourcev1alpha1.OCIRegistrySpec{URL: "oci://example.com", Verify: &sourcev1alpha1.OCIVerification{Provider: "cosign", MatchOIDCIdentity: keyless}},
			want:  []string{"spec.verify.secretRef: FieldValueRequired"},
		},
		{
			name:  "a cloud's token in the clear",
			given: sourcev1alpha1.OCIRegistrySpec{URL: "oci://example.com", Provider: "gcp", Insecure: true},
			want:  []string{"spec.insecure: FieldValueForbidden"},
		},
		{name: "https", given: sourcev1alpha1.OCIRegistrySpec{URL: "https://example.com"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "port that is none", given: sourcev1alpha1.OCIRegistrySpec{URL: "oci://example.com:65536"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "option as a host", given: sourcev1alpha1.OCIRegistrySpec{URL: "oci://-x/apps"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "upper-case prefix", given: sourcev1alpha1.OCIRegistrySpec{URL: "oci://example.com/Team"}, want: []string{"spec.url: FieldValueInvalid"}},
		{name: "digest", given: sourcev1alpha1.OCIRegistrySpec{URL: "oci://example.com/a@sha256:00"}, want: []string{"spec.url: FieldValueInvalid"}},
		{
			name:  "two kinds of credentials",
			given: sourcev1alpha1.OCIRegistrySpec{URL: "oci://example.com", Provider: "aws", SecretRef: ref("a")},
			want:  []string{"spec.secretRef: FieldValueForbidden"},
		},
		{
			name:  "cosign without a key",
			given: sourcev1alpha1.OCIRegistrySpec{URL: "oci://example.com", Verify: &sourcev1alpha1.OCIVerification{Provider: "cosign"}},
			want:  []string{"spec.verify.secretRef: FieldValueRequired"},
		},
		{
			name:  "keyless notation",
			given: sourcev1alpha1.OCIRegistrySpec{URL: "oci://example.com", Verify: &sourcev1alpha1.OCIVerification{Provider: "notation", MatchOIDCIdentity: keyless}},
			want:  []string{"spec.verify.secretRef: FieldValueRequired", "spec.verify.matchOIDCIdentity: FieldValueForbidden"},
		},
		{
			name: "everything at once",
			given: sourcev1alpha1.OCIRegistrySpec{
				Provider: "ibm", Verify: &sourcev1alpha1.OCIVerification{Provider: "gpg", MatchOIDCIdentity: []sourcev1alpha1.OIDCIdentity{{Issuer: "("}}},
			},
			want: []string{
				"spec.url: FieldValueRequired", "spec.provider: FieldValueNotSupported", "spec.verify.provider: FieldValueNotSupported", "spec.verify.secretRef: FieldValueRequired",
				"spec.verify.matchOIDCIdentity[0].issuer: FieldValueInvalid", "spec.verify.matchOIDCIdentity[0].subject: FieldValueRequired",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			registry := &sourcev1alpha1.OCIRegistry{ObjectMeta: meta("a"), Spec: test.given}
			defaulting.OCIRegistry(registry)
			expect(t, OCIRegistry(registry), test.want)
		})
	}
}

func TestReleaseInventory(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0", 64)
	entry := func(name string) corev1alpha1.InventoryEntry {
		return corev1alpha1.InventoryEntry{ObjectKey: corev1alpha1.ObjectKey{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "team", Name: name}, Digest: digest}
	}
	for _, test := range []struct {
		name  string
		given func(*corev1alpha1.ReleaseInventory)
		want  []string
	}{
		{name: "entries", given: func(i *corev1alpha1.ReleaseInventory) {
			role := entry("system:a")
			role.Group, role.Kind, role.Namespace, role.Digest = "rbac.authorization.k8s.io", "ClusterRole", "", ""
			hook := entry("a")
			hook.Hook = "migrate"
			i.Spec.Entries = []corev1alpha1.InventoryEntry{entry("a"), hook, role}
		}},
		{name: "further page", given: func(i *corev1alpha1.ReleaseInventory) { i.Name = "web.2" }},
		{
			name:  "another Release's name",
			given: func(i *corev1alpha1.ReleaseInventory) { i.Name = "web2" },
			want:  []string{"metadata.name: FieldValueInvalid"},
		},
		{
			name:  "no Release",
			given: func(i *corev1alpha1.ReleaseInventory) { i.Spec.ReleaseRef = corev1alpha1.ReleaseReference{} },
			want:  []string{"spec.releaseRef.name: FieldValueRequired", "spec.releaseRef.uid: FieldValueRequired", "metadata.name: FieldValueInvalid"},
		},
		{
			name: "the version is no identity",
			given: func(i *corev1alpha1.ReleaseInventory) {
				other := entry("a")
				other.Version = "v2"
				i.Spec.Entries = []corev1alpha1.InventoryEntry{entry("a"), other}
			},
			want: []string{"spec.entries[1]: FieldValueDuplicate"},
		},
		{
			name: "everything at once",
			given: func(i *corev1alpha1.ReleaseInventory) {
				i.Spec.Entries = []corev1alpha1.InventoryEntry{
					{Digest: "md5:1"},
					{ObjectKey: corev1alpha1.ObjectKey{Group: "A", Version: "V", Kind: "a/b", Namespace: "_", Name: "../x"}},
				}
			},
			want: []string{
				"spec.entries[0].version: FieldValueRequired", "spec.entries[0].kind: FieldValueRequired",
				"spec.entries[0].name: FieldValueRequired", "spec.entries[0].digest: FieldValueInvalid",
				"spec.entries[1].group: FieldValueInvalid", "spec.entries[1].version: FieldValueInvalid", "spec.entries[1].kind: FieldValueInvalid",
				"spec.entries[1].namespace: FieldValueInvalid", "spec.entries[1].name: FieldValueInvalid",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			inventory := &corev1alpha1.ReleaseInventory{ObjectMeta: meta("web")}
			inventory.Spec.ReleaseRef = corev1alpha1.ReleaseReference{Name: "web", UID: "1"}
			test.given(inventory)
			expect(t, ReleaseInventory(inventory), test.want)
		})
	}
}

func TestReleaseInventoryUpdate(t *testing.T) {
	old := &corev1alpha1.ReleaseInventory{Spec: corev1alpha1.ReleaseInventorySpec{ReleaseRef: corev1alpha1.ReleaseReference{Name: "a", UID: "1"}}}
	again := old.DeepCopy()
	again.Spec.ReleaseRef.UID = "2"
	expect(t, ReleaseInventoryUpdate(again, old), nil)
	again.Spec.ReleaseRef.Name = "b"
	expect(t, ReleaseInventoryUpdate(again, old), []string{"spec.releaseRef.name: FieldValueInvalid"})
}

func TestHealthRuleSet(t *testing.T) {
	good := extv1alpha1.HealthRule{Name: "r", Target: extv1alpha1.HealthRuleTarget{Group: "example.com", Kind: "Thing"}, Healthy: "object.status.ready == true"}
	rule := func(change func(*extv1alpha1.HealthRule)) []extv1alpha1.HealthRule {
		r := *good.DeepCopy()
		change(&r)
		return []extv1alpha1.HealthRule{r}
	}
	for _, test := range []struct {
		name  string
		given []extv1alpha1.HealthRule
		want  []string
	}{
		{name: "none"},
		{name: "one", given: []extv1alpha1.HealthRule{good}},
		{name: "twice the same", given: []extv1alpha1.HealthRule{good, good}, want: []string{"spec.rules[1].name: FieldValueDuplicate"}},
		{
			name:  "does not compile",
			given: rule(func(r *extv1alpha1.HealthRule) { r.Healthy = "object.status." }),
			want:  []string{"spec.rules[0].healthy: FieldValueInvalid"},
		},
		{
			name:  "not a condition",
			given: rule(func(r *extv1alpha1.HealthRule) { r.Degraded, r.Message = "1 + 1", "true" }),
			want:  []string{"spec.rules[0].degraded: FieldValueInvalid", "spec.rules[0].message: FieldValueInvalid"},
		},
		{
			name: "label selector",
			given: rule(func(r *extv1alpha1.HealthRule) {
				r.Target.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
			}),
			want: []string{"spec.rules[0].target.labelSelector: FieldValueInvalid"},
		},
		{
			name:  "too long to compile",
			given: rule(func(r *extv1alpha1.HealthRule) { r.Healthy = strings.Repeat("(", maxExpression+1) }),
			want:  []string{"spec.rules[0].healthy: FieldValueTooLong"},
		},
		{
			name: "too much to compile in all, told once",
			given: slices.Repeat(rule(func(r *extv1alpha1.HealthRule) {
				r.Healthy, r.Progressing = strings.Repeat("(", maxExpression), strings.Repeat("(", maxExpression)
			}), 18),
			want: append(slices.Collect(func(yield func(string) bool) {
				for i := 1; i < 18; i++ {
					yield(fmt.Sprintf("spec.rules[%d].name: FieldValueDuplicate", i))
				}
			}), "spec.rules[16].healthy: FieldValueInvalid"),
		},
		{
			name:  "empty",
			given: []extv1alpha1.HealthRule{{}},
			want:  []string{"spec.rules[0].name: FieldValueRequired", "spec.rules[0].target.kind: FieldValueRequired", "spec.rules[0]: FieldValueRequired"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			spec := extv1alpha1.HealthRuleSetSpec{Rules: test.given}
			expect(t, HealthRuleSet(&extv1alpha1.HealthRuleSet{ObjectMeta: meta("a"), Spec: spec}), test.want)
			expect(t, GlobalHealthRuleSet(&extv1alpha1.GlobalHealthRuleSet{ObjectMeta: meta("a"), Spec: spec}), test.want)
		})
	}
}

func TestStatusConditions(t *testing.T) {
	good := metav1.Condition{Type: "Ready", Status: "True", Reason: "Ready", LastTransitionTime: metav1.NewTime(time.Unix(1, 0))}
	expect(t, conditions([]metav1.Condition{good}), nil)
	expect(t, conditions([]metav1.Condition{good, {Type: "Ready", Status: "Yes", Reason: "no reason"}}), []string{
		"status.conditions[1]: FieldValueDuplicate", "status.conditions[1].status: FieldValueNotSupported",
		"status.conditions[1].reason: FieldValueInvalid", "status.conditions[1].lastTransitionTime: FieldValueRequired",
	})
}

func TestWarnings(t *testing.T) {
	never := false
	for _, test := range []struct {
		name string
		got  []string
		want []string // beginnings
	}{
		{"burst", ClusterWarnings(&corev1alpha1.Cluster{Spec: corev1alpha1.ClusterSpec{Burst: 1}}), []string{"spec.burst:"}},
		{"burst with qps", ClusterWarnings(&corev1alpha1.Cluster{Spec: corev1alpha1.ClusterSpec{QPS: 1, Burst: 1}}), nil},
		{
			"git",
			GitRepositoryWarnings(&sourcev1alpha1.GitRepository{Spec: sourcev1alpha1.GitRepositorySpec{URL: "http://a", SecretRef: ref("a"), InsecureSkipTLSVerify: true}}),
			[]string{"spec.url: http", "spec.insecureSkipTLSVerify:"},
		},
		{"git file", GitRepositoryWarnings(&sourcev1alpha1.GitRepository{Spec: sourcev1alpha1.GitRepositorySpec{URL: "file:///a"}}), []string{"spec.url: file"}},
		{
			"helm",
			HelmRegistryWarnings(&sourcev1alpha1.HelmRegistry{Spec: sourcev1alpha1.HelmRegistrySpec{URL: "https://a", PassCredentials: true, Insecure: true}}),
			[]string{"spec.insecure:", "spec.passCredentials:"},
		},
		{"oci", OCIRegistryWarnings(&sourcev1alpha1.OCIRegistry{Spec: sourcev1alpha1.OCIRegistrySpec{Insecure: true}}), []string{"spec.insecure:"}},
		{"nothing", ReleaseWarnings(&corev1alpha1.Release{}), nil},
		{
			"a mutation of everything",
			ReleaseWarnings(&corev1alpha1.Release{Spec: corev1alpha1.ReleaseSpec{Mutations: []corev1alpha1.Mutation{{Target: corev1alpha1.ObjectSelector{Kind: "A"}}, {}}}}),
			[]string{"spec.mutations[1].target:"},
		},
		{
			"release",
			ReleaseWarnings(&corev1alpha1.Release{Spec: corev1alpha1.ReleaseSpec{
				Source: corev1alpha1.ReleaseSource{Helm: &corev1alpha1.HelmSource{Version: " * "}},
				Sync:   corev1alpha1.SyncSpec{Mode: corev1alpha1.SyncModeAutomatic, Prune: &never},
			}}),
			[]string{"spec.source.helm.version:", "spec.sync.prune:"},
		},
		{
			"values that may be for nothing",
			ReleaseWarnings(&corev1alpha1.Release{Spec: corev1alpha1.ReleaseSpec{
				Source: corev1alpha1.ReleaseSource{Git: &corev1alpha1.GitSource{}},
				Render: &corev1alpha1.RenderSpec{Type: corev1alpha1.RenderAuto, Helm: &corev1alpha1.HelmRender{ValuesFrom: []corev1alpha1.ValuesReference{{Name: "v"}}}},
				Sync:   corev1alpha1.SyncSpec{OnFailure: corev1alpha1.OnFailureRollback},
			}}),
			[]string{"spec.render.helm.valuesFrom:"},
		},
		{
			"values of a chart",
			ReleaseWarnings(&corev1alpha1.Release{Spec: corev1alpha1.ReleaseSpec{
				Source: corev1alpha1.ReleaseSource{Git: &corev1alpha1.GitSource{}},
				Render: &corev1alpha1.RenderSpec{Type: corev1alpha1.RenderHelm, Helm: &corev1alpha1.HelmRender{ValuesFrom: []corev1alpha1.ValuesReference{{Name: "v"}}}},
			}}), nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(test.got).To(HaveLen(len(test.want)))
			for i, beginning := range test.want {
				g.Expect(test.got[i]).To(HavePrefix(beginning))
				g.Expect(len(test.got[i])).To(BeNumerically("<=", 120), "longer ones are cut by clients")
			}
		})
	}
}
