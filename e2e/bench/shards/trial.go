// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/e2e/bench/benchmark"
	"kumodo.io/convoy/e2e/bench/parallel"
	"kumodo.io/convoy/e2e/bench/report"
	"kumodo.io/convoy/e2e/bench/stand"
	"kumodo.io/convoy/e2e/framework/gitserver"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/framework/poll"
)

const (
	// namespace of the Releases, on the host, and of the objects, on the target.
	namespace  = "shared"
	target     = "target" // the Secret of the one target of all Clusters
	repository = "fleet"
	// clients is how many requests are made at once.
	clients = 16
	// waitTimeout bounds what is waited for: far more than anything takes.
	waitTimeout = 20 * time.Minute
)

// trial is the stand with the replicas.
type trial struct {
	sizes    sizes
	settings benchmark.Settings
	report   *report.Report
	stand    *stand.Stand
	git      *gitserver.Server
	repo     *gitserver.Repository
	api      versioned.Interface
	host     kubernetes.Interface // the administrator of the host
	target   kubernetes.Interface // likewise
	replicas map[string][]*replica
	clusters [][]string // names of the Clusters of each shard
	empty    map[string]memory
	commits  int
	made     bool // the Releases are there
}

func newTrial(ctx context.Context, z sizes, settings benchmark.Settings) (_ *trial, err error) {
	t := &trial{sizes: z, settings: settings, replicas: map[string][]*replica{}}
	t.stand, err = stand.Start(ctx, stand.Options{
		Dir: settings.Dir, Target: true, Log: settings.Log, Only: []string{installation.APIServer}, Built: controllers,
		Args: map[string][]string{installation.APIServer: append([]string{fmt.Sprintf("--shards=%d", shards)}, settings.Args...)},
	})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(t.content(ctx), t.connect(ctx)); err != nil {
		return nil, errors.Join(err, t.stop(ctx))
	}
	return t, nil
}

// releaseName of the n-th Release, whose folder in the repository has the same name.
func releaseName(n int) string { return fmt.Sprintf("release-%04d", n) }

// shardOf is the shard of the n-th Release.
func shardOf(n int) int { return n % shards }

// file is the one file of a Release: ConfigMaps of 1 KiB, the first with a value.
func file(name, value string) string {
	var list []string
	for n := range objectsOfOne {
		list = append(list, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%d}\ndata: {value: %q, text: %q}\n",
			name, n, value, strings.Repeat("0123456789abcdef", 64)))
	}
	return strings.Join(list, "---\n")
}

// content commits the manifests of all Releases to a repository and serves it.
func (t *trial) content(ctx context.Context) (err error) {
	root := filepath.Join(t.settings.Dir, "git")
	if t.repo, err = gitserver.Create(ctx, root, repository); err != nil {
		return err
	}
	files := map[string]string{}
	for n := range t.sizes.releases {
		files[releaseName(n)+"/all.yaml"] = file(releaseName(n), "0")
	}
	if _, err := t.repo.Commit(ctx, gitserver.Commit{Write: files}); err != nil {
		return err
	}
	t.git, err = gitserver.Start(gitserver.Options{Root: root, Log: t.settings.Log})
	return err
}

// connect makes the clients, the namespaces and what Releases refer to.
func (t *trial) connect(ctx context.Context) error {
	config, err := t.stand.Target.RESTConfig()
	if err != nil {
		return err
	}
	admin := t.stand.Admin()
	var err1, err2, err3 error
	t.target, err1 = kubernetes.NewForConfig(config)
	t.host, err2 = kubernetes.NewForConfig(admin)
	t.api, err3 = versioned.NewForConfig(admin)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	for _, kube := range []kubernetes.Interface{t.target, t.host} {
		if _, err := kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	kubeconfig, err := os.ReadFile(t.stand.Target.AdminKubeconfig())
	if err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: target}, Data: map[string][]byte{"kubeconfig": kubeconfig}}
	if _, err := t.host.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err = t.api.SourceV1alpha1().GitRepositories(namespace).Create(ctx, &sourcev1alpha1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Name: repository}, Spec: sourcev1alpha1.GitRepositorySpec{URL: t.git.RepositoryURL(repository)},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return t.makeClusters(ctx)
}

// makeClusters makes Clusters until each shard has enough, and deletes what is too much.
func (t *trial) makeClusters(ctx context.Context) error {
	t.clusters = make([][]string, shards)
	api := t.api.CoreV1alpha1().Clusters(namespace)
	for n, complete := 0, 0; complete < shards; n++ {
		created, err := api.Create(ctx, &corev1alpha1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("cluster-%03d", n)},
			Spec: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeAgentless, Agentless: &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{
				Type:       corev1alpha1.ClusterAuthTypeKubeconfig,
				Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: target}},
			}}},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		shard, err := strconv.Atoi(created.Labels[corev1alpha1.LabelShard])
		if err != nil {
			return fmt.Errorf("the shard of Cluster %s: %w", created.Name, err)
		}
		if len(t.clusters[shard]) == clustersOfOne {
			if err := api.Delete(ctx, created.Name, metav1.DeleteOptions{}); err != nil {
				return err
			}
			continue
		}
		if t.clusters[shard] = append(t.clusters[shard], created.Name); len(t.clusters[shard]) == clustersOfOne {
			complete++
		}
	}
	return nil
}

// deliver has all Releases made, applied and in sync, if they are not.
func (t *trial) deliver(ctx context.Context) error {
	if t.made {
		return nil
	}
	t.made = true
	err := parallel.Do(ctx, clients, t.sizes.releases, func(ctx context.Context, n int) error {
		_, err := t.api.CoreV1alpha1().Releases(namespace).Create(ctx, &corev1alpha1.Release{
			ObjectMeta: metav1.ObjectMeta{Name: releaseName(n)},
			Spec: corev1alpha1.ReleaseSpec{
				ClusterRef: corev1alpha1.LocalReference{Name: t.clusters[shardOf(n)][n/shards%clustersOfOne]},
				Source: corev1alpha1.ReleaseSource{Git: &corev1alpha1.GitSource{
					RepositoryRef: corev1alpha1.LocalReference{Name: repository}, Ref: corev1alpha1.GitRef{Branch: gitserver.DefaultBranch}, Path: releaseName(n),
				}},
			},
		}, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	return poll.Until(ctx, time.Second, func(ctx context.Context) error {
		list, err := t.api.CoreV1alpha1().Releases(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		not := t.sizes.releases
		for _, one := range list.Items {
			if meta.IsStatusConditionTrue(one.Status.Conditions, corev1alpha1.ConditionReady) && meta.IsStatusConditionTrue(one.Status.Conditions, corev1alpha1.ConditionInSync) {
				not--
			}
		}
		if not > 0 {
			return fmt.Errorf("%d Releases are not applied and in sync", not)
		}
		return nil
	})
}

func (t *trial) stop(ctx context.Context) error {
	errs := []error{t.stand.Err()}
	for _, controller := range controllers {
		for _, one := range t.replicas[controller] {
			errs = append(errs, one.end(ctx))
		}
	}
	if t.git != nil {
		errs = append(errs, t.git.Close(ctx))
	}
	return errors.Join(append(errs, t.stand.Stop(ctx))...)
}
