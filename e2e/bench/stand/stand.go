// SPDX-License-Identifier: Apache-2.0

// Package stand starts what benchmarks measure: a host cluster of etcd and kube-apiserver,
// and convoy's processes behind it, all on the loopback.
package stand

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
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
	Args map[string][]string // added to those of a process of convoy, by its name
	Log  io.Writer
}

// Stand is a running stand.
type Stand struct {
	Dir    string
	Host   *controlplane.ControlPlane
	Convoy *installation.Installation
	admin  *rest.Config
}

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
	bin, err := build.Convoy(ctx, root, o.Log, o.Only...)
	if err != nil {
		return err
	}
	s.Host, err = controlplane.Start(ctx, controlplane.Options{
		Name: "host", Dir: filepath.Join(o.Dir, "host"), Assets: assets, Log: o.Log,
		APIServerArgs: []string{"--profiling=true"}, // the default, which tests turn off
	})
	if err != nil {
		return err
	}
	if s.admin, err = s.Host.RESTConfig(); err != nil {
		return err
	}
	s.Convoy, err = installation.Start(ctx, installation.Options{
		Dir: filepath.Join(o.Dir, "convoy"), Bin: bin, Config: filepath.Join(root, "config"), Host: s.Host,
		Only: o.Only, Args: o.Args, Log: o.Log,
	})
	return err
}

// Stop ends everything, even when ctx has ended.
func (s *Stand) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	var errs []error
	if s.Convoy != nil {
		errs = append(errs, s.Convoy.Stop(ctx))
	}
	if s.Host != nil {
		errs = append(errs, s.Host.Stop(ctx))
	}
	return errors.Join(errs...)
}

// Err returns what ended unexpectedly, or nil.
func (s *Stand) Err() error { return errors.Join(s.Host.Err(), s.Convoy.Err()) }

// Admin gives the administrator's configuration for the host, to be changed at will.
func (s *Stand) Admin() *rest.Config { return rest.CopyConfig(s.admin) }

// Server is an API server of the stand, as its operator reaches it.
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
func (s *Stand) HostServer() (Server, error) {
	pid, err := s.hostPID(controlplane.APIServer)
	if err != nil {
		return Server{}, err
	}
	return s.server(controlplane.APIServer, pid, s.Host.URL())
}

// ConvoyServer is convoy-apiserver, reached past the host.
func (s *Stand) ConvoyServer() (Server, error) {
	return s.server(installation.APIServer, s.Convoy.Process(installation.APIServer).PID(), s.Convoy.APIServerURL())
}

// Etcd is the etcd of the host, where convoy-apiserver stores too.
func (s *Stand) Etcd() (meter.Process, error) {
	pid, err := s.hostPID(controlplane.Etcd)
	return meter.Process{Name: controlplane.Etcd, PID: pid}, err
}

func (s *Stand) server(name string, pid int, url string) (Server, error) {
	config := s.Admin()
	config.Host = url
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return Server{}, fmt.Errorf("build a client of %s: %w", name, err)
	}
	return Server{Name: name, PID: pid, URL: url, Client: client}, nil
}

// hostPID reads the process id of a component of the host from its pid file.
func (s *Stand) hostPID(name string) (int, error) {
	content, err := os.ReadFile(filepath.Join(s.Dir, "host", name+".pid"))
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
