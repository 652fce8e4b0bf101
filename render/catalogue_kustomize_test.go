// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"path/filepath"
	"sync"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func TestKustomizationsGiveWhatKustomizeGives(t *testing.T) {
	runCatalogue(t, "kustomize", 30, kustomizeBuild)
}

// building keeps builds apart: the library holds a schema for all of them.
var building sync.Mutex

// kustomizeBuild does what `kustomize build` does.
func kustomizeBuild(t *testing.T, c catalogueCase) ([]map[string]any, error) {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(c.dir, c.path))
	if err != nil {
		return nil, err
	}
	text, err := built.AsYaml()
	if err != nil {
		return nil, err
	}
	return decodeAll(t, string(text)), nil
}
