// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kumodo.io/convoy/e2e/framework/certs"
	"kumodo.io/convoy/e2e/framework/controlplane"
	"kumodo.io/convoy/e2e/framework/manifests"
	"kumodo.io/convoy/e2e/framework/process"
)

// grace is terminationGracePeriodSeconds of the shipped Deployment.
const grace = 75 * time.Second

// replica is one process of convoy-apiserver.
type replica struct {
	*process.Process
	port     int
	serving  certs.Pair
	auditLog string
}

// shippedFlags are the flags of the shipped Deployment.
func shippedFlags(config string) map[string]string {
	GinkgoHelper()
	objects, err := manifests.ReadFolder(filepath.Join(config, "apiserver"))
	Expect(err).NotTo(HaveOccurred())
	flags := map[string]string{}
	for _, object := range objects {
		if object.GetKind() != "Deployment" {
			continue
		}
		containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		Expect(err).NotTo(HaveOccurred())
		for _, arg := range containers[0].(map[string]any)["args"].([]any) {
			name, value, _ := strings.Cut(strings.TrimPrefix(arg.(string), "--"), "=")
			flags[name] = value
		}
	}
	Expect(flags).NotTo(BeEmpty())
	return flags
}

// newReplica starts a process with the flags of the shipped Deployment, in which files and
// addresses are the rig's, and with more flags, given as name=value.
func (r *rig) newReplica(ctx context.Context, name string, more ...string) *replica {
	GinkgoHelper()
	one := r.readyReplica(ctx, name, more...)
	one.awaitTrust(ctx)
	return one
}

// readyReplica starts a process likewise, and returns as soon as it says that it is ready.
func (r *rig) readyReplica(ctx context.Context, name string, more ...string) *replica {
	GinkgoHelper()
	ports, err := process.FreePorts(1)
	Expect(err).NotTo(HaveOccurred())
	one := &replica{port: ports[0], auditLog: r.path(name + "-audit.log")}
	one.serving, err = r.host.CA().Server(name, apiServer+"."+system+".svc", "127.0.0.1")
	Expect(err).NotTo(HaveOccurred())
	kubeconfig := r.accountKubeconfig(ctx, apiServer)
	flags := shippedFlags(r.config)
	delete(flags, "certificate-secret") // certificates come from files, as in config/own-certificates
	maps.Copy(flags, map[string]string{
		"secure-port": fmt.Sprint(one.port), "bind-address": "127.0.0.1",
		"etcd-servers": r.etcd.url(), "etcd-cafile": r.host.CA().CertFile(),
		"etcd-certfile": r.etcd.client.CertFile, "etcd-keyfile": r.etcd.client.KeyFile,
		"tls-cert-file": one.serving.CertFile, "tls-private-key-file": one.serving.KeyFile,
		"kubeconfig": kubeconfig, "authentication-kubeconfig": kubeconfig, "authorization-kubeconfig": kubeconfig,
		"observer-url": r.observer.url(), "observer-ca-file": r.observer.caFile,
		"observer-client-cert-file": r.observer.client.CertFile, "observer-client-key-file": r.observer.client.KeyFile,
		"audit-policy-file": r.write("audit-policy.yaml", auditPolicy), "audit-log-path": one.auditLog,
	})
	for _, flag := range more {
		name, value, _ := strings.Cut(flag, "=")
		flags[name] = value
	}
	var args []string
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		args = append(args, "--"+name+"="+flags[name])
	}
	one.Process, err = process.Start(ctx, process.Command{
		Name: name, Path: filepath.Join(r.bin, apiServer), Args: args, Dir: r.dir, Grace: grace,
		Ready: process.HTTPReady(r.anonymous().http, one.url()+"/readyz"),
	})
	Expect(err).NotTo(HaveOccurred())
	return one
}

// awaitTrust returns when the replica knows whose certificates it believes, which it learns
// from the host beside getting ready.
func (one *replica) awaitTrust(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func() int { return suite.admin.at(one).get(ctx, groupPaths[0]+"/releases?limit=1").code }).Should(Equal(http.StatusOK))
}

// extraReplica is a replica for one spec, beside the rig's and behind no balancer.
func (r *rig) extraReplica(ctx context.Context, name string, more ...string) *replica {
	GinkgoHelper()
	one := r.readyReplica(ctx, name, more...)
	DeferCleanup(func(ctx SpecContext) { Expect(one.Stop(ctx)).To(Succeed()) })
	one.awaitTrust(ctx)
	return one
}

// accountKubeconfig gives a kubeconfig with the identity of one of convoy's processes.
func (r *rig) accountKubeconfig(ctx context.Context, name string) string {
	GinkgoHelper()
	path, err := r.host.ServiceAccountKubeconfig(ctx, system, name)
	Expect(err).NotTo(HaveOccurred())
	return path
}

func (one *replica) url() string     { return "https://" + one.address() }
func (one *replica) address() string { return address(one.port) }

// token is one with the identity of one of convoy's processes.
func (r *rig) token(ctx context.Context, name string) (string, error) {
	seconds := int64(time.Hour.Seconds())
	answer, err := r.kube.CoreV1().ServiceAccounts(system).CreateToken(ctx, name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return answer.Status.Token, nil
}

// ensure starts the replica if it does not run.
func (one *replica) ensure(ctx context.Context) {
	GinkgoHelper()
	if !one.Running() {
		Expect(one.Restart(ctx)).To(Succeed())
		one.awaitTrust(ctx)
	}
}

// signal sends a signal to the process.
func (one *replica) signal(signal syscall.Signal) {
	GinkgoHelper()
	Expect(syscall.Kill(one.PID(), signal)).To(Succeed())
}

// ended waits for the end of a process that was signalled, and returns how it ended.
func (one *replica) ended(ctx context.Context) string {
	GinkgoHelper()
	Eventually(ctx, one.Done()).WithTimeout(grace).Should(BeClosed(), "%s ends within its grace period", one.Name())
	var exit *process.ExitError
	Expect(errors.As(one.Err(), &exit)).To(BeTrue())
	return exit.Reason
}

// log is what the process wrote, in all its lives.
func (one *replica) log() string {
	GinkgoHelper()
	data, err := os.ReadFile(one.LogFile())
	Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// etcd is the etcd of convoy-apiserver.
type etcd struct {
	*process.Process
	port   int
	dir    string
	peer   string // URL
	client certs.Pair
}

// startEtcd starts an etcd that demands client certificates, as the manifests have it.
func startEtcd(ctx context.Context, ca *certs.CA, assets, dir string) *etcd {
	GinkgoHelper()
	ports, err := process.FreePorts(3)
	Expect(err).NotTo(HaveOccurred())
	serving, err := ca.Server("etcd", "127.0.0.1")
	Expect(err).NotTo(HaveOccurred())
	e := &etcd{port: ports[0], dir: dir, peer: "http://" + address(ports[1])}
	e.client, err = ca.Client("etcd-client", "convoy-apiserver-etcd-client")
	Expect(err).NotTo(HaveOccurred())
	e.Process, err = process.Start(ctx, process.Command{
		Name: "convoy-etcd", Path: filepath.Join(assets, controlplane.Etcd), Dir: dir,
		Args: []string{
			"--name=default", "--data-dir=" + e.data(), "--listen-client-urls=" + e.url(), "--advertise-client-urls=" + e.url(),
			"--listen-peer-urls=" + e.peer, "--initial-advertise-peer-urls=" + e.peer, "--initial-cluster=default=" + e.peer,
			"--listen-metrics-urls=http://" + address(ports[2]),
			"--cert-file=" + serving.CertFile, "--key-file=" + serving.KeyFile,
			"--client-cert-auth", "--trusted-ca-file=" + ca.CertFile(), "--unsafe-no-fsync", "--log-level=warn",
		},
		Ready: process.HTTPReady(nil, "http://"+address(ports[2])+"/readyz"),
	})
	Expect(err).NotTo(HaveOccurred())
	return e
}

func (e *etcd) url() string  { return "https://" + address(e.port) }
func (e *etcd) data() string { return filepath.Join(e.dir, "data") }

func (e *etcd) ensure(ctx context.Context) error {
	if e.Running() {
		return nil
	}
	return e.Restart(ctx)
}
