// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/access"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/oci"
	"kumodo.io/convoy/fetch/internal/verify"
)

func (c *Coordinator) ociOptions() oci.Options {
	return oci.Options{Limits: c.options.Limits, Clouds: c.clouds}
}

func (c *Coordinator) ociTarget(ctx context.Context, t *target, namespace string, spec sourcev1alpha1.OCIRegistrySpec, want *Want) error {
	var wanted oci.Want
	if want != nil {
		content := want.Content.OCI
		if content == nil {
			return fault.New(ErrInvalid, "a Release takes content from an OCIRegistry with spec.source.oci")
		}
		wanted = oci.Want{Repository: content.Repository, Tag: content.Ref.Tag, Range: content.Ref.Semver, Digest: content.Ref.Digest, Pin: want.Revision}
		if content.LayerSelector != nil {
			wanted.MediaType = content.LayerSelector.MediaType
		}
		if err := t.setPath(content.Path); err != nil {
			return err
		}
	}
	if spec.SecretRef != nil && spec.Provider != "" && spec.Provider != sourcev1alpha1.OCIProviderGeneric {
		return fault.New(ErrInvalid, "spec.provider %s takes no credentials from a Secret; take secretRef out, or use generic", spec.Provider)
	}
	source, err := c.ociSource(ctx, t, namespace, spec)
	if err != nil {
		return err
	}
	b, err := oci.New(source, t.access, wanted, c.ociOptions())
	if err != nil {
		return err
	}
	t.backend, t.host = b, b.HostKey()
	// What one source has verified, another one has not.
	return t.identify(spec.URL, spec.Insecure, spec.Provider, spec.Verify)
}

// ociSource reads the Secrets of a registry.
func (c *Coordinator) ociSource(ctx context.Context, t *target, namespace string, spec sourcev1alpha1.OCIRegistrySpec) (oci.Source, error) {
	source := oci.Source{URL: spec.URL, Insecure: spec.Insecure, Provider: spec.Provider}
	refs := access.References{Namespace: namespace, Auth: secretName(spec.SecretRef), CA: secretName(spec.CASecretRef)}
	if spec.Verify != nil {
		refs.Trust = secretName(spec.Verify.SecretRef)
	}
	if err := c.load(ctx, t, refs, spec.Insecure); err != nil || spec.Verify == nil {
		return source, err
	}
	var err error
	source.Verifier, err = verify.New(spec.Verify, t.access.TrustName(), t.access.Trusted)
	return source, err
}
