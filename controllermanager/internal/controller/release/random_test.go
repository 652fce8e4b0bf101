// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"testing"
	"testing/fstest"
	"time"

	. "github.com/onsi/gomega"
	"gocloud.dev/blob/memblob"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/store"
)

// chartSource has a chart with random values, an upgrade hook and an installation hook.
type chartSource struct{ *source }

func (chartSource) Fetch(_ context.Context, _ fetch.Want, revision string) (*fetch.Artifact, error) {
	return &fetch.Artifact{Revision: revision, Path: ".", Digest: "sha256:" + revision, RootDigest: "sha256:" + revision, Root: fstest.MapFS{
		"Chart.yaml":       {Data: []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n")},
		"templates/a.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {password: {{ randAlphaNum 16 | quote }}}\n")},
		"templates/i.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: in, annotations: {helm.sh/hook: pre-install}}\n")},
		"templates/u.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: up, annotations: {helm.sh/hook: pre-upgrade}}\n")},
	}}, nil
}

// The first render stays what is desired, also when it was an installation.
func TestRandomValuesStayAfterARestart(t *testing.T) {
	w := newWorld(t, newRelease())
	w.config.Renders = store.New(store.Place{Bucket: memblob.OpenBucket(nil), Name: "mem://"}, store.Options{Installation: "here"})
	w.source.offers("main@1")
	w.config.Fetcher = chartSource{w.source}
	w.renderings.engine, w.renderings.patience = render.New(render.Options{}), time.Minute
	for range 3 {
		w.pass()
		w.observe()
	}
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("True Ready"))
	w.Expect(w.condition(corev1alpha1.ConditionRendered)).To(Equal("True NonDeterministicRender"))
	applied := w.release().Status.Applied.Render
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply in", "apply a"}))

	for range 2 { // restarts
		w.renderings.engine = render.New(render.Options{})
		for range 2 {
			w.pass()
			w.observe()
		}
		w.Expect(w.release().Status.Applied.Render).To(Equal(applied))
		w.Expect(w.target.takeCalls()).To(BeEmpty())
	}
}
