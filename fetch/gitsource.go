// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/access"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/git"
)

func (c *Coordinator) gitOptions() git.Options {
	return git.Options{Limits: c.options.Limits, AllowFiles: c.options.AllowFileSources, Now: c.options.Clock.Now, Tokens: c.tokens}
}

func (c *Coordinator) gitTarget(ctx context.Context, t *target, namespace string, spec sourcev1alpha1.GitRepositorySpec, want *Want) error {
	wanted := git.Want{}
	if want != nil {
		if want.Content.Git == nil {
			return fault.New(ErrInvalid, "a Release takes content from a GitRepository with spec.source.git")
		}
		wanted.GitSource, wanted.Pin = *want.Content.Git, want.Revision
		if want.File != "" {
			wanted.Path = want.File
		}
		if err := t.setPath(wanted.Path); err != nil {
			return err
		}
	}
	refs := access.References{Namespace: namespace, Auth: secretName(spec.SecretRef), CA: secretName(spec.CASecretRef), Proxy: secretName(spec.ProxySecretRef),
		GitHubApp: spec.Provider == sourcev1alpha1.GitProviderGitHub}
	if spec.Verify != nil {
		refs.Trust = spec.Verify.SecretRef.Name
	}
	if err := c.load(ctx, t, refs, spec.InsecureSkipTLSVerify); err != nil {
		return err
	}
	b, err := git.New(spec, t.access, wanted, c.gitOptions())
	if err != nil {
		return err
	}
	t.backend, t.host = b, b.HostKey()
	return t.identify(b.Identity()...)
}
