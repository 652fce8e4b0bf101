// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/access"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/helm"
	"kumodo.io/convoy/fetch/internal/oci"
	"kumodo.io/convoy/fetch/internal/provenance"
)

// target is a source with everything that is needed to ask it.
type target struct {
	kind, name string
	tenant     string // whose Release or source it is: its namespace
	url        string // as it may be shown
	host       string
	timeout    time.Duration
	path       string // of the wanted directory
	access     *access.Access
	backend    sourceBackend
	counts     *counts
	// identity is equal for sources that are reached in the same way with the same
	// credentials.
	identity string
}

// describe puts the source's name before an error and makes its text safe.
func (t *target) describe(err error) error {
	return fault.Rewrite(err, t.kind+" "+t.name+" ("+t.url+"): "+t.access.Scrubber().Clean(err.Error()))
}

// target reads the Secrets of a source and chooses its backend. want is nil for a mere
// check.
func (c *Coordinator) target(ctx context.Context, namespace string, source runtime.Object, want *Want) (*target, error) {
	t := &target{path: "."}
	var err error
	switch s := source.(type) {
	case *sourcev1alpha1.GitRepository:
		t.set("GitRepository", namespace, s.Name, s.Spec.URL, s.Spec.Timeout)
		err = c.gitTarget(ctx, t, namespace, s.Spec, want)
	case *sourcev1alpha1.HelmRegistry:
		t.set("HelmRegistry", namespace, s.Name, s.Spec.URL, s.Spec.Timeout)
		err = c.helmTarget(ctx, t, namespace, s.Spec, want)
	case *sourcev1alpha1.OCIRegistry:
		t.set("OCIRegistry", namespace, s.Name, s.Spec.URL, s.Spec.Timeout)
		err = c.ociTarget(ctx, t, namespace, s.Spec, want)
	default:
		return nil, fault.New(ErrInvalid, "%T is no kind of source", source)
	}
	if err != nil {
		return nil, t.describe(err)
	}
	t.counts = c.counts[t.kind]
	return t, nil
}

func (t *target) set(kind, namespace, name, address string, timeout *metav1.Duration) {
	t.kind, t.name, t.tenant, t.url = kind, namespace+"/"+name, namespace, fault.URL(address)
	t.timeout = defaultTimeout
	if timeout != nil && timeout.Duration > 0 {
		t.timeout = timeout.Duration
	}
}

// identify sets the identity from what decides how a source is reached.
func (t *target) identify(parts ...any) error {
	data, err := json.Marshal(append(parts, t.kind, t.access.Digest()))
	if err != nil {
		return fault.New(ErrInvalid, "the spec cannot be digested")
	}
	digest := sha256.Sum256(data)
	t.identity = hex.EncodeToString(digest[:])
	return nil
}

func secretName(r *sourcev1alpha1.SecretReference) string {
	if r == nil {
		return ""
	}
	return r.Name
}

func (c *Coordinator) load(ctx context.Context, t *target, refs access.References, insecure bool) error {
	a, err := access.Load(ctx, c.options.Secrets, refs)
	if err != nil {
		return err
	}
	a.Insecure = insecure
	t.access = a
	return nil
}

func (c *Coordinator) helmTarget(ctx context.Context, t *target, namespace string, spec sourcev1alpha1.HelmRegistrySpec, want *Want) error {
	var wanted helm.Want
	if want != nil {
		if want.Content.Helm == nil {
			return fault.New(ErrInvalid, "a Release takes content from a HelmRegistry with spec.source.helm")
		}
		wanted = helm.Want{Chart: want.Content.Helm.Chart, Version: want.Content.Helm.Version, Pin: want.Revision}
	}
	refs := access.References{Namespace: namespace, Auth: secretName(spec.SecretRef), CA: secretName(spec.CASecretRef)}
	if spec.Verify != nil {
		refs.Trust = spec.Verify.SecretRef.Name
	}
	if err := c.load(ctx, t, refs, spec.Insecure); err != nil {
		return err
	}
	signatures, err := provenance.New(spec.Verify, t.access.TrustName(), t.access.Trusted, c.options.Clock.Now)
	if err != nil {
		return err
	}
	// What one source has verified, another one has not.
	identity := []any{spec.URL, spec.Insecure, spec.PassCredentials, spec.Verify}
	if u, err := url.Parse(spec.URL); err == nil && u.Scheme == "oci" {
		b, err := oci.New(oci.Source{URL: spec.URL, Insecure: spec.Insecure, Provenance: signatures}, t.access,
			oci.Want{Repository: wanted.Chart, Chart: true, Version: wanted.Version, Pin: wanted.Pin}, c.ociOptions())
		if err != nil {
			return err
		}
		t.backend, t.host = b, b.HostKey()
		return t.identify(identity...)
	}
	b, err := helm.New(spec, t.access, wanted, helm.Options{Limits: c.options.Limits, Provenance: signatures})
	if err != nil {
		return err
	}
	t.backend, t.host = b, b.HostKey()
	return t.identify(identity...)
}

// setPath takes the path that a user wrote, with or without ./ and slashes at the ends.
func (t *target) setPath(written string) error {
	cleaned := path.Clean(strings.Trim(written, "/"))
	if !fs.ValidPath(cleaned) || strings.ContainsRune(cleaned, 0) {
		return fault.New(ErrInvalid, "the path %q leaves the content or is malformed", written)
	}
	t.path = cleaned
	return nil
}
