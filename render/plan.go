// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"time"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/digest"
	"kumodo.io/convoy/render/internal/helm"
	"kumodo.io/convoy/render/internal/kustomize"
	"kumodo.io/convoy/render/internal/mutation"
	"kumodo.io/convoy/render/internal/values"
)

// plan is a render that is ready to run: everything outside of the content is read.
type plan struct {
	// inputs is the digest of all that goes into the render.
	inputs string
	// hidden is the digest of secrets. What fails is remembered by it, too: what a message
	// may show is no input of a render.
	hidden string
	// content is the root of artifact.
	content *content
	// artifact and engine say what is rendered and how.
	artifact Artifact
	engine   corev1alpha1.RenderType
	// tenant is whose turn an engine runs in.
	tenant string
	// namespace of objects that name none.
	namespace string
	// helm and kustomize are set for their engines.
	helm      helm.Request
	options   corev1alpha1.HelmRender
	kustomize corev1alpha1.KustomizeRender
	// kubeVersion and served are what the target cluster says of itself, for helm.
	kubeVersion string
	served      []string
	// upgrade selects the hooks of a chart.
	upgrade bool
	// hooks and mutations of the Release.
	hooks     []hookItem
	mutations []*mutation.Mutation
	// timeout of hooks that say nothing themselves.
	timeout time.Duration
	// secrets are texts that must not appear in messages.
	secrets []string
	// layers of the values.
	layers []values.Layer
	// lookup reads objects of the target cluster for templates; nil when they may not.
	lookup Lookup
}

// inputs are what the digest of a plan is made of. What does not change a render is not in
// it, so that Releases that want the same share one.
type inputs struct {
	Schema    string                  `json:"schema"`
	Engine    corev1alpha1.RenderType `json:"engine"`
	Content   string                  `json:"content"`
	Path      string                  `json:"path,omitempty"`
	Namespace string                  `json:"namespace"`
	Helm      *helmInputs             `json:"helm,omitempty"`
	Kustomize any                     `json:"kustomize,omitempty"`
	Hooks     any                     `json:"hooks,omitempty"`
	Timeout   string                  `json:"timeout"`
	Mutations any                     `json:"mutations,omitempty"`
}

type helmInputs struct {
	ReleaseName  string         `json:"releaseName"`
	Packaged     bool           `json:"packaged,omitempty"`
	Upgrade      bool           `json:"upgrade"`
	Values       map[string]any `json:"values"`
	KubeVersion  string         `json:"kubeVersion"`
	APIVersions  []string       `json:"apiVersions"`
	SkipCRDs     bool           `json:"skipCRDs"`
	SkipTests    bool           `json:"skipTests"`
	DisableHooks bool           `json:"disableHooks"`
	Lookup       bool           `json:"lookup,omitempty"`
	// Dependencies are the folders and digests of charts from outside of the chart.
	Dependencies []string `json:"dependencies,omitempty"`
}

// inputsSchema changes when the same inputs would give another render.
const inputsSchema = "render/1"

// prepare reads what a render needs besides the content, and digests it all.
func prepare(ctx context.Context, in Input) (*plan, error) {
	read := &content{FS: in.Artifact.Root}
	in.Artifact.Root = read
	p, err := plans(ctx, in)
	if failed := read.failure(); failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	p.content = read
	return p, nil
}

func plans(ctx context.Context, in Input) (*plan, error) {
	spec := in.Release.Spec
	render := spec.Render
	if render == nil {
		render = &corev1alpha1.RenderSpec{}
	}
	p := &plan{artifact: in.Artifact, namespace: spec.TargetNamespace, upgrade: in.Upgrade, timeout: timeoutOf(spec)}
	if p.namespace == "" {
		p.namespace = in.Release.Namespace
	}
	var err error
	if p.engine, err = engineOf(in.Artifact, render.Type); err != nil {
		return nil, err
	}
	if err := p.prepareLifecycle(spec); err != nil {
		return nil, err
	}
	parts := inputs{Schema: inputsSchema, Engine: p.engine, Content: in.Artifact.Digest, Path: in.Artifact.Path, Namespace: p.namespace, Timeout: p.timeout.String()}
	if spec.Lifecycle != nil {
		parts.Hooks = spec.Lifecycle.Hooks
	}
	if len(spec.Mutations) > 0 {
		parts.Mutations = spec.Mutations
	}
	switch p.engine {
	case corev1alpha1.RenderHelm:
		parts.Path = ""
		if parts.Helm, err = p.prepareHelm(ctx, in, render.Helm); err != nil {
			return nil, err
		}
	case corev1alpha1.RenderKustomize:
		parts.Content = in.Artifact.RootDigest // bases may lie anywhere
		if render.Kustomize != nil {
			p.kustomize = *render.Kustomize
			parts.Kustomize = p.kustomize
		}
	}
	if parts.Content == "" {
		return nil, errors.New("the artifact has no digest")
	}
	if p.inputs, err = digest.Of(parts); err != nil {
		return nil, err
	}
	p.hidden, err = digest.Of(slices.Compact(slices.Sorted(slices.Values(p.secrets))))
	return p, err
}

// engineOf says how content is rendered; content that is not there is an Error.
func engineOf(a Artifact, wanted corev1alpha1.RenderType) (corev1alpha1.RenderType, error) {
	info, err := fs.Stat(a.Root, a.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", failure(corev1alpha1.ReasonRenderFailed, "the path %q does not exist in %s", a.Path, a.Revision)
	case err != nil:
		return "", failure(corev1alpha1.ReasonRenderFailed, "reading the path %q in %s: %w", a.Path, a.Revision, err)
	case !info.IsDir():
		return "", failure(corev1alpha1.ReasonRenderFailed, "the path %q in %s is a file; a directory is needed", a.Path, a.Revision)
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			// A link that cannot be followed counts: the engine says what is wrong with it.
			_, err := fs.Stat(a.Root, path.Join(a.Path, name))
			return !errors.Is(err, fs.ErrNotExist)
		})
	}
	switch {
	case wanted != "" && wanted != corev1alpha1.RenderAuto:
		if wanted == corev1alpha1.RenderHelm && !has("Chart.yaml") {
			return "", failure(corev1alpha1.ReasonRenderFailed, "the path %q in %s holds no chart: there is no Chart.yaml", a.Path, a.Revision)
		}
		return wanted, nil
	case has("Chart.yaml"):
		return corev1alpha1.RenderHelm, nil
	case has(kustomize.FileNames...):
		return corev1alpha1.RenderKustomize, nil
	}
	return corev1alpha1.RenderPlain, nil
}

// prepareLifecycle parses the hooks and mutations of the Release.
func (p *plan) prepareLifecycle(spec corev1alpha1.ReleaseSpec) error {
	if spec.Lifecycle != nil {
		for _, hook := range spec.Lifecycle.Hooks {
			item, err := lifecycleHook(hook, p.timeout)
			if err != nil {
				return failure(corev1alpha1.ReasonInvalidConfiguration, "spec.lifecycle.hooks[%s].template: %w", hook.Name, err)
			}
			p.hooks = append(p.hooks, item)
		}
	}
	for _, m := range spec.Mutations {
		compiled, err := mutation.Compile(m)
		if err != nil {
			return failure(corev1alpha1.ReasonInvalidConfiguration, "spec.mutations[%s].%w", m.Name, err)
		}
		p.mutations = append(p.mutations, compiled)
	}
	return nil
}

// prepareHelm resolves values and capabilities.
func (p *plan) prepareHelm(ctx context.Context, in Input, spec *corev1alpha1.HelmRender) (*helmInputs, error) {
	if spec != nil {
		p.options = *spec
	}
	if p.options.Lookup {
		if p.lookup = in.Lookup; p.lookup == nil {
			return nil, failure(corev1alpha1.ReasonNotBuilt, "spec.render.helm.lookup is not supported here: templates cannot read the target cluster")
		}
	}
	resolved, err := values.Resolve(ctx, values.Request{
		Spec: p.options, Namespace: in.Release.Namespace,
		Root: small{in.Artifact.Root}, Dir: in.Artifact.Path, References: smallReferences{in.References},
	})
	if err != nil {
		return nil, valuesError(err)
	}
	p.secrets, p.layers = resolved.Secrets, resolved.Layers
	if p.kubeVersion, p.served, err = in.Cluster.Capabilities(ctx); err != nil {
		return nil, err
	}
	capabilities, err := helm.NewCapabilities(p.kubeVersion, p.options.KubeVersion, p.served, p.options.APIVersions)
	if err != nil {
		return nil, failure(corev1alpha1.ReasonInvalidConfiguration, "%w", err)
	}
	p.helm = helm.Request{
		Root: in.Artifact.Root, Dir: in.Artifact.Path, Packaged: in.Release.Spec.Source.Helm != nil,
		ReleaseName: p.options.ReleaseName, Namespace: p.namespace, Upgrade: in.Upgrade,
		Values: resolved.Values, Capabilities: capabilities, SkipCRDs: p.options.SkipCRDs,
	}
	if p.helm.ReleaseName == "" {
		p.helm.ReleaseName = in.Release.Name
	}
	dependencies, err := p.prepareDependencies(ctx, in)
	if err != nil {
		return nil, err
	}
	return &helmInputs{
		ReleaseName: p.helm.ReleaseName, Packaged: p.helm.Packaged, Upgrade: in.Upgrade, Values: resolved.Values,
		KubeVersion: capabilities.KubeVersion, APIVersions: slices.Sorted(slices.Values(capabilities.APIVersions)),
		SkipCRDs: p.options.SkipCRDs, SkipTests: skipTests(p.options), DisableHooks: p.options.DisableHooks,
		Lookup: p.options.Lookup, Dependencies: dependencies,
	}, nil
}

// prepareDependencies finds the charts that a chart which Helm did not package depends on
// and does not have. It gives what of them goes into the digest.
func (p *plan) prepareDependencies(ctx context.Context, in Input) ([]string, error) {
	if p.helm.Packaged {
		return nil, nil
	}
	var charts helm.Charts
	if in.References != nil {
		charts = func(ctx context.Context, w helm.Wanted) (helm.Content, error) {
			a, err := in.References.Chart(ctx, in.Release.Namespace, Dependency{Repository: w.Repository, Name: w.Name, Version: w.Version})
			return helm.Content{Root: small{a.Root}, Digest: a.RootDigest}, err
		}
	}
	found, err := helm.Needed(ctx, small{in.Artifact.Root}, in.Artifact.Path, charts)
	if err != nil {
		return nil, neededError(err)
	}
	p.helm.Dependencies = found
	var inputs []string
	for _, d := range found {
		inputs = append(inputs, d.Folder+" "+d.Digest)
	}
	return inputs, nil
}

func skipTests(o corev1alpha1.HelmRender) bool { return o.SkipTests == nil || *o.SkipTests }

// ranges are those by which charts from elsewhere were chosen.
func (p *plan) ranges() []string {
	var ranges []string
	for _, d := range p.helm.Dependencies {
		if d.Range != "" {
			ranges = append(ranges, d.Range)
		}
	}
	return ranges
}

// fromElsewhere tells the charts that References gave from those of the source.
func fromElsewhere(d helm.Dependency) bool { return d.Packaged }
