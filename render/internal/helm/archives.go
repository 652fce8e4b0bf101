// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"

	"kumodo.io/convoy/render/internal/limit"
	"kumodo.io/convoy/render/internal/lossless"
)

// unpackedTimes is how often the limit of a value the archives of a chart's dependencies,
// and of those of them, may have in all once they are unpacked.
const unpackedTimes = 4

// ratioFrom is how many bytes any archive may grow to, however small it is: little text that
// repeats itself compresses better than any amount of usual content.
const ratioFrom = 8 << 20

// decoded are the files of a chart that the library decodes by itself.
var decoded = []string{"Chart.yaml", "Chart.lock", "requirements.yaml", "requirements.lock", chartDefaults}

// unpack puts the files of archives in charts/ folders in the place of the archives, so that
// the library finds folders only: it would unpack archives in archives without end, and read
// links in them as empty files. What aliases make enormous is refused before the library
// decodes it.
func unpack(files []*loader.BufferedFile, r Request) ([]*loader.BufferedFile, error) {
	u := unpacker{most: unpackedTimes * r.Limits.Value, ratio: int64(r.Ratio)}
	err := u.add("", files)
	return u.files, err
}

type unpacker struct {
	files []*loader.BufferedFile
	// most bytes may come out of archives, unpacked did; out of each ratio times its own.
	most, unpacked, ratio int64
}

func (u *unpacker) add(under string, files []*loader.BufferedFile) error {
	folders := map[string]bool{}
	for _, f := range files {
		folders[path.Dir(f.Name)] = true
	}
	for _, f := range files {
		name := path.Join(under, f.Name)
		if !isDependency(f.Name) {
			if slices.Contains(decoded, path.Base(name)) {
				if isDeclaration(name) {
					if err := checkDeclaration(name, int64(len(f.Data))); err != nil {
						return err
					}
				}
				if err := lossless.CheckAliases(f.Data); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			u.files = append(u.files, &loader.BufferedFile{Name: name, Data: f.Data})
			continue
		}
		inside, err := u.open(name, f.Data)
		if err != nil {
			return err
		}
		folder := strings.TrimSuffix(f.Name, path.Ext(f.Name))
		for folders[folder] {
			folder += "-"
		}
		if err := u.add(path.Join(under, folder), inside); err != nil {
			return err
		}
	}
	return nil
}

// open reads an archive, from which no more may come than all of them may still give.
func (u *unpacker) open(name string, archive []byte) ([]*loader.BufferedFile, error) {
	files, came, err := filesOf(name, archive, bounds{most: u.most - u.unpacked, ratio: u.ratio,
		tooMuch: limit.Of(limit.FlagBytes, "the archives in charts/ have more than %s", limit.Size(u.most))})
	u.unpacked += came
	return files, err
}

// isDeclaration tells whether a file that the library decodes says what a chart is, the chart
// itself or one in a folder of charts/.
func isDeclaration(name string) bool {
	dir, file := path.Split(name)
	for folders := strings.Split(dir, "/"); len(folders) > 1; folders = folders[2:] {
		if len(folders) == 2 || folders[0] != "charts" {
			return false
		}
	}
	return file != chartDefaults
}

// isDependency tells whether a file of a chart is the archive of a dependency, of the chart
// itself or of one in a folder of charts/. Those whose names begin with _ or . are switched
// off.
func isDependency(name string) bool {
	if path.Ext(name) != ".tgz" {
		return false
	}
	steps := strings.Split(name, "/")
	if len(steps)%2 != 0 {
		return false
	}
	for i, step := range steps {
		if i%2 == 0 && step != "charts" || i%2 == 1 && strings.IndexAny(step, "_.") == 0 {
			return false
		}
	}
	return true
}
