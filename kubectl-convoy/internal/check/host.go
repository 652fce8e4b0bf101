// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
)

// oldestHost is the first version that serves all that convoy-apiserver asks of a host.
var oldestHost = version.MustParseGeneric("1.30")

// HostVersion judges the version of the host, as its API server tells it.
func HostVersion(gitVersion string) Check {
	found, err := version.ParseGeneric(gitVersion)
	switch {
	case err != nil:
		return failed("", "the host says version %q, which is none: %v", gitVersion, err)
	case found.LessThan(oldestHost):
		return failed("upgrade the host", "the host is Kubernetes %s: %s or newer is needed", gitVersion, oldestHost)
	}
	return ok("the host is Kubernetes %s", gitVersion)
}

// frontProxyCA is where the host keeps what API servers behind it check its requests with.
const frontProxyCA = "requestheader-client-ca-file"

// Aggregation judges whether the host passes requests on to other API servers, by its ConfigMap
// kube-system/extension-apiserver-authentication.
func Aggregation(authentication map[string]string) Check {
	if strings.TrimSpace(authentication[frontProxyCA]) == "" {
		return failed("start kube-apiserver with --requestheader-client-ca-file, --proxy-client-cert-file and --proxy-client-key-file",
			"the aggregation layer of the host is not configured: ConfigMap kube-system/extension-apiserver-authentication has no %s", frontProxyCA)
	}
	return ok("the aggregation layer is configured")
}

// NeededToInstall are the rights that installing convoy into a namespace takes.
func NeededToInstall(namespace string) []authorizationv1.ResourceAttributes {
	const rbac = "rbac.authorization.k8s.io"
	right := func(verb, group, resource, namespace string) authorizationv1.ResourceAttributes {
		return authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Namespace: namespace}
	}
	everywhere := func(group, resource string) authorizationv1.ResourceAttributes {
		return right("create", group, resource, "")
	}
	within := func(group, resource string) authorizationv1.ResourceAttributes {
		return right("create", group, resource, namespace)
	}
	return []authorizationv1.ResourceAttributes{
		everywhere("", "namespaces"), everywhere("apiregistration.k8s.io", "apiservices"),
		everywhere(rbac, "clusterroles"), everywhere(rbac, "clusterrolebindings"),
		within("apps", "deployments"), within("", "services"), within("", "serviceaccounts"), within("", "secrets"),
		within(rbac, "roles"), within(rbac, "rolebindings"), within("policy", "poddisruptionbudgets"),
		within("networking.k8s.io", "networkpolicies"),
		// The chart has the rules of health applied by a Job.
		within("", "configmaps"), within("batch", "jobs"),
		// Who makes a role has to have what it gives, or this; and who binds one, too.
		right("escalate", rbac, "clusterroles", ""), right("bind", rbac, "clusterroles", ""),
		// convoy-apiserver reads there how the host signs requests that it passes on.
		right("create", rbac, "rolebindings", metav1.NamespaceSystem), right("bind", rbac, "roles", metav1.NamespaceSystem),
	}
}

// Rights judges whether the user may do all that is needed; refused are those that are not.
func Rights(refused []authorizationv1.ResourceAttributes) Check {
	if len(refused) == 0 {
		return ok("you may install")
	}
	var missing []string
	for _, right := range refused {
		resource := right.Resource
		if right.Group != "" {
			resource += "." + right.Group
		}
		if right.Namespace != "" {
			resource += " in " + right.Namespace
		}
		missing = append(missing, right.Verb+" "+resource)
	}
	return failed("install as a cluster administrator", "you may not %s", strings.Join(missing, ", "))
}
