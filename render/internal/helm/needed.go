// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"

	"kumodo.io/convoy/render/internal/limit"
	"kumodo.io/convoy/render/internal/lossless"
	"kumodo.io/convoy/render/internal/tree"
)

const (
	// maxDependencies bounds the charts that are brought for one chart.
	maxDependencies = 100
	// maxUnpacked bounds what is unpacked to learn the names of charts.
	maxUnpacked = 512 << 20
	// maxNesting bounds how deep charts of one source depend on one another.
	maxNesting = 10
	// maxDeclaration is how large a Chart.yaml, a lock file, a .helmignore and their like may be: hundreds of
	// dependencies take less. maxDeclarations is what all that are read for one chart may have.
	maxDeclaration  = 256 << 10
	maxDeclarations = 16 << 20
)

// checkDeclaration refuses a file that says what a chart is, if it is larger than any is.
func checkDeclaration(name string, size int64) error {
	if size <= maxDeclaration {
		return nil
	}
	return limit.New("%s has more than %d KiB, the most that a file may have which says what a chart is", name, maxDeclaration>>10)
}

// Wanted is a chart that another one depends on.
type Wanted struct {
	// Repository is the URL of the repository, or @ and a name, as Chart.yaml says it.
	Repository string
	Name       string
	// Version is a version or a range.
	Version string
}

// Content is the content of a packaged chart.
type Content struct {
	Root fs.FS
	// Digest tells contents apart.
	Digest string
}

// Charts gives charts from elsewhere, as far as they are there.
type Charts func(wanted Wanted) (content Content, ok bool)

// Absent is a chart from elsewhere that is not there, and the name of the chart that depends on it.
type Absent struct {
	Wanted
	Of string
}

// Dependency is a chart that is put into the charts/ folder of one that depends on it.
type Dependency struct {
	// Folder below the top chart.
	Folder string
	// Root and Dir are where the chart is, Packaged says that Helm packaged it.
	Root     fs.FS
	Dir      string
	Packaged bool
	// Digest tells contents apart; "" for a chart that lies within the top chart.
	Digest string
	// Range chose the chart among those of a repository, as "name range"; "" for a chart whose
	// version is fixed by its dependant or by a lock file.
	Range string
}

// Needed finds the dependencies of the chart in a folder of a source that are not in its
// charts/ folder: other charts of the source (file://), and what charts has. A lock file
// that fits Chart.yaml says the versions, as for `helm dependency build`. If some are absent,
// these are all that charts has to have besides, and what was found is not all. Without charts,
// there are none elsewhere. Errors: an *UnmetError says what is wrong with the chart, a
// *limit.Error what is too much of it, and that of limit.Ended when ctx ends.
func Needed(ctx context.Context, root fs.FS, dir string, charts Charts) (found []Dependency, absent []Absent, err error) {
	r := resolver{root: root, top: dir, charts: charts, names: map[string]string{}, digests: map[string]string{}}
	err = r.resolve(ctx, dir, "", nil)
	return r.found, r.absent, err
}

// UnmetError says why a dependency cannot be had.
type UnmetError struct{ text string }

// Error gives the text.
func (e *UnmetError) Error() string { return e.text }

func unmet(format string, args ...any) error { return &UnmetError{fmt.Sprintf(format, args...)} }

type resolver struct {
	root   fs.FS
	top    string
	charts Charts
	found  []Dependency
	absent []Absent
	// names of charts in archives that had to be unpacked, with unpacked bytes in all.
	names    map[string]string
	unpacked int64
	// declared is how much of Chart.yaml files and their like was read.
	declared int64
	// digests of folders.
	digests map[string]string
}

// resolve finds the dependencies of the chart in dir, which is put into the folder under of
// the top chart. above are the folders of the charts that depend on it.
func (r *resolver) resolve(ctx context.Context, dir, under string, above []string) error {
	c, err := r.declaration(ctx, dir)
	if err != nil || c == nil || len(c.Metadata.Dependencies) == 0 {
		return err
	}
	missing, err := r.missing(ctx, c, dir)
	if err != nil || len(missing) == 0 {
		return err
	}
	wanted, err := locked(c)
	if err != nil {
		return err
	}
	done := map[Wanted]bool{}
	for _, at := range missing {
		w := wanted[at]
		if done[w] {
			continue
		}
		done[w] = true
		if len(r.found) >= maxDependencies {
			return unmet("chart %s needs more than %d charts that are not in charts/ folders", c.Name(), maxDependencies)
		}
		folder := r.folder(dir, under, w.Name)
		if strings.HasPrefix(w.Repository, "file://") {
			err = r.local(ctx, c, dir, folder, w, append(slices.Clone(above), dir))
		} else {
			err = r.remote(c, folder, w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// declaration reads what a chart says of its dependencies; nil when it cannot be read, which
// loading it will say better.
func (r *resolver) declaration(ctx context.Context, dir string) (*chart.Chart, error) {
	if err := limit.Ended(ctx); err != nil {
		return nil, err
	}
	files, err := r.files(dir, "Chart.yaml", "Chart.lock")
	if err != nil {
		return nil, err
	}
	c, err := loader.LoadFiles(files)
	if err == nil && c.Metadata.APIVersion == chart.APIVersionV1 {
		more, unread := r.files(dir, "requirements.yaml", "requirements.lock")
		if unread != nil {
			return nil, unread
		}
		c, err = loader.LoadFiles(append(files, more...))
	}
	if err != nil {
		return nil, nil
	}
	return c, nil
}

// files reads those of a chart's files that are there.
func (r *resolver) files(dir string, names ...string) ([]*loader.BufferedFile, error) {
	var files []*loader.BufferedFile
	for _, name := range names {
		data, err := r.read(path.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if stopped := (*limit.Error)(nil); errors.As(err, &stopped) {
			return nil, err
		}
		if err != nil {
			return nil, unmet("reading the chart: %s", err)
		}
		if err := lossless.CheckAliases(data); err != nil {
			return nil, fmt.Errorf("reading the chart: %s: %w", name, err)
		}
		files = append(files, &loader.BufferedFile{Name: name, Data: bytes.TrimPrefix(data, byteOrderMark)})
	}
	return files, nil
}

// read reads a file that says what a chart is, or what it depends on.
func (r *resolver) read(file string) ([]byte, error) {
	info, err := fs.Stat(r.root, file)
	if err != nil {
		return nil, err
	}
	if err := checkDeclaration(file, info.Size()); err != nil {
		return nil, err
	}
	if r.declared += info.Size(); r.declared > maxDeclarations {
		return nil, limit.New("%s and what was read before it of the charts in charts/ folders have more than %s: the files that say what a chart is", file, limit.Size(maxDeclarations))
	}
	return fs.ReadFile(r.root, file)
}

// missing are the places of the dependencies that charts/ does not have.
func (r *resolver) missing(ctx context.Context, c *chart.Chart, dir string) ([]int, error) {
	entries, err := fs.ReadDir(r.root, path.Join(dir, "charts"))
	if err != nil {
		entries = nil
	}
	held := map[string]bool{}
	for _, e := range entries {
		names, err := r.held(ctx, dir, e.Name())
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			held[name] = true
		}
	}
	var missing []int
	for i, d := range c.Metadata.Dependencies {
		if !held[d.Name] {
			missing = append(missing, i)
		}
	}
	return missing, nil
}

// held gives the names that the chart of an entry of charts/ may have: those of an archive as
// Helm names them, or the one in the Chart.yaml of another archive or of a folder.
func (r *resolver) held(ctx context.Context, dir, entry string) ([]string, error) {
	if strings.HasPrefix(entry, "_") || strings.HasPrefix(entry, ".") {
		return nil, nil
	}
	at := path.Join(dir, "charts", entry)
	if archive, ok := strings.CutSuffix(entry, ".tgz"); ok {
		if names := archiveNames(archive); len(names) > 0 {
			return names, nil
		}
		name, err := r.packed(ctx, at)
		return []string{name}, err
	}
	child, err := r.declaration(ctx, at)
	if unmet := (*UnmetError)(nil); err != nil && !errors.As(err, &unmet) {
		return nil, err
	}
	if err != nil || child == nil {
		return nil, nil // a file, or what loading it will say better
	}
	return []string{child.Name()}, nil
}

// archiveNames are the names that an archive called name-version can be of.
func archiveNames(archive string) []string {
	var names []string
	for i, c := range archive {
		if c != '-' {
			continue
		}
		if _, err := semver.StrictNewVersion(strings.TrimPrefix(archive[i+1:], "v")); err == nil {
			names = append(names, archive[:i])
		}
	}
	return names
}

// packed gives the name of the chart in an archive, "" when there is none.
func (r *resolver) packed(ctx context.Context, file string) (string, error) {
	if name, ok := r.names[file]; ok {
		return name, nil
	}
	if err := limit.Ended(ctx); err != nil {
		return "", err
	}
	if info, err := fs.Stat(r.root, file); err != nil || info.Size() > loader.MaxDecompressedFileSize {
		return "", nil // loading it will say better
	}
	data, err := fs.ReadFile(r.root, file)
	if err != nil {
		return "", nil
	}
	tooMuch := limit.New("%s has more than %s", file, limit.Size(loader.MaxDecompressedChartSize))
	files, came, err := filesOf(file, data, bounds{most: loader.MaxDecompressedChartSize, tooMuch: tooMuch})
	if err != nil {
		files = nil // loading it will say better
	}
	if r.unpacked += came; r.unpacked > maxUnpacked {
		return "", limit.New("the archives in charts/ whose names have no version have more than %s", limit.Size(maxUnpacked))
	}
	r.names[file] = nameOf(files)
	return r.names[file], nil
}

// nameOf gives the name of a chart that has these files, "" when it is none.
func nameOf(files []*loader.BufferedFile) string {
	at := slices.IndexFunc(files, func(f *loader.BufferedFile) bool { return f.Name == "Chart.yaml" })
	if at < 0 || checkDeclaration("", int64(len(files[at].Data))) != nil || lossless.CheckAliases(files[at].Data) != nil {
		return ""
	}
	c, err := loader.LoadFiles(files[at : at+1])
	if err != nil {
		return ""
	}
	return c.Name()
}

// locked gives the dependencies in the order of Chart.yaml, with the versions of the lock
// file if there is one.
func locked(c *chart.Chart) ([]Wanted, error) {
	dependencies := c.Metadata.Dependencies
	if c.Lock != nil {
		if !inSync(c) {
			return nil, unmet("the lock file of chart %s does not fit its dependencies any more; run `helm dependency update` and commit the lock file", c.Name())
		}
		dependencies = c.Lock.Dependencies
	}
	var wanted []Wanted
	for _, d := range dependencies {
		wanted = append(wanted, Wanted{Repository: d.Repository, Name: d.Name, Version: d.Version})
	}
	return wanted, nil
}

// inSync tells whether a lock file was made of these dependencies, as Helm does: it digests
// them together with what they were resolved to, names of repositories replaced by URLs.
// Version 2 of Helm digested the dependencies only.
func inSync(c *chart.Chart) bool {
	declared, lock := c.Metadata.Dependencies, c.Lock.Dependencies
	if len(declared) != len(lock) {
		return false
	}
	named := make([]*chart.Dependency, len(declared))
	for i, d := range declared {
		if lock[i] == nil || lock[i].Name != d.Name {
			return false
		}
		copied := *d
		if isName(d.Repository) {
			copied.Repository = lock[i].Repository
		}
		named[i] = &copied
	}
	if c.Lock.Digest == digestOf([2][]*chart.Dependency{named, lock}) {
		return true
	}
	return c.Metadata.APIVersion == chart.APIVersionV1 && c.Lock.Digest == digestOf(map[string][]*chart.Dependency{"dependencies": declared})
}

func isName(repository string) bool {
	return strings.HasPrefix(repository, "@") || strings.HasPrefix(repository, "alias:")
}

func digestOf(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	digest := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(digest[:])
}

// folder gives a new folder of a charts/ folder.
func (r *resolver) folder(dir, under, name string) string {
	// The prefix is for names that begin with _ or a dot, whose folders would be left out.
	folder := path.Join(under, "charts", "chart-"+strings.ReplaceAll(name, "/", "-"))
	for {
		_, err := fs.Stat(r.root, path.Join(dir, "charts", path.Base(folder)))
		taken := err == nil || slices.ContainsFunc(r.found, func(d Dependency) bool { return d.Folder == folder })
		if !taken {
			return folder
		}
		folder += "-"
	}
}

// remote finds a chart of a repository.
func (r *resolver) remote(c *chart.Chart, folder string, w Wanted) error {
	if w.Repository == "" || r.charts == nil {
		return notThere(c, false, strings.TrimSpace(w.Name+" "+w.Version))
	}
	content, ok := r.charts(w)
	if !ok {
		r.absent = append(r.absent, Absent{Wanted: w, Of: c.Name()})
	}
	d := Dependency{Folder: folder, Root: content.Root, Dir: ".", Packaged: true, Digest: content.Digest}
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(w.Version, "v")); err != nil && c.Lock == nil {
		d.Range = strings.TrimSpace(w.Name + " " + w.Version)
	}
	r.found = append(r.found, d)
	return nil
}

// local finds a chart in the same source, and its dependencies.
func (r *resolver) local(ctx context.Context, c *chart.Chart, dir, folder string, w Wanted, above []string) error {
	at, err := tree.Inside(dir, strings.TrimPrefix(w.Repository, "file://"))
	if err != nil {
		return unmet("chart %s depends on %s: %s", c.Name(), w.Repository, err)
	}
	if slices.Contains(above, at) || len(above) > maxNesting {
		return unmet("chart %s depends on %s, and charts that depend on one another do so in a circle, or more than %d deep", c.Name(), w.Repository, maxNesting)
	}
	child, err := r.declaration(ctx, at)
	if err != nil {
		return err
	}
	switch {
	case child == nil:
		return unmet("chart %s depends on %s, and there is no usable chart in the folder %s of the source", c.Name(), w.Repository, at)
	case child.Name() != w.Name || !chartutil.IsCompatibleRange(w.Version, child.Metadata.Version):
		return unmet("chart %s depends on %s %s at %s, where the chart %s %s is", c.Name(), w.Name, w.Version, w.Repository, child.Name(), child.Metadata.Version)
	}
	d := Dependency{Folder: folder, Root: r.root, Dir: at}
	if at != r.top && !strings.HasPrefix(at, r.top+"/") && r.top != "." {
		if d.Digest, err = r.digestOf(ctx, at); err != nil {
			return err
		}
	}
	r.found = append(r.found, d)
	return r.resolve(ctx, at, folder, above)
}

// digestOf gives the digest of a folder, which is read once.
func (r *resolver) digestOf(ctx context.Context, dir string) (string, error) {
	digest, ok := r.digests[dir]
	if ok {
		return digest, nil
	}
	digest, err := digestOfFiles(ctx, r.root, dir)
	if ended := limit.Ended(ctx); ended != nil {
		return "", ended
	}
	if err != nil {
		return "", unmet("reading the chart in the folder %s: %s", dir, err)
	}
	r.digests[dir] = digest
	return digest, nil
}

// digestOfFiles tells whether anything in a folder has changed.
func digestOfFiles(ctx context.Context, root fs.FS, dir string) (string, error) {
	all := sha256.New()
	err := tree.Walk(root, dir, func(string, fs.DirEntry) bool { return false }, func(name string, _ fs.DirEntry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := fs.ReadFile(root, path.Join(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(all, "%d %s %x\n", len(name), name, sha256.Sum256(data))
		return nil
	})
	return "sha256:" + hex.EncodeToString(all.Sum(nil)), err
}
