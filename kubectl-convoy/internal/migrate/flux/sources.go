// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
)

// defaultBranch is what Flux takes of a repository when it is told nothing.
const defaultBranch = "master"

// sourceMeta gives type and metadata of a source of the Release's namespace that takes the place
// of one of Flux, which may be in another namespace.
func (c *conversion) sourceMeta(kind string, old *unstructured.Unstructured) (metav1.TypeMeta, metav1.ObjectMeta) {
	name := old.GetName()
	if old.GetNamespace() != c.release.Namespace {
		name = old.GetNamespace() + "-" + name
	}
	return metav1.TypeMeta{APIVersion: sourcev1alpha1.SchemeGroupVersion.String(), Kind: kind}, c.Meta(c.release.Namespace, name)
}

// read reads a source; nil when there is none, which is listed. The default namespace is that of
// the object.
func (c *conversion) read(kind, namespace, name string) (*unstructured.Unstructured, error) {
	if namespace == "" {
		namespace = c.Old.GetNamespace()
	}
	object, err := c.reader.Get(schema.GroupKind{Group: sourceGroup, Kind: kind}, namespace, name)
	if err == nil && object == nil {
		c.Unmapped("spec", fmt.Sprintf("%s %s/%s does not exist", kind, namespace, name))
	}
	return object, err
}

// source maps a source with the folder of the content in it.
func (c *conversion) source(kind, namespace, name, folder string) (corev1alpha1.ReleaseSource, error) {
	switch kind {
	case "GitRepository", "OCIRepository":
	default:
		c.Unmapped("spec", fmt.Sprintf("the content is in a %s, of which convoy has no counterpart: put it into a Git repository or an OCI artifact", kind))
		return corev1alpha1.ReleaseSource{}, nil
	}
	old, err := c.read(kind, namespace, name)
	if err != nil || old == nil {
		return corev1alpha1.ReleaseSource{}, err
	}
	spec, _ := old.Object["spec"].(map[string]any)
	f := migrate.Read(fmt.Sprintf("%s %s/%s spec", kind, old.GetNamespace(), old.GetName()), spec, &c.Findings)
	f.Drop("interval", "timeout", "suspend", "gitImplementation", "accessFrom")
	f.Note("ignore", "leaves files out of the content; convoy takes what is at the path, and leaves out what a .helmignore says")
	if kind == "GitRepository" {
		return c.git(f, old, folder)
	}
	return c.oci(f, old, folder)
}

func (c *conversion) git(f *migrate.Fields, old *unstructured.Unstructured, folder string) (source corev1alpha1.ReleaseSource, err error) {
	repository := &sourcev1alpha1.GitRepository{}
	repository.TypeMeta, repository.ObjectMeta = c.sourceMeta("GitRepository", old)
	spec := &repository.Spec
	spec.URL = f.Text("url")
	spec.RecurseSubmodules = f.True("recurseSubmodules")
	spec.Interval, spec.Timeout, spec.Suspend = f.Duration("interval"), f.Duration("timeout"), f.True("suspend")
	switch provider := f.Text("provider"); provider {
	case "", "generic":
	case "github":
		spec.Provider = sourcev1alpha1.GitProviderGitHub
	default:
		c.Unmapped(f.Path("provider"), fmt.Sprintf("credentials are not made from the identity in %s: give a Secret with a token in spec.secretRef", provider))
	}
	if spec.SecretRef, err = c.secret(repository.Name+"-git", old.GetNamespace(), "", f.In("secretRef").Text("name")); err != nil {
		return source, err
	}
	if spec.ProxySecretRef, err = c.secret(repository.Name+"-git-proxy", old.GetNamespace(), "", f.In("proxySecretRef").Text("name")); err != nil {
		return source, err
	}
	if err := c.gitVerification(f.In("verify"), repository, old.GetNamespace()); err != nil {
		return source, err
	}
	f.Unmapped("include", "content of other repositories is not put in: use submodules, or several Releases")
	f.Drop("sparseCheckout", "serviceAccountName")
	git := &corev1alpha1.GitSource{RepositoryRef: corev1alpha1.LocalReference{Name: repository.Name}, Ref: gitRef(f.In("ref")), Path: folder}
	f.Rest()
	c.Support = append(c.Support, repository)
	return corev1alpha1.ReleaseSource{Git: git}, nil
}

// gitRef gives the revision that Flux takes: the first of these that is there.
func gitRef(f *migrate.Fields) corev1alpha1.GitRef {
	branch, tag, semver, commit, name := f.Text("branch"), f.Text("tag"), f.Text("semver"), f.Text("commit"), f.Text("name")
	f.Rest()
	switch {
	case commit != "":
		return corev1alpha1.GitRef{Commit: commit}
	case name != "":
		return corev1alpha1.GitRef{Name: name}
	case semver != "":
		return corev1alpha1.GitRef{Semver: semver}
	case tag != "":
		return corev1alpha1.GitRef{Tag: tag}
	case branch != "":
		return corev1alpha1.GitRef{Branch: branch}
	}
	return corev1alpha1.GitRef{Branch: defaultBranch}
}

func (c *conversion) gitVerification(f *migrate.Fields, repository *sourcev1alpha1.GitRepository, namespace string) error {
	secret := f.In("secretRef").Text("name")
	if secret == "" {
		return nil
	}
	ref, err := c.secret(repository.Name+"-git-signers", namespace, ".asc", secret)
	if err != nil {
		return err
	}
	verify := &sourcev1alpha1.GitVerification{Mode: "head", Provider: "gpg", SecretRef: *ref}
	switch mode := f.Text("mode"); mode {
	case "Tag":
		verify.Mode = "tag"
	case "TagAndHEAD":
		verify.Mode = "tag"
		c.Note(f.Path("mode"), "is TagAndHEAD: the signature of the tag is demanded, not that of the commit")
	}
	f.Rest()
	repository.Spec.Verify = verify
	return nil
}

// oci maps an OCIRepository: convoy has the registry in the source, and the repository in the
// Release.
func (c *conversion) oci(f *migrate.Fields, old *unstructured.Unstructured, folder string) (source corev1alpha1.ReleaseSource, err error) {
	registry := &sourcev1alpha1.OCIRegistry{}
	registry.TypeMeta, registry.ObjectMeta = c.sourceMeta("OCIRegistry", old)
	address := f.Text("url")
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || strings.Trim(parsed.Path, "/") == "" {
		c.Unmapped(f.Path("url"), "is no URL such as oci://host/repository")
		return source, nil
	}
	above, repository := path.Split(strings.Trim(parsed.Path, "/"))
	registry.Spec.URL = strings.TrimSuffix("oci://"+parsed.Host+"/"+above, "/")
	if err := c.ociAccess(f, registry, old.GetNamespace()); err != nil {
		return source, err
	}
	ref := f.In("ref")
	oci := &corev1alpha1.OCISource{RegistryRef: corev1alpha1.LocalReference{Name: registry.Name}, Repository: repository, Path: folder}
	switch {
	case ref.Has("digest"):
		oci.Ref.Digest = ref.Text("digest")
	case ref.Has("semver"):
		oci.Ref.Semver = ref.Text("semver")
		ref.Unmapped("semverFilter", "versions are not chosen by a regular expression: write a range in spec.source.oci.ref.semver")
	case ref.Has("tag"):
		oci.Ref.Tag = ref.Text("tag")
	}
	ref.Drop("digest", "semver", "tag", "semverFilter")
	ref.Rest()
	layer := f.In("layerSelector")
	if mediaType := layer.Text("mediaType"); mediaType != "" {
		oci.LayerSelector = &corev1alpha1.LayerSelector{MediaType: mediaType}
	}
	layer.Drop("operation")
	layer.Rest()
	f.Rest()
	c.Support = append(c.Support, registry)
	return corev1alpha1.ReleaseSource{OCI: oci}, nil
}

// ociAccess maps how a registry is reached, and whose signatures it needs.
func (c *conversion) ociAccess(f *migrate.Fields, registry *sourcev1alpha1.OCIRegistry, namespace string) (err error) {
	spec := &registry.Spec
	spec.Interval, spec.Timeout, spec.Suspend, spec.Insecure = f.Duration("interval"), f.Duration("timeout"), f.True("suspend"), f.True("insecure")
	if provider := f.Text("provider"); provider != "" && provider != "generic" {
		spec.Provider = sourcev1alpha1.OCIProvider(provider)
	}
	if spec.SecretRef, err = c.secret(registry.Name+"-oci", namespace, "", f.In("secretRef").Text("name")); err != nil {
		return err
	}
	certificates := f.In("certSecretRef").Text("name")
	if spec.CASecretRef, err = c.secret(registry.Name+"-oci-ca", namespace, "", certificates); err != nil {
		return err
	}
	if secret, err := c.reader.Get(migrate.SecretKind, namespace, certificates); err != nil {
		return err
	} else if secret != nil && has(secret, sourcev1alpha1.SecretKeyTLSCert) {
		c.Unmapped(f.Path("certSecretRef"), "has a client certificate, which is not sent to registries of OCI artifacts: use a user name and a password")
	}
	f.Unmapped("serviceAccountName", "image pull secrets of a service account are not read: name the Secret in spec.secretRef of the OCIRegistry")
	f.Unmapped("proxySecretRef", "a proxy of a registry's own is not supported: set it in the environment of the controllers")
	verify := f.In("verify")
	if !verify.Has("provider") {
		return nil
	}
	spec.Verify = &sourcev1alpha1.OCIVerification{Provider: verify.Text("provider")}
	for _, identity := range verify.Each("matchOIDCIdentity") {
		spec.Verify.MatchOIDCIdentity = append(spec.Verify.MatchOIDCIdentity, sourcev1alpha1.OIDCIdentity{Issuer: identity.Text("issuer"), Subject: identity.Text("subject")})
		identity.Rest()
	}
	if spec.Verify.SecretRef, err = c.secret(registry.Name+"-oci-signers", namespace, "", verify.In("secretRef").Text("name")); err != nil {
		return err
	}
	if spec.Verify.SecretRef == nil {
		c.Unmapped(verify.Path("secretRef"), "is missing: keyless signatures need a Secret with the trusted_root.json of the Sigstore deployment")
	}
	verify.Rest()
	return nil
}

// helmRepository maps a repository of charts, and the chart in it.
func (c *conversion) helmRepository(namespace, name, chart, version string, helm *corev1alpha1.HelmRender, files []string) error {
	old, err := c.read("HelmRepository", namespace, name)
	if err != nil || old == nil {
		return err
	}
	c.valuesFiles(helm, files)
	content, _ := old.Object["spec"].(map[string]any)
	f := migrate.Read(fmt.Sprintf("HelmRepository %s/%s spec", old.GetNamespace(), old.GetName()), content, &c.Findings)
	f.Drop("type", "accessFrom")
	if provider := f.Text("provider"); provider != "" && provider != "generic" {
		return c.cloudCharts(f, old, chart, version)
	}
	registry := &sourcev1alpha1.HelmRegistry{}
	registry.TypeMeta, registry.ObjectMeta = c.sourceMeta("HelmRegistry", old)
	spec := &registry.Spec
	spec.URL, spec.PassCredentials, spec.Insecure = f.Text("url"), f.True("passCredentials"), f.True("insecure")
	spec.Interval, spec.Timeout, spec.Suspend = f.Duration("interval"), f.Duration("timeout"), f.True("suspend")
	if spec.SecretRef, err = c.secret(registry.Name+"-helm", old.GetNamespace(), "", f.In("secretRef").Text("name"), f.In("certSecretRef").Text("name")); err != nil {
		return err
	}
	f.Rest()
	c.Support = append(c.Support, registry)
	c.release.Spec.Source.Helm = &corev1alpha1.HelmSource{RegistryRef: corev1alpha1.LocalReference{Name: registry.Name}, Chart: chart, Version: version}
	return nil
}

// cloudCharts maps charts in the registry of a cloud, to which an OCIRegistry has access.
func (c *conversion) cloudCharts(f *migrate.Fields, old *unstructured.Unstructured, chart, version string) error {
	registry := &sourcev1alpha1.OCIRegistry{}
	registry.TypeMeta, registry.ObjectMeta = c.sourceMeta("OCIRegistry", old)
	registry.Spec.URL = strings.TrimSuffix(f.Text("url"), "/")
	f.Drop("passCredentials")
	if err := c.ociAccess(f, registry, old.GetNamespace()); err != nil {
		return err
	}
	f.Rest()
	c.Support = append(c.Support, registry)
	if version == "" {
		version = "*"
	}
	c.release.Spec.Source.OCI = &corev1alpha1.OCISource{
		RegistryRef: corev1alpha1.LocalReference{Name: registry.Name}, Repository: chart, Ref: corev1alpha1.OCIRef{Semver: version},
	}
	return nil
}
