// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/e2e/bench/benchmark"
	"kumodo.io/convoy/e2e/bench/meter"
	"kumodo.io/convoy/e2e/bench/report"
	"kumodo.io/convoy/e2e/bench/stand"
	"kumodo.io/convoy/e2e/framework/gitserver"
	"kumodo.io/convoy/e2e/framework/installation"
)

// namespace of the Releases, on the host, and of the objects, on the target; those of the
// bare client go to bareNamespace.
const (
	namespace     = "delivered"
	bareNamespace = "bare"
)

// trial is the stand with what is delivered from and to.
type trial struct {
	sizes    sizes
	settings benchmark.Settings
	report   *report.Report
	stand    *stand.Stand
	git      *gitserver.Server
	repo     *gitserver.Repository
	releases *releases
	target   dynamic.Interface // the administrator of the target
	meter    *meter.Meter
	// toTarget and toConvoy count requests to the target and to convoy's API.
	toTarget, toConvoy, manager meter.Process
	delivered                   bool // the many Releases are there
}

func newTrial(ctx context.Context, z sizes, settings benchmark.Settings) (_ *trial, err error) {
	t := &trial{sizes: z, settings: settings}
	t.stand, err = stand.Start(ctx, stand.Options{
		Dir: settings.Dir, Target: true, Log: settings.Log, Args: map[string][]string{installation.APIServer: settings.Args},
	})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(t.content(ctx), t.connect(ctx)); err != nil {
		return nil, errors.Join(err, t.stop(ctx))
	}
	return t, nil
}

// content commits the manifests of all Releases to a repository and serves it.
func (t *trial) content(ctx context.Context) (err error) {
	root := filepath.Join(t.settings.Dir, "git")
	if t.repo, err = gitserver.Create(ctx, root, "fleet"); err != nil {
		return err
	}
	files := map[string]string{}
	for n := range t.sizes.releases {
		name := releaseName(n)
		files[name+"/all.yaml"] = file(manifests(name, "0"))
	}
	for n, list := range largeFiles(t.sizes.large) {
		files[fmt.Sprintf("%s/%03d.yaml", largeName, n)] = file(list)
	}
	if _, err = t.repo.Commit(ctx, gitserver.Commit{Write: files}); err != nil {
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
	config.QPS = -1
	targetKube, err1 := kubernetes.NewForConfig(config)
	dynamicClient, err2 := dynamic.NewForConfig(config)
	admin := t.stand.Admin()
	admin.QPS = -1
	hostKube, err3 := kubernetes.NewForConfig(admin)
	api, err4 := versioned.NewForConfig(admin)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	t.target, t.releases = dynamicClient, &releases{api: api}
	for kube, names := range map[kubernetes.Interface][]string{targetKube: {namespace, bareNamespace}, hostKube: {namespace}} {
		for _, name := range names {
			if _, err := kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
				return err
			}
		}
	}
	if err := t.references(ctx, hostKube, api); err != nil {
		return err
	}
	return t.measured(ctx)
}

const (
	clusterName    = "target"
	repositoryName = "fleet"
)

// references makes the Cluster, another one of the same target, and the GitRepository.
func (t *trial) references(ctx context.Context, kube kubernetes.Interface, api versioned.Interface) error {
	kubeconfig, err := os.ReadFile(t.stand.Target.AdminKubeconfig())
	if err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: clusterName}, Data: map[string][]byte{"kubeconfig": kubeconfig}}
	if _, err := kube.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, name := range []string{clusterName, stuckName} {
		cluster := &corev1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1alpha1.ClusterSpec{
			Mode: corev1alpha1.ClusterModeAgentless,
			Agentless: &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{
				Type:       corev1alpha1.ClusterAuthTypeKubeconfig,
				Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: clusterName}},
			}},
		}}
		if _, err := api.CoreV1alpha1().Clusters(namespace).Create(ctx, cluster, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	repository := &sourcev1alpha1.GitRepository{ObjectMeta: metav1.ObjectMeta{Name: repositoryName}, Spec: sourcev1alpha1.GitRepositorySpec{URL: t.git.RepositoryURL("fleet")}}
	_, err = api.SourceV1alpha1().GitRepositories(namespace).Create(ctx, repository, metav1.CreateOptions{})
	return err
}

// measured names the processes whose costs are told.
func (t *trial) measured(ctx context.Context) error {
	host, err1 := t.stand.HostServer()
	target, err2 := t.stand.TargetServer()
	convoy, err3 := t.stand.ConvoyServer()
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	t.toTarget, t.toConvoy, t.manager = target.Process(requests()...), convoy.Process(toConvoy()...), t.stand.Controllers(installation.ControllerManager, passes()...)
	var err error
	t.meter, err = meter.New(ctx, host.Process(), target.Process(), convoy.Process(), t.stand.Controllers(installation.ControllerManager),
		t.stand.Controllers(installation.Observer), meter.Process{Name: "client", PID: os.Getpid()})
	return err
}

// memory adds what each process holds at the end.
func (t *trial) memory() error {
	usages, err := t.meter.Memory()
	if err != nil {
		return err
	}
	for _, name := range []string{installation.APIServer, installation.ControllerManager, installation.Observer} {
		t.figure(name, "resident at the end", "MiB", []float64{float64(usages[name].Resident >> 20)})
		t.figure(name, "resident at most", "MiB", []float64{float64(usages[name].Peak >> 20)})
	}
	return nil
}

func (t *trial) stop(ctx context.Context) error {
	errs := []error{t.stand.Err()}
	if t.git != nil {
		errs = append(errs, t.git.Close(ctx))
	}
	return errors.Join(append(errs, t.stand.Stop(ctx))...)
}

// bare gives the objects of all Releases for the bare client.
func (t *trial) bare() ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for n := range t.sizes.releases {
		objects, err := decoded(bareNamespace, manifests(releaseName(n), "0"))
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}
