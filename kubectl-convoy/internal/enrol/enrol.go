// SPDX-License-Identifier: Apache-2.0

// Package enrol says what makes a cluster a target of convoy: an account on it with the rights
// that are given to convoy there, and on the host the kubeconfig of that account and a Cluster.
package enrol

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Labels of all that is made, so that it can be found again.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	ManagedBy      = "kubectl-convoy"
	LabelInstance  = "app.kubernetes.io/instance" // the account
)

// Plan is what a target gives to convoy, and how it is reached.
type Plan struct {
	// Namespace and Name are those of the Cluster on the host.
	Namespace, Name string
	// NamespaceUID tells that namespace, and with it the host, from those of other hosts.
	NamespaceUID types.UID
	// AccountNamespace is the namespace of the account on the target.
	AccountNamespace string
	// ClusterRole is bound in the whole target, if it is set.
	ClusterRole string
	// Role is the ClusterRole that is bound in each of Namespaces.
	Role       string
	Namespaces []string

	// Server is the URL of the target's API server, as convoy reaches it; CA is what its
	// certificate is checked with, empty for what the system trusts.
	Server        string
	CA            []byte
	TLSServerName string
	ProxyURL      string
}

// The name of an account ends with this many hex digits; what is before them leaves room for
// what is put behind the name, which is a label, too.
const (
	accountDigits = 10
	longestStem   = 46
)

// Account is the name of the account on the target. No other Cluster has the same, of this host
// or another one: a namespace has no dot in its name, and its UID is only here.
func (p *Plan) Account() string {
	return p.stem() + "-" + digits(string(p.NamespaceUID)+"/"+p.fullName())
}

// Made tells by the labels of the Secret on the host whether this Cluster was added before, also
// with an account of another name: that of a host of which this one is a copy, or one that does
// not tell the host, as all did once.
func (p *Plan) Made(labels map[string]string) bool {
	if labels[LabelManagedBy] != ManagedBy {
		return false
	}
	account := labels[LabelInstance]
	if len(p.fullName()) <= longestStem+1+accountDigits && account == p.fullName() {
		return true
	}
	rest, ok := strings.CutPrefix(account, p.stem()+"-")
	return ok && len(rest) == accountDigits && strings.Trim(rest, "0123456789abcdef") == ""
}

func (p *Plan) fullName() string { return "convoy-" + p.Namespace + "." + p.Name }

func (p *Plan) stem() string {
	name := p.fullName()
	return strings.TrimRight(name[:min(len(name), longestStem)], "-.")
}

func digits(of string) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:])[:accountDigits]
}

// Selector chooses the objects on the target that were made for an account.
func Selector(account string) string {
	return fmt.Sprintf("%s=%s,%s=%s", LabelManagedBy, ManagedBy, LabelInstance, account)
}

// Resources are those of the objects that are made for an account on a target, in the order in
// which they have to be taken back: rights first.
func Resources() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		rbacv1.SchemeGroupVersion.WithResource("rolebindings"), rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings"),
		rbacv1.SchemeGroupVersion.WithResource("clusterroles"), corev1.SchemeGroupVersion.WithResource("secrets"),
		corev1.SchemeGroupVersion.WithResource("serviceaccounts"),
	}
}

// TokenSecret is the name of the Secret on the target that holds the token of the account.
func (p *Plan) TokenSecret() string { return p.Account() + "-token" }

// KubeconfigSecret is the name of the Secret on the host that holds the kubeconfig.
func (p *Plan) KubeconfigSecret() string { return p.Name + "-kubeconfig" }

func (p *Plan) labels() map[string]string {
	return map[string]string{LabelManagedBy: ManagedBy, LabelInstance: p.Account()}
}

func (p *Plan) meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: p.labels()}
}

// OnTarget gives the objects on the target, in the order in which they have to be made.
func (p *Plan) OnTarget() []runtime.Object {
	account := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: p.AccountNamespace, Name: p.Account()}
	objects := []runtime.Object{
		&corev1.Namespace{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: p.AccountNamespace, Labels: map[string]string{LabelManagedBy: ManagedBy}},
		},
		&corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: p.meta(p.AccountNamespace, p.Account())},
		p.token(),
	}
	if p.ClusterRole != "" {
		return append(objects, p.clusterBinding(p.Account(), p.ClusterRole, account))
	}
	// What health asks beside the objects themselves, and no role for namespaces has.
	objects = append(objects, &rbacv1.ClusterRole{
		TypeMeta: rbac("ClusterRole"), ObjectMeta: p.meta("", p.Account()),
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{"storage.k8s.io"}, Resources: []string{"storageclasses"}, Verbs: []string{"get"}}},
	}, p.clusterBinding(p.Account(), p.Account(), account))
	for _, namespace := range p.Namespaces {
		objects = append(objects, &rbacv1.RoleBinding{
			TypeMeta: rbac("RoleBinding"), ObjectMeta: p.meta(namespace, p.Account()), Subjects: []rbacv1.Subject{account},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: p.Role},
		})
	}
	return objects
}

func rbac(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

func (p *Plan) clusterBinding(name, role string, account rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta: rbac("ClusterRoleBinding"), ObjectMeta: p.meta("", name), Subjects: []rbacv1.Subject{account},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}
}

// token is the Secret into which the target writes a token of the account that does not end.
func (p *Plan) token() *corev1.Secret {
	meta := p.meta(p.AccountNamespace, p.TokenSecret())
	meta.Annotations = map[string]string{corev1.ServiceAccountNameKey: p.Account()}
	return &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: meta, Type: corev1.SecretTypeServiceAccountToken}
}

// OnHost gives the objects on the host: the kubeconfig with the token, and the Cluster.
func (p *Plan) OnHost(token string) ([]runtime.Object, error) {
	kubeconfig, err := p.kubeconfig(token)
	if err != nil {
		return nil, err
	}
	return []runtime.Object{
		&corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: p.meta(p.Namespace, p.KubeconfigSecret()),
			Data: map[string][]byte{corev1alpha1.DefaultKubeconfigKey: kubeconfig},
		},
		&corev1alpha1.Cluster{
			TypeMeta:   metav1.TypeMeta{APIVersion: corev1alpha1.SchemeGroupVersion.String(), Kind: "Cluster"},
			ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
			Spec: corev1alpha1.ClusterSpec{
				Mode: corev1alpha1.ClusterModeAgentless,
				Agentless: &corev1alpha1.AgentlessAccess{
					ProxyURL: p.ProxyURL, TLSServerName: p.TLSServerName,
					Auth: corev1alpha1.ClusterAuth{Type: corev1alpha1.ClusterAuthTypeKubeconfig, Kubeconfig: &corev1alpha1.KubeconfigAuth{
						SecretRef: corev1alpha1.SecretKeyReference{Name: p.KubeconfigSecret(), Key: corev1alpha1.DefaultKubeconfigKey},
					}},
				},
			},
		},
	}, nil
}

func (p *Plan) kubeconfig(token string) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.CurrentContext = p.Name
	config.Contexts[p.Name] = &clientcmdapi.Context{Cluster: p.Name, AuthInfo: "convoy"}
	config.Clusters[p.Name] = &clientcmdapi.Cluster{Server: p.Server, CertificateAuthorityData: p.CA}
	config.AuthInfos["convoy"] = &clientcmdapi.AuthInfo{Token: token}
	data, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("writing the kubeconfig of Cluster %s/%s: %w", p.Namespace, p.Name, err)
	}
	return data, nil
}
