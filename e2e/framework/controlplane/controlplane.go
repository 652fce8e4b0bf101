// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kumodo.io/convoy/e2e/framework/certs"
	"kumodo.io/convoy/e2e/framework/process"
)

// Names of the processes, as their logs are called.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kwok              = "kwok"
)

// Behaviours of simulated pods, for the annotation BehaviourAnnotation; see
// stages/pod.yaml. DelayAnnotation takes a Go duration.
const (
	BehaviourAnnotation = "kwok.convoy.test/behaviour"
	DelayAnnotation     = "kwok.convoy.test/delay"

	BehaviourNeverReady = "never-ready"
	BehaviourCrash      = "crash"
	BehaviourFail       = "fail"
)

// Options of a control plane. Dir and Assets are required.
type Options struct {
	Name   string // of the cluster in kubeconfigs and in progress; default: the base name of Dir
	Dir    string // holds everything of this cluster; must not hold another one
	Assets string // folder of the binaries

	Workloads bool // also run the controllers, the scheduler and simulated nodes
	Nodes     int  // how many simulated nodes; default 1

	AuditLog      bool     // write <Dir>/audit.log: who did what, without bodies
	APIServerArgs []string // added to kube-apiserver's
	Detached      bool     // the processes live on when this program ends
	Log           io.Writer
}

// ControlPlane is a running control plane. It is safe for concurrent use.
type ControlPlane struct {
	options   Options
	ports     ports
	pki       pki
	processes []*process.Process // in the order of their start
}

// ports of a control plane, all on 127.0.0.1.
type ports struct{ etcd, etcdPeer, apiServer, kwok int }

// Start starts a control plane and returns when it serves and, with workloads,
// when its nodes take pods. When it fails, whatever was started is stopped, and
// the error holds the end of the log of the process that failed.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.Nodes == 0 {
		o.Nodes = 1
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the folder: %w", err)
	}
	o.Dir = dir
	if o.Name == "" {
		o.Name = filepath.Base(dir)
	}
	c := &ControlPlane{options: o}
	if err := c.prepare(); err != nil {
		return nil, fmt.Errorf("prepare cluster %s: %w", o.Name, err)
	}
	started := time.Now()
	if err := c.start(ctx); err != nil {
		// The caller's context may be what ended; the clean-up has its own time.
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return nil, fmt.Errorf("start cluster %s: %w", o.Name, errors.Join(err, c.Stop(stopCtx)))
	}
	c.say("ready after %.1f s: %s", time.Since(started).Seconds(), c.URL())
	return c, nil
}

// prepare picks ports and writes the files that the processes read.
func (c *ControlPlane) prepare() error {
	if _, err := os.Stat(c.path("etcd-data")); err == nil {
		return fmt.Errorf("%s holds a cluster already", c.options.Dir)
	}
	if err := os.MkdirAll(c.options.Dir, 0o755); err != nil {
		return err
	}
	free, err := process.FreePorts(4)
	if err != nil {
		return err
	}
	c.ports = ports{etcd: free[0], etcdPeer: free[1], apiServer: free[2], kwok: free[3]}
	if c.pki, err = newPKI(c.path("pki")); err != nil {
		return err
	}
	if err := c.writeComponentKubeconfigs(); err != nil {
		return err
	}
	if err := writeStages(c.path("stages.yaml")); err != nil {
		return err
	}
	return os.WriteFile(c.path("audit-policy.yaml"), []byte(auditPolicy), 0o644)
}

func (c *ControlPlane) start(ctx context.Context) error {
	ready, err := c.apiServerReady()
	if err != nil {
		return err
	}
	if err := c.run(ctx, c.etcd()); err != nil {
		return err
	}
	if err := c.run(ctx, c.apiServer(ready)); err != nil {
		return err
	}
	if !c.options.Workloads {
		return nil
	}
	for _, command := range []process.Command{c.controllerManager("*", "-node-ipam-controller"), c.scheduler(), c.kwok()} {
		if err := c.run(ctx, command); err != nil {
			return err
		}
	}
	return c.addNodes(ctx)
}

// run starts a component and keeps it for Stop.
func (c *ControlPlane) run(ctx context.Context, command process.Command) error {
	c.say("starting %s", command.Name)
	p, err := process.Start(ctx, command)
	if err != nil {
		return err
	}
	c.processes = append(c.processes, p)
	return nil
}

// StartControllers runs kube-controller-manager with the named controllers only, for
// example namespace-controller and garbage-collector-controller: a cluster in which nothing
// else acts on objects. It is for a control plane without workloads, to be called once, when
// the APIs are served that the controllers shall know from their start.
func (c *ControlPlane) StartControllers(ctx context.Context, controllers ...string) error {
	return c.run(ctx, c.controllerManager(controllers...))
}

// Stop ends all processes, the last started first: kwok, scheduler,
// controller-manager, kube-apiserver, etcd. What uses the API server should end
// before: StopWorkloads, then the servers under test, then Stop.
func (c *ControlPlane) Stop(ctx context.Context) error {
	return c.stopDownTo(ctx, "")
}

// StopWorkloads ends kwok, the scheduler and the controller-manager.
func (c *ControlPlane) StopWorkloads(ctx context.Context) error {
	return c.stopDownTo(ctx, APIServer)
}

func (c *ControlPlane) stopDownTo(ctx context.Context, last string) error {
	var problems []error
	for i := len(c.processes) - 1; i >= 0 && c.processes[i].Name() != last; i-- {
		problems = append(problems, c.processes[i].Stop(ctx))
	}
	return errors.Join(problems...)
}

// RestartControllers ends kube-controller-manager and starts it again, as it was.
func (c *ControlPlane) RestartControllers(ctx context.Context) error {
	for _, p := range c.processes {
		if p.Name() == ControllerManager {
			return errors.Join(p.Stop(ctx), p.Restart(ctx))
		}
	}
	return fmt.Errorf("cluster %s has no %s", c.options.Name, ControllerManager)
}

// Err returns what ended unexpectedly, as *process.ExitError, or nil.
func (c *ControlPlane) Err() error {
	var problems []error
	for _, p := range c.processes {
		problems = append(problems, p.Err())
	}
	return errors.Join(problems...)
}

// URL returns the address of kube-apiserver.
func (c *ControlPlane) URL() string { return fmt.Sprintf("https://127.0.0.1:%d", c.ports.apiServer) }

// EtcdURL returns the address of etcd, where convoy-apiserver stores too.
func (c *ControlPlane) EtcdURL() string { return fmt.Sprintf("http://127.0.0.1:%d", c.ports.etcd) }

// CA returns the authority for serving and client certificates; kube-apiserver
// accepts its clients, and trusts its servers where a caBundle says so.
func (c *ControlPlane) CA() *certs.CA { return c.pki.ca }

// RESTConfig returns the administrator's configuration, without a client-side
// limit. The caller may change it.
func (c *ControlPlane) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.AdminKubeconfig())
	if err != nil {
		return nil, fmt.Errorf("read the administrator's kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}

func (c *ControlPlane) path(elements ...string) string {
	return filepath.Join(append([]string{c.options.Dir}, elements...)...)
}

func (c *ControlPlane) say(format string, args ...any) {
	fmt.Fprintf(c.options.Log, "%s: %s\n", c.options.Name, fmt.Sprintf(format, args...))
}
