// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// maxRate bounds requests per second, so that a slip of a digit is seen.
const maxRate = 100_000

// Cluster checks a Cluster.
func Cluster(c *corev1alpha1.Cluster) field.ErrorList {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	errs = append(errs, clusterMode(spec, &c.Spec)...)
	if c.Spec.Agentless != nil {
		errs = append(errs, agentless(spec.Child("agentless"), c.Spec.Agentless)...)
	}
	if c.Spec.Impersonate != nil {
		account := spec.Child("impersonate", "serviceAccount")
		errs = append(errs, label(account.Child("namespace"), c.Spec.Impersonate.ServiceAccount.Namespace)...)
		errs = append(errs, subdomain(account.Child("name"), c.Spec.Impersonate.ServiceAccount.Name)...)
	}
	errs = append(errs, number(spec.Child("qps"), c.Spec.QPS, 0, maxRate)...)
	return append(errs, number(spec.Child("burst"), c.Spec.Burst, 0, maxRate)...)
}

// ClusterStatus checks the status of a Cluster.
func ClusterStatus(c *corev1alpha1.Cluster) field.ErrorList {
	return conditions(c.Status.Conditions)
}

// ClusterWarnings tells of what is legal but suspicious in a Cluster.
func ClusterWarnings(c *corev1alpha1.Cluster) []string {
	if c.Spec.Burst > 0 && c.Spec.QPS == 0 {
		return []string{"spec.burst: has no effect while spec.qps is 0, which means no limit"}
	}
	return nil
}

func clusterMode(spec *field.Path, s *corev1alpha1.ClusterSpec) field.ErrorList {
	mode := spec.Child("mode")
	switch s.Mode {
	case corev1alpha1.ClusterModeAgent:
		return field.ErrorList{field.Invalid(mode, s.Mode, "mode agent is not built yet; use inCluster or agentless")}
	case corev1alpha1.ClusterModeAgentless:
		if s.Agentless == nil {
			return field.ErrorList{field.Required(spec.Child("agentless"), "mode agentless needs to know how the cluster is called")}
		}
	case corev1alpha1.ClusterModeInCluster:
		if s.Agentless != nil {
			return field.ErrorList{field.Forbidden(spec.Child("agentless"), "may not be set in mode inCluster; to call another cluster, set spec.mode to agentless")}
		}
	}
	return oneOf(mode, s.Mode, corev1alpha1.ClusterModeInCluster, corev1alpha1.ClusterModeAgentless)
}

func agentless(path *field.Path, a *corev1alpha1.AgentlessAccess) field.ErrorList {
	auth := path.Child("auth")
	// The authenticators that are registered; they live in the controllers, which link what
	// a server of objects need not.
	errs := oneOf(auth.Child("type"), a.Auth.Type, corev1alpha1.ClusterAuthTypeKubeconfig)
	if kubeconfig := a.Auth.Kubeconfig; kubeconfig != nil {
		secret := auth.Child("kubeconfig", "secretRef")
		errs = append(errs, subdomain(secret.Child("name"), kubeconfig.SecretRef.Name)...)
		errs = append(errs, key(secret.Child("key"), kubeconfig.SecretRef.Key)...)
	} else if a.Auth.Type == corev1alpha1.ClusterAuthTypeKubeconfig {
		errs = append(errs, field.Required(auth.Child("kubeconfig"), "type kubeconfig needs to know its Secret"))
	}
	if a.ProxyURL != "" {
		_, urlErrs := location(path.Child("proxyURL"), a.ProxyURL, "http", "https", "socks5")
		errs = append(errs, urlErrs...)
	}
	return append(errs, optionalSubdomain(path.Child("tlsServerName"), a.TLSServerName)...)
}
