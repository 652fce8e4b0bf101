// SPDX-License-Identifier: Apache-2.0

// Package installation installs convoy into a running control plane: the manifests of
// config/ are applied, and the three binaries run as processes with the certificates and
// the service accounts that those manifests name.
package installation

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kumodo.io/convoy/e2e/framework/certs"
	"kumodo.io/convoy/e2e/framework/controlplane"
	"kumodo.io/convoy/e2e/framework/manifests"
	"kumodo.io/convoy/e2e/framework/process"
)

// Namespace is where convoy is installed, and CertificateSecret where the authority of its
// own certificates is.
const (
	Namespace         = "convoy-system"
	CertificateSecret = "convoy-ca"
)

// Names of the processes.
const (
	APIServer         = "convoy-apiserver"
	ControllerManager = "convoy-controller-manager"
	Observer          = "convoy-observer"
)

// order is the order in which the processes start.
var order = []string{Observer, APIServer, ControllerManager}

// Options of an installation. Dir, Bin, Config and Host are required.
type Options struct {
	Dir    string // for certificates, logs and pid files
	Bin    string // folder of convoy's binaries
	Config string // folder of the manifests
	Host   *controlplane.ControlPlane

	// Only names the processes that run, convoy-apiserver among them; all three when empty.
	// The manifests are applied whole.
	Only []string
	// OwnCertificates has the processes make their certificates themselves, as the manifests
	// do; otherwise they get files made here.
	OwnCertificates bool
	RenderStoreURL  string              // passed to the controller-manager and the observer when set
	Args            map[string][]string // added to those of a process, by its name
	Detached        bool                // the processes live on when this program ends
	Log             io.Writer
}

// Installation is convoy, installed and running.
type Installation struct {
	options   Options
	ports     ports
	processes map[string]*process.Process
	serving   map[string]certs.Pair
	client    certs.Pair
}

type ports struct{ apiServer, observer, observerMetrics, managerMetrics int }

// Start installs convoy and returns when its API is served. When it fails, what was started
// is stopped.
func Start(ctx context.Context, o Options) (*Installation, error) {
	i := &Installation{options: o, processes: map[string]*process.Process{}, serving: map[string]certs.Pair{}}
	if err := i.start(ctx); err != nil {
		_ = i.Stop(context.WithoutCancel(ctx))
		return nil, err
	}
	return i, nil
}

func (i *Installation) start(ctx context.Context) error {
	free, err := process.FreePorts(4)
	if err != nil {
		return err
	}
	i.ports = ports{apiServer: free[0], observer: free[1], observerMetrics: free[2], managerMetrics: free[3]}
	if !i.options.OwnCertificates {
		if err := i.issue(); err != nil {
			return err
		}
	}
	if err := i.applyManifests(ctx); err != nil {
		return err
	}
	for _, name := range order {
		if !i.wanted(name) {
			continue
		}
		if err := i.startProcess(ctx, name); err != nil {
			return err
		}
	}
	return i.awaitAPI(ctx)
}

// issue makes the certificates that config/cert-manager would make.
func (i *Installation) issue() error {
	ca := i.options.Host.CA()
	for _, name := range []string{APIServer, Observer} {
		pair, err := ca.Server(name, name+"."+Namespace+".svc", "127.0.0.1")
		if err != nil {
			return err
		}
		i.serving[name] = pair
	}
	var err error
	i.client, err = ca.Client("convoy-observer-client", APIServer)
	return err
}

// applyManifests applies config/ but what only runs in pods. The Service of the apiserver
// leads to the process instead.
func (i *Installation) applyManifests(ctx context.Context) error {
	config, err := i.options.Host.RESTConfig()
	if err != nil {
		return err
	}
	applier, err := manifests.NewApplier(config)
	if err != nil {
		return err
	}
	folders := []string{"namespace", "apiserver", "controller-manager", "observer", "roles", "in-cluster"}
	caBundle := i.options.Host.CA().Bundle()
	if i.options.OwnCertificates {
		folders, caBundle = append(folders, "certificates"), nil
	}
	for _, folder := range folders {
		objects, err := manifests.ReadFolder(filepath.Join(i.options.Config, folder))
		if err != nil {
			return err
		}
		if err := applier.Apply(ctx, Adapt(objects, i.ports.apiServer, caBundle)...); err != nil {
			return err
		}
	}
	return nil
}

// Adapt makes manifests for pods fit for processes on the loopback: what only runs in pods is
// left out, and the API is served at that port, with a certificate of that bundle; nil leaves
// the bundle as it is.
func Adapt(objects []*unstructured.Unstructured, port int, caBundle []byte) []*unstructured.Unstructured {
	var result []*unstructured.Unstructured
	for _, object := range objects {
		switch object.GetKind() {
		case "Deployment", "PodDisruptionBudget", "NetworkPolicy":
			continue
		case "Service":
			object.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "127.0.0.1"}
		case "APIService":
			spec := object.Object["spec"].(map[string]any)
			spec["service"].(map[string]any)["port"] = int64(port)
			if caBundle != nil {
				spec["caBundle"] = base64.StdEncoding.EncodeToString(caBundle)
			}
		}
		result = append(result, object)
	}
	return result
}

func (i *Installation) startProcess(ctx context.Context, name string) error {
	kubeconfig, err := i.options.Host.ServiceAccountKubeconfig(ctx, Namespace, name)
	if err != nil {
		return err
	}
	command := process.Command{
		Name: name, Path: filepath.Join(i.options.Bin, name), Dir: i.options.Dir,
		Grace: 20 * time.Second, ReadyTimeout: 2 * time.Minute, Detached: i.options.Detached,
	}
	switch name {
	case APIServer:
		command.Args, command.Ready = i.apiServerArgs(kubeconfig), i.tlsReady(i.ports.apiServer)
	case Observer:
		command.Args, command.Ready = i.observerArgs(kubeconfig), alive(i.ports.observerMetrics)
	case ControllerManager:
		command.Args, command.Ready = i.managerArgs(kubeconfig), alive(i.ports.managerMetrics)
	}
	command.Args = append(command.Args, i.options.Args[name]...)
	i.say("starting %s", name)
	started, err := process.Start(ctx, command)
	if err != nil {
		return err
	}
	i.processes[name] = started
	return nil
}

func (i *Installation) wanted(name string) bool {
	return len(i.options.Only) == 0 || slices.Contains(i.options.Only, name)
}

// Process returns one of the three processes, for tests that stop or kill it.
func (i *Installation) Process(name string) *process.Process { return i.processes[name] }

// Err returns what ended unexpectedly, or nil.
func (i *Installation) Err() error {
	for _, name := range order {
		if one := i.processes[name]; one != nil {
			if err := one.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Stop ends the processes, the last started first.
func (i *Installation) Stop(ctx context.Context) error {
	var first error
	for n := len(order) - 1; n >= 0; n-- {
		one := i.processes[order[n]]
		if one == nil {
			continue
		}
		if err := one.Stop(ctx); err != nil && first == nil {
			first = fmt.Errorf("stop %s: %w", order[n], err)
		}
	}
	return first
}

func (i *Installation) say(format string, args ...any) {
	if i.options.Log != nil {
		fmt.Fprintf(i.options.Log, format+"\n", args...)
	}
}
