// SPDX-License-Identifier: Apache-2.0

package access

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/fault"
)

// dockerConfig is the part of a Docker configuration that is about credentials.
type dockerConfig struct {
	Auths map[string]DockerAuth `json:"auths"`
	// Helpers and Store name programs that know credentials: of one registry, and of all.
	Helpers map[string]string `json:"credHelpers"`
	Store   string            `json:"credsStore"`
}

// DockerAuth is what a Docker configuration holds for one registry.
type DockerAuth struct {
	Username      string `json:"username"`
	Password      string `json:"password"`
	Auth          string `json:"auth"`
	IdentityToken string `json:"identitytoken"`
	RegistryToken string `json:"registrytoken"`
}

func (d DockerAuth) secrets() []string {
	list := []string{d.Password, d.IdentityToken, d.RegistryToken}
	if d.Password != "" {
		list = append(list, d.Username+":"+d.Password)
	}
	return list
}

// decoded returns the credentials with those that are packed into auth, and whether that
// can be unpacked.
func (d DockerAuth) decoded() (DockerAuth, bool) {
	if d.Auth == "" {
		return d, true
	}
	unpacked, err := base64.StdEncoding.DecodeString(d.Auth)
	if err != nil {
		return d, false
	}
	user, password, ok := strings.Cut(string(unpacked), ":")
	d.Username, d.Password = user, strings.TrimRight(password, "\x00")
	return d, ok
}

// empty says that there is nothing to log in with.
func (d DockerAuth) empty() bool {
	return d.Username == "" && d.Password == "" && d.IdentityToken == "" && d.RegistryToken == ""
}

// parseDocker reads a Docker configuration.
func parseDocker(data []byte) (dockerConfig, bool) {
	var c dockerConfig
	ok := json.Unmarshal(data, &c) == nil && (c.Auths != nil || c.Helpers != nil || c.Store != "")
	return c, ok
}

// dockerSecrets lists the secrets of a Docker configuration.
func dockerSecrets(data []byte) []string {
	var list []string
	config, _ := parseDocker(data)
	for _, auth := range config.Auths {
		decoded, _ := auth.decoded()
		list = append(append(list, decoded.secrets()...), auth.secrets()...)
	}
	return list
}

// DockerAuth returns the credentials for a repository of a registry from the Docker
// configuration: of the entries for the registry and for paths in it, the longest that
// fits, as for the image pull secrets of Kubernetes. The error is fault.ErrSecret, and so
// it is where a program would have to be asked.
func (a *Access) DockerAuth(host, repository string) (DockerAuth, error) {
	config, ok := parseDocker(a.DockerConfig)
	if !ok {
		return DockerAuth{}, fault.New(fault.ErrSecret, "the key %s of the Secret %s is no Docker configuration with auths", sourcev1alpha1.SecretKeyDockerConfig, a.name)
	}
	best, key, found := config.find(host, repository)
	best, ok = best.decoded()
	if !ok {
		return DockerAuth{}, fault.New(fault.ErrSecret, "the Docker configuration of the Secret %s has an entry %q whose auth is not user:password in base64", a.name, key)
	}
	if best.empty() {
		if helper := config.helper(host); helper != "" {
			return DockerAuth{}, fault.New(fault.ErrSecret, "the Docker configuration of the Secret %s leaves the credentials of %s to the helper %q; helpers are programs, and none is run here: put the credentials into auths, or use spec.provider of an OCIRegistry in a cloud",
				a.name, host, helper)
		}
	}
	if !found {
		return DockerAuth{}, fault.New(fault.ErrSecret, "the Docker configuration of the Secret %s has no entry for %s", a.name, host)
	}
	return best, nil
}

func (c dockerConfig) find(host, repository string) (best DockerAuth, bestKey string, found bool) {
	wanted, length := canonicalHost(host)+"/"+repository+"/", -1
	for key, auth := range c.Auths {
		prefix := dockerKey(key)
		// Two keys can stand for the same; which one counts must not be chance.
		better := len(prefix) > length || len(prefix) == length && key < bestKey
		if better && strings.HasPrefix(wanted, prefix+"/") {
			best, bestKey, length = auth, key, len(prefix)
		}
	}
	return best, bestKey, length >= 0
}

// helper names the program that knows the credentials of a registry, if any.
func (c dockerConfig) helper(host string) string {
	for key, helper := range c.Helpers {
		if dockerKey(key) == canonicalHost(host) && helper != "" {
			return helper
		}
	}
	return c.Store
}

// dockerKey returns the registry and path that a key of auths stands for. Docker's own
// keys are URLs with the version of the API as path.
func dockerKey(key string) string {
	if _, rest, ok := strings.Cut(key, "://"); ok {
		key = rest
	}
	host, path, _ := strings.Cut(strings.TrimRight(key, "/"), "/")
	if path == "v1" || path == "v2" {
		path = ""
	}
	if host = canonicalHost(host); path == "" {
		return host
	}
	return host + "/" + path
}

// canonicalHost gives Docker Hub its one name.
func canonicalHost(host string) string {
	switch host = strings.ToLower(host); host {
	case "index.docker.io", "registry-1.docker.io":
		return "docker.io"
	}
	return host
}
