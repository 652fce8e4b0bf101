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

// Keys of a Secret with the credentials of a GitHub App.
const (
	SecretKeyGitHubAppID             = "githubAppID"
	SecretKeyGitHubAppInstallationID = "githubAppInstallationID"
	SecretKeyGitHubAppPrivateKey     = "githubAppPrivateKey"
	// SecretKeyGitHubAppBaseURL is where the API of a GitHub Enterprise Server is.
	SecretKeyGitHubAppBaseURL = "githubAppBaseURL"
)

// Keys of a Secret that says whose signatures of OCI artifacts are trusted.
const (
	// SecretSuffixPublicKey ends the keys with public keys in PEM form, for cosign.
	SecretSuffixPublicKey = ".pub"
	// SecretKeyTrustedRoot has the trusted root of a Sigstore deployment, for cosign: its
	// certificate authorities, transparency logs and timestamp authorities, as JSON.
	SecretKeyTrustedRoot = "trusted_root.json"
	// SecretSuffixCertificate and SecretSuffixPEM end the keys with certificates in PEM form,
	// for notation. Those that begin with SecretPrefixTSA are of timestamp authorities.
	SecretSuffixCertificate = ".crt"
	SecretSuffixPEM         = ".pem"
	SecretPrefixTSA         = "tsa"
	// SecretKeyTrustPolicy has a trust policy of the Notary Project, for notation.
	SecretKeyTrustPolicy = "trustpolicy.json"
)
