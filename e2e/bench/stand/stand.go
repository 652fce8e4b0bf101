// SPDX-License-Identifier: Apache-2.0

// Package stand starts what benchmarks measure: a host cluster of etcd and kube-apiserver,
// convoy's processes behind it, and a second such cluster to deliver to when it is wanted, all
// on the loopback.
package stand

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"kumodo.io/convoy/e2e/bench/meter"
	"kumodo.io/convoy/e2e/framework/build"
	"kumodo.io/convoy/e2e/framework/controlplane"
	"kumodo.io/convoy/e2e/framework/installation"
)

// stopTimeout bounds the end of a stand.
const stopTimeout = time.Minute

// Options of a stand. Dir is required.
type Options struct {
	Dir string
	// Only names the processes of convoy that run; all when empty.
	Only []string
	// Built names further processes of convoy, which are built and not started.
	Built []string
	// Target: a second cluster is started, too.
	Target bool
	Args   map[string][]string // added to those of a process of convoy, by its name
	Log    io.Writer
}

// Stand is a running stand.
type Stand struct {
	Dir          string
	Bin          string                     // folder of convoy's binaries
	Host, Target *controlplane.ControlPlane // Target is nil when it is not wanted
	Convoy       *installation.Installation
	admin        *rest.Config
}

// Names of the clusters, and of their folders.
const (
	host   = "host"
	target = "target"
)

// Start builds what is not built and starts the stand. When it fails, what was started is
// stopped.
func Start(ctx context.Context, o Options) (*Stand, error) {
	s := &Stand{Dir: o.Dir}
	if err := s.start(ctx, o); err != nil {
		return nil, errors.Join(err, s.Stop(ctx))
	}
	return s, nil
}

func (s *Stand) start(ctx context.Context, o Options) error {
	root, err := build.Root()
	if err != nil {
		return err
	}
	assets, err := controlplane.Assets(ctx, filepath.Join(root, "e2e", "controlplane", "build.sh"), o.Log)
	if err != nil {
		return err
	}
	if s.Bin, err = build.Convoy(ctx, root, o.Log, slices.Concat(o.Only, o.Built)...); err != nil {
		return err
	}
	cluster := func(name string) (*controlplane.ControlPlane, error) {
		return controlplane.Start(ctx, controlplane.Options{
			Name: name, Dir: filepath.Join(o.Dir, name), Assets: assets, Log: o.Log,
			APIServerArgs: []string{"--profiling=true"}, // the default, which tests turn off
		})
	}
	if s.Host, err = cluster(host); err != nil {
		return err
	}
	if o.Target {
		if s.Target, err = cluster(target); err != nil {
			return err
		}
	}
	if s.admin, err = s.Host.RESTConfig(); err != nil {
		return err
	}
	s.Convoy, err = installation.Start(ctx, installation.Options{
		Dir: filepath.Join(o.Dir, "convoy"), Bin: s.Bin, Config: filepath.Join(root, "config"), Host: s.Host,
		Only: o.Only, Args: s.withSockets(o.Args), Log: o.Log,
	})
	return err
}

// withSockets adds to arguments of processes that controllers serve profiles.
func (s *Stand) withSockets(args map[string][]string) map[string][]string {
	all := map[string][]string{}
	maps.Copy(all, args)
	for _, name := range []string{installation.ControllerManager, installation.Observer} {
		all[name] = append(slices.Clone(all[name]), "--debug-socket-path="+s.socket(name))
	}
	return all
}

func (s *Stand) socket(name string) string { return filepath.Join(s.Dir, name+".sock") }

// Profiled are the servers that Profile can ask, those of convoy and the API servers.
func (s *Stand) Profiled() ([]Server, error) {
	host, err1 := s.HostServer()
	convoy, err2 := s.ConvoyServer()
	servers, err3 := []Server{host, convoy}, error(nil)
	if s.Target != nil {
		var target Server
		target, err3 = s.TargetServer()
		servers = append(servers, target)
	}
	for _, name := range []string{installation.ControllerManager, installation.Observer} {
		if process := s.Convoy.Process(name); process != nil {
			servers = append(servers, Server{Name: name, PID: process.PID(), URL: "http://" + name, Client: overSocket(s.socket(name))})
		}
	}
	return servers, errors.Join(err1, err2, err3)
}

// LiveHeap collects a controller's garbage and gives the bytes that are in use.
func (s *Stand) LiveHeap(ctx context.Context, name string) (int64, error) {
	return LiveHeapOf(ctx, name, s.socket(name), s.Convoy.MetricsURL(name))
}

// LiveHeapOf is LiveHeap of a controller that serves profiles at a socket and metrics at a URL.
func LiveHeapOf(ctx context.Context, name, socket, metrics string) (int64, error) {
	profiles := Server{Name: name, URL: "http://" + name, Client: overSocket(socket)}
	if err := profiles.download(ctx, "/debug/pprof/heap?gc=1", os.DevNull); err != nil {
		return 0, err
	}
	bytes, err := alive(ctx, name, metrics, http.DefaultClient)
	return int64(bytes), err
}

// overSocket is a client whose requests all go to a unix-domain socket.
func overSocket(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
}

// Stop ends everything, even when ctx has ended.
func (s *Stand) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	var errs []error
	if s.Convoy != nil {
		errs = append(errs, s.Convoy.Stop(ctx))
	}
	for _, cluster := range []*controlplane.ControlPlane{s.Target, s.Host} {
		if cluster != nil {
			errs = append(errs, cluster.Stop(ctx))
		}
	}
	return errors.Join(errs...)
}

// Err returns what ended unexpectedly, or nil.
func (s *Stand) Err() error {
	err := errors.Join(s.Host.Err(), s.Convoy.Err())
	if s.Target != nil {
		err = errors.Join(err, s.Target.Err())
	}
	return err
}

// Admin gives the administrator's configuration for the host, to be changed at will.
func (s *Stand) Admin() *rest.Config { return rest.CopyConfig(s.admin) }

// Server is a server of the stand, as its operator reaches it.
type Server struct {
	Name   string
	PID    int
	URL    string
	Client *http.Client // the administrator
}

// Process describes the server to a meter.
func (s Server) Process(counters ...meter.Counter) meter.Process {
	return meter.Process{Name: s.Name, PID: s.PID, MetricsURL: s.URL + "/metrics", Client: s.Client, Counters: counters}
}

// HostServer is the host's kube-apiserver.
func (s *Stand) HostServer() (Server, error) { return s.clusterServer(host, s.Host) }

// TargetServer is the target's kube-apiserver.
func (s *Stand) TargetServer() (Server, error) { return s.clusterServer(target, s.Target) }

func (s *Stand) clusterServer(name string, cluster *controlplane.ControlPlane) (Server, error) {
	pid, err := s.componentPID(name, controlplane.APIServer)
	if err != nil {
		return Server{}, err
	}
	config, err := cluster.RESTConfig()
	if err != nil {
		return Server{}, err
	}
	if name == host {
		return server(controlplane.APIServer, pid, config)
	}
	return server(controlplane.APIServer+" of the "+name, pid, config)
}

// ConvoyServer is convoy-apiserver, reached past the host.
func (s *Stand) ConvoyServer() (Server, error) {
	config := s.Admin()
	config.Host = s.Convoy.APIServerURL()
	return server(installation.APIServer, s.Convoy.Process(installation.APIServer).PID(), config)
}

// Controllers is a process of convoy that serves nothing but its metrics.
func (s *Stand) Controllers(name string, counters ...meter.Counter) meter.Process {
	return meter.Process{
		Name: name, PID: s.Convoy.Process(name).PID(), MetricsURL: s.Convoy.MetricsURL(name),
		Client: http.DefaultClient, Counters: counters,
	}
}

// Etcd is the etcd of the host, where convoy-apiserver stores too.
func (s *Stand) Etcd() (meter.Process, error) {
	pid, err := s.componentPID(host, controlplane.Etcd)
	return meter.Process{Name: controlplane.Etcd, PID: pid}, err
}

func server(name string, pid int, config *rest.Config) (Server, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return Server{}, fmt.Errorf("build a client of %s: %w", name, err)
	}
	return Server{Name: name, PID: pid, URL: config.Host, Client: client}, nil
}

// componentPID reads the process id of a component of a cluster from its pid file.
func (s *Stand) componentPID(cluster, name string) (int, error) {
	content, err := os.ReadFile(filepath.Join(s.Dir, cluster, name+".pid"))
	if err != nil {
		return 0, fmt.Errorf("find the process of %s: %w", name, err)
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return 0, fmt.Errorf("find the process of %s: %w", name, err)
	}
	return pid, nil
}
