// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

const (
	installation = "home"
	// settingsPath is where the server keeps the object of settings.
	settingsPath = "api/v1/namespaces/shop/configmaps/settings"
	widgetPath   = "apis/ex.test/v1/namespaces/shop/widgets/w"
)

// manifest makes an unstructured object of YAML.
func manifest(text string) *unstructured.Unstructured {
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		panic(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		panic(err)
	}
	return u
}

// rendered makes a rendered object of YAML.
func rendered(text string) render.Object {
	obj := manifest(text)
	sum := sha256.Sum256([]byte(text))
	return render.Object{Object: obj, Digest: hex.EncodeToString(sum[:]), Origin: "app.yaml", Keep: kept(obj) != ""}
}

// settings is a ConfigMap with the given data, in YAML's flow form.
func settings(data string) render.Object {
	return rendered("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: " + data + "}")
}

func release(change ...func(*corev1alpha1.Release)) *corev1alpha1.Release {
	r := &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "shop"}}
	for _, c := range change {
		c(r)
	}
	return r
}

func named(name string) func(*corev1alpha1.Release) {
	return func(r *corev1alpha1.Release) { r.Name = name }
}

func failOnConflict(r *corev1alpha1.Release) { r.Spec.Sync.Conflicts = corev1alpha1.ConflictsFail }

func adoptFrom(managers string) func(*corev1alpha1.Release) {
	return func(r *corev1alpha1.Release) {
		r.Annotations = map[string]string{corev1alpha1.AnnotationAdoptFrom: managers}
	}
}

func replaceImmutable(r *corev1alpha1.Release) { r.Spec.Sync.Replace = corev1alpha1.ReplaceOnImmutable }

func ignoring(paths ...string) func(*corev1alpha1.Release) {
	return func(r *corev1alpha1.Release) {
		r.Spec.Drift = &corev1alpha1.DriftSpec{Ignore: []corev1alpha1.DriftIgnore{{Paths: paths}}}
	}
}

func applier(s *apiServer, r *corev1alpha1.Release, inventory ...corev1alpha1.InventoryEntry) *Applier {
	return New(s, Options{Installation: installation, Release: r, Inventory: inventory})
}

// ahead is the entry of an object that was not applied yet.
func ahead(o render.Object) corev1alpha1.InventoryEntry {
	return corev1alpha1.InventoryEntry{ObjectKey: o.Key(), Stage: o.Stage, Keep: o.Keep}
}

// apply1 applies one object and demands success.
func apply1(t *testing.T, a *Applier, o render.Object) corev1alpha1.InventoryEntry {
	t.Helper()
	result := a.Apply(context.Background(), []render.Object{o})[0]
	NewWithT(t).Expect(result.Err).NotTo(HaveOccurred())
	e := ahead(o)
	e.UID, e.Digest = result.UID, result.Digest
	return e
}

// asOther is a release of another name on the same server.
func asOther(s *apiServer) *Applier { return applier(s, release(named("other"))) }

// lines joins requests for messages of matchers.
func lines(text ...string) string { return strings.Join(text, "\n") }
