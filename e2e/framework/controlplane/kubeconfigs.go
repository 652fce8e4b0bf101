// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"kumodo.io/convoy/e2e/framework/certs"
)

// tokenLifetime lets an environment stand for a week without renewal.
const tokenLifetime = 7 * 24 * time.Hour

// AdminKubeconfig returns the path of the kubeconfig of a cluster administrator
// (group system:masters).
func (c *ControlPlane) AdminKubeconfig() string { return c.path("admin.kubeconfig") }

// KubeconfigFor writes a kubeconfig whose client certificate names the user and
// the groups, and returns its path. The user has no rights but those that RBAC
// gives.
func (c *ControlPlane) KubeconfigFor(user string, groups ...string) (string, error) {
	pair, err := c.pki.ca.Client("user-"+user, user, groups...)
	if err != nil {
		return "", err
	}
	path := c.kubeconfig("user-" + user)
	return path, c.kubeconfigOf(certs.Kubeconfig{Client: &pair}).Write(path)
}

// ServiceAccountKubeconfig asks for a token of an existing service account,
// writes a kubeconfig with it and returns its path. The context's namespace is
// the account's. The token lives a week.
func (c *ControlPlane) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return "", err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", fmt.Errorf("build a client: %w", err)
	}
	seconds := int64(tokenLifetime.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("request a token for service account %s/%s: %w", namespace, name, err)
	}
	path := c.kubeconfig("serviceaccount-" + namespace + "-" + name)
	return path, c.kubeconfigOf(certs.Kubeconfig{Token: answer.Status.Token, Namespace: namespace}).Write(path)
}

func (c *ControlPlane) writeComponentKubeconfigs() error {
	if err := c.kubeconfigOf(certs.Kubeconfig{Client: &c.pki.admin}).Write(c.AdminKubeconfig()); err != nil {
		return err
	}
	for _, component := range []string{ControllerManager, Scheduler} {
		pair, err := c.pki.ca.Client(component, "system:"+component)
		if err != nil {
			return err
		}
		if err := c.kubeconfigOf(certs.Kubeconfig{Client: &pair}).Write(c.kubeconfig(component)); err != nil {
			return err
		}
	}
	return nil
}

// kubeconfigOf completes a kubeconfig with this cluster.
func (c *ControlPlane) kubeconfigOf(k certs.Kubeconfig) certs.Kubeconfig {
	k.Cluster, k.Server, k.CA = c.options.Name, c.URL(), c.pki.ca.Bundle()
	return k
}

func (c *ControlPlane) kubeconfig(name string) string {
	return c.path("kubeconfigs", name+".kubeconfig")
}
