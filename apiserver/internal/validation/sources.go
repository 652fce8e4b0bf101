// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"net/url"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
)

// Providers and modes of signatures, which the API types have no constants for.
const (
	verifyHead     = "head"
	verifyTag      = "tag"
	signerGPG      = "gpg"
	signerSSH      = "ssh"
	signerCosign   = "cosign"
	signerNotation = "notation"
)

// GitRepository checks a GitRepository.
func GitRepository(r *sourcev1alpha1.GitRepository) field.ErrorList {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	// Whether file is allowed is for the operator of the controllers to say, which read it.
	u, urlErrs := location(spec.Child("url"), r.Spec.URL, "https", "http", "ssh", "file")
	errs = append(errs, urlErrs...)
	errs = append(errs, secretRef(spec.Child("secretRef"), r.Spec.SecretRef)...)
	errs = append(errs, secretRef(spec.Child("caSecretRef"), r.Spec.CASecretRef)...)
	errs = append(errs, secretRef(spec.Child("proxySecretRef"), r.Spec.ProxySecretRef)...)
	errs = append(errs, oneOf(spec.Child("provider"), r.Spec.Provider, sourcev1alpha1.GitProviderGeneric, sourcev1alpha1.GitProviderGitHub)...)
	if r.Spec.Provider == sourcev1alpha1.GitProviderGitHub {
		errs = append(errs, gitHubApp(spec, u, r)...)
	}
	if verify := r.Spec.Verify; verify != nil {
		path := spec.Child("verify")
		errs = append(errs, oneOf(path.Child("mode"), verify.Mode, verifyHead, verifyTag)...)
		errs = append(errs, oneOf(path.Child("provider"), verify.Provider, signerGPG, signerSSH)...)
		errs = append(errs, subdomain(path.Child("secretRef", "name"), verify.SecretRef.Name)...)
	}
	return append(errs, checks(spec, r.Spec.Interval, r.Spec.Timeout)...)
}

// GitRepositoryStatus checks the status of a GitRepository.
func GitRepositoryStatus(r *sourcev1alpha1.GitRepository) field.ErrorList {
	return conditions(r.Status.Conditions)
}

// GitRepositoryWarnings tells of what is legal but suspicious in a GitRepository.
func GitRepositoryWarnings(r *sourcev1alpha1.GitRepository) []string {
	warnings := plaintext(r.Spec.URL, r.Spec.SecretRef)
	if r.Spec.InsecureSkipTLSVerify {
		warnings = append(warnings, "spec.insecureSkipTLSVerify: any certificate is accepted; trust a CA with caSecretRef instead")
	}
	if strings.HasPrefix(r.Spec.URL, "file:") {
		warnings = append(warnings, "spec.url: file is refused by the controllers unless they run with --allow-file-sources")
	}
	return warnings
}

// HelmRegistry checks a HelmRegistry.
func HelmRegistry(r *sourcev1alpha1.HelmRegistry) field.ErrorList {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	u, urlErrs := location(spec.Child("url"), r.Spec.URL, "https", "http", "oci")
	errs = append(errs, urlErrs...)
	if len(urlErrs) == 0 && u.Scheme == "oci" {
		errs = append(errs, ociPrefix(spec.Child("url"), u)...)
	}
	errs = append(errs, secretRef(spec.Child("secretRef"), r.Spec.SecretRef)...)
	errs = append(errs, secretRef(spec.Child("caSecretRef"), r.Spec.CASecretRef)...)
	if verify := r.Spec.Verify; verify != nil {
		path := spec.Child("verify")
		errs = append(errs, oneOf(path.Child("provider"), verify.Provider, signerGPG)...)
		errs = append(errs, subdomain(path.Child("secretRef", "name"), verify.SecretRef.Name)...)
	}
	return append(errs, checks(spec, r.Spec.Interval, r.Spec.Timeout)...)
}

// HelmRegistryStatus checks the status of a HelmRegistry.
func HelmRegistryStatus(r *sourcev1alpha1.HelmRegistry) field.ErrorList {
	return conditions(r.Status.Conditions)
}

// HelmRegistryWarnings tells of what is legal but suspicious in a HelmRegistry.
func HelmRegistryWarnings(r *sourcev1alpha1.HelmRegistry) []string {
	warnings := plaintext(r.Spec.URL, r.Spec.SecretRef)
	warnings = append(warnings, insecure(r.Spec.Insecure)...)
	if r.Spec.PassCredentials {
		warnings = append(warnings, "spec.passCredentials: credentials are sent to whatever host the index names")
	}
	return warnings
}

// OCIRegistry checks an OCIRegistry.
func OCIRegistry(r *sourcev1alpha1.OCIRegistry) field.ErrorList {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	u, urlErrs := location(spec.Child("url"), r.Spec.URL, "oci")
	errs = append(errs, urlErrs...)
	if len(urlErrs) == 0 {
		errs = append(errs, ociPrefix(spec.Child("url"), u)...)
	}
	errs = append(errs, secretRef(spec.Child("secretRef"), r.Spec.SecretRef)...)
	errs = append(errs, secretRef(spec.Child("caSecretRef"), r.Spec.CASecretRef)...)
	errs = append(errs, oneOf(spec.Child("provider"), r.Spec.Provider, sourcev1alpha1.OCIProviderGeneric,
		sourcev1alpha1.OCIProviderAWS, sourcev1alpha1.OCIProviderGCP, sourcev1alpha1.OCIProviderAzure)...)
	if r.Spec.Provider != sourcev1alpha1.OCIProviderGeneric && r.Spec.Provider != "" {
		if r.Spec.SecretRef != nil {
			errs = append(errs, field.Forbidden(spec.Child("secretRef"), "only provider generic takes credentials from a Secret"))
		}
		if r.Spec.Insecure {
			errs = append(errs, field.Forbidden(spec.Child("insecure"), "would send the token of the provider in the clear"))
		}
	}
	if r.Spec.Verify != nil {
		errs = append(errs, ociVerification(spec.Child("verify"), r.Spec.Verify)...)
	}
	return append(errs, checks(spec, r.Spec.Interval, r.Spec.Timeout)...)
}

// OCIRegistryStatus checks the status of an OCIRegistry.
func OCIRegistryStatus(r *sourcev1alpha1.OCIRegistry) field.ErrorList {
	return conditions(r.Status.Conditions)
}

// OCIRegistryWarnings tells of what is legal but suspicious in an OCIRegistry.
func OCIRegistryWarnings(r *sourcev1alpha1.OCIRegistry) []string {
	return insecure(r.Spec.Insecure)
}

func gitHubApp(spec *field.Path, u *url.URL, r *sourcev1alpha1.GitRepository) field.ErrorList {
	var errs field.ErrorList
	if r.Spec.SecretRef == nil {
		errs = append(errs, field.Required(spec.Child("secretRef"), "provider github needs the keys of a GitHub App"))
	}
	if u != nil && u.Scheme != "https" {
		errs = append(errs, field.Invalid(spec.Child("url"), hidden, "provider github needs an https URL"))
	}
	return errs
}

func ociVerification(path *field.Path, v *sourcev1alpha1.OCIVerification) field.ErrorList {
	errs := oneOf(path.Child("provider"), v.Provider, signerCosign, signerNotation)
	errs = append(errs, secretRef(path.Child("secretRef"), v.SecretRef)...)
	if v.SecretRef == nil {
		errs = append(errs, field.Required(path.Child("secretRef"), trusts(v)))
	}
	identities := path.Child("matchOIDCIdentity")
	if v.Provider == signerNotation && len(v.MatchOIDCIdentity) > 0 {
		errs = append(errs, field.Forbidden(identities, "only provider cosign has keyless signatures"))
	}
	errs = append(errs, atMost(identities, v.MatchOIDCIdentity, maxItems)...)
	for i, identity := range v.MatchOIDCIdentity {
		errs = append(errs, expression(identities.Index(i).Child("issuer"), identity.Issuer)...)
		errs = append(errs, expression(identities.Index(i).Child("subject"), identity.Subject)...)
	}
	return errs
}

// trusts says what the Secret of a verification must hold.
func trusts(v *sourcev1alpha1.OCIVerification) string {
	switch {
	case v.Provider == signerNotation:
		return "provider notation needs a Secret with the certificates that are trusted"
	case len(v.MatchOIDCIdentity) > 0:
		return "keyless signatures need a Secret with " + sourcev1alpha1.SecretKeyTrustedRoot + ", which says what vouches for identities"
	}
	return "provider cosign needs a Secret with the public keys that are trusted"
}

// expression checks a regular expression.
func expression(path *field.Path, value string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if _, err := regexp.Compile(value); err != nil {
		return field.ErrorList{field.Invalid(path, value, "must be a regular expression: "+err.Error())}
	}
	return nil
}

// ociPrefix checks the path of an oci URL.
func ociPrefix(path *field.Path, u *url.URL) field.ErrorList {
	if prefix := strings.Trim(u.Path, "/"); prefix != "" && !repositoryPattern.MatchString(prefix) {
		return field.ErrorList{field.Invalid(path, hidden, "must be oci://host or oci://host/prefix, without tag or digest; the prefix has lower-case letters, digits and single separators")}
	}
	return nil
}

func secretRef(path *field.Path, ref *sourcev1alpha1.SecretReference) field.ErrorList {
	if ref == nil {
		return nil
	}
	return subdomain(path.Child("name"), ref.Name)
}

// checks checks how often and how long a source is asked.
func checks(spec *field.Path, interval, timeout *metav1.Duration) field.ErrorList {
	errs := duration(spec.Child("interval"), interval, second, 30*day)
	return append(errs, duration(spec.Child("timeout"), timeout, second, hour)...)
}

func plaintext(url string, credentials *sourcev1alpha1.SecretReference) []string {
	if credentials == nil || !strings.HasPrefix(url, "http:") {
		return nil
	}
	return []string{"spec.url: http sends the credentials of secretRef in the clear"}
}

func insecure(set bool) []string {
	if !set {
		return nil
	}
	return []string{"spec.insecure: plain http and any certificate are accepted; trust a CA with caSecretRef instead"}
}
