// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// ReleaseSource says where content comes from. Exactly one member is set.
type ReleaseSource struct {
	// git takes content from a GitRepository.
	// +optional
	Git *GitSource `json:"git,omitempty"`
	// helm takes a chart from a HelmRegistry.
	// +optional
	Helm *HelmSource `json:"helm,omitempty"`
	// oci takes an artifact from an OCIRegistry.
	// +optional
	OCI *OCISource `json:"oci,omitempty"`
}

// GitSource takes content from a GitRepository.
type GitSource struct {
	// repositoryRef names the GitRepository, in the same namespace.
	RepositoryRef LocalReference `json:"repositoryRef"`
	// ref is the revision wanted; the repository's default branch when nothing is set.
	// +optional
	Ref GitRef `json:"ref,omitempty"`
	// path of the content inside the repository; the root when empty. It may not leave it.
	// +optional
	Path string `json:"path,omitempty"`
}

// GitRef is a revision of a Git repository. At most one member is set.
type GitRef struct {
	// branch whose newest commit is wanted.
	// +optional
	Branch string `json:"branch,omitempty"`
	// tag of exactly this name.
	// +optional
	Tag string `json:"tag,omitempty"`
	// semver is a range; the highest tag within it is wanted.
	// +optional
	Semver string `json:"semver,omitempty"`
	// commit is a full commit id of 40 hex digits.
	// +optional
	Commit string `json:"commit,omitempty"`
	// name is a full reference name, for example refs/pull/7/head.
	// +optional
	Name string `json:"name,omitempty"`
}

// HelmSource takes a chart from a HelmRegistry.
type HelmSource struct {
	// registryRef names the HelmRegistry, in the same namespace.
	RegistryRef LocalReference `json:"registryRef"`
	// chart is the chart's name.
	Chart string `json:"chart"`
	// version is an exact version or a semver range; the newest stable one when empty.
	// +optional
	Version string `json:"version,omitempty"`
}

// OCISource takes an artifact from an OCIRegistry.
type OCISource struct {
	// registryRef names the OCIRegistry, in the same namespace.
	RegistryRef LocalReference `json:"registryRef"`
	// repository inside the registry.
	Repository string `json:"repository"`
	// ref is the artifact wanted; tag "latest" when nothing is set.
	// +optional
	Ref OCIRef `json:"ref,omitempty"`
	// path of the content inside the artifact; the root when empty.
	// +optional
	Path string `json:"path,omitempty"`
	// layerSelector chooses the layer with the content; by default the only tar or chart layer.
	// +optional
	LayerSelector *LayerSelector `json:"layerSelector,omitempty"`
}

// OCIRef is a revision of an OCI repository. At most one member is set.
type OCIRef struct {
	// tag of exactly this name.
	// +optional
	Tag string `json:"tag,omitempty"`
	// semver is a range; the highest tag within it is wanted.
	// +optional
	Semver string `json:"semver,omitempty"`
	// digest of the manifest, <algorithm>:<hex digits>.
	// +optional
	Digest string `json:"digest,omitempty"`
}

// LayerSelector chooses a layer of an OCI artifact.
type LayerSelector struct {
	// mediaType of the layer.
	MediaType string `json:"mediaType"`
}

// RenderType says with what content is rendered.
// +enum
type RenderType string

const (
	// RenderAuto looks for Chart.yaml, then for a kustomization, then takes plain manifests.
	RenderAuto RenderType = "auto"
	// RenderHelm renders a Helm chart.
	RenderHelm RenderType = "helm"
	// RenderKustomize builds a kustomization.
	RenderKustomize RenderType = "kustomize"
	// RenderPlain reads every manifest under the path.
	RenderPlain RenderType = "plain"
)

// RenderSpec says how content becomes objects.
type RenderSpec struct {
	// type is auto (default), helm, kustomize or plain.
	// +optional
	Type RenderType `json:"type,omitempty"`
	// helm configures the rendering of a chart; forbidden with another type.
	// +optional
	Helm *HelmRender `json:"helm,omitempty"`
	// kustomize configures the build of a kustomization; forbidden with another type.
	// +optional
	Kustomize *KustomizeRender `json:"kustomize,omitempty"`
}

// HelmRender configures the rendering of a chart.
type HelmRender struct {
	// releaseName is .Release.Name in templates. Defaults to the Release's name.
	// +optional
	ReleaseName string `json:"releaseName,omitempty"`
	// valuesFiles are files of the content, relative to the chart, merged in order first.
	// +optional
	// +listType=atomic
	ValuesFiles []string `json:"valuesFiles,omitempty"`
	// valuesFrom are merged in order over valuesFiles.
	// +optional
	// +listType=atomic
	ValuesFrom []ValuesReference `json:"valuesFrom,omitempty"`
	// values are merged last. Any JSON object.
	// +optional
	Values *runtime.RawExtension `json:"values,omitempty"`
	// skipCRDs leaves the chart's crds/ folder out.
	// +optional
	SkipCRDs bool `json:"skipCRDs,omitempty"`
	// skipTests leaves test hooks out. Defaults to true.
	// +optional
	SkipTests *bool `json:"skipTests,omitempty"`
	// disableHooks leaves all the chart's hooks out.
	// +optional
	DisableHooks bool `json:"disableHooks,omitempty"`
	// lookup lets templates read the target cluster, with the Release's identity.
	// +optional
	Lookup bool `json:"lookup,omitempty"`
	// kubeVersion overrides the target cluster's version in .Capabilities.
	// +optional
	KubeVersion string `json:"kubeVersion,omitempty"`
	// apiVersions are added to those that the target cluster serves in .Capabilities.
	// +optional
	// +listType=atomic
	APIVersions []string `json:"apiVersions,omitempty"`
}

// ValuesReference takes values from another object.
type ValuesReference struct {
	// kind is ConfigMap, Secret, GitRepository or OCIRegistry.
	Kind string `json:"kind"`
	// name of the object, in the same namespace.
	Name string `json:"name"`
	// key in a ConfigMap or Secret. Defaults to values.yaml.
	// +optional
	Key string `json:"key,omitempty"`
	// ref is the revision of a GitRepository (branch or tag) or OCIRegistry (tag).
	// +optional
	Ref string `json:"ref,omitempty"`
	// path of the file in a GitRepository or OCIRegistry.
	// +optional
	Path string `json:"path,omitempty"`
	// optional lets the object or key be missing.
	// +optional
	Optional bool `json:"optional,omitempty"`
	// targetPath is the dotted path at which the value is set as a string; the whole is
	// merged as YAML when empty.
	// +optional
	TargetPath string `json:"targetPath,omitempty"`
}

// KustomizeRender configures the build of a kustomization.
type KustomizeRender struct {
	// components are added, paths relative to the content.
	// +optional
	// +listType=atomic
	Components []string `json:"components,omitempty"`
	// images are replaced.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchStrategy=merge
	// +patchMergeKey=name
	Images []KustomizeImage `json:"images,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	// namePrefix is put before every name.
	// +optional
	NamePrefix string `json:"namePrefix,omitempty"`
	// nameSuffix is put after every name.
	// +optional
	NameSuffix string `json:"nameSuffix,omitempty"`
}

// KustomizeImage replaces an image.
type KustomizeImage struct {
	// name of the image as it stands in the manifests, without tag.
	Name string `json:"name"`
	// newName replaces the name.
	// +optional
	NewName string `json:"newName,omitempty"`
	// newTag replaces the tag.
	// +optional
	NewTag string `json:"newTag,omitempty"`
	// digest replaces tag or digest.
	// +optional
	Digest string `json:"digest,omitempty"`
}

// MutationType is the form of a mutation's patch.
// +enum
type MutationType string

const (
	// MutationStrategic is a strategic merge patch.
	MutationStrategic MutationType = "strategic"
	// MutationMerge is a JSON merge patch (RFC 7386).
	MutationMerge MutationType = "merge"
	// MutationJSON is a JSON patch (RFC 6902).
	MutationJSON MutationType = "json"
)

// Mutation changes rendered objects before they are applied.
type Mutation struct {
	// name of the mutation, for messages.
	Name string `json:"name"`
	// target selects the objects to change.
	// +optional
	Target ObjectSelector `json:"target,omitempty"`
	// type is strategic (default), merge or json.
	// +optional
	Type MutationType `json:"type,omitempty"`
	// patch in YAML or JSON.
	Patch string `json:"patch"`
	// optional lets the mutation match nothing; otherwise that is an error.
	// +optional
	Optional bool `json:"optional,omitempty"`
}
