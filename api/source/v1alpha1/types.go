// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SecretReference names a Secret in the same namespace.
type SecretReference struct {
	// name of the Secret, in the same namespace.
	Name string `json:"name"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// GitRepository is a Git repository and how it is reached.
type GitRepository struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says where the repository is and how it is reached.
	// +optional
	Spec GitRepositorySpec `json:"spec,omitempty"`
	// status is what convoy last saw of the repository.
	// +optional
	Status GitRepositoryStatus `json:"status,omitempty"`
}

// GitProvider says how credentials of a Git host are made.
// +enum
type GitProvider string

const (
	// GitProviderGeneric takes credentials as the Secret has them.
	GitProviderGeneric GitProvider = "generic"
	// GitProviderGitHub makes tokens of a GitHub App.
	GitProviderGitHub GitProvider = "github"
)

// GitRepositorySpec says where a repository is and how it is reached.
type GitRepositorySpec struct {
	// url of the repository: https, http or ssh; file only where the operator allows it.
	// It may hold no credentials.
	URL string `json:"url"`
	// secretRef names a Secret with username and password, bearerToken, identity and
	// known_hosts (and password), tls.crt and tls.key, ca.crt, or githubApp* keys.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
	// caSecretRef names a Secret whose ca.crt is trusted for the repository's host.
	// +optional
	CASecretRef *SecretReference `json:"caSecretRef,omitempty"`
	// proxySecretRef names a Secret with address, username and password of a proxy.
	// +optional
	ProxySecretRef *SecretReference `json:"proxySecretRef,omitempty"`
	// recurseSubmodules fetches submodules too.
	// +optional
	RecurseSubmodules bool `json:"recurseSubmodules,omitempty"`
	// provider is generic (default) or github.
	// +optional
	Provider GitProvider `json:"provider,omitempty"`
	// verify demands signatures.
	// +optional
	Verify *GitVerification `json:"verify,omitempty"`
	// interval between checks of reachability. Defaults to 10m.
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`
	// timeout of one operation. Defaults to 60s.
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// suspend stops checks and fetches while true.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// insecureSkipTLSVerify accepts any certificate of the host.
	// +optional
	InsecureSkipTLSVerify bool `json:"insecureSkipTLSVerify,omitempty"`
}

// GitVerification demands signatures.
type GitVerification struct {
	// mode is head (the commit is signed) or tag (the tag is).
	Mode string `json:"mode"`
	// provider is gpg or ssh.
	Provider string `json:"provider"`
	// secretRef names a Secret with the public keys that are trusted.
	SecretRef SecretReference `json:"secretRef"`
}

// GitRepositoryStatus is what convoy last saw of a repository.
type GitRepositoryStatus struct {
	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions: Ready is True when the repository answers and accepts the credentials.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
	// lastCheckTime is when the repository was last asked.
	// +optional
	LastCheckTime *metav1.Time `json:"lastCheckTime,omitempty"`
	// defaultBranch of the repository.
	// +optional
	DefaultBranch string `json:"defaultBranch,omitempty"`
	// refs is the number of references that the repository advertises.
	// +optional
	Refs int32 `json:"refs,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// GitRepositoryList is a list of GitRepositories.
type GitRepositoryList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the GitRepositories.
	Items []GitRepository `json:"items"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// HelmRegistry is a repository of Helm charts and how it is reached.
type HelmRegistry struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says where the charts are and how they are reached.
	// +optional
	Spec HelmRegistrySpec `json:"spec,omitempty"`
	// status is what convoy last saw of the registry.
	// +optional
	Status HelmRegistryStatus `json:"status,omitempty"`
}

// HelmRegistrySpec says where charts are and how they are reached.
type HelmRegistrySpec struct {
	// url of the registry: https or http for an index repository, oci for a registry. It
	// may hold no credentials.
	URL string `json:"url"`
	// secretRef names a Secret with username and password, or tls.crt, tls.key and ca.crt.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
	// caSecretRef names a Secret whose ca.crt is trusted for the registry's host.
	// +optional
	CASecretRef *SecretReference `json:"caSecretRef,omitempty"`
	// passCredentials sends credentials to other hosts too that the index names.
	// +optional
	PassCredentials bool `json:"passCredentials,omitempty"`
	// verify demands signatures of charts.
	// +optional
	Verify *HelmVerification `json:"verify,omitempty"`
	// interval between checks of reachability. Defaults to 10m.
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`
	// timeout of one operation. Defaults to 60s.
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// suspend stops checks and fetches while true.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// insecure accepts any certificate, and plain http for an oci url.
	// +optional
	Insecure bool `json:"insecure,omitempty"`
}

// HelmVerification demands that the archives of charts are signed in provenance files, as
// helm package --sign makes them.
type HelmVerification struct {
	// provider is gpg.
	Provider string `json:"provider"`
	// secretRef names a Secret with the OpenPGP public keys that are trusted, under names
	// that end in .asc or .gpg.
	SecretRef SecretReference `json:"secretRef"`
}

// HelmRegistryStatus is what convoy last saw of a registry of charts.
type HelmRegistryStatus struct {
	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions: Ready is True when the registry answers and accepts the credentials.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
	// lastCheckTime is when the registry was last asked.
	// +optional
	LastCheckTime *metav1.Time `json:"lastCheckTime,omitempty"`
	// charts is the number of charts in the index.
	// +optional
	Charts int32 `json:"charts,omitempty"`
	// skippedEntries is the number of entries of the index that are not usable.
	// +optional
	SkippedEntries int32 `json:"skippedEntries,omitempty"`
	// indexDigest is the digest of the index.
	// +optional
	IndexDigest string `json:"indexDigest,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// HelmRegistryList is a list of HelmRegistries.
type HelmRegistryList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the HelmRegistries.
	Items []HelmRegistry `json:"items"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// OCIRegistry is a registry of OCI artifacts and how it is reached.
type OCIRegistry struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says where the registry is and how it is reached.
	// +optional
	Spec OCIRegistrySpec `json:"spec,omitempty"`
	// status is what convoy last saw of the registry.
	// +optional
	Status OCIRegistryStatus `json:"status,omitempty"`
}

// OCIProvider says how credentials of a registry are made.
// +enum
type OCIProvider string

const (
	// OCIProviderGeneric takes credentials from the Secret.
	OCIProviderGeneric OCIProvider = "generic"
	// OCIProviderAWS takes credentials from the environment's AWS identity.
	OCIProviderAWS OCIProvider = "aws"
	// OCIProviderGCP takes credentials from the environment's Google Cloud identity.
	OCIProviderGCP OCIProvider = "gcp"
	// OCIProviderAzure takes credentials from the environment's Azure identity.
	OCIProviderAzure OCIProvider = "azure"
)

// OCIRegistrySpec says where a registry is and how it is reached.
type OCIRegistrySpec struct {
	// url of the registry, oci://host[/prefix]. It may hold no credentials.
	URL string `json:"url"`
	// secretRef names a Secret of type kubernetes.io/dockerconfigjson, or one with username
	// and password. Only provider generic takes credentials from a Secret.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
	// caSecretRef names a Secret whose ca.crt is trusted for the registry's host.
	// +optional
	CASecretRef *SecretReference `json:"caSecretRef,omitempty"`
	// provider is generic (default), aws, gcp or azure. With the others, url must name a
	// registry of that cloud, and credentials are made from the identity that the controllers
	// have in it.
	// +optional
	Provider OCIProvider `json:"provider,omitempty"`
	// verify demands signatures.
	// +optional
	Verify *OCIVerification `json:"verify,omitempty"`
	// interval between checks of reachability. Defaults to 10m.
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`
	// timeout of one operation. Defaults to 60s.
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// suspend stops checks and fetches while true.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// insecure accepts plain http and any certificate. Only provider generic allows it.
	// +optional
	Insecure bool `json:"insecure,omitempty"`
}

// OCIVerification demands signatures of the manifests or indexes that revisions name.
type OCIVerification struct {
	// provider is cosign or notation.
	Provider string `json:"provider"`
	// secretRef names a Secret with what is trusted. For cosign: public keys under names that
	// end in .pub; for keyless signatures, the trusted root of a Sigstore deployment under
	// trusted_root.json instead. With both a key and a trusted root, a transparency log of
	// the root must vouch for signatures with the key. For notation: certificates under names
	// that end in .crt or .pem, those of timestamp authorities beginning with tsa, and
	// optionally a trust policy under trustpolicy.json. It is required.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
	// matchOIDCIdentity lists the identities of which keyless signatures must have one.
	// +optional
	// +listType=atomic
	MatchOIDCIdentity []OIDCIdentity `json:"matchOIDCIdentity,omitempty"`
}

// OIDCIdentity is an identity of a keyless signature. Both are regular expressions, which
// must match the whole text.
type OIDCIdentity struct {
	// issuer of the identity.
	Issuer string `json:"issuer"`
	// subject of the identity.
	Subject string `json:"subject"`
}

// OCIRegistryStatus is what convoy last saw of a registry.
type OCIRegistryStatus struct {
	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions: Ready is True when the registry answers and accepts the credentials.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
	// lastCheckTime is when the registry was last asked.
	// +optional
	LastCheckTime *metav1.Time `json:"lastCheckTime,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// OCIRegistryList is a list of OCIRegistries.
type OCIRegistryList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the OCIRegistries.
	Items []OCIRegistry `json:"items"`
}
