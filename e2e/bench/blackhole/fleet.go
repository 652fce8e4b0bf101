// SPDX-License-Identifier: Apache-2.0

package blackhole

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/e2e/bench/benchmark"
	"kumodo.io/convoy/e2e/bench/stand"
	"kumodo.io/convoy/e2e/framework/gitserver"
	"kumodo.io/convoy/e2e/framework/tcpproxy"
)

const (
	namespace  = "bench"
	repository = "apps"
	lost       = "lost" // the Cluster that loses packets
)

// fleet is ten Clusters, all of them the host itself, with their Releases. To the last of
// them there is a way of its own.
type fleet struct {
	sizes  sizes
	api    versioned.Interface
	kube   kubernetes.Interface
	git    *gitserver.Server
	repo   *gitserver.Repository
	way    *tcpproxy.Proxy
	others []string // Releases of the nine
	lost   []string // Releases of the tenth
}

// newFleet gives the fleet when all Releases are applied.
func newFleet(ctx context.Context, st *stand.Stand, z sizes, settings benchmark.Settings) (_ *fleet, err error) {
	f := &fleet{sizes: z}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close(ctx))
		}
	}()
	if f.api, err = versioned.NewForConfig(st.Admin()); err != nil {
		return nil, err
	}
	if f.kube, err = kubernetes.NewForConfig(st.Admin()); err != nil {
		return nil, err
	}
	root := filepath.Join(settings.Dir, "git")
	if f.git, err = gitserver.Start(gitserver.Options{Root: root, Log: settings.Log}); err != nil {
		return nil, err
	}
	if f.repo, err = gitserver.Create(ctx, root, repository); err != nil {
		return nil, err
	}
	if f.way, err = tcpproxy.Start(strings.TrimPrefix(st.Host.URL(), "https://")); err != nil {
		return nil, err
	}
	for i := range z.clusters {
		f.others = append(f.others, f.names(clusterName(i), z.releases)...)
	}
	f.lost = f.names(lost, z.lost)
	commit, err := f.commit(ctx, "first")
	if err != nil {
		return nil, err
	}
	if err := f.surroundings(ctx, st); err != nil {
		return nil, err
	}
	return f, f.deliver(ctx, commit)
}

func (f *fleet) close(ctx context.Context) error {
	var errs []error
	if f.way != nil {
		errs = append(errs, f.way.Close())
	}
	if f.git != nil {
		errs = append(errs, f.git.Close(context.WithoutCancel(ctx)))
	}
	return errors.Join(errs...)
}

func clusterName(i int) string { return fmt.Sprintf("cluster-%d", i) }

// names are those of the Releases of a cluster.
func (f *fleet) names(cluster string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", cluster, i)
	}
	return names
}

func clusterOf(release string) string { return release[:strings.LastIndex(release, "-")] }

// commit gives every object of every Release a value.
func (f *fleet) commit(ctx context.Context, value string) (string, error) {
	files := map[string]string{}
	for _, names := range [][]string{f.others, f.lost} {
		for _, name := range names {
			for i := range f.sizes.objects {
				files[fmt.Sprintf("%s/%d.yaml", name, i)] = fmt.Sprintf(
					"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%d}\ndata: {value: %q}\n", name, i, value)
			}
		}
	}
	return f.repo.Commit(ctx, gitserver.Commit{Write: files})
}

// surroundings makes the namespace, the repository and the Clusters.
func (f *fleet) surroundings(ctx context.Context, st *stand.Stand) error {
	if _, err := f.kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := f.api.SourceV1alpha1().GitRepositories(namespace).Create(ctx, &sourcev1alpha1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Name: repository}, Spec: sourcev1alpha1.GitRepositorySpec{URL: f.git.RepositoryURL(repository)},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	kubeconfig, err := os.ReadFile(st.Host.AdminKubeconfig())
	if err != nil {
		return err
	}
	direct := string(kubeconfig)
	for i := range f.sizes.clusters {
		if err := f.cluster(ctx, clusterName(i), direct); err != nil {
			return err
		}
	}
	return f.cluster(ctx, lost, strings.ReplaceAll(direct, st.Host.URL(), "https://"+f.way.Address()))
}

// cluster makes a Cluster and its Secret.
func (f *fleet) cluster(ctx context.Context, name, kubeconfig string) error {
	if _, err := f.kube.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{corev1alpha1.DefaultKubeconfigKey: kubeconfig},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := f.api.CoreV1alpha1().Clusters(namespace).Create(ctx, &corev1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1alpha1.ClusterSpec{Agentless: &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{
			Type:       corev1alpha1.ClusterAuthTypeKubeconfig,
			Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: name}},
		}}},
	}, metav1.CreateOptions{})
	return err
}

// deliver makes the Releases and waits until they are applied.
func (f *fleet) deliver(ctx context.Context, commit string) error {
	progress, err := f.follow(ctx, commit)
	if err != nil {
		return err
	}
	defer progress.Stop()
	seldom := &metav1.Duration{Duration: 24 * time.Hour}
	all := append(append([]string{}, f.others...), f.lost...)
	for _, name := range all {
		_, err := f.api.CoreV1alpha1().Releases(namespace).Create(ctx, &corev1alpha1.Release{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1alpha1.ReleaseSpec{
				ClusterRef: corev1alpha1.LocalReference{Name: clusterOf(name)},
				Source: corev1alpha1.ReleaseSource{Git: &corev1alpha1.GitSource{
					RepositoryRef: corev1alpha1.LocalReference{Name: repository}, Ref: corev1alpha1.GitRef{Branch: gitserver.DefaultBranch}, Path: name,
				}},
				Sync: corev1alpha1.SyncSpec{Interval: seldom},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}
	_, err = progress.until(ctx, all)
	return err
}
