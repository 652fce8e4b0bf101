// SPDX-License-Identifier: Apache-2.0

package versioned_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/client/clientset/versioned/fake"
	typedfake "kumodo.io/convoy/client/clientset/versioned/typed/core/v1alpha1/fake"
)

// TestSubresources checks what each method sends.
func TestSubresources(t *testing.T) {
	const base = "/apis/core.convoy.kumodo.io/v1alpha1/namespaces/team/releases/web/"
	release := &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Method + " " + r.URL.RequestURI()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"core.convoy.kumodo.io/v1alpha1","kind":"Release","metadata":{"name":"web"}}`))
	}))
	defer server.Close()
	client, err := versioned.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	releases := client.CoreV1alpha1().Releases("team")
	ctx := t.Context()
	for _, test := range []struct {
		want string
		call func() error
	}{
		{"POST " + base + "sync", func() error { _, err := releases.Sync(ctx, "web", corev1alpha1.ReleaseSyncOptions{}); return err }},
		{"POST " + base + "sync?dryRun=All&force=true", func() error {
			_, err := releases.Sync(ctx, "web", corev1alpha1.ReleaseSyncOptions{Force: true, DryRun: []string{metav1.DryRunAll}})
			return err
		}},
		{"GET " + base + "preview?revision=v1", func() error {
			_, err := releases.Preview(ctx, "web", corev1alpha1.ReleasePreviewOptions{Revision: "v1"})
			return err
		}},
		{"GET " + base + "diff?from=live&to=3", func() error {
			_, err := releases.Diff(ctx, "web", corev1alpha1.ReleaseDiffOptions{From: "live", To: "3"})
			return err
		}},
		{"GET " + base + "health", func() error { _, err := releases.Health(ctx, "web", corev1alpha1.ReleaseHealthOptions{}); return err }},
		{"GET " + base + "history?id=3", func() error {
			_, err := releases.History(ctx, "web", corev1alpha1.ReleaseHistoryOptions{ID: "3"})
			return err
		}},
		{"GET " + base + "values?revision=v1", func() error {
			_, err := releases.Values(ctx, "web", corev1alpha1.ReleaseValuesOptions{Revision: "v1"})
			return err
		}},
		{"PUT " + base + "pin", func() error { _, err := releases.UpdatePin(ctx, "web", release, metav1.UpdateOptions{}); return err }},
		{"PUT " + base + "lifecycle", func() error {
			_, err := releases.UpdateLifecycle(ctx, "web", release, metav1.UpdateOptions{})
			return err
		}},
	} {
		t.Run(test.want, func(t *testing.T) {
			got = ""
			if err := test.call(); err != nil {
				t.Error(err)
			}
			if got != test.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestFakeRecordsSubresources(t *testing.T) {
	client := fake.NewSimpleClientset()
	releases := client.CoreV1alpha1().Releases("team")
	if _, err := releases.Sync(t.Context(), "web", corev1alpha1.ReleaseSyncOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	action := client.Actions()[0]
	request := action.(clienttesting.GenericAction).GetValue().(typedfake.SubresourceRequest)
	if !action.Matches("create", "releases/sync") || request.Name != "web" || !request.Options.(*corev1alpha1.ReleaseSyncOptions).Force {
		t.Errorf("recorded %v", action)
	}
	client.PrependReactor("get", "releases/health", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &corev1alpha1.ReleaseHealth{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, nil
	})
	health, err := releases.Health(t.Context(), "web", corev1alpha1.ReleaseHealthOptions{})
	if err != nil || health.Name != "web" {
		t.Errorf("got %v, %v", health, err)
	}
}
