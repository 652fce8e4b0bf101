// SPDX-License-Identifier: Apache-2.0

// Package values gathers the values that a Release gives to a chart, in the one documented
// order: valuesFiles, then valuesFrom, then values; in each, later entries go over earlier
// ones. What the chart itself has as defaults is not its business.
package values

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/limit"
	"kumodo.io/convoy/render/internal/scrub"
	"kumodo.io/convoy/render/internal/tree"
	"kumodo.io/convoy/render/internal/weight"
)

// References reads what valuesFrom refers to. What is not there is an error for which
// apierrors.IsNotFound or errors.Is(err, fs.ErrNotExist) holds.
type References interface {
	ConfigMap(ctx context.Context, namespace, name string) (map[string]string, error)
	Secret(ctx context.Context, namespace, name string) (map[string][]byte, error)
	File(ctx context.Context, namespace string, ref corev1alpha1.ValuesReference) ([]byte, error)
}

// Request says which values are wanted.
type Request struct {
	// Spec has the values and the references to more.
	Spec corev1alpha1.HelmRender
	// Namespace of the Release, in which references are looked up.
	Namespace string
	// References reads ConfigMaps, Secrets and files of other sources; it may be nil when
	// Spec has no valuesFrom.
	References References
}

// Origin says where values stand.
type Origin struct {
	// Kind is ConfigMap, Secret, GitRepository or OCIRegistry for valuesFrom, with the Name of
	// the object and the Key or file in it; File for valuesFiles, with the Name of the file;
	// Release for the values in the Release itself.
	Kind, Name, Key string
}

// Kinds of origins: those that are no kinds of valuesFrom, and the one whose values are secret.
const (
	KindFile    = "File"
	KindRelease = "Release"
	KindSecret  = "Secret"
)

// Text is what valuesFrom refers to, as it was read.
type Text struct {
	Origin Origin
	// TargetPath is where the text is a value; "" for a text that has values.
	TargetPath string
	Data       []byte
}

// Sources are the values of a Release before anything of them is parsed.
type Sources struct {
	// Files are valuesFiles.
	Files []string
	// From is what valuesFrom refers to and is there.
	From []Text
	// Inline are the values in the Release itself, as JSON.
	Inline []byte
}

// Layer is what one origin gives.
type Layer struct {
	Origin Origin
	Values map[string]any
}

// Resolved is what was found.
type Resolved struct {
	// Values are merged; the caller must not change them.
	Values map[string]any
	// Layers are what Values was merged of, the first below the others.
	Layers []Layer
	// Secrets are the texts that came from Secrets, for taking them out of messages.
	Secrets []string

	// files are the layers of valuesFiles by their path, text and bytes how much was read, and
	// what it takes.
	files       map[string]map[string]any
	text, bytes int64
}

// What a Release may have in values, all its sources together. A parser makes a hundred bytes
// and more of one of [{},{},…].
const (
	maxText  = 16 << 20
	maxBytes = 128 << 20
	// MaxFile is how large one file may be: what Helm grants to a file of a chart.
	MaxFile = 5 << 20
)

func checkFile(name string, size int64) error {
	if size <= MaxFile {
		return nil
	}
	return limit.New("%s has more than %s, the most that a file of values may have", name, limit.Size(MaxFile))
}

var errTooMuchText = limit.New("with it, all values of the Release have more than %s", limit.Size(maxText))

// read counts a text before it is parsed, and what was parsed of it after.
func (v *Resolved) read(text []byte, parse func([]byte) (map[string]any, error)) (map[string]any, error) {
	if v.text += int64(len(text)); v.text > maxText {
		return nil, errTooMuchText
	}
	layer, err := parse(text)
	if err != nil {
		return nil, err
	}
	if v.bytes += weight.Of(layer); v.bytes > maxBytes {
		return nil, limit.New("with it, all values of the Release take more than %s of memory", limit.Size(maxBytes))
	}
	return layer, nil
}

// MissingError tells of a reference that leads to nothing.
type MissingError struct {
	// Kind and Name of the object that is missing, or in which something is missing.
	Kind, Name string
	// Key is set when the object is there and the key, or file, in it is not.
	Key string
}

// Error names the object and the way out.
func (e *MissingError) Error() string {
	if e.Key != "" {
		return fmt.Sprintf("valuesFrom: %s %q has no %q; add it, or set optional: true", e.Kind, e.Name, e.Key)
	}
	return fmt.Sprintf("valuesFrom: %s %q does not exist; create it, or set optional: true", e.Kind, e.Name)
}

// InvalidError tells of values that cannot be used.
type InvalidError struct {
	// Origin says where they stand.
	Origin string
	Err    error
}

// Error names the origin and the problem.
func (e *InvalidError) Error() string { return e.Origin + ": " + e.Err.Error() }

// Unwrap gives the problem.
func (e *InvalidError) Unwrap() error { return e.Err }

// Fetch reads what valuesFrom refers to, and nothing else, and gives the Digest of it. Errors:
// *MissingError, *InvalidError, and those of References as they are.
func Fetch(ctx context.Context, r Request) (Sources, string, error) {
	s := Sources{Files: r.Spec.ValuesFiles}
	if r.Spec.Values != nil {
		s.Inline = r.Spec.Values.Raw
	}
	digest, err := r.each(ctx, func(ref corev1alpha1.ValuesReference, data []byte) {
		origin := Origin{Kind: ref.Kind, Name: ref.Name, Key: keyOf(ref)}
		s.From = append(s.From, Text{Origin: origin, TargetPath: ref.TargetPath, Data: data})
	})
	return s, digest, err
}

// Digest tells whether what valuesFrom refers to is another text than before. Nothing of it is
// kept. Errors are those of Fetch.
func Digest(ctx context.Context, r Request) (string, error) {
	return r.each(ctx, func(corev1alpha1.ValuesReference, []byte) {})
}

// each visits the texts that are there, and gives their digest.
func (r Request) each(ctx context.Context, visit func(ref corev1alpha1.ValuesReference, data []byte)) (string, error) {
	all, text := sha256.New(), 0
	for i, ref := range r.Spec.ValuesFrom {
		data, found, err := fetch(ctx, r, ref)
		if err != nil {
			return "", err
		}
		if !found {
			continue
		}
		if text += len(data); text > maxText {
			return "", invalidFrom(ref.Kind, ref.Name, errTooMuchText)
		}
		fmt.Fprintf(all, "%d %d ", i, len(data))
		all.Write(data)
		visit(ref, data)
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

func invalidFrom(kind, name string, err error) error {
	return &InvalidError{Origin: fmt.Sprintf("valuesFrom: %s %s", kind, name), Err: err}
}

// Resolve parses the values and merges them. root is the whole content of the source, dir the
// chart in it: valuesFiles are relative to dir and may lie anywhere in root. Errors:
// *InvalidError, and that of ctx when it ends before everything is parsed.
func (s Sources) Resolve(ctx context.Context, root fs.FS, dir string) (*Resolved, error) {
	resolved := &Resolved{Values: map[string]any{}, files: map[string]map[string]any{}}
	for _, name := range s.Files {
		layer, err := resolved.file(ctx, root, dir, name)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, &InvalidError{Origin: fmt.Sprintf("valuesFiles: %s", name), Err: err}
		}
		resolved.merge(Origin{Kind: KindFile, Name: name}, layer)
	}
	for _, text := range s.From {
		if err := resolved.add(text); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if len(s.Inline) > 0 {
		layer, err := resolved.read(s.Inline, ParseJSON)
		if err != nil {
			return nil, &InvalidError{Origin: "spec.render.helm.values", Err: err}
		}
		resolved.merge(Origin{Kind: KindRelease}, layer)
	}
	return resolved, nil
}

func (v *Resolved) merge(origin Origin, layer map[string]any) {
	v.Values = Merge(v.Values, layer)
	v.Layers = append(v.Layers, Layer{Origin: origin, Values: layer})
}

// file gives the values of a file, which is read once however often it is named.
func (v *Resolved) file(ctx context.Context, root fs.FS, dir, name string) (map[string]any, error) {
	full, err := tree.Inside(dir, name)
	if err != nil {
		return nil, err
	}
	if layer, ok := v.files[full]; ok {
		return layer, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if info, err := fs.Stat(root, full); err == nil {
		if err := checkFile(full, info.Size()); err != nil {
			return nil, err
		}
	}
	text, err := fs.ReadFile(root, full)
	if err != nil {
		return nil, err
	}
	v.files[full], err = v.read(text, ParseYAML)
	return v.files[full], err
}

// add merges what one reference led to.
func (v *Resolved) add(text Text) error {
	layer, err := v.read(text.Data, text.parse)
	if err != nil {
		return invalidFrom(text.Origin.Kind, text.Origin.Name, err)
	}
	if text.Origin.Kind == KindSecret {
		v.Secrets = scrub.Scalars(layer, v.Secrets)
	}
	v.merge(text.Origin, layer)
	return nil
}

func (t Text) parse(text []byte) (map[string]any, error) {
	if t.TargetPath != "" {
		return at(t.TargetPath, string(text))
	}
	layer, err := ParseYAML(text)
	if err != nil && t.Origin.Kind == KindSecret {
		err = withoutContent(err)
	}
	return layer, err
}

const kindConfigMap = "ConfigMap"

// keyOf gives the key, or the file, of a reference.
func keyOf(ref corev1alpha1.ValuesReference) string {
	switch {
	case ref.Kind != kindConfigMap && ref.Kind != KindSecret:
		return ref.Path
	case ref.Key == "":
		return "values.yaml"
	}
	return ref.Key
}

var line = regexp.MustCompile(`line \d+`)

// withoutContent keeps of a parser's error the line only: parsers may cite what they read.
func withoutContent(err error) error {
	if found := line.FindString(err.Error()); found != "" {
		return fmt.Errorf("not valid YAML (%s)", found)
	}
	return errors.New("not a valid YAML map of values")
}

// fetch reads what a reference leads to; found is false when it leads to nothing and may.
func fetch(ctx context.Context, r Request, ref corev1alpha1.ValuesReference) (text []byte, found bool, err error) {
	key := keyOf(ref)
	switch ref.Kind {
	case kindConfigMap:
		var data map[string]string
		var value string
		data, err = r.References.ConfigMap(ctx, r.Namespace, ref.Name)
		value, found = data[key]
		text = []byte(value)
	case KindSecret:
		var data map[string][]byte
		data, err = r.References.Secret(ctx, r.Namespace, ref.Name)
		text, found = data[key]
	default:
		if text, err = r.References.File(ctx, r.Namespace, ref); err == nil {
			found, err = true, checkFile(ref.Path, int64(len(text)))
		}
	}
	switch {
	case apierrors.IsNotFound(err):
		err = &MissingError{Kind: ref.Kind, Name: ref.Name}
	case errors.Is(err, fs.ErrNotExist), err == nil && !found:
		err = &MissingError{Kind: ref.Kind, Name: ref.Name, Key: key}
	case err != nil:
		return nil, false, fmt.Errorf("valuesFrom: reading %s %s: %w", ref.Kind, ref.Name, err)
	}
	if ref.Optional && err != nil {
		return nil, false, nil
	}
	return text, found, err
}
