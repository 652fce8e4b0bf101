// SPDX-License-Identifier: Apache-2.0

package clusterconn_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
)

// tokenAuthenticator takes a Secret with the keys server, ca.crt and token.
type tokenAuthenticator struct{}

func (tokenAuthenticator) RESTConfig(ctx context.Context, cluster *corev1alpha1.Cluster, secrets clusterconn.Secrets) (*rest.Config, error) {
	settings := cluster.Spec.Agentless.Auth.Kubeconfig
	if settings == nil {
		return nil, fmt.Errorf("%w: spec.agentless.auth.kubeconfig.secretRef names the Secret with the token", clusterconn.ErrInvalid)
	}
	data, err := secrets.Secret(ctx, cluster.Namespace, settings.SecretRef.Name)
	if err != nil {
		return nil, fmt.Errorf("reading the token: %w", err)
	}
	return &rest.Config{
		Host: string(data["server"]), BearerToken: string(data["token"]),
		TLSClientConfig: rest.TLSClientConfig{CAData: data["ca.crt"]},
	}, nil
}

// hostSecrets stands for the Secrets of the host cluster.
type hostSecrets struct{}

func (hostSecrets) Secret(context.Context, string, string) (map[string][]byte, error) {
	return map[string][]byte{"server": []byte("https://edge.example.com:6443"), "token": []byte("s3cret")}, nil
}

// A Connector with an authenticator beside the usual ones, which Clusters choose by
// spec.agentless.auth.type.
func ExampleOptions_authenticators() {
	authenticators := clusterconn.DefaultAuthenticators()
	authenticators["token"] = tokenAuthenticator{}
	connector := clusterconn.New(clusterconn.Options{Secrets: hostSecrets{}, Authenticators: authenticators})

	cluster := &corev1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "edge"},
		Spec: corev1alpha1.ClusterSpec{
			Mode: corev1alpha1.ClusterModeAgentless,
			Agentless: &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{
				Type:       "token",
				Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: "edge-token"}},
			}},
		},
	}
	connection, err := connector.Connect(context.Background(), cluster)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(connection.Server())

	cluster.Spec.Agentless.Auth.Type = "magic"
	_, err = connector.Connect(context.Background(), cluster)
	fmt.Println(err)
	// Output:
	// https://edge.example.com:6443
	// cluster edge: invalid cluster configuration: spec.agentless.auth.type "magic" is not registered, there is: kubeconfig, token
}
