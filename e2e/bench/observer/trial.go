// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/e2e/bench/benchmark"
	"kumodo.io/convoy/e2e/bench/meter"
	"kumodo.io/convoy/e2e/bench/parallel"
	"kumodo.io/convoy/e2e/bench/report"
	"kumodo.io/convoy/e2e/bench/stand"
	"kumodo.io/convoy/e2e/framework/gitserver"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/framework/poll"
)

const (
	// namespace of the Releases, on the host, and of the objects, on the target.
	namespace  = "observed"
	cluster    = "target"
	repository = "fleet"
	// clients is how many requests are made at once.
	clients = 16
	// waitTimeout bounds what is waited for: far more than anything takes.
	waitTimeout = 20 * time.Minute
)

// trial is the stand with what is delivered from and to.
type trial struct {
	sizes    sizes
	settings benchmark.Settings
	report   *report.Report
	stand    *stand.Stand
	git      *gitserver.Server
	api      versioned.Interface
	target   kubernetes.Interface // the administrator of the target
	// toTarget, toHost and toConvoy count requests.
	toTarget, toHost, toConvoy meter.Process
	meter                      *meter.Meter
	empty                      map[string]memory // memory before there is any Release
	delivered                  bool
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
func (t *trial) content(ctx context.Context) error {
	root := filepath.Join(t.settings.Dir, "git")
	repo, err := gitserver.Create(ctx, root, repository)
	if err != nil {
		return err
	}
	files := map[string]string{burstName + "/all.yaml": pods(t.sizes.pods)}
	for n := range t.sizes.releases {
		files[releaseName(n)+"/all.yaml"] = manifests(releaseName(n), t.sizes.each)
	}
	if _, err := repo.Commit(ctx, gitserver.Commit{Write: files}); err != nil {
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
	config.QPS, admin.QPS = -1, -1
	var err1, err2, err3 error
	t.target, err1 = kubernetes.NewForConfig(config)
	host, err2 := kubernetes.NewForConfig(admin)
	t.api, err3 = versioned.NewForConfig(admin)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	for _, kube := range []kubernetes.Interface{t.target, host} {
		if _, err := kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	// No controller of the target makes the account that pods need.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := t.target.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := t.references(ctx, host); err != nil {
		return err
	}
	return t.measured(ctx)
}

// references makes the Cluster and the GitRepository.
func (t *trial) references(ctx context.Context, host kubernetes.Interface) error {
	kubeconfig, err := os.ReadFile(t.stand.Target.AdminKubeconfig())
	if err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: cluster}, Data: map[string][]byte{"kubeconfig": kubeconfig}}
	if _, err := host.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := t.api.CoreV1alpha1().Clusters(namespace).Create(ctx, &corev1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: cluster},
		Spec: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeAgentless, Agentless: &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{
			Type:       corev1alpha1.ClusterAuthTypeKubeconfig,
			Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: cluster}},
		}}},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err = t.api.SourceV1alpha1().GitRepositories(namespace).Create(ctx, &sourcev1alpha1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Name: repository}, Spec: sourcev1alpha1.GitRepositorySpec{URL: t.git.RepositoryURL(repository)},
	}, metav1.CreateOptions{})
	return err
}

// measured names the processes whose costs are told, and sees what they are without Releases.
func (t *trial) measured(ctx context.Context) error {
	host, err1 := t.stand.HostServer()
	target, err2 := t.stand.TargetServer()
	convoy, err3 := t.stand.ConvoyServer()
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	t.toTarget, t.toHost, t.toConvoy = target.Process(toTarget()...), host.Process(toHost()...), convoy.Process(toConvoy()...)
	if err := t.newMeter(ctx); err != nil || t.empty != nil {
		return err
	}
	t.settings.Say("waiting for the empty processes to settle")
	if _, err := t.memoryAtRest(ctx); err != nil {
		return err
	}
	var err error
	t.empty, err = t.memoryAtRest(ctx)
	return err
}

func (t *trial) newMeter(ctx context.Context) (err error) {
	t.meter, err = meter.New(ctx, meter.Process{Name: t.toTarget.Name, PID: t.toTarget.PID}, meter.Process{Name: t.toHost.Name, PID: t.toHost.PID},
		meter.Process{Name: t.toConvoy.Name, PID: t.toConvoy.PID}, t.stand.Controllers(installation.ControllerManager), t.stand.Controllers(installation.Observer))
	return err
}

func (t *trial) stop(ctx context.Context) error {
	errs := []error{t.stand.Err()}
	if t.git != nil {
		errs = append(errs, t.git.Close(ctx))
	}
	return errors.Join(append(errs, t.stand.Stop(ctx))...)
}

// create makes the Release of a folder of the repository.
func (t *trial) create(ctx context.Context, name string) error {
	_, err := t.api.CoreV1alpha1().Releases(namespace).Create(ctx, &corev1alpha1.Release{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1alpha1.ReleaseSpec{
			ClusterRef: corev1alpha1.LocalReference{Name: cluster},
			Source: corev1alpha1.ReleaseSource{Git: &corev1alpha1.GitSource{
				RepositoryRef: corev1alpha1.LocalReference{Name: repository}, Ref: corev1alpha1.GitRef{Branch: gitserver.DefaultBranch}, Path: name,
			}},
		},
	}, metav1.CreateOptions{})
	return err
}

// deliver has the many Releases applied, in sync and at rest, if they are not.
func (t *trial) deliver(ctx context.Context) error {
	if t.delivered {
		return nil
	}
	t.delivered = true
	if err := parallel.Do(ctx, clients, t.sizes.releases, func(ctx context.Context, n int) error { return t.create(ctx, releaseName(n)) }); err != nil {
		return err
	}
	if err := t.until(ctx, func(r *corev1alpha1.Release) bool {
		return meta.IsStatusConditionTrue(r.Status.Conditions, corev1alpha1.ConditionReady) && meta.IsStatusConditionTrue(r.Status.Conditions, corev1alpha1.ConditionInSync)
	}); err != nil {
		return err
	}
	return t.quiet(ctx)
}

// until waits until all Releases are so.
func (t *trial) until(ctx context.Context, are func(*corev1alpha1.Release) bool) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	return poll.Until(ctx, time.Second, func(ctx context.Context) error {
		list, err := t.api.CoreV1alpha1().Releases(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		not := 0
		for i := range list.Items {
			if !are(&list.Items[i]) {
				not++
			}
		}
		if not > 0 {
			return fmt.Errorf("%d of %d Releases are not so far", not, len(list.Items))
		}
		return nil
	})
}

// quiet waits until nothing waits in the queues of convoy-observer, for three looks in a row.
func (t *trial) quiet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	calm := 0
	return poll.Until(ctx, 500*time.Millisecond, func(ctx context.Context) error {
		seen, err := count(ctx, t.observer())
		if err != nil {
			return err
		}
		if calm++; seen[waiting] > 0 {
			calm = 0
		}
		if calm < 3 {
			return fmt.Errorf("%.0f keys wait", seen[waiting])
		}
		return nil
	})
}
