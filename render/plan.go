// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/digest"
	"kumodo.io/convoy/render/internal/engine"
	"kumodo.io/convoy/render/internal/helm"
	"kumodo.io/convoy/render/internal/kustomize"
	"kumodo.io/convoy/render/internal/values"
)

// plan is a render that is ready for its turn. Nothing of it is parsed, and of texts it has but
// digests, for others may be waiting: what is parsed takes many times as much, and parsers take
// time.
type plan struct {
	// raw is the digest of all that goes into the render as it stands, of which the digests
	// inputs and hidden are made. Charts have these when they are prepared, or have been.
	raw string
	// inputs is the digest of all that goes into the render.
	inputs string
	// hidden is the digest of secrets. What fails is remembered by it, too: what a message
	// may show is no input of a render.
	hidden string
	// short is true when the secrets are not known, only their digest; anew when what is
	// remembered of the plan is not enough.
	short, anew bool
	// parts are the inputs but for what is found when a chart is prepared.
	parts engine.Inputs
	// content is the root of artifact.
	content *content
	// artifact and engine say what is rendered and how.
	artifact Artifact
	engine   corev1alpha1.RenderType
	// tenant is whose turn an engine runs in, asker the Release.
	tenant, asker string
	// namespace of objects that name none.
	namespace string
	// helm and kustomize are set for their engines. values is what valuesFrom is read by, and
	// references the digest of what was read; sources are that, while it is the plan's turn.
	helm       helm.Request
	values     values.Request
	references string
	sources    values.Sources
	// charts are from elsewhere, brought by bring for the Release, which is nil when nobody has
	// any.
	charts []engine.Chart
	bring  func(ctx context.Context, wanted helm.Wanted) (helm.Content, error)
	// ranges are those by which charts from elsewhere were chosen.
	ranges    []string
	options   corev1alpha1.HelmRender
	kustomize corev1alpha1.KustomizeRender
	// kubeVersion and served are what the target cluster says of itself, for helm.
	kubeVersion string
	served      []string
	// upgrade selects the hooks of a chart.
	upgrade bool
	// lifecycle, which has hooks, and mutations of the Release, which are parsed when it is the
	// turn of the render: parsed, they can take many times as much.
	lifecycle *corev1alpha1.LifecycleSpec
	mutations []corev1alpha1.Mutation
	// timeout of hooks that say nothing themselves.
	timeout time.Duration
	// secrets are texts that must not appear in messages; tooMany says that there are more than
	// can be looked for.
	secrets []string
	tooMany bool
	// lookup reads objects of the target cluster for templates; nil when they may not.
	lookup Lookup
}

// inputsSchema changes when the same inputs would give another render.
const inputsSchema = "render/1"

// prepare makes a plan of an input. It parses nothing.
func prepare(ctx context.Context, in Input) (*plan, error) {
	read := &content{root: in.Artifact.Root}
	read.within(ctx)
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
	p := &plan{tenant: in.Release.Namespace, asker: in.Release.Namespace + "/" + in.Release.Name, artifact: in.Artifact, namespace: spec.TargetNamespace, upgrade: in.Upgrade, timeout: timeoutOf(spec)}
	if p.namespace == "" {
		p.namespace = in.Release.Namespace
	}
	var err error
	if p.engine, err = engineOf(in.Artifact, render.Type); err != nil {
		return nil, err
	}
	p.lifecycle, p.mutations = spec.Lifecycle, spec.Mutations
	p.parts = engine.Inputs{Schema: inputsSchema, Engine: p.engine, Content: in.Artifact.Digest, Path: in.Artifact.Path, Namespace: p.namespace, Timeout: p.timeout.String()}
	if spec.Lifecycle != nil {
		if p.parts.Hooks, err = digest.Canonical(spec.Lifecycle.Hooks); err != nil {
			return nil, err
		}
	}
	if len(spec.Mutations) > 0 {
		if p.parts.Mutations, err = digest.Canonical(spec.Mutations); err != nil {
			return nil, err
		}
	}
	switch p.engine {
	case corev1alpha1.RenderHelm:
		p.parts.Path = ""
		if err := p.prepareHelm(ctx, in, render.Helm); err != nil {
			return nil, err
		}
	case corev1alpha1.RenderKustomize:
		p.parts.Content = in.Artifact.RootDigest // bases may lie anywhere
		if render.Kustomize != nil {
			p.kustomize = *render.Kustomize
			p.parts.Kustomize = p.kustomize
		}
	}
	if p.parts.Content == "" {
		return nil, errors.New("the artifact has no digest")
	}
	return p, p.look(ctx)
}

// rawInputs are what the render of a chart is made of as it stands.
type rawInputs struct {
	Inputs     *engine.Inputs          `json:"inputs"`
	Root       string                  `json:"root"`
	Path       string                  `json:"path"`
	Options    corev1alpha1.HelmRender `json:"options"`
	Values     [sha256.Size]byte       `json:"values"`
	References string                  `json:"references"`
	Elsewhere  bool                    `json:"elsewhere"`
	Charts     []string                `json:"charts"`
}

// look digests what goes into the render. For a chart, it reads what valuesFrom refers to.
func (p *plan) look(ctx context.Context) (err error) {
	if p.engine != corev1alpha1.RenderHelm {
		if p.hidden, err = digest.Of(p.secrets); err != nil {
			return err
		}
		p.inputs, err = digest.Of(p.parts)
		p.raw = p.inputs
		return err
	}
	if p.references, err = values.Digest(ctx, p.values); err != nil {
		return valuesError(err)
	}
	return p.digest()
}

// digest digests what goes into the render of a chart.
func (p *plan) digest() (err error) {
	raw := rawInputs{
		Inputs: &p.parts, Root: p.artifact.RootDigest, Path: p.artifact.Path, Options: p.options,
		References: p.references, Elsewhere: p.bring != nil,
	}
	if raw.Options.Values != nil {
		raw.Values = sha256.Sum256(raw.Options.Values.Raw)
		raw.Options.Values = nil
	}
	for _, c := range p.charts {
		raw.Charts = append(raw.Charts, c.Repository, c.Name, c.Version, c.Digest)
	}
	p.inputs, p.hidden = "", ""
	if raw.Root == "" { // who knows what it was rendered from
		p.raw, p.anew = rand.Text(), true
		return nil
	}
	p.raw, err = digest.Of(raw)
	return err
}

// asked is what is remembered by of what the Release itself has looked up.
func (p *plan) asked() string { return p.asker + " " + p.inputs }

// chart names what is in the source, of which depends which charts from elsewhere are needed.
func (p *plan) chart() string { return p.artifact.Digest + p.artifact.RootDigest + p.artifact.Path }

// read reads what valuesFrom refers to, for the turn of the plan. It is errMoved when that is
// not what it was any more, or cannot be read: others may wait for the turn whose it can, so that
// each looks for itself then.
func (p *plan) read(ctx context.Context) error {
	if p.engine != corev1alpha1.RenderHelm {
		return nil
	}
	sources, references, err := values.Fetch(ctx, p.values)
	if err != nil || references != p.references {
		return errMoved
	}
	p.sources = sources
	return nil
}

// forget drops what was read for the turn.
func (p *plan) forget() { p.sources = values.Sources{} }

// errMoved says that what valuesFrom refers to has changed since it was looked at, or that the
// turn was one in which somebody else's content could not be read.
var errMoved = errors.New("what spec.render.helm.valuesFrom refers to changes all the time")

// absentError says which charts from elsewhere are needed.
type absentError struct{ absent []helm.Absent }

// Error names the first.
func (e *absentError) Error() string {
	return "the chart " + e.absent[0].Of + " depends on the chart " + e.absent[0].Name
}

// fetch brings charts from elsewhere.
func (p *plan) fetch(ctx context.Context, absent []helm.Absent) error {
	for _, a := range absent {
		content, err := p.bring(ctx, a.Wanted)
		if err != nil {
			return fmt.Errorf("chart %s depends on the chart %s: %w", a.Of, strings.TrimSpace(a.Name+" "+a.Version), err)
		}
		p.charts = append(p.charts, engine.Chart{Wanted: a.Wanted, Content: content})
	}
	return p.digest()
}

// known takes what a chart was found to be when it was prepared.
func (p *plan) known(k *prepared) {
	p.inputs, p.hidden, p.ranges = k.inputs, k.hidden, k.ranges
	p.short = true
}

// is takes what a chart was found to be, with what is secret of it.
func (p *plan) is(e *engine.Prepared) {
	p.inputs, p.hidden, p.ranges = e.Inputs, e.Hidden, e.Ranges
	p.secrets, p.tooMany, p.short = e.Secrets, e.TooMany, false
}

// prepared is what is remembered of a chart that was prepared.
type prepared struct {
	inputs, hidden string
	ranges         []string
	// absent are the charts from elsewhere that it needs; then nothing else is known.
	absent []helm.Absent
}

// weight is about how much memory it takes.
func (k *prepared) weight() int64 {
	bytes := int64(len(k.inputs) + len(k.hidden))
	for _, text := range k.ranges {
		bytes += int64(len(text))
	}
	for _, a := range k.absent {
		bytes += int64(len(a.Repository) + len(a.Name) + len(a.Version) + len(a.Of))
	}
	return bytes
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

// lifecycleHooks parses the hooks of the Release.
func (p *plan) lifecycleHooks() ([]hookItem, error) {
	if p.lifecycle == nil {
		return nil, nil
	}
	var hooks []hookItem
	for _, hook := range p.lifecycle.Hooks {
		item, err := lifecycleHook(hook, p.timeout)
		if err != nil {
			return nil, failure(corev1alpha1.ReasonInvalidConfiguration, "spec.lifecycle.hooks[%s].template: %w", hook.Name, err)
		}
		hooks = append(hooks, item)
	}
	return hooks, nil
}

// prepareHelm gathers what a chart is rendered with.
func (p *plan) prepareHelm(ctx context.Context, in Input, spec *corev1alpha1.HelmRender) error {
	if spec != nil {
		p.options = *spec
	}
	if p.options.Lookup {
		if p.lookup = in.Lookup; p.lookup == nil {
			return failure(corev1alpha1.ReasonNotBuilt, "spec.render.helm.lookup is not supported here: templates cannot read the target cluster")
		}
	}
	p.values = values.Request{Spec: p.options, Namespace: in.Release.Namespace, References: in.References}
	var err error
	if p.kubeVersion, p.served, err = in.Cluster.Capabilities(ctx); err != nil {
		return err
	}
	capabilities, err := helm.NewCapabilities(p.kubeVersion, p.options.KubeVersion, p.served, p.options.APIVersions)
	if err != nil {
		return failure(corev1alpha1.ReasonInvalidConfiguration, "%w", err)
	}
	p.helm = helm.Request{
		Root: in.Artifact.Root, Dir: in.Artifact.Path, Packaged: in.Release.Spec.Source.Helm != nil,
		ReleaseName: p.options.ReleaseName, Namespace: p.namespace, Upgrade: in.Upgrade,
		Capabilities: capabilities, SkipCRDs: p.options.SkipCRDs,
	}
	if p.helm.ReleaseName == "" {
		p.helm.ReleaseName = in.Release.Name
	}
	if in.References != nil {
		p.bring = func(ctx context.Context, w helm.Wanted) (helm.Content, error) {
			a, err := in.References.Chart(ctx, in.Release.Namespace, Dependency{Repository: w.Repository, Name: w.Name, Version: w.Version})
			return helm.Content{Root: a.Root, Digest: a.RootDigest}, err
		}
	}
	p.parts.Helm = &engine.HelmInputs{
		ReleaseName: p.helm.ReleaseName, Packaged: p.helm.Packaged, Upgrade: in.Upgrade,
		KubeVersion: capabilities.KubeVersion, APIVersions: slices.Sorted(slices.Values(capabilities.APIVersions)),
		SkipCRDs: p.options.SkipCRDs, SkipTests: skipTests(p.options), DisableHooks: p.options.DisableHooks,
		Lookup: p.options.Lookup,
	}
	return nil
}

func skipTests(o corev1alpha1.HelmRender) bool { return o.SkipTests == nil || *o.SkipTests }
