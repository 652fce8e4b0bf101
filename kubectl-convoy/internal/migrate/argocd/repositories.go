// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
)

// scp is how ssh URLs are written short.
var scp = regexp.MustCompile(`^([A-Za-z0-9_.-]+@[A-Za-z0-9.-]+):(.+)$`)

// address gives a URL as convoy takes it.
func address(text string) string {
	if parts := scp.FindStringSubmatch(text); parts != nil && !strings.Contains(text, "://") {
		return "ssh://" + parts[1] + "/" + strings.TrimPrefix(parts[2], "/")
	}
	return text
}

// slug makes a name of a text, such as a URL.
func slug(text string) string {
	if u, err := url.Parse(address(text)); err == nil && u.Host != "" {
		text = strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
		if text == "" {
			text = u.Hostname()
		}
	}
	text = regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(text), "-")
	return strings.Trim(text[max(0, len(text)-50):], "-")
}

// repository is what Argo CD knows of a repository.
type repository struct {
	data map[string][]byte
	name string // of the Secret
}

func (r *repository) text(key string) string { return string(r.data[key]) }

// repositoryOf finds the Secret of a repository: that of the URL itself, else with credentials
// for the longest URL that it begins with; an empty one when there is none.
func (c *conversion) repositoryOf(address string) (*repository, error) {
	for _, kind := range []string{"repository", "repo-creds"} {
		secrets, err := c.reader.List(migrate.SecretKind, c.home, labels.SelectorFromSet(labels.Set{labelSecret: kind}))
		if err != nil {
			return nil, err
		}
		found, length := &repository{}, -1
		for _, secret := range secrets {
			data, err := migrate.SecretData(secret)
			if err != nil {
				return nil, err
			}
			of := string(data["url"])
			same := plain(of) == plain(address)
			if kind == "repo-creds" {
				same = strings.HasPrefix(plain(address), plain(of))
			}
			if same && len(of) > length {
				found, length = &repository{data, secret.GetName()}, len(of)
			}
		}
		if length >= 0 && (kind == "repo-creds" || hasCredentials(found.data)) {
			return found, nil
		} // one without any may find them in the other kind
	}
	return &repository{}, nil
}

func hasCredentials(data map[string][]byte) bool {
	return slices.ContainsFunc([]string{"username", "password", "bearerToken", "sshPrivateKey", "githubAppPrivateKey", "tlsClientCertData", "insecure", "enableOCI", "proxy"},
		func(key string) bool { return len(data[key]) > 0 })
}

// plain is a URL in the form in which those of one repository are the same.
func plain(text string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(address(text)), "/"), ".git")
}

// git maps the repository at a URL, and gives the name of the source.
func (c *conversion) git(repoURL string) (string, error) {
	r, err := c.repositoryOf(repoURL)
	if err != nil {
		return "", err
	}
	made := &sourcev1alpha1.GitRepository{
		TypeMeta:   metav1.TypeMeta{APIVersion: sourcev1alpha1.SchemeGroupVersion.String(), Kind: "GitRepository"},
		ObjectMeta: c.Meta(c.Old.GetNamespace(), slug(repoURL)),
	}
	made.Spec = sourcev1alpha1.GitRepositorySpec{URL: address(repoURL), InsecureSkipTLSVerify: r.text("insecure") == "true"}
	data := r.credentials()
	if err := c.trust(made.Spec.URL, data); err != nil {
		return "", err
	}
	if len(data[sourcev1alpha1.SecretKeyGitHubAppPrivateKey]) > 0 {
		made.Spec.Provider = sourcev1alpha1.GitProviderGitHub
	}
	c.peculiar(r)
	if len(data) > 0 {
		made.Spec.SecretRef = &sourcev1alpha1.SecretReference{Name: c.Secret(made.Namespace, made.Name+"-git", corev1.SecretTypeOpaque, data)}
	}
	if proxy := r.text("proxy"); proxy != "" {
		made.Spec.ProxySecretRef = &sourcev1alpha1.SecretReference{Name: c.Secret(made.Namespace, made.Name+"-git-proxy", corev1.SecretTypeOpaque, proxyData(proxy))}
	}
	c.Support = append(c.Support, made)
	return made.Name, nil
}

// proxyData takes the credentials out of the URL of a proxy.
func proxyData(text string) map[string][]byte {
	data := map[string][]byte{sourcev1alpha1.SecretKeyProxy: []byte(text)}
	if u, err := url.Parse(text); err == nil && u.User != nil {
		password, _ := u.User.Password()
		data[sourcev1alpha1.SecretKeyUsername], data[sourcev1alpha1.SecretKeyPassword] = []byte(u.User.Username()), []byte(password)
		u.User = nil
		data[sourcev1alpha1.SecretKeyProxy] = []byte(u.String())
	}
	return data
}

// credentials gives those of a repository under the keys that convoy reads.
func (r *repository) credentials() map[string][]byte {
	data := map[string][]byte{}
	for from, to := range map[string]string{
		"username": sourcev1alpha1.SecretKeyUsername, "password": sourcev1alpha1.SecretKeyPassword,
		"bearerToken": sourcev1alpha1.SecretKeyBearerToken, "sshPrivateKey": sourcev1alpha1.SecretKeyIdentity,
		"tlsClientCertData": sourcev1alpha1.SecretKeyTLSCert, "tlsClientCertKey": sourcev1alpha1.SecretKeyTLSKey,
		"githubAppID": sourcev1alpha1.SecretKeyGitHubAppID, "githubAppInstallationID": sourcev1alpha1.SecretKeyGitHubAppInstallationID,
		"githubAppPrivateKey": sourcev1alpha1.SecretKeyGitHubAppPrivateKey, "githubAppEnterpriseBaseUrl": sourcev1alpha1.SecretKeyGitHubAppBaseURL,
	} {
		if value := r.data[from]; len(value) > 0 {
			data[to] = value
		}
	}
	if len(data[sourcev1alpha1.SecretKeyPassword]) > 0 && len(data[sourcev1alpha1.SecretKeyUsername]) == 0 {
		data[sourcev1alpha1.SecretKeyUsername] = []byte("git") // a token, for which any name does
	}
	return data
}

// trust adds the keys and certificates of the host that Argo CD trusts.
func (c *conversion) trust(address string, data map[string][]byte) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		c.Unmapped("spec.source.repoURL", "is no URL with a host")
		return nil
	}
	if u.Scheme == "ssh" {
		known, err := c.setting("argocd-ssh-known-hosts-cm", "ssh_known_hosts")
		if known != "" {
			data[sourcev1alpha1.SecretKeyKnownHosts] = []byte(known)
		}
		return err
	}
	authority, err := c.setting("argocd-tls-certs-cm", u.Hostname())
	if authority != "" {
		data[sourcev1alpha1.SecretKeyCACert] = []byte(authority)
	}
	return err
}

func (c *conversion) setting(name, key string) (string, error) {
	object, err := c.reader.Get(migrate.ConfigMapKind, c.home, name)
	if err != nil || object == nil {
		return "", err
	}
	text, _, err := unstructured.NestedString(object.Object, "data", key)
	return text, err
}

// peculiar lists what else a repository has and convoy has not.
func (c *conversion) peculiar(r *repository) {
	for _, one := range []struct{ key, message string }{
		{"gcpServiceAccountKey", "credentials are not made from a key of Google Cloud: give a user name and a token"},
		{"useAzureWorkloadIdentity", "credentials are not made from the identity in Azure: give a user name and a token"},
		{"insecureIgnoreHostKey", "the key of an ssh host is always checked: put known_hosts into the Secret"},
	} {
		if value := r.text(one.key); value != "" && value != "false" {
			c.Unmapped("spec.source.repoURL", fmt.Sprintf("Secret %s/%s, %s: %s", c.home, r.name, one.key, one.message))
		}
	}
}

// charts maps the repository of charts at a URL, and gives the name of the source.
func (c *conversion) charts(repoURL string, passCredentials bool) (string, error) {
	r, err := c.repositoryOf(repoURL)
	if err != nil {
		return "", err
	}
	at := repoURL
	if !strings.Contains(at, "://") {
		at = "oci://" + strings.TrimSuffix(at, "/")
	}
	made := &sourcev1alpha1.HelmRegistry{
		TypeMeta:   metav1.TypeMeta{APIVersion: sourcev1alpha1.SchemeGroupVersion.String(), Kind: "HelmRegistry"},
		ObjectMeta: c.Meta(c.Old.GetNamespace(), slug(at)),
	}
	made.Spec = sourcev1alpha1.HelmRegistrySpec{URL: at, PassCredentials: passCredentials, Insecure: r.text("insecure") == "true"}
	data := r.credentials()
	if err := c.trust(at, data); err != nil {
		return "", err
	}
	c.peculiar(r)
	if r.text("proxy") != "" {
		c.Unmapped("spec.source.repoURL", fmt.Sprintf("Secret %s/%s, proxy: set it in the environment of the controllers", c.home, r.name))
	}
	if len(data) > 0 {
		made.Spec.SecretRef = &sourcev1alpha1.SecretReference{Name: c.Secret(made.Namespace, made.Name+"-helm", corev1.SecretTypeOpaque, data)}
	}
	c.Support = append(c.Support, made)
	return made.Name, nil
}

// artifacts maps the OCI repository at a URL, and gives the name of the source of its registry
// and the repository in it.
func (c *conversion) artifacts(repoURL string) (source, name string, err error) {
	r, err := c.repositoryOf(repoURL)
	if err != nil {
		return "", "", err
	}
	cut := strings.LastIndex(repoURL, "/")
	made := &sourcev1alpha1.OCIRegistry{
		TypeMeta:   metav1.TypeMeta{APIVersion: sourcev1alpha1.SchemeGroupVersion.String(), Kind: "OCIRegistry"},
		ObjectMeta: c.Meta(c.Old.GetNamespace(), slug(repoURL)),
	}
	made.Spec = sourcev1alpha1.OCIRegistrySpec{URL: repoURL[:cut], Insecure: r.text("insecure") == "true"}
	data := r.credentials()
	if err := c.trust(repoURL, data); err != nil {
		return "", "", err
	}
	c.peculiar(r)
	if authority := data[sourcev1alpha1.SecretKeyCACert]; authority != nil {
		delete(data, sourcev1alpha1.SecretKeyCACert)
		made.Spec.CASecretRef = &sourcev1alpha1.SecretReference{Name: c.Secret(made.Namespace, made.Name+"-oci-ca", corev1.SecretTypeOpaque,
			map[string][]byte{sourcev1alpha1.SecretKeyCACert: authority})}
	}
	if len(data) > 0 {
		made.Spec.SecretRef = &sourcev1alpha1.SecretReference{Name: c.Secret(made.Namespace, made.Name+"-oci", corev1.SecretTypeOpaque, data)}
	}
	c.Support = append(c.Support, made)
	return made.Name, repoURL[cut+1:], nil
}
