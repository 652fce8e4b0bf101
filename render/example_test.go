// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"errors"
	"fmt"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// target is a cluster that is known beforehand; others ask their API server.
type target struct{}

func (target) Capabilities(context.Context) (string, []string, error) {
	return "v1.37.2", []string{"v1", "v1/ConfigMap", "apps/v1", "apps/v1/Deployment"}, nil
}

func (target) Namespaced(_ context.Context, gvk schema.GroupVersionKind) (bool, error) {
	return gvk.Kind != "Namespace", nil
}

// A chart becomes objects. Content is any fs.FS: os.DirFS, an embedded one, or that of an
// artifact of the fetch module.
func ExampleRenderer_Render() {
	release := &corev1alpha1.Release{}
	release.Namespace, release.Name = "shop", "web"
	release.Spec.Render = &corev1alpha1.RenderSpec{Helm: &corev1alpha1.HelmRender{Values: raw(`{"greeting": "hello"}`)}}
	root := fstest.MapFS{
		"web/Chart.yaml":        {Data: []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n")},
		"web/values.yaml":       {Data: []byte("greeting: none\nuser: 1000650000\n")},
		"web/templates/cm.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {said: {{ .Values.greeting }}, user: {{ .Values.user | quote }}}\n")},
	}

	renderer := render.New(render.Options{})
	result, err := renderer.Render(context.Background(), render.Input{
		Release: release,
		Cluster: target{},
		// The digests say when content is another; here, it never is.
		Artifact: render.Artifact{Root: root, Path: "web", Digest: "sha256:web", RootDigest: "sha256:root", Revision: "main@sha1:0"},
	})
	var wrong *render.Error
	if errors.As(err, &wrong) {
		fmt.Println(wrong.Reason, wrong.Message) // content or configuration is at fault
	}
	if err != nil {
		return
	}
	for _, o := range result.Objects {
		fmt.Println(o.Object.GetKind(), o.Object.GetNamespace(), o.Object.GetName(), o.Object.Object["data"], "from", o.Origin)
	}
	// Output:
	// ConfigMap shop web map[said:hello user:1000650000] from web/templates/cm.yaml
}
