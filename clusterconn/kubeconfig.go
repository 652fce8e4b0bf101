// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// kubeconfigAuthenticator takes server and credentials from the current context of a
// kubeconfig in a Secret. Only what that context uses is looked at. As with kubectl, TLS
// is checked unless the kubeconfig says otherwise, no credentials are sent to a server
// whose URL is not https, and without a proxy of its own the process's HTTPS_PROXY holds.
type kubeconfigAuthenticator struct{}

func (kubeconfigAuthenticator) RESTConfig(ctx context.Context, cluster *corev1alpha1.Cluster, secrets Secrets) (*rest.Config, error) {
	if cluster.Spec.Agentless == nil || cluster.Spec.Agentless.Auth.Kubeconfig == nil {
		return nil, invalidf("spec.agentless.auth.kubeconfig is required by the auth type %s", corev1alpha1.ClusterAuthTypeKubeconfig)
	}
	ref := cluster.Spec.Agentless.Auth.Kubeconfig.SecretRef
	name := types.NamespacedName{Namespace: cluster.Namespace, Name: ref.Name}
	key := ref.Key
	if key == "" {
		key = corev1alpha1.DefaultKubeconfigKey
	}
	data, err := secrets.Secret(ctx, name.Namespace, name.Name)
	if err != nil {
		return nil, secretError(name, err)
	}
	if len(data[key]) == 0 {
		return nil, invalidf("Secret %s has no key %q, its keys are %q", name, key, slices.Sorted(maps.Keys(data)))
	}
	config, err := parseKubeconfig(data[key])
	if err != nil {
		return nil, invalidf("kubeconfig in key %q of Secret %s: %w", key, name, err)
	}
	return config, nil
}

func secretError(name types.NamespacedName, err error) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: %w", ErrInvalid, &missingSecretError{name: name, cause: err})
	}
	return fmt.Errorf("reading the kubeconfig: %w", err)
}

// missingSecretError says in our words what the cause, which names the Secret too, says in
// the server's.
type missingSecretError struct {
	name  types.NamespacedName
	cause error
}

func (e *missingSecretError) Error() string { return fmt.Sprintf("Secret %s does not exist", e.name) }

func (e *missingSecretError) Unwrap() error { return e.cause }

// parseKubeconfig makes a configuration of a kubeconfig. Its errors name fields and never
// quote values, other than the names of contexts, clusters and users: a parser's own
// error may quote what it could not parse.
func parseKubeconfig(data []byte) (*rest.Config, error) {
	config, err := clientcmd.Load(data)
	if err != nil {
		return nil, fmt.Errorf("cannot be parsed: it must be YAML or JSON of kind Config, with its data fields in base64")
	}
	if config.CurrentContext == "" {
		return nil, fmt.Errorf("current-context is not set")
	}
	current, ok := config.Contexts[config.CurrentContext]
	if !ok {
		return nil, fmt.Errorf("current-context %q is not among contexts", config.CurrentContext)
	}
	cluster, ok := config.Clusters[current.Cluster]
	if !ok {
		return nil, fmt.Errorf("contexts[%s].context.cluster %q is not among clusters", config.CurrentContext, current.Cluster)
	}
	if err := checkServer(cluster); err != nil {
		return nil, fmt.Errorf("clusters[%s].cluster.%w", current.Cluster, err)
	}
	if current.AuthInfo != "" {
		user, ok := config.AuthInfos[current.AuthInfo]
		if !ok {
			return nil, fmt.Errorf("contexts[%s].context.user %q is not among users", config.CurrentContext, current.AuthInfo)
		}
		if err := checkUser(user); err != nil {
			return nil, fmt.Errorf("users[%s].user.%w", current.AuthInfo, err)
		}
	}
	return clientcmd.NewNonInteractiveClientConfig(*config, config.CurrentContext, &clientcmd.ConfigOverrides{}, nil).ClientConfig()
}

const (
	runsProgram = "is refused: it would run a program on convoy's own host; use a token or a client certificate"
	readsFile   = "is refused: it would read a file of convoy's own host; put the content into"
)

// checkServer refuses what a kubeconfig must not say of a server. Its errors begin with
// the field's name.
func checkServer(cluster *clientcmdapi.Cluster) error {
	if cluster.CertificateAuthority != "" {
		return fmt.Errorf("certificate-authority %s certificate-authority-data", readsFile)
	}
	if cluster.Server == "" {
		return fmt.Errorf("server is not set")
	}
	if err := checkURL(cluster.Server, "https", "http"); err != nil {
		return fmt.Errorf("server %w", err)
	}
	if cluster.ProxyURL != "" {
		if err := checkURL(cluster.ProxyURL, proxySchemes...); err != nil {
			return fmt.Errorf("proxy-url %w", err)
		}
	}
	return nil
}

// checkUser refuses what a kubeconfig must not say of a user. Its errors begin with the
// field's name.
func checkUser(user *clientcmdapi.AuthInfo) error {
	switch {
	case user.Exec != nil:
		return fmt.Errorf("exec %s", runsProgram)
	case user.AuthProvider != nil:
		return fmt.Errorf("auth-provider %s", runsProgram)
	case user.TokenFile != "":
		return fmt.Errorf("tokenFile %s token", readsFile)
	case user.ClientCertificate != "":
		return fmt.Errorf("client-certificate %s client-certificate-data", readsFile)
	case user.ClientKey != "":
		return fmt.Errorf("client-key %s client-key-data", readsFile)
	case strings.ContainsFunc(user.Token, isControl):
		return fmt.Errorf("token holds a line break or another character that cannot be sent")
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// checkURL says what is wrong with a URL, without quoting it: it may hold credentials.
func checkURL(text string, schemes ...string) error {
	parsed, err := url.Parse(text)
	switch {
	case err != nil || parsed.Host == "":
		return fmt.Errorf("is not a URL with a host")
	case !slices.Contains(schemes, parsed.Scheme):
		return fmt.Errorf("must be a URL of scheme %s", strings.Join(schemes, " or "))
	case parsed.User != nil:
		return fmt.Errorf("must not hold credentials")
	}
	return nil
}
