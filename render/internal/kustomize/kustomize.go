// SPDX-License-Identifier: Apache-2.0

// Package kustomize builds kustomizations with the kustomize library, as `kustomize build`
// does.
//
// A build sees the content of the source and nothing else: bases may lie anywhere in it,
// and anything remote, any plugin and any executable is refused.
package kustomize

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/lossless"
	"kumodo.io/convoy/render/internal/manifest"
)

// FileNames are the names by which a kustomization is known, in order of preference.
var FileNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// building is held during a build: the library keeps the schema that a kustomization asks
// for in a variable of its own package, for all builds of the process.
var building sync.Mutex

// Render builds the kustomization in dir, with what spec adds to it. Errors name files of
// the source; a *limit.Error is in their chain when a build reads more than most bytes, one
// file as often as it is read, or when ctx ends before it has read everything.
func Render(ctx context.Context, root fs.FS, dir string, spec corev1alpha1.KustomizeRender, most int64) ([]manifest.Document, error) {
	source, own, err := open(ctx, root, dir, spec, most, true)
	if err != nil {
		return nil, err
	}
	resources, err := build(source, dir)
	origins := make([]string, len(resources))
	for i, r := range resources {
		origins[i] = originOf(r, dir)
	}
	if own && source.copies && source.refused == nil {
		resources, err = untracked(ctx, root, dir, spec, most)
		own = false
	}
	if err != nil {
		return nil, err
	}
	var documents []manifest.Document
	for i, r := range resources {
		origin := path.Join(dir, FileNames[0])
		if i < len(origins) {
			origin = origins[i]
		}
		decoded, err := document(r, origin, own)
		if err != nil {
			return nil, source.withoutSecrets(err)
		}
		documents = append(documents, decoded...)
	}
	return documents, nil
}

// untracked builds without tracking origins: what copies annotations must not find those that tell
// them. Both builds give the objects in the same order.
func untracked(ctx context.Context, root fs.FS, dir string, spec corev1alpha1.KustomizeRender, most int64) ([]*resource.Resource, error) {
	source, _, err := open(ctx, root, dir, spec, most, false)
	if err != nil {
		return nil, err
	}
	return build(source, dir)
}

// build runs the library. What the source refused goes before what the library made of it.
func build(source *source, dir string) ([]*resource.Resource, error) {
	building.Lock()
	defer building.Unlock()
	forgetSchema()
	asked.Store(false)
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(source, "/"+dir)
	if source.refused != nil {
		return nil, source.refused
	}
	if asked.Load() || errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("building the kustomization in %s: %w", dir, errRemote)
	}
	if types.IsErrOnlyBuiltinPluginsAllowed(err) {
		err = fmt.Errorf("%w: plugins and functions that run programs (exec, containers, Starlark) are refused; put what they give into the source", err)
	}
	if err != nil {
		return nil, source.withoutSecrets(fmt.Errorf("building the kustomization in %s: %w", dir, err))
	}
	return built.Resources(), nil
}

// defaultSchema is the version of the schema that the library has for those who ask for none.
var defaultSchema = openapi.GetSchemaVersion()

// forgetSchema takes out of the library what the build before has put there by asking for a
// schema: it would stay for a build that asks for none. To read the default again takes some
// time, so it is not done without need.
func forgetSchema() {
	if openapi.GetSchemaVersion() != defaultSchema {
		openapi.ResetOpenAPI()
	}
}

const originAnnotation = "config.kubernetes.io/origin"

// document decodes a built resource. The annotation that tells where it comes from is
// taken off when the source did not ask for it.
func document(r *resource.Resource, origin string, own bool) ([]manifest.Document, error) {
	if own {
		annotations := r.GetAnnotations()
		delete(annotations, originAnnotation)
		if err := r.SetAnnotations(annotations); err != nil {
			return nil, fmt.Errorf("%s: %w", origin, err)
		}
	}
	text, err := r.RNode.String()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", origin, err)
	}
	if err := lossless.Check([]byte(text)); err != nil {
		return nil, fmt.Errorf("%s: %w", origin, err)
	}
	// The library writes what it prints by way of JSON, and so settles what is a text and
	// what is not: it reads `on` and `n` otherwise than kubectl does.
	encoded, err := r.MarshalJSON()
	if err != nil { // the error shows the object
		return nil, &manifest.InvalidError{Object: manifest.Name(map[string]any{"kind": r.GetKind(), "metadata": map[string]any{"name": r.GetName()}}),
			Origin: origin, Problem: "a key is not a string; quote it"}
	}
	return manifest.DecodeJSON(origin, encoded)
}

func originOf(r *resource.Resource, dir string) string {
	var origin struct {
		Path         string `json:"path"`
		ConfiguredIn string `json:"configuredIn"`
	}
	if err := yaml.Unmarshal([]byte(r.GetAnnotations()[originAnnotation]), &origin); err == nil {
		for _, file := range []string{origin.Path, origin.ConfiguredIn} {
			if file != "" {
				return path.Join(dir, file)
			}
		}
	}
	return path.Join(dir, FileNames[0])
}

// find gives the name of the kustomization file in dir.
func find(root fs.FS, dir string) (string, []byte, error) {
	for _, name := range FileNames {
		content, err := fs.ReadFile(root, path.Join(dir, name))
		if err == nil {
			return name, content, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", nil, err
		}
	}
	return "", nil, fmt.Errorf("%s has no kustomization file (%s)", dir, strings.Join(FileNames, ", "))
}
