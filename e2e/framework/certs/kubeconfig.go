// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig says what a kubeconfig file of one cluster and one identity holds.
// Certificates and keys are embedded, so the file can be moved and can be the
// content of a Secret.
type Kubeconfig struct {
	Cluster   string // name of the cluster, the context and the user entry
	Server    string // https URL
	CA        []byte // PEM
	Client    *Pair  // the identity: either a client certificate …
	Token     string // … or a bearer token
	Namespace string // of the context; empty is "default"
}

// Encode returns the kubeconfig in YAML. It fails unless there is exactly one
// identity.
func (k Kubeconfig) Encode() ([]byte, error) {
	if (k.Client == nil) == (k.Token == "") {
		return nil, errors.New("a kubeconfig needs a client certificate or a token, and not both")
	}
	user := &clientcmdapi.AuthInfo{Token: k.Token}
	if k.Client != nil {
		user.ClientCertificateData, user.ClientKeyData = k.Client.Cert, k.Client.Key
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[k.Cluster] = &clientcmdapi.Cluster{Server: k.Server, CertificateAuthorityData: k.CA}
	config.AuthInfos[k.Cluster] = user
	config.Contexts[k.Cluster] = &clientcmdapi.Context{Cluster: k.Cluster, AuthInfo: k.Cluster, Namespace: k.Namespace}
	config.CurrentContext = k.Cluster
	content, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encode the kubeconfig of %s: %w", k.Cluster, err)
	}
	return content, nil
}

// Write encodes the kubeconfig into a file that only its owner can read. An
// existing file is replaced whole. Several may write the same one at once.
func (k Kubeconfig) Write(path string) error {
	content, err := k.Encode()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("create the folder of the kubeconfig: %w", err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // with mode 0600
	if err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	_, err = temporary.Write(content)
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("put the kubeconfig in place: %w", errors.Join(err, os.Remove(temporary.Name())))
	}
	return nil
}
