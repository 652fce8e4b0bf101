// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/digest"
	"kumodo.io/convoy/render/internal/engine"
	"kumodo.io/convoy/render/internal/helm"
	"kumodo.io/convoy/render/internal/helm/execute"
	"kumodo.io/convoy/render/internal/manifest"
	"kumodo.io/convoy/render/internal/mutation"
	"kumodo.io/convoy/render/internal/values"
)

// order is what a worker is sent: a job, or the answer to its question. The messages are
// those of encoding/gob, each with its length before it; one type description serves for all
// of a worker's life.
type order struct {
	Job    *job
	Answer *answer
}

// report is what a worker sends: a question, the file that it begins to read without a question
// or the mutation that it begins with, or the outcome of its job.
type report struct {
	Question *question
	Reads    string
	Outcome  *outcome
}

// question is all that a worker can ask for.
type question struct {
	// Content is the number of the content that a file is in: 0 is that of the source, the
	// others are those of the dependencies of a chart.
	Content int
	// Stat, Dir and File name what is asked for; Lookup asks the target cluster.
	Stat, Dir, File string
	Lookup          *object
	// Ready asks whether what is prepared is to be rendered.
	Ready *engine.Prepared
}

type object struct{ APIVersion, Kind, Namespace, Name string }

type answer struct {
	Entries []entry
	Text    []byte
	Object  value
	Wanted  bool // of Ready
	Fault   *fault
}

// entry is a file as its directory tells.
type entry struct {
	File  string
	Bits  fs.FileMode // as Stat says
	Kind  fs.FileMode // as the directory says
	Bytes int64
	Time  time.Time
	// Text is sent ahead of the question for it, if Ahead is true.
	Text  []byte
	Ahead bool
	Fault *fault // why Stat says nothing
}

// job is an engine.Job without its content.
type job struct {
	Type        corev1alpha1.RenderType
	Path        string
	Kustomize   corev1alpha1.KustomizeRender
	Explain     bool
	OutputBytes int64
	// Time that is left for it; 0 is no limit.
	Time time.Duration

	Chart     *chart
	Mutations []corev1alpha1.Mutation
	Mutate    *mutate
}

// mutate is mutation.Objects.
type mutate struct {
	Documents  []document
	Namespaced map[schema.GroupKind]bool
	Namespace  string
	Most       int64
}

// chart is a helm.Request without its content.
type chart struct {
	Packaged               bool
	ReleaseName, Namespace string
	Upgrade, SkipCRDs      bool
	Values                 values.Sources
	// Inputs are JSON; Asks tells that somebody wants to be asked before the chart is rendered.
	Inputs []byte
	Asks   bool
	// Elsewhere says that there may be other charts than Charts.
	Charts    []elsewhere
	Elsewhere bool

	KubeVersion string
	APIVersions []string
	Limits      execute.Limits
	Ratio       int
	Lookup      bool
}

// elsewhere is a chart from elsewhere.
type elsewhere struct {
	Wanted helm.Wanted
	Digest string
}

// jobOf gives what a worker has to know of a job, and the content that it may ask for.
func jobOf(j engine.Job) (*job, []fs.FS) {
	sent := &job{Type: j.Type, Path: j.Path, Kustomize: j.Kustomize, Explain: j.Explain, OutputBytes: j.OutputBytes, Mutations: j.Mutations}
	if m := j.Mutate; m != nil {
		sent.Mutate = &mutate{Documents: each(m.Documents, documentOf), Namespaced: m.Namespaced, Namespace: m.Namespace, Most: m.Most}
		return sent, nil
	}
	content := []fs.FS{j.Root}
	if j.Type != corev1alpha1.RenderHelm {
		return sent, content
	}
	r := j.Helm
	sent.Chart = &chart{
		Packaged: r.Packaged, ReleaseName: r.ReleaseName, Namespace: r.Namespace, Upgrade: r.Upgrade, SkipCRDs: r.SkipCRDs,
		Values: j.Values, KubeVersion: r.Capabilities.KubeVersion, APIVersions: r.Capabilities.APIVersions,
		Limits: r.Limits, Ratio: r.Ratio, Lookup: r.Lookup != nil, Asks: j.Ready != nil, Elsewhere: j.Elsewhere,
	}
	if j.Inputs != nil {
		// To the letter: the worker digests it. Nothing that is in it can fail to be encoded.
		sent.Chart.Inputs, _ = digest.Canonical(j.Inputs)
	}
	for _, c := range j.Charts {
		sent.Chart.Charts = append(sent.Chart.Charts, elsewhere{Wanted: c.Wanted, Digest: c.Digest})
		content = append(content, c.Root)
	}
	return sent, content
}

// engine gives the job whose content and lookups are asked for.
func (j *job) engine(p parent) (engine.Job, error) {
	made := engine.Job{Type: j.Type, Root: newFiles(p, 0), Path: j.Path, Kustomize: j.Kustomize, Explain: j.Explain, OutputBytes: j.OutputBytes, Mutations: j.Mutations}
	if m := j.Mutate; m != nil {
		made.Mutate = &mutation.Objects{
			Documents: each(m.Documents, document.manifest), Namespaced: m.Namespaced, Namespace: m.Namespace, Most: m.Most,
			Begin: func(name string) { _ = p.tell(name) }, // nobody is there any more, else
		}
		return made, nil
	}
	c := j.Chart
	if c == nil {
		return made, nil
	}
	capabilities, err := helm.NewCapabilities(c.KubeVersion, "", c.APIVersions, nil)
	if err != nil {
		return made, err
	}
	made.Helm = helm.Request{
		Root: made.Root, Dir: j.Path, Packaged: c.Packaged, ReleaseName: c.ReleaseName, Namespace: c.Namespace,
		Upgrade: c.Upgrade, SkipCRDs: c.SkipCRDs, Capabilities: capabilities, Limits: c.Limits, Ratio: c.Ratio,
	}
	made.Values, made.Elsewhere = c.Values, c.Elsewhere
	for i, e := range c.Charts {
		made.Charts = append(made.Charts, engine.Chart{Wanted: e.Wanted, Content: helm.Content{Root: newFiles(p, i+1), Digest: e.Digest}})
	}
	if c.Asks {
		if err := json.Unmarshal(c.Inputs, &made.Inputs); err != nil {
			return made, err
		}
		made.Ready = func(prepared engine.Prepared) bool {
			a, err := p.ask(question{Ready: &prepared})
			return err == nil && a.Wanted
		}
	}
	if c.Lookup {
		made.Helm.Lookup = func(apiVersion, kind, namespace, name string) (map[string]any, error) {
			a, err := p.ask(question{Lookup: &object{apiVersion, kind, namespace, name}})
			if err != nil {
				return nil, err
			}
			found, _ := a.Object.any.(map[string]any)
			return found, nil
		}
	}
	return made, nil
}

// outcome is how a job ended: with an output, with a fault of the content, or in a panic.
type outcome struct {
	CRDs, Objects []document
	Hooks         []hook
	Explained     []explained
	Absent        []helm.Absent
	NotWanted     bool
	Fault         *fault
	Panic         *panicked
	// Memory that the worker has taken when it is done.
	Memory uint64
}

// panicked tells of a panic: its type, and where it came from. Its text may show values.
type panicked struct{ Type, Stack string }

type document struct {
	Object   value
	Origin   string
	Unstable bool
}

type hook struct {
	Document       document
	Events         []release.HookEvent
	Weight         int
	DeletePolicies []release.HookDeletePolicy
}

// explained is an engine.Value.
type explained struct {
	Path   string
	Value  value
	Secret bool
	Origin values.Origin
	File   string
}

func explainedOf(v engine.Value) explained {
	return explained{Path: v.Path, Value: value{v.Value}, Secret: v.Secret, Origin: v.Origin, File: v.File}
}

func (e explained) value() engine.Value {
	return engine.Value{Path: e.Path, Value: e.Value.any, Secret: e.Secret, Origin: e.Origin, File: e.File}
}

func documentOf(d manifest.Document) document {
	return document{Object: value{d.Object.Object}, Origin: d.Origin, Unstable: d.Unstable}
}

func (d document) manifest() manifest.Document {
	fields, _ := d.Object.any.(map[string]any)
	return manifest.Document{Object: &unstructured.Unstructured{Object: fields}, Origin: d.Origin, Unstable: d.Unstable}
}

// outcomeOf gives the outcome of an engine.
func outcomeOf(output *engine.Output, err error) *outcome {
	if errors.Is(err, engine.ErrNotWanted) {
		return &outcome{NotWanted: true}
	}
	o := &outcome{Fault: faultOf(err)}
	if err != nil {
		return o
	}
	o.Explained, o.Absent = each(output.Explained, explainedOf), output.Absent
	o.CRDs, o.Objects = each(output.CRDs, documentOf), each(output.Objects, documentOf)
	o.Hooks = each(output.Hooks, func(h helm.Hook) hook {
		return hook{Document: documentOf(h.Document), Events: h.Events, Weight: h.Weight, DeletePolicies: h.DeletePolicies}
	})
	return o
}

// output gives what the engine gave.
func (o *outcome) output() (*engine.Output, error) {
	if o.Fault != nil {
		return nil, o.Fault.err()
	}
	if o.NotWanted {
		return nil, engine.ErrNotWanted
	}
	return &engine.Output{Explained: each(o.Explained, explained.value), Absent: o.Absent, Output: helm.Output{
		CRDs: each(o.CRDs, document.manifest), Objects: each(o.Objects, document.manifest),
		Hooks: each(o.Hooks, func(h hook) helm.Hook {
			return helm.Hook{Document: h.Document.manifest(), Events: h.Events, Weight: h.Weight, DeletePolicies: h.DeletePolicies}
		}),
	}}, nil
}

func each[A, B any](list []A, make func(A) B) []B {
	var made []B
	for _, a := range list {
		made = append(made, make(a))
	}
	return made
}

// meter reads until there was too much.
type meter struct {
	from io.Reader
	left int64
}

// counter counts what is written.
type counter struct {
	to    io.Writer
	bytes int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.bytes += int64(n)
	return n, err
}

var errTooMuch = errors.New("a message is too large")

func (m *meter) Read(p []byte) (int, error) {
	if m.left <= 0 {
		return 0, errTooMuch
	}
	n, err := m.from.Read(p[:min(int64(len(p)), m.left)])
	m.left -= int64(n)
	return n, err
}
