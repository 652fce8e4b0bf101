// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"io/fs"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
)

// secrets are Secrets of the namespace "team" by name.
type secrets map[string]map[string]string

func (s secrets) Secret(_ context.Context, namespace, name string) (map[string][]byte, error) {
	data, ok := s[name]
	if !ok || namespace != "team" {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
	}
	out := map[string][]byte{}
	for k, v := range data {
		out[k] = []byte(v)
	}
	return out, nil
}

type rig struct {
	*fetch.Coordinator
	clock *clocktesting.FakeClock
}

func newRig(t *testing.T, o fetch.Options) *rig {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	o.Clock = clock
	return &rig{Coordinator: fetch.New(o), clock: clock}
}

func ref(name string) *sourcev1alpha1.SecretReference {
	if name == "" {
		return nil
	}
	return &sourcev1alpha1.SecretReference{Name: name}
}

func meta() metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "team", Name: "src"} }

func gitWant(url, secret string, g corev1alpha1.GitSource) fetch.Want {
	return fetch.Want{
		Namespace: "team",
		Source:    &sourcev1alpha1.GitRepository{ObjectMeta: meta(), Spec: sourcev1alpha1.GitRepositorySpec{URL: url, SecretRef: ref(secret)}},
		Content:   corev1alpha1.ReleaseSource{Git: &g},
	}
}

func helmWant(url, secret, chart, version string) fetch.Want {
	return fetch.Want{
		Namespace: "team",
		Source:    &sourcev1alpha1.HelmRegistry{ObjectMeta: meta(), Spec: sourcev1alpha1.HelmRegistrySpec{URL: url, SecretRef: ref(secret)}},
		Content:   corev1alpha1.ReleaseSource{Helm: &corev1alpha1.HelmSource{Chart: chart, Version: version}},
	}
}

func ociWant(url, secret string, o corev1alpha1.OCISource) fetch.Want {
	return fetch.Want{
		Namespace: "team",
		Source:    &sourcev1alpha1.OCIRegistry{ObjectMeta: meta(), Spec: sourcev1alpha1.OCIRegistrySpec{URL: url, SecretRef: ref(secret), Insecure: true}},
		Content:   corev1alpha1.ReleaseSource{OCI: &o},
	}
}

// get resolves and fetches.
func (r *rig) get(t *testing.T, w fetch.Want) (*fetch.Artifact, error) {
	t.Helper()
	revision, _, err := r.Resolve(t.Context(), w)
	if err != nil {
		return nil, err
	}
	return r.Fetch(t.Context(), w, revision)
}

func read(a *fetch.Artifact, name string) (string, error) {
	data, err := fs.ReadFile(a.Root, name)
	return string(data), err
}
