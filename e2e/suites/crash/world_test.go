// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/e2e/framework/gitserver"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// Releases of a world: one commit moves an object from one to the other.
const (
	app  = "app"
	heir = "heir"
)

// world is a namespace in which the story is told once.
type world struct {
	*scenario.Namespace
	commits []string
}

// newWorld makes the namespace. What convoy writes about it is in the ledger.
func (r *rig) newWorld(ctx context.Context) *world {
	GinkgoHelper()
	created, err := r.HostClient.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "crash-"}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	w := &world{Namespace: &scenario.Namespace{Suite: r.Suite, Name: created.Name}}
	w.Repo, err = gitserver.Create(ctx, filepath.Join(r.Dir, "git"), w.Name)
	Expect(err).NotTo(HaveOccurred())
	_, err = r.HostClient.CoreV1().Secrets(w.Name).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: scenario.Edge}, Data: map[string][]byte{"kubeconfig": r.kubeconfig},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return w
}

// end deletes what is left of the world: its Releases are gone.
func (w *world) end(ctx context.Context) error {
	gone := func(err error) error {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	return errors.Join(
		gone(w.HostClient.CoreV1().Namespaces().Delete(ctx, w.Name, metav1.DeleteOptions{})),
		gone(w.TargetClient.CoreV1().Namespaces().Delete(ctx, w.Name, metav1.DeleteOptions{})),
	)
}

// phase is a part of the story: something happens, and convoy has done its part when done says so.
type phase struct {
	name   string
	happen func(ctx context.Context, w *world)
	done   func(ctx context.Context, w *world) error
}

var (
	create = phase{name: "create", happen: makeReleases, done: synced}
	update = phase{name: "update", happen: commitChange, done: synced}
	remove = phase{name: "delete", happen: deleteReleases, done: removed}
)

// makeReleases makes two Releases, with all that they need.
func makeReleases(ctx context.Context, w *world) {
	GinkgoHelper()
	w.commits = append(w.commits, w.Commit(ctx, w.files()))
	_, err := w.API.CoreV1alpha1().Clusters(w.Name).Create(ctx, &corev1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: scenario.Edge},
		Spec: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeAgentless, Agentless: &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{
			Type:       corev1alpha1.ClusterAuthTypeKubeconfig,
			Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: scenario.Edge}},
		}}},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	_, err = w.API.SourceV1alpha1().GitRepositories(w.Name).Create(ctx, &sourcev1alpha1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Name: scenario.Repository},
		Spec:       sourcev1alpha1.GitRepositorySpec{URL: w.Git.RepositoryURL(w.Name)},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	for _, name := range []string{app, heir} {
		release := w.GitRelease(name, scenario.Edge, name)
		release.Spec.CreateNamespace, release.Spec.Sync.PruneCRDs = true, true
		if name == app {
			release.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Hooks: []corev1alpha1.Hook{
				{Name: "migrate", On: corev1alpha1.HookPreSync, Template: runtime.RawExtension{Raw: []byte(jobManifest)}},
				{Name: "after", On: corev1alpha1.HookPostSync, Template: passiveHook("after")},
				{Name: "before-end", On: corev1alpha1.HookPreDelete, Template: passiveHook("before-end")},
				{Name: "end", On: corev1alpha1.HookPostDelete, Template: passiveHook("end")},
			}}
		}
		w.Create(ctx, release)
	}
}

// commitChange changes, adds, removes and moves objects in one commit.
func commitChange(ctx context.Context, w *world) {
	GinkgoHelper()
	w.commits = append(w.commits, w.Commit(ctx, map[string]string{
		"app/changed.yaml": scenario.ConfigMap("changed", "v", "2"),
		"app/service.yaml": service(81),
		"app/new.yaml":     scenario.ConfigMap("new", "v", "1"),
		"heir/moving.yaml": scenario.ConfigMap("moving", "v", "2"),
	}, "app/gone.yaml", "app/kept.yaml", "app/moving.yaml"))
	for _, name := range []string{app, heir} {
		_, err := w.API.CoreV1alpha1().Releases(w.Name).Sync(ctx, name, corev1alpha1.ReleaseSyncOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
}

func deleteReleases(ctx context.Context, w *world) {
	GinkgoHelper()
	Expect(w.API.CoreV1alpha1().Releases(w.Name).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})).To(Succeed())
}

// synced tells whether the newest commit is delivered by both Releases.
func synced(ctx context.Context, w *world) error {
	releases, err := w.API.CoreV1alpha1().Releases(w.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	newest := w.commits[len(w.commits)-1]
	for _, release := range releases.Items {
		applied := release.Status.Applied
		if applied == nil || !strings.HasSuffix(applied.Revision, newest) {
			return fmt.Errorf("Release %s has not applied %s", release.Name, newest)
		}
		for _, name := range []string{corev1alpha1.ConditionReady, corev1alpha1.ConditionInSync} {
			if !meta.IsStatusConditionTrue(release.Status.Conditions, name) {
				return fmt.Errorf("Release %s is not %s: %+v", release.Name, name, release.Status.Conditions)
			}
		}
		if sync := release.Status.Sync; release.Annotations[corev1alpha1.AnnotationSyncRequestedAt] != "" &&
			(sync == nil || sync.LastHandledAt != release.Annotations[corev1alpha1.AnnotationSyncRequestedAt]) {
			return fmt.Errorf("Release %s was not synced as requested", release.Name)
		}
	}
	return nil
}

// removed tells whether the Releases are gone.
func removed(ctx context.Context, w *world) error {
	releases, err := w.API.CoreV1alpha1().Releases(w.Name).List(ctx, metav1.ListOptions{})
	if err == nil && len(releases.Items) > 0 {
		err = fmt.Errorf("%d Releases are left; %s: %+v", len(releases.Items), releases.Items[0].Name, releases.Items[0].Status.Conditions)
	}
	return err
}

// group is that of the world's own kind of custom resources.
func (w *world) group() string { return w.Name + ".example.test" }

// files are the first commit.
func (w *world) files() map[string]string {
	return map[string]string{
		"app/definition.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things." + w.group() + "}\n" +
			"spec: {group: " + w.group() + ", scope: Namespaced, names: {kind: Thing, plural: things, singular: thing, listKind: ThingList},\n" +
			"  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}\n",
		"app/thing.yaml":   "apiVersion: " + w.group() + "/v1\nkind: Thing\nmetadata: {name: thing}\nspec: {v: 1}\n",
		"app/secret.yaml":  "apiVersion: v1\nkind: Secret\nmetadata: {name: secret}\nstringData: {v: \"1\"}\n",
		"app/account.yaml": "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: account}\n",
		"app/service.yaml": service(80),
		"app/same.yaml":    scenario.ConfigMap("same", "v", "1"),
		"app/changed.yaml": scenario.ConfigMap("changed", "v", "1"),
		"app/gone.yaml":    scenario.ConfigMap("gone", "v", "1"),
		"app/moving.yaml":  scenario.ConfigMap("moving", "v", "1"),
		"app/kept.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, annotations: {" + corev1alpha1.AnnotationPrune + ": " +
			corev1alpha1.PruneDisabled + "}}\n",
		"app/last.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: last, annotations: {" + corev1alpha1.AnnotationStage + ": \"5\"}}\n",
		"heir/heir.yaml": scenario.ConfigMap("heir", "v", "1"),
	}
}

func service(port int) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: service}\nspec: {clusterIP: None, selector: {app: none}, ports: [{port: %d}]}\n", port)
}

const jobManifest = `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"migrate"},"spec":{"template":{"spec":{` +
	`"restartPolicy":"Never","containers":[{"name":"migrate","image":"registry.example.com/migrate:1"}]}}}}`

// passiveHook is a hook that has run as soon as its object is there.
func passiveHook(name string) runtime.RawExtension {
	return runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `"}}`)}
}
