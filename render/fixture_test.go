// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// cluster knows some kinds.
type cluster struct {
	version string
	asked   atomic.Int32
	failing error
}

var clusterScoped = []string{"Namespace", "ClusterRole", "CustomResourceDefinition", "APIService", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"}

func (c *cluster) Capabilities(context.Context) (string, []string, error) {
	if c.version == "" {
		return "v1.37.2", []string{"apps/v1", "apps/v1/Deployment", "v1", "v1/ConfigMap"}, c.failing
	}
	return c.version, nil, c.failing
}

func (c *cluster) Namespaced(_ context.Context, gvk schema.GroupVersionKind) (bool, error) {
	c.asked.Add(1)
	if c.failing != nil {
		return false, c.failing
	}
	if strings.HasSuffix(gvk.Group, ".test") && gvk.Group != "known.test" {
		return false, fmt.Errorf("discovery: %w", &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}})
	}
	return !slices.Contains(clusterScoped, gvk.Kind), nil
}

// secrets are References with Secrets only.
type secrets map[string]map[string][]byte

func (secrets) ConfigMap(context.Context, string, string) (map[string]string, error) {
	panic("not asked for")
}
func (s secrets) Secret(_ context.Context, _, name string) (map[string][]byte, error) {
	return s[name], nil
}
func (secrets) File(context.Context, string, corev1alpha1.ValuesReference) ([]byte, error) {
	panic("not asked for")
}
func (secrets) Chart(context.Context, string, render.Dependency) (render.Artifact, error) {
	panic("not asked for")
}

// content makes an artifact of files; the Release's content is at path.
func content(path string, files map[string]string) render.Artifact {
	root := fstest.MapFS{}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		root[name] = &fstest.MapFile{Data: []byte(files[name])}
		fmt.Fprintf(sum, "%s\x00%s\x00", name, files[name])
	}
	digest := "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return render.Artifact{Root: root, Path: path, Digest: digest, RootDigest: digest, Revision: "main@sha1:0000000000000000000000000000000000000000"}
}

// release makes a Release of the YAML of its spec.
func release(t *testing.T, spec string) *corev1alpha1.Release {
	t.Helper()
	r := &corev1alpha1.Release{}
	r.Namespace, r.Name = "team", "web"
	NewWithT(t).Expect(yaml.UnmarshalStrict([]byte(spec), &r.Spec)).To(Succeed())
	return r
}

// input makes an Input of files at the root and the YAML of a spec.
func input(t *testing.T, spec string, files map[string]string) render.Input {
	t.Helper()
	return render.Input{Release: release(t, spec), Artifact: content(".", files), Cluster: &cluster{}}
}

func rendered(t *testing.T, in render.Input) *render.Result {
	t.Helper()
	result, err := render.New(render.Options{}).Render(t.Context(), in)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return result
}

// failed renders, and gives the Error.
func failed(t *testing.T, in render.Input) *render.Error {
	t.Helper()
	g := NewWithT(t)
	_, err := render.New(render.Options{}).Render(t.Context(), in)
	var known *render.Error
	g.Expect(err).To(BeAssignableToTypeOf(known))
	return err.(*render.Error)
}

func described(objects []render.Object) []string {
	var all []string
	for _, o := range objects {
		all = append(all, describe(o.Object))
	}
	return all
}

func describe(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return o.GetKind() + " " + o.GetName()
	}
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}

func raw(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

const chartYAML = "apiVersion: v2\nname: web\nversion: 1.0.0\n"

func configMap(name string, rest ...string) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n" + strings.Join(rest, "\n") + "\n"
}
