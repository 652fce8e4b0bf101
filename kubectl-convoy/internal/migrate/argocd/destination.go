// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
)

const (
	// hostURL and hostName are how Argo CD calls the cluster that it runs in.
	hostURL  = "https://kubernetes.default.svc"
	hostName = "in-cluster"
	// labelSecret says on a Secret what it is for.
	labelSecret = "argocd.argoproj.io/secret-type"
)

// server is a cluster by its URL or its name.
type server struct{ url, name string }

func destinationOf(old *unstructured.Unstructured) (of server, namespace string, err error) {
	of.url, _, _ = unstructured.NestedString(old.Object, "spec", "destination", "server")
	of.name, _, _ = unstructured.NestedString(old.Object, "spec", "destination", "name")
	namespace, _, err = unstructured.NestedString(old.Object, "spec", "destination", "namespace")
	return of, namespace, err
}

// namespace is that to which the Application delivers.
func (c *conversion) namespace() string {
	_, namespace, _ := destinationOf(c.Old)
	return namespace
}

// destination maps the cluster and the namespace.
func (c *conversion) destination(f *migrate.Fields) error {
	of := server{f.Text("server"), f.Text("name")}
	if namespace := f.Text("namespace"); namespace != c.Old.GetNamespace() {
		c.template.TargetNamespace = namespace
	}
	f.Rest()
	spec, name := corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeInCluster}, migrate.HostCluster
	if of.url != hostURL && of.name != hostName {
		c.Remote = true
		var err error
		if spec, name, err = c.remote(of); err != nil || name == "" {
			return err
		}
	}
	name, err := c.Cluster(c.reader, c.Old.GetNamespace(), name, spec)
	c.template.ClusterRef.Name = name
	return err
}

// remote finds the Secret of a cluster and makes a kubeconfig of it; no name when it cannot be
// mapped.
func (c *conversion) remote(of server) (spec corev1alpha1.ClusterSpec, name string, err error) {
	secrets, err := c.reader.List(migrate.SecretKind, c.home, labels.SelectorFromSet(labels.Set{labelSecret: "cluster"}))
	if err != nil {
		return spec, "", err
	}
	for _, secret := range secrets {
		data, err := migrate.SecretData(secret)
		if err != nil {
			return spec, "", err
		}
		if of.url != "" && string(data["server"]) != of.url || of.name != "" && string(data["name"]) != of.name {
			continue
		}
		kubeconfig, ok, err := c.kubeconfig(secret.GetName(), data)
		if err != nil || !ok {
			return spec, "", err
		}
		name = slug(string(data["name"]))
		made := c.Secret(c.Old.GetNamespace(), name+"-kubeconfig", corev1.SecretTypeOpaque, map[string][]byte{corev1alpha1.DefaultKubeconfigKey: kubeconfig})
		return migrate.ByKubeconfig(made, corev1alpha1.DefaultKubeconfigKey), name, nil
	}
	c.Unmapped("spec.destination", fmt.Sprintf("no Secret of namespace %s is that of the cluster: make the Cluster with 'kubectl convoy cluster add'", c.home))
	return spec, "", nil
}

// access is what Argo CD knows of a cluster besides name and URL.
type access struct {
	Username    string `json:"username"`
	Password    string `json:"password"`
	BearerToken string `json:"bearerToken"`
	TLS         struct {
		Insecure   bool   `json:"insecure"`
		ServerName string `json:"serverName"`
		CertData   string `json:"certData"`
		KeyData    string `json:"keyData"`
		CAData     string `json:"caData"`
	} `json:"tlsClientConfig"`
	AWS   map[string]any `json:"awsAuthConfig"`
	Exec  map[string]any `json:"execProviderConfig"`
	Proxy string         `json:"proxyUrl"`
}

// kubeconfig makes one of the Secret of a cluster; not ok when it needs what convoy has not.
func (c *conversion) kubeconfig(secret string, data map[string][]byte) (content []byte, ok bool, err error) {
	var a access
	if err := json.Unmarshal(data["config"], &a); err != nil {
		// Its text is not shown: credentials are in it.
		c.Unmapped("spec.destination", fmt.Sprintf("the key config of Secret %s/%s is no JSON", c.home, secret))
		return nil, false, nil
	}
	if a.AWS != nil || a.Exec != nil {
		c.Unmapped("spec.destination", fmt.Sprintf("Secret %s/%s has a program make the credentials, which convoy does not run: make the Cluster with 'kubectl convoy cluster add'", c.home, secret))
		return nil, false, nil
	}
	cluster := &clientcmdapi.Cluster{
		Server: string(data["server"]), TLSServerName: a.TLS.ServerName, InsecureSkipTLSVerify: a.TLS.Insecure, ProxyURL: a.Proxy,
	}
	user := &clientcmdapi.AuthInfo{Token: a.BearerToken, Username: a.Username, Password: a.Password}
	for _, one := range []struct {
		text string
		into *[]byte
	}{{a.TLS.CAData, &cluster.CertificateAuthorityData}, {a.TLS.CertData, &user.ClientCertificateData}, {a.TLS.KeyData, &user.ClientKeyData}} {
		if *one.into, err = base64.StdEncoding.DecodeString(one.text); err != nil {
			c.Unmapped("spec.destination", fmt.Sprintf("certificates in the key config of Secret %s/%s are no base64", c.home, secret))
			return nil, false, nil
		}
	}
	if restricted := string(data["namespaces"]); restricted != "" {
		c.Note("spec.destination", fmt.Sprintf("Argo CD works in the namespaces %s of the cluster only; what convoy may is what the account may", restricted))
	}
	config := clientcmdapi.NewConfig()
	config.CurrentContext = "target"
	config.Contexts["target"] = &clientcmdapi.Context{Cluster: "target", AuthInfo: "convoy"}
	config.Clusters["target"], config.AuthInfos["convoy"] = cluster, user
	content, err = clientcmd.Write(*config)
	return content, err == nil, err
}
