// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterMode says how convoy reaches a cluster.
// +enum
type ClusterMode string

const (
	// ClusterModeInCluster is the cluster in which convoy itself runs.
	ClusterModeInCluster ClusterMode = "inCluster"
	// ClusterModeAgentless is a cluster whose API server convoy calls with given credentials.
	ClusterModeAgentless ClusterMode = "agentless"
	// ClusterModeAgent is a cluster that calls convoy. It is refused until it is built.
	ClusterModeAgent ClusterMode = "agent"
)

// ClusterAuthTypeKubeconfig is the authenticator that takes a kubeconfig from a Secret.
const ClusterAuthTypeKubeconfig = "kubeconfig"

// DefaultKubeconfigKey is the key of a Secret in which a kubeconfig is looked for.
const DefaultKubeconfigKey = "kubeconfig"

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Cluster is a Kubernetes cluster to which Releases are delivered, and how it is reached.
type Cluster struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says how the cluster is reached.
	// +optional
	Spec ClusterSpec `json:"spec,omitempty"`
	// status is what convoy last saw of the cluster.
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterSpec says how a cluster is reached.
type ClusterSpec struct {
	// mode is inCluster (the cluster in which convoy runs), agentless (convoy calls the
	// cluster's API server with the credentials under agentless) or agent (not built yet,
	// refused). Defaults to inCluster when agentless is absent and to agentless otherwise.
	Mode ClusterMode `json:"mode,omitempty"`
	// agentless is how the cluster's API server is called; required in mode agentless and
	// forbidden in the others.
	// +optional
	Agentless *AgentlessAccess `json:"agentless,omitempty"`
	// suspend stops every sync to this cluster while true.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// impersonate is the identity on the target cluster that every Release takes which
	// names no serviceAccountName of its own.
	// +optional
	Impersonate *Impersonation `json:"impersonate,omitempty"`
	// qps limits convoy's requests per second to this cluster. 0 means no limit on convoy's
	// side: the cluster's own priority and fairness is the limit.
	// +optional
	QPS int32 `json:"qps,omitempty"`
	// burst is how many requests may exceed qps for a moment; 0 means twice qps.
	// +optional
	Burst int32 `json:"burst,omitempty"`
}

// AgentlessAccess says how convoy calls the API server of a cluster.
type AgentlessAccess struct {
	// auth says with what credentials.
	Auth ClusterAuth `json:"auth"`
	// proxyURL is an http, https or socks5 proxy between convoy and the API server.
	// +optional
	ProxyURL string `json:"proxyURL,omitempty"`
	// tlsServerName is the name checked against the API server's certificate when it
	// differs from the host in the server's URL.
	// +optional
	TLSServerName string `json:"tlsServerName,omitempty"`
}

// ClusterAuth selects an authenticator and configures it.
type ClusterAuth struct {
	// type names the authenticator; kubeconfig is the only one registered.
	Type string `json:"type"`
	// kubeconfig configures the authenticator of that name.
	// +optional
	Kubeconfig *KubeconfigAuth `json:"kubeconfig,omitempty"`
}

// KubeconfigAuth takes server and credentials from a kubeconfig.
type KubeconfigAuth struct {
	// secretRef names the Secret with the kubeconfig and the key in it; key defaults to
	// "kubeconfig". A kubeconfig with an exec or auth-provider plugin, or with a path to a
	// file, is refused: it would run or read on convoy's own host.
	SecretRef SecretKeyReference `json:"secretRef"`
}

// Impersonation is an identity on the target cluster.
type Impersonation struct {
	// serviceAccount to act as.
	ServiceAccount ServiceAccountReference `json:"serviceAccount"`
}

// ClusterStatus is what convoy last saw of a cluster.
type ClusterStatus struct {
	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions: Ready is True when the cluster is reachable, the credentials are accepted
	// and discovery works.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
	// version is the cluster's Kubernetes version.
	// +optional
	Version string `json:"version,omitempty"`
	// server is the URL of the cluster's API server.
	// +optional
	Server string `json:"server,omitempty"`
	// lastProbeTime is when the cluster was last asked.
	// +optional
	LastProbeTime *metav1.Time `json:"lastProbeTime,omitempty"`
	// latency is how long the API server took to answer then; absent when it did not.
	// +optional
	Latency *metav1.Duration `json:"latency,omitempty"`
	// releases counts the Releases on this cluster.
	// +optional
	Releases *ClusterReleases `json:"releases,omitempty"`
}

// ClusterReleases counts the Releases on a cluster.
type ClusterReleases struct {
	// total number of Releases that name the cluster.
	Total int32 `json:"total"`
	// ready is how many of them are Ready.
	Ready int32 `json:"ready"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterList is a list of Clusters.
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the Clusters.
	Items []Cluster `json:"items"`
}
