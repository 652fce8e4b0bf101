// SPDX-License-Identifier: Apache-2.0

package access

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"kumodo.io/convoy/fetch/internal/fault"
)

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

func dockerAuths(config []byte) map[string]DockerAuth {
	var parsed struct {
		Auths map[string]DockerAuth `json:"auths"`
	}
	if json.Unmarshal(config, &parsed) != nil {
		return nil
	}
	for key, auth := range parsed.Auths {
		if decoded, err := base64.StdEncoding.DecodeString(auth.Auth); err == nil && auth.Auth != "" {
			if user, password, ok := strings.Cut(string(decoded), ":"); ok {
				auth.Username, auth.Password = user, strings.TrimRight(password, "\x00")
				parsed.Auths[key] = auth
			}
		}
	}
	return parsed.Auths
}

// DockerAuth returns the credentials for a repository of a registry from the Docker
// configuration: of the entries for the registry and for paths in it, the longest that
// fits, as for the image pull secrets of Kubernetes. The error is fault.ErrSecret.
func (a *Access) DockerAuth(host, repository string) (DockerAuth, error) {
	auths := dockerAuths(a.DockerConfig)
	if auths == nil {
		return DockerAuth{}, fault.New(fault.ErrSecret, "the key .dockerconfigjson of the Secret %s is no Docker configuration with auths", a.name)
	}
	wanted := canonicalHost(host) + "/" + repository + "/"
	best, length := DockerAuth{}, -1
	for key, auth := range auths {
		if prefix := dockerKey(key); len(prefix) > length && strings.HasPrefix(wanted, prefix+"/") {
			best, length = auth, len(prefix)
		}
	}
	if length < 0 {
		return DockerAuth{}, fault.New(fault.ErrSecret, "the Docker configuration of the Secret %s has no entry for %s", a.name, host)
	}
	return best, nil
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
