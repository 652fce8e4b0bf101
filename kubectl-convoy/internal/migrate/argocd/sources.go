// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
)

// sources maps each source that delivers something to a Release.
func (c *conversion) sources(f *migrate.Fields) error {
	all := f.Each("sources")
	f.Drop("source")
	if len(all) == 0 {
		all = []*migrate.Fields{f.In("source")}
	}
	f.Unmapped("sourceHydrator", "a source that is rendered into another branch is not mapped: deliver that branch")
	kinds, _, _ := unstructured.NestedStringSlice(c.Old.Object, "status", "sourceTypes")
	if kind, _, _ := unstructured.NestedString(c.Old.Object, "status", "sourceType"); kind != "" && len(kinds) == 0 {
		kinds = []string{kind}
	}
	references := map[string]*migrate.Fields{}
	var delivered []int
	for i, one := range all {
		if ref := one.Text("ref"); ref != "" {
			references["$"+ref] = one
		}
		if one.Has("chart") || one.Has("path") || !one.Has("ref") {
			delivered = append(delivered, i)
		}
	}
	if len(delivered) > 1 {
		c.Note("spec.sources", fmt.Sprintf("%d of them deliver something: each becomes a Release", len(delivered)))
	}
	for n, i := range delivered {
		name := c.Old.GetName()
		if own := all[i].Text("name"); own != "" && len(delivered) > 1 {
			name += "-" + slug(own)
		} else if n > 0 {
			name = fmt.Sprintf("%s-%d", name, n+1)
		}
		kind := ""
		if i < len(kinds) {
			kind = kinds[i]
		}
		if err := c.deliver(name, all[i], references, kind); err != nil {
			return err
		}
	}
	for _, one := range references {
		one.Drop("repoURL", "targetRevision", "name")
		one.Rest()
	}
	return nil
}

// deliver maps one source to a Release. kind is what Argo CD has found it to be.
func (c *conversion) deliver(name string, f *migrate.Fields, references map[string]*migrate.Fields, kind string) error {
	f.Drop("name")
	if f.Has("plugin") || kind == "Plugin" {
		f.Drop("repoURL", "path", "chart", "targetRevision", "ref")
		f.Unmapped("plugin", "plugins do not run: render into Git, or use Helm or kustomize")
		return nil
	}
	helm := f.In("helm")
	source, folder, err := c.content(f, helm.True("passCredentials"))
	if err != nil {
		return err
	}
	var render *corev1alpha1.RenderSpec
	var mutations []corev1alpha1.Mutation
	switch {
	case source.Helm != nil || kind == "Helm" || len(f.Map("helm")) > 0 && kind == "":
		render, err = c.helm(name, helm, folder, references)
	case kind == "Kustomize" || f.Has("kustomize"):
		render, mutations = c.kustomize(f.In("kustomize"))
	case kind == "Directory" || f.Has("directory"):
		render = c.directory(f.In("directory"))
	}
	if err != nil {
		return err
	}
	f.Drop("helm", "kustomize", "directory")
	f.Rest()
	c.release(name, source, render, mutations)
	return nil
}

// content maps where the content is. folder is that of the content in the source.
func (c *conversion) content(f *migrate.Fields, passCredentials bool) (source corev1alpha1.ReleaseSource, folder string, err error) {
	repoURL, revision, chart := f.Text("repoURL"), f.Text("targetRevision"), f.Text("chart")
	folder = migrate.Folder(f.Text("path"))
	switch {
	case chart != "":
		name, err := c.charts(repoURL, passCredentials)
		source.Helm = &corev1alpha1.HelmSource{RegistryRef: corev1alpha1.LocalReference{Name: name}, Chart: chart, Version: revision}
		return source, "", err
	case strings.HasPrefix(repoURL, "oci://"):
		registry, repository, err := c.artifacts(repoURL)
		source.OCI = &corev1alpha1.OCISource{RegistryRef: corev1alpha1.LocalReference{Name: registry}, Repository: repository, Path: folder}
		switch {
		case strings.HasPrefix(revision, "sha256:"):
			source.OCI.Ref.Digest = revision
		case ranged(revision):
			source.OCI.Ref.Semver = revision
		default:
			source.OCI.Ref.Tag = revision
		}
		return source, folder, err
	}
	name, err := c.git(repoURL)
	source.Git = &corev1alpha1.GitSource{RepositoryRef: corev1alpha1.LocalReference{Name: name}, Path: folder, Ref: c.gitRef(f, revision)}
	return source, folder, err
}

var (
	wholeCommit = regexp.MustCompile(`^[0-9a-f]{40}$`)
	cutCommit   = regexp.MustCompile(`^[0-9a-f]{7,39}$`)
	version     = regexp.MustCompile(`^v?[0-9]+\.[0-9]+(\.[0-9]+)?([-+].*)?$`)
	versions    = regexp.MustCompile(`^([~^<>=!]|v?[0-9]+\.[xX*]|v?[0-9]+\.[0-9]+\.[xX*]|\*$)`)
)

// ranged tells whether a revision is a range of versions.
func ranged(revision string) bool {
	return versions.MatchString(revision) || strings.Contains(revision, " - ") || strings.Contains(revision, "||")
}

// gitRef gives the revision that a text means. Argo CD looks for a branch and a tag; which one
// it is, is told here by its form.
func (c *conversion) gitRef(f *migrate.Fields, revision string) corev1alpha1.GitRef {
	switch {
	case revision == "", revision == "HEAD":
		return corev1alpha1.GitRef{}
	case wholeCommit.MatchString(revision):
		return corev1alpha1.GitRef{Commit: revision}
	case cutCommit.MatchString(revision):
		c.Unmapped(f.Path("targetRevision"), fmt.Sprintf("%q looks like a part of a commit id: write all 40 digits", revision))
		return corev1alpha1.GitRef{Branch: revision}
	case strings.HasPrefix(revision, "refs/"):
		return corev1alpha1.GitRef{Name: revision}
	case ranged(revision):
		return corev1alpha1.GitRef{Semver: revision}
	case version.MatchString(revision):
		c.Note(f.Path("targetRevision"), fmt.Sprintf("%q is taken for a tag; if it is a branch, write spec.source.git.ref.branch", revision))
		return corev1alpha1.GitRef{Tag: revision}
	}
	return corev1alpha1.GitRef{Branch: revision}
}

// kustomize maps what is added to a kustomization.
func (c *conversion) kustomize(f *migrate.Fields) (*corev1alpha1.RenderSpec, []corev1alpha1.Mutation) {
	kustomize := &corev1alpha1.KustomizeRender{NamePrefix: f.Text("namePrefix"), NameSuffix: f.Text("nameSuffix"), Components: f.Texts("components")}
	for _, text := range f.Texts("images") {
		kustomize.Images = append(kustomize.Images, image(text))
	}
	mutations := migrate.Patches("patch", f.Each("patches"))
	for i, replicas := range f.Each("replicas") {
		name, count := replicas.Text("name"), replicas.Int("count")
		if count == nil {
			c.Unmapped(replicas.Path("count"), "is no number: write a mutation")
			continue
		}
		for _, kind := range []string{"Deployment", "StatefulSet"} {
			mutations = append(mutations, migrate.Replicas(fmt.Sprintf("replicas-%d-%s", i+1, strings.ToLower(kind)), kind, name, *count))
		}
		replicas.Rest()
	}
	if f.True("labelWithoutSelector") && !f.True("labelIncludeTemplates") {
		mutations = append(mutations, migrate.Metadata("common-labels", f.TextMap("commonLabels"), nil)...)
	}
	if !f.True("labelWithoutSelector") || f.True("labelIncludeTemplates") {
		f.Unmapped("commonLabels", "they also change selectors and Pods: put them into the kustomization")
	}
	f.Unmapped("commonAnnotations", "they also change Pods: put them into the kustomization")
	if namespace := f.Text("namespace"); namespace != c.namespace() {
		f.Unmapped("namespace", "is not that of the destination: put it into the kustomization")
	}
	f.Note("ignoreMissingComponents", "a component that does not exist is an error")
	f.Drop("version", "forceCommonLabels", "forceCommonAnnotations", "commonAnnotationsEnvsubst")
	f.Unmapped("kubeVersion", "charts in a kustomization are not inflated: make a Release of the chart")
	f.Unmapped("apiVersions", "charts in a kustomization are not inflated: make a Release of the chart")
	f.Rest()
	render := &corev1alpha1.RenderSpec{Type: corev1alpha1.RenderKustomize}
	if len(kustomize.Components)+len(kustomize.Images) > 0 || kustomize.NamePrefix+kustomize.NameSuffix != "" {
		render.Kustomize = kustomize
	}
	return render, migrate.Affixed(mutations, kustomize.NamePrefix, kustomize.NameSuffix)
}

// image takes an image of kustomize apart: [NAME=]NEWNAME[:TAG][@DIGEST].
func image(text string) corev1alpha1.KustomizeImage {
	name, replaced, renamed := strings.Cut(text, "=")
	if !renamed {
		replaced = text
	}
	replaced, digest, _ := strings.Cut(replaced, "@")
	tag := ""
	if i := strings.LastIndex(replaced, ":"); i > strings.LastIndex(replaced, "/") {
		replaced, tag = replaced[:i], replaced[i+1:]
	}
	if digest != "" {
		tag = ""
	}
	made := corev1alpha1.KustomizeImage{Name: replaced, NewTag: tag, Digest: digest}
	if renamed && name != replaced {
		made.Name, made.NewName = name, replaced
	}
	return made
}

// directory maps a folder of manifests.
func (c *conversion) directory(f *migrate.Fields) *corev1alpha1.RenderSpec {
	if !f.True("recurse") {
		c.Note(f.Path("recurse"), "is not true: convoy reads the folders below, too")
	}
	f.Unmapped("include", "files are not chosen by patterns: move those that are meant into a folder, or list them in a kustomization")
	f.Unmapped("exclude", "files are not chosen by patterns: move those that are meant into a folder, or list them in a kustomization")
	f.Unmapped("jsonnet", "is not run: render into Git")
	f.Rest()
	return &corev1alpha1.RenderSpec{Type: corev1alpha1.RenderPlain}
}
