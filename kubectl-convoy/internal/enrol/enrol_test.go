// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/clientcmd"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// bound gives what is bound where, as "role in namespace".
func bound(objects []runtime.Object) []string {
	var all []string
	for _, object := range objects {
		switch object := object.(type) {
		case *rbacv1.RoleBinding:
			all = append(all, fmt.Sprintf("%s in %s", object.RoleRef.Name, object.Namespace))
		case *rbacv1.ClusterRoleBinding:
			all = append(all, object.RoleRef.Name+" everywhere")
		}
	}
	return all
}

func TestRightsAreThoseThatAreGiven(t *testing.T) {
	g := NewWithT(t)
	plan := Plan{Namespace: "team-a", Name: "edge", AccountNamespace: "convoy", Role: "admin", Namespaces: []string{"shop", "db"}}
	objects := plan.OnTarget()
	g.Expect(bound(objects)).To(Equal([]string{plan.Account() + " everywhere", "admin in shop", "admin in db"}))
	for _, object := range objects {
		if role, ok := object.(*rbacv1.ClusterRole); ok {
			g.Expect(role.Rules).To(Equal([]rbacv1.PolicyRule{{APIGroups: []string{"storage.k8s.io"}, Resources: []string{"storageclasses"}, Verbs: []string{"get"}}}))
		}
	}
	everywhere := Plan{Namespace: "team-a", Name: "edge", AccountNamespace: "convoy", Role: "admin", ClusterRole: "deployer"}
	g.Expect(bound(everywhere.OnTarget())).To(Equal([]string{"deployer everywhere"}))
}

func TestAccountsOfTwoHostsDiffer(t *testing.T) {
	g := NewWithT(t)
	a, b := Plan{Namespace: "team-a", Name: "edge", NamespaceUID: "1"}, Plan{Namespace: "team-a", Name: "edge", NamespaceUID: "2"}
	g.Expect(a.Account()).To(MatchRegexp(`^convoy-team-a\.edge-[0-9a-f]{10}$`))
	g.Expect(a.Account()).NotTo(Equal(b.Account()))
}

func TestWhatTheClusterWasReachedWith(t *testing.T) {
	plan := Plan{Namespace: "team-a", Name: "edge", NamespaceUID: "1"}
	restored := Plan{Namespace: "team-a", Name: "edge", NamespaceUID: "2"}
	long := Plan{Namespace: strings.Repeat("n", 60), Name: "edge", NamespaceUID: "1"}
	made := func(account string) map[string]string {
		return map[string]string{LabelManagedBy: ManagedBy, LabelInstance: account}
	}
	for _, test := range []struct {
		name   string
		plan   *Plan
		labels map[string]string
		want   bool
	}{
		{"by this", &plan, made(plan.Account()), true},
		{"by a host that was restored", &plan, made(restored.Account()), true},
		{"without a host", &plan, made("convoy-team-a.edge"), true},
		{"a long one without a host", &long, made("convoy-" + strings.Repeat("n", 39) + "-" + "a6e3acdc38"), true},
		{"another Cluster", &plan, made("convoy-team-a.edge-2-0123456789"), false},
		{"another namespace, copied", &plan, made("convoy-team-b.edge"), false},
		{"something else", &plan, map[string]string{LabelInstance: plan.Account()}, false},
		{"nothing", &plan, nil, false},
	} {
		t.Run(test.name, func(t *testing.T) { NewWithT(t).Expect(test.plan.Made(test.labels)).To(Equal(test.want)) })
	}
}

func TestAccountsOfTwoNamespacesDiffer(t *testing.T) {
	g := NewWithT(t)
	a, b := Plan{Namespace: "team-a", Name: "edge"}, Plan{Namespace: "team-b", Name: "edge"}
	g.Expect(a.Account()).NotTo(Equal(b.Account()))
	c, d := Plan{Namespace: "a-b", Name: "c"}, Plan{Namespace: "a", Name: "b-c"}
	g.Expect(c.Account()).NotTo(Equal(d.Account()))
	long := Plan{Namespace: strings.Repeat("n", 63), Name: strings.Repeat("c", 253)}
	other := Plan{Namespace: long.Namespace, Name: long.Name[1:] + "d"}
	g.Expect(validation.IsValidLabelValue(long.Account())).To(BeEmpty())
	g.Expect(validation.IsDNS1123Subdomain(long.TokenSecret())).To(BeEmpty())
	g.Expect(long.Account()).NotTo(Equal(other.Account()))
	g.Expect(a.OnTarget()).To(ContainElement(And(BeAssignableToTypeOf(&corev1.Secret{}), HaveField("Annotations", HaveKeyWithValue(corev1.ServiceAccountNameKey, a.Account())))))
}

func TestTheKubeconfigHasNothingThatConvoyRefuses(t *testing.T) {
	g := NewWithT(t)
	plan := Plan{Namespace: "team-a", Name: "edge", Server: "https://edge.example.com", CA: []byte("ca"), TLSServerName: "kubernetes", ProxyURL: "http://proxy"}
	objects, err := plan.OnHost("the-token")
	g.Expect(err).NotTo(HaveOccurred())
	secret, cluster := objects[0].(*corev1.Secret), objects[1].(*corev1alpha1.Cluster)
	kubeconfig := cluster.Spec.Agentless.Auth.Kubeconfig.SecretRef
	g.Expect(kubeconfig.Name).To(Equal(secret.Name))
	g.Expect(cluster.Spec.Agentless.ProxyURL).To(Equal("http://proxy"))
	g.Expect(cluster.Spec.Agentless.TLSServerName).To(Equal("kubernetes"))
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data[kubeconfig.Key])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Host).To(Equal("https://edge.example.com"))
	g.Expect(config.BearerToken).To(Equal("the-token"))
	g.Expect(config.CAData).To(Equal([]byte("ca")))
	g.Expect(config.ExecProvider).To(BeNil())
	g.Expect([]string{config.CAFile, config.CertFile, config.KeyFile, config.BearerTokenFile}).To(Equal([]string{"", "", "", ""}))
}
