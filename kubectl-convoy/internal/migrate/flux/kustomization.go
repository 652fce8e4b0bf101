// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
)

// defaultBackoff is how long convoy waits before the first retry unless it is told.
const defaultBackoff = 5 * time.Second

func (c *conversion) kustomization(f *migrate.Fields) error {
	ref := f.In("sourceRef")
	source, err := c.source(ref.Text("kind"), ref.Text("namespace"), ref.Text("name"), migrate.Folder(f.Text("path")))
	if err != nil {
		return err
	}
	ref.Drop("apiVersion")
	ref.Rest()
	c.release.Spec.Source = source
	c.build(f)
	c.release.Spec.Mutations = migrate.Affixed(patchesOf(f), f.Text("namePrefix"), f.Text("nameSuffix"))
	if err := c.common(f); err != nil {
		return err
	}
	c.applying(f)
	f.Unmapped("postBuild", "variables are not put in, ${…} stays as it is: use replacements or a configMapGenerator of kustomize, or mutations")
	f.Unmapped("decryption", "files encrypted with SOPS are not decrypted: deliver Secrets by an operator such as External Secrets")
	f.Unmapped("healthCheckExprs", "write a HealthRuleSet with these expressions, over `object`, and name it in spec.health.ruleSetRefs")
	f.Drop("wait", "healthChecks") // all objects are waited for
	if c.release.Spec.TargetNamespace != "" {
		c.Note("spec.targetNamespace", "in Flux it also moves objects that name a namespace; convoy puts only those there that name none")
	}
	return nil
}

// build maps what is added to the kustomization.
func (c *conversion) build(f *migrate.Fields) {
	kustomize := corev1alpha1.KustomizeRender{
		Components: f.Texts("components"), NamePrefix: f.Text("namePrefix"), NameSuffix: f.Text("nameSuffix"),
	}
	f.Note("ignoreMissingComponents", "a component that does not exist is an error")
	for _, image := range f.Each("images") {
		kustomize.Images = append(kustomize.Images, corev1alpha1.KustomizeImage{
			Name: image.Text("name"), NewName: image.Text("newName"), NewTag: image.Text("newTag"), Digest: image.Text("digest"),
		})
		image.Rest()
	}
	if len(kustomize.Components)+len(kustomize.Images) == 0 && kustomize.NamePrefix+kustomize.NameSuffix == "" {
		return
	}
	c.release.Spec.Render = &corev1alpha1.RenderSpec{Type: corev1alpha1.RenderKustomize, Kustomize: &kustomize}
	c.Note("spec", "components, images and affixes need a kustomization.yaml at the path, which Flux makes itself where there is none")
}

// patchesOf maps the patches of a Kustomization, or of a post-renderer of a HelmRelease.
func patchesOf(f *migrate.Fields) []corev1alpha1.Mutation {
	all := migrate.Patches("patch", f.Each("patches"))
	all = append(all, migrate.StrategicPatches("strategic", f, "patchesStrategicMerge")...)
	return append(all, migrate.Patches("json", f.Each("patchesJson6902"))...)
}

// applying maps how objects are applied and deleted.
func (c *conversion) applying(f *migrate.Fields) {
	spec := &c.release.Spec
	prune := f.True("prune")
	if !prune {
		spec.Sync.Prune = new(bool)
	}
	if f.True("force") {
		spec.Sync.Replace = corev1alpha1.ReplaceOnImmutable
	}
	if retry := f.Duration("retryInterval"); retry != nil {
		first := metav1.Duration{Duration: min(retry.Duration, defaultBackoff)}
		spec.Sync.Retry = &corev1alpha1.RetrySpec{InitialBackoff: &first, MaxBackoff: retry}
	}
	switch policy := f.Text("deletionPolicy"); policy {
	case "", "MirrorPrune":
		if !prune {
			spec.DeletionPolicy = corev1alpha1.DeletionPolicyOrphan
		}
	case "Orphan":
		spec.DeletionPolicy = corev1alpha1.DeletionPolicyOrphan
	case "Delete", "WaitForTermination":
	default:
		c.Unmapped("spec.deletionPolicy", fmt.Sprintf("%q is none that this version of kubectl convoy knows", policy))
	}
	if prune {
		spec.Mutations = append(spec.Mutations, migrate.Annotate("keep",
			corev1alpha1.ObjectSelector{AnnotationSelector: KustomizationKind.Group + "/prune=disabled"},
			corev1alpha1.AnnotationPrune, corev1alpha1.PruneDisabled))
	}
}
