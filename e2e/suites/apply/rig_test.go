// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"

	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/e2e/framework/build"
	"kumodo.io/convoy/e2e/framework/controlplane"
	"kumodo.io/convoy/e2e/framework/gitserver"
	"kumodo.io/convoy/e2e/framework/installation"
)

// rig is what the cases share: a host with convoy, on which nothing runs but what deletes
// namespaces, and a target with workloads that writes down what is asked of it.
type rig struct {
	dir, root, assets, kubectl string

	host, target *controlplane.ControlPlane
	convoy       *installation.Installation
	git          *gitserver.Server

	api        versioned.Interface  // convoy's, as an administrator
	hostKube   kubernetes.Interface // the host, likewise
	targetKube kubernetes.Interface // the target, likewise
	dynamic    dynamic.Interface    // the target
	mapper     meta.ResettableRESTMapper

	failed bool
}

func (r *rig) start(ctx context.Context) {
	GinkgoHelper()
	var err error
	r.root, err = build.Root()
	Expect(err).NotTo(HaveOccurred())
	r.assets, err = controlplane.Assets(ctx, filepath.Join(r.root, "e2e", "controlplane", "build.sh"), GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	r.kubectl, err = controlplane.Kubectl(r.assets)
	Expect(err).NotTo(HaveOccurred())
	bin, err := build.Convoy(ctx, r.root, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	r.git, err = gitserver.Start(gitserver.Options{Root: r.path("git"), Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())

	var hostErr, targetErr error
	var starting sync.WaitGroup
	starting.Go(func() {
		r.host, hostErr = controlplane.Start(ctx, controlplane.Options{Dir: r.path("host"), Assets: r.assets, Log: GinkgoWriter})
		if hostErr != nil {
			return
		}
		r.convoy, hostErr = installation.Start(ctx, installation.Options{
			Dir: r.path("convoy"), Bin: bin, Config: filepath.Join(r.root, "config"), Host: r.host, Log: GinkgoWriter,
		})
	})
	starting.Go(func() {
		r.target, targetErr = controlplane.Start(ctx, controlplane.Options{
			Dir: r.path("target"), Assets: r.assets, Workloads: true, AuditLog: true, Log: GinkgoWriter,
		})
	})
	starting.Wait()
	Expect(errors.Join(hostErr, targetErr)).NotTo(HaveOccurred())
	Expect(r.host.StartControllers(ctx, "namespace-controller")).To(Succeed())
	r.connect()
}

func (r *rig) connect() {
	GinkgoHelper()
	host, err := r.host.RESTConfig()
	Expect(err).NotTo(HaveOccurred())
	target, err := r.target.RESTConfig()
	Expect(err).NotTo(HaveOccurred())
	target.UserAgent = "apply-cases"
	r.api, err = versioned.NewForConfig(host)
	Expect(err).NotTo(HaveOccurred())
	r.hostKube, err = kubernetes.NewForConfig(host)
	Expect(err).NotTo(HaveOccurred())
	r.targetKube, err = kubernetes.NewForConfig(target)
	Expect(err).NotTo(HaveOccurred())
	r.dynamic, err = dynamic.NewForConfig(target)
	Expect(err).NotTo(HaveOccurred())
	discoverer, err := discovery.NewDiscoveryClientForConfig(target)
	Expect(err).NotTo(HaveOccurred())
	r.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoverer))
}

func (r *rig) stop(ctx context.Context) error {
	var errs []error
	if r.target != nil {
		errs = append(errs, r.target.StopWorkloads(ctx))
	}
	if r.host != nil {
		errs = append(errs, r.host.StopWorkloads(ctx))
	}
	if r.convoy != nil {
		errs = append(errs, r.convoy.Stop(ctx))
	}
	for _, cluster := range []*controlplane.ControlPlane{r.target, r.host} {
		if cluster != nil {
			errs = append(errs, cluster.Stop(ctx))
		}
	}
	if r.git != nil {
		errs = append(errs, r.git.Close(ctx))
	}
	return errors.Join(errs...)
}

// path is a file of the rig's.
func (r *rig) path(elements ...string) string {
	return filepath.Join(append([]string{r.dir}, elements...)...)
}

// door is a way to the target that can be shut, as if it was not there.
type door struct {
	address, to string

	mu       sync.Mutex
	listener net.Listener
	open     []net.Conn
}

// unlock opens the door, at the same address as before if it was open before.
func (d *door) unlock() error {
	if d.address == "" {
		d.address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", d.address)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listener, d.address = listener, listener.Addr().String()
	go d.serve(listener)
	return nil
}

func (d *door) serve(listener net.Listener) {
	for {
		from, err := listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", d.to)
		if err != nil {
			_ = from.Close()
			continue
		}
		d.mu.Lock()
		d.open = append(d.open, from, to)
		d.mu.Unlock()
		go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
		go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
	}
}

// shut closes the door and every connection through it.
func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.listener.Close()
	for _, connection := range d.open {
		_ = connection.Close()
	}
	d.open = nil
}

func (r *rig) readKubeconfig() []byte {
	data, err := os.ReadFile(r.target.AdminKubeconfig())
	if err != nil {
		panic(err)
	}
	return data
}
