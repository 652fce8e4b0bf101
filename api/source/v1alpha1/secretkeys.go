// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Keys of the Secrets that sources refer to.
const (
	SecretKeyUsername    = "username"
	SecretKeyPassword    = "password"
	SecretKeyBearerToken = "bearerToken"
	SecretKeyIdentity    = "identity"
	SecretKeyKnownHosts  = "known_hosts"
	SecretKeyTLSCert     = "tls.crt"
	SecretKeyTLSKey      = "tls.key"
	SecretKeyCACert      = "ca.crt"
	SecretKeyProxy       = "address"
	// SecretKeyDockerConfig is the key of a Secret of type kubernetes.io/dockerconfigjson.
	SecretKeyDockerConfig = ".dockerconfigjson"
)
