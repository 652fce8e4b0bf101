// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/e2e/framework/build"
	"kumodo.io/convoy/e2e/framework/controlplane"
	"kumodo.io/convoy/e2e/framework/gitserver"
	"kumodo.io/convoy/e2e/framework/installation"
)

// targets is how many API servers there are to deliver to; the Clusters are shared out among them.
const targets = 2

// rig is a host with convoy-apiserver, the targets, a Git server, and the replicas.
type rig struct {
	form form
	plan plan

	dir, bin    string
	host        *controlplane.ControlPlane
	targets     []*controlplane.ControlPlane
	convoy      *installation.Installation
	git         *gitserver.Server
	kubeconfigs map[string]string // of the host, for replicas, by controller
	replicas    []*replica

	api         versioned.Interface    // convoy's, as an administrator
	hostKube    kubernetes.Interface   // the host, likewise
	targetKubes []kubernetes.Interface // the targets, likewise

	failed bool
}

// What is written down: of the host, Leases with what is in them, and writes of convoy's kinds;
// of the targets, writes with what came of them.
const (
	hostPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: RequestResponse
  verbs: [create, update, patch, delete, deletecollection]
  namespaces: [` + installation.Namespace + `]
  resources: [{group: coordination.k8s.io, resources: [leases]}]
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
  resources: [{group: core.convoy.kumodo.io}, {group: source.convoy.kumodo.io}]
- level: None
`
	targetPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: RequestResponse
  verbs: [create, update, patch, delete, deletecollection]
  namespaces: [` + namespace + `]
- level: None
`
)

func (r *rig) path(elements ...string) string {
	return filepath.Join(append([]string{r.dir}, elements...)...)
}

func targetName(n int) string { return fmt.Sprintf("edge-%d", n) }

// auditLog is where a cluster writes what was asked of it.
func (r *rig) auditLog(cluster string) string { return r.path(cluster, "audit.log") }

func (r *rig) start(ctx context.Context) {
	GinkgoHelper()
	root, err := build.Root()
	Expect(err).NotTo(HaveOccurred())
	assets, err := controlplane.Assets(ctx, filepath.Join(root, "e2e", "controlplane", "build.sh"), GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	r.bin = r.path("bin")
	Expect(copyBinaries(ctx, root, r.bin)).To(Succeed())

	cluster := func(name, policy string) (*controlplane.ControlPlane, error) {
		file := r.path(name + "-policy.yaml")
		if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
			return nil, err
		}
		return controlplane.Start(ctx, controlplane.Options{
			Name: name, Dir: r.path(name), Assets: assets, Log: GinkgoWriter,
			// In one file, however large.
			APIServerArgs: []string{"--audit-policy-file=" + file, "--audit-log-path=" + r.auditLog(name), "--audit-log-maxsize=10000"},
		})
	}
	r.targets = make([]*controlplane.ControlPlane, targets)
	errs := make([]error, targets+1)
	var starting sync.WaitGroup
	for n := range targets {
		starting.Go(func() { r.targets[n], errs[n] = cluster(targetName(n), targetPolicy) })
	}
	starting.Go(func() {
		if r.host, errs[targets] = cluster("host", hostPolicy); errs[targets] != nil {
			return
		}
		r.convoy, errs[targets] = installation.Start(ctx, installation.Options{
			Dir: r.path("convoy"), Bin: r.bin, Config: filepath.Join(root, "config"), Host: r.host, Log: GinkgoWriter,
			Only: []string{installation.APIServer}, Args: map[string][]string{installation.APIServer: {fmt.Sprintf("--shards=%d", r.form.shards)}},
		})
	})
	starting.Wait()
	Expect(errors.Join(errs...)).NotTo(HaveOccurred())
	r.git, err = gitserver.Start(gitserver.Options{Root: r.path("git"), Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	r.connect()
	r.startReplicas(ctx)
}

// copyBinaries builds convoy and takes its binaries away, so that all lives of a replica are of
// the same one, whatever is built meanwhile.
func copyBinaries(ctx context.Context, root, to string) error {
	built, err := build.Convoy(ctx, root, GinkgoWriter)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, name := range []string{installation.APIServer, installation.ControllerManager, installation.Observer} {
		content, err := os.ReadFile(filepath.Join(built, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), content, 0o755); err != nil {
			return err
		}
	}
	return nil
}

func (r *rig) connect() {
	GinkgoHelper()
	config, err := r.host.RESTConfig()
	Expect(err).NotTo(HaveOccurred())
	r.api, err = versioned.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	r.hostKube, err = kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	for _, target := range r.targets {
		config, err := target.RESTConfig()
		Expect(err).NotTo(HaveOccurred())
		kube, err := kubernetes.NewForConfig(config)
		Expect(err).NotTo(HaveOccurred())
		r.targetKubes = append(r.targetKubes, kube)
	}
}

// startReplicas starts them all, and returns when all take part.
func (r *rig) startReplicas(ctx context.Context) {
	GinkgoHelper()
	r.kubeconfigs = map[string]string{}
	for _, component := range []string{installation.ControllerManager, installation.Observer} {
		path, err := r.host.ServiceAccountKubeconfig(ctx, installation.Namespace, component)
		Expect(err).NotTo(HaveOccurred())
		r.kubeconfigs[component] = r.path(component + ".kubeconfig")
		Expect(os.WriteFile(r.kubeconfigs[component], named(path, "host"), 0o600)).To(Succeed())
		for n := range map[string]int{installation.ControllerManager: r.form.managers, installation.Observer: r.form.observers}[component] {
			one, err := r.newReplica(ctx, component, n+1)
			Expect(err).NotTo(HaveOccurred())
			r.replicas = append(r.replicas, one)
		}
	}
	for _, one := range r.replicas {
		Eventually(ctx, one.ready).Should(Succeed(), one.String())
	}
}

// named gives a kubeconfig with a name for the server, so that the proxy of who uses it is asked.
func named(path, name string) []byte {
	GinkgoHelper()
	config, err := clientcmd.LoadFromFile(path)
	Expect(err).NotTo(HaveOccurred())
	for _, cluster := range config.Clusters {
		var port int
		_, err := fmt.Sscanf(cluster.Server, "https://127.0.0.1:%d", &port)
		Expect(err).NotTo(HaveOccurred())
		cluster.Server, cluster.TLSServerName = fmt.Sprintf("https://%s.test:%d", name, port), "127.0.0.1"
	}
	content, err := clientcmd.Write(*config)
	Expect(err).NotTo(HaveOccurred())
	return content
}

func (r *rig) stop(ctx context.Context) error {
	var errs []error
	for _, one := range r.replicas {
		errs = append(errs, one.stop(ctx))
	}
	if r.convoy != nil {
		errs = append(errs, r.convoy.Stop(ctx))
	}
	for _, cluster := range append([]*controlplane.ControlPlane{r.host}, r.targets...) {
		if cluster != nil {
			errs = append(errs, cluster.Stop(ctx))
		}
	}
	if r.git != nil {
		errs = append(errs, r.git.Close(ctx))
	}
	return errors.Join(errs...)
}
