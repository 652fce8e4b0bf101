// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/tools/txtar"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// The catalogue compares what convoy renders with what Helm and kustomize of the same
// versions give. testdata/catalogue/README.md tells how a case is written.

// a catalogueCase is one file of the catalogue.
type catalogueCase struct {
	name string
	// dir has the content, path is where in it the Release's content is.
	dir, path string
	release   *corev1alpha1.Release
	// differs is true when the reference gives something else on purpose; alone, when it is
	// not asked at all.
	differs, alone bool
	// wantError and wantObjects are what convoy gives, where that is written down.
	wantError, wantObjects string
}

// catalogue reads the cases of a folder of testdata/catalogue.
func catalogue(t *testing.T, folder string) []catalogueCase {
	t.Helper()
	g := NewWithT(t)
	names, err := filepath.Glob(filepath.Join("testdata", "catalogue", folder, "*.txtar"))
	g.Expect(err).NotTo(HaveOccurred())
	var cases []catalogueCase
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		g.Expect(err).NotTo(HaveOccurred())
		cases = append(cases, unpack(t, strings.TrimSuffix(filepath.Base(name), ".txtar"), archive))
	}
	return cases
}

func unpack(t *testing.T, name string, archive *txtar.Archive) catalogueCase {
	t.Helper()
	g := NewWithT(t)
	c := catalogueCase{name: name, dir: t.TempDir(), path: ".", release: release(t, "")}
	packed := map[string]map[string][]byte{}
	for _, f := range archive.Files {
		switch f.Name {
		case "release.yaml":
			c.release = release(t, string(f.Data))
		case "path":
			c.path = strings.TrimSpace(string(f.Data))
		case "differs":
			c.differs = true
		case "alone":
			c.alone = true
		case "error":
			c.wantError = strings.TrimSpace(string(f.Data))
		case "objects.yaml":
			c.wantObjects = string(f.Data)
		default:
			file, data := written(t, f)
			if archive, inside, ok := strings.Cut(file, ".tgz/"); ok {
				if packed[archive+".tgz"] == nil {
					packed[archive+".tgz"] = map[string][]byte{}
				}
				packed[archive+".tgz"][inside] = data
				continue
			}
			full := filepath.Join(c.dir, filepath.FromSlash(file))
			g.Expect(os.MkdirAll(filepath.Dir(full), 0o755)).To(Succeed())
			if strings.HasSuffix(f.Name, " (link)") {
				g.Expect(os.Symlink(strings.TrimSpace(string(data)), full)).To(Succeed())
				continue
			}
			g.Expect(os.WriteFile(full, data, 0o644)).To(Succeed())
		}
	}
	for file, content := range packed {
		full := filepath.Join(c.dir, filepath.FromSlash(file))
		g.Expect(os.MkdirAll(filepath.Dir(full), 0o755)).To(Succeed())
		g.Expect(os.WriteFile(full, pack(t, content), 0o644)).To(Succeed())
	}
	return c
}

// written gives the name and content of a file, in the form that its name asks for.
func written(t *testing.T, f txtar.File) (name string, data []byte) {
	t.Helper()
	name, form, _ := strings.Cut(f.Name, " ")
	switch form {
	case "", "(link)":
		return name, f.Data
	case "(crlf)":
		return name, bytes.ReplaceAll(f.Data, []byte("\n"), []byte("\r\n"))
	case "(bom)":
		return name, append([]byte("\xef\xbb\xbf"), f.Data...)
	case "(base64)":
		data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(f.Data)))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return name, data
	}
	t.Fatalf("%s: unknown form %s", f.Name, form)
	return "", nil
}

// pack makes an archive of files; archives among them are made first.
func pack(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	g := NewWithT(t)
	inner := map[string]map[string][]byte{}
	for name, data := range files {
		if archive, inside, ok := strings.Cut(name, ".tgz/"); ok {
			if inner[archive+".tgz"] == nil {
				inner[archive+".tgz"] = map[string][]byte{}
			}
			inner[archive+".tgz"][inside] = data
			delete(files, name)
		}
	}
	for name, content := range inner {
		files[name] = pack(t, content)
	}
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	w := tar.NewWriter(compressed)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		g.Expect(w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))})).To(Succeed())
		_, err := w.Write(files[name])
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(w.Close()).To(Succeed())
	g.Expect(compressed.Close()).To(Succeed())
	return out.Bytes()
}

// catalogueCluster serves what Helm says a cluster serves when it has none to ask.
type catalogueCluster struct{}

func (catalogueCluster) Capabilities(context.Context) (string, []string, error) {
	defaults := chartutil.DefaultCapabilities
	return defaults.KubeVersion.Version, defaults.APIVersions, nil
}

func (catalogueCluster) Namespaced(_ context.Context, gvk schema.GroupVersionKind) (bool, error) {
	return !slices.Contains(clusterScoped, gvk.Kind), nil
}

// run compares every case of a folder with what reference gives for it.
func runCatalogue(t *testing.T, folder string, atLeast int, reference func(*testing.T, catalogueCase) ([]map[string]any, error)) {
	cases := catalogue(t, folder)
	NewWithT(t).Expect(len(cases)).To(BeNumerically(">=", atLeast))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { compare(t, c, reference) })
	}
}

func compare(t *testing.T, c catalogueCase, reference func(*testing.T, catalogueCase) ([]map[string]any, error)) {
	g := NewWithT(t)
	root, err := os.OpenRoot(c.dir)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = root.Close() }()
	result, ourErr := render.New(render.Options{}).Render(t.Context(), render.Input{
		Release: c.release, Cluster: catalogueCluster{},
		Artifact: render.Artifact{Root: root.FS(), Path: c.path, Digest: "sha256:1", RootDigest: "sha256:2", Revision: "here"},
	})
	if c.wantError != "" {
		g.Expect(ourErr).To(MatchError(ContainSubstring(c.wantError)))
	} else {
		g.Expect(ourErr).NotTo(HaveOccurred())
	}
	ours := catalogued(t, result)
	if c.wantObjects != "" {
		g.Expect(ours).To(Equal(canonical(t, decodeAll(t, c.wantObjects), nil)))
	}
	if c.alone {
		return
	}
	objects, theirErr := reference(t, c)
	if c.differs {
		same := (ourErr != nil) == (theirErr != nil) && maps.Equal(ours, canonical(t, normalise(objects), result))
		g.Expect(same).To(BeFalse(), "the case says that there is a difference, and there is none")
		return
	}
	if ourErr != nil {
		g.Expect(theirErr).To(HaveOccurred(), "the reference renders what convoy refuses: %v", ourErr)
		return
	}
	g.Expect(theirErr).NotTo(HaveOccurred())
	g.Expect(ours).To(Equal(canonical(t, normalise(objects), result)))
	for _, o := range result.Objects {
		g.Expect(o.Origin).NotTo(BeEmpty())
		file, _, _ := strings.Cut(o.Origin, ",")
		if file = strings.TrimPrefix(file, chartName(t, c)+"/"); !strings.Contains(file, "charts/") {
			g.Expect(path.Join(c.dir, c.path, file)).To(Or(BeARegularFile(), WithTransform(func(string) string { return path.Join(c.dir, file) }, BeARegularFile())))
		}
	}
}

func chartName(t *testing.T, c catalogueCase) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, c.path, "Chart.yaml"))
	if err != nil {
		return ""
	}
	var chart struct{ Name string }
	NewWithT(t).Expect(yaml.Unmarshal(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), &chart)).To(Succeed())
	return chart.Name
}

// catalogued gives the objects of a Result, those of hooks too, by identity.
func catalogued(t *testing.T, result *render.Result) map[string]string {
	t.Helper()
	if result == nil {
		return map[string]string{}
	}
	var objects []map[string]any
	for _, o := range result.Objects {
		objects = append(objects, o.Object.Object)
	}
	for _, h := range slices.Concat(result.Hooks, result.OtherHooks) {
		objects = append(objects, h.Object.Object.Object)
	}
	return canonical(t, objects, result)
}

// canonical writes objects as YAML, by identity. Of those that result says are others each
// time, only the fields count.
func canonical(t *testing.T, objects []map[string]any, result *render.Result) map[string]string {
	t.Helper()
	unstable := map[string]bool{}
	if result != nil {
		for _, key := range result.NonDeterministic {
			unstable[key.Kind+" "+key.Namespace+"/"+key.Name] = true
		}
	}
	all := map[string]string{}
	for _, object := range objects {
		metadata, _ := object["metadata"].(map[string]any)
		namespace, _ := metadata["namespace"].(string)
		identity := fmt.Sprintf("%v %s/%v", object["kind"], namespace, metadata["name"])
		var value any = object
		if unstable[identity] {
			value = fieldsOnly(object)
		}
		text, err := json.MarshalIndent(value, "", " ")
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		if before, ok := all[identity]; ok && before != string(text) {
			identity += " (again)"
		}
		all[identity] = string(text)
	}
	return all
}

func fieldsOnly(value any) any {
	if fields, ok := value.(map[string]any); ok {
		only := map[string]any{}
		for key, inner := range fields {
			only[key] = fieldsOnly(inner)
		}
		return only
	}
	return fmt.Sprintf("%T", value)
}

// decodeAll decodes the documents of a stream, with the Kubernetes library's own reader.
func decodeAll(t *testing.T, stream string) []map[string]any {
	t.Helper()
	g := NewWithT(t)
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(stream)))
	var objects []map[string]any
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		g.Expect(err).NotTo(HaveOccurred())
		converted, err := yaml.YAMLToJSON(text)
		g.Expect(err).NotTo(HaveOccurred())
		decoder := json.NewDecoder(bytes.NewReader(converted))
		decoder.UseNumber()
		var object map[string]any
		g.Expect(decoder.Decode(&object)).To(Succeed())
		if object != nil {
			objects = append(objects, object)
		}
	}
}

// normalise gives objects as an applier that is not convoy would send them: the namespace
// of the release where none is named, and without what means nothing to an API server.
func normalise(objects []map[string]any) []map[string]any {
	var all []map[string]any
	for _, object := range objects {
		if items, ok := object["items"].([]any); ok && object["kind"] == "List" {
			for _, item := range items {
				all = append(all, normalise([]map[string]any{item.(map[string]any)})...)
			}
			continue
		}
		metadata := object["metadata"].(map[string]any)
		kind, _ := object["kind"].(string)
		if slices.Contains(clusterScoped, kind) {
			delete(metadata, "namespace")
		} else if metadata["namespace"] == nil {
			metadata["namespace"] = "team"
		}
		for _, field := range []string{"labels", "annotations"} {
			if entries, _ := metadata[field].(map[string]any); len(entries) == 0 {
				delete(metadata, field)
			}
		}
		delete(metadata, "creationTimestamp")
		delete(object, "status")
		if plain, ok := object["stringData"].(map[string]any); ok && kind == "Secret" {
			data, _ := object["data"].(map[string]any)
			if data == nil {
				data = map[string]any{}
			}
			for key, value := range plain {
				data[key] = base64.StdEncoding.EncodeToString([]byte(value.(string)))
			}
			delete(object, "stringData")
			object["data"] = data
		}
		all = append(all, object)
	}
	return all
}
