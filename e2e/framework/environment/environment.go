// SPDX-License-Identifier: Apache-2.0

// Package environment stands up everything that convoy needs to be seen at work: a host
// cluster with convoy installed, a second cluster to deliver to, and servers of Git, Helm
// and OCI content. All of it listens on the loopback and lives in one folder.
package environment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"kumodo.io/convoy/e2e/framework/build"
	"kumodo.io/convoy/e2e/framework/controlplane"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/framework/process"
)

// stopTimeout bounds the end of an environment that could not be started whole.
const stopTimeout = 2 * time.Minute

// Options of an environment. Dir is required.
type Options struct {
	Dir      string // holds everything; made when absent
	Detached bool   // everything lives on when this program ends
	AuditLog bool   // both clusters write who did what
	// Args are added to those of convoy's processes, by name.
	Args map[string][]string
	Log  io.Writer
}

// Environment is a running environment.
type Environment struct {
	Host, Target *controlplane.ControlPlane
	Convoy       *installation.Installation
	// Root of the tree, and the folders of convoy's and of the control plane's binaries.
	Root, Bin, Assets string
	// Kubectl is the path of a kubectl.
	Kubectl string
	// Dir is the environment's folder.
	Dir string
}

// Start builds what is not built and starts the clusters and convoy. When it fails, what
// was started is stopped.
func Start(ctx context.Context, o Options) (*Environment, error) {
	e := &Environment{Dir: o.Dir}
	if o.Log == nil {
		o.Log = io.Discard
	}
	if err := e.start(ctx, o); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return nil, errors.Join(err, e.Stop(ctx))
	}
	return e, nil
}

func (e *Environment) start(ctx context.Context, o Options) error {
	var err error
	if e.Root, err = build.Root(); err != nil {
		return err
	}
	if e.Assets, err = controlplane.Assets(ctx, filepath.Join(e.Root, "e2e", "controlplane", "build.sh"), o.Log); err != nil {
		return err
	}
	if e.Kubectl, err = controlplane.Kubectl(e.Assets); err != nil {
		return err
	}
	if e.Bin, err = build.Convoy(ctx, e.Root, o.Log); err != nil {
		return err
	}
	if e.Host, err = e.cluster(ctx, o, "host"); err != nil {
		return err
	}
	if e.Target, err = e.cluster(ctx, o, "edge"); err != nil {
		return err
	}
	e.Convoy, err = installation.Start(ctx, installation.Options{
		Dir: filepath.Join(o.Dir, "convoy"), Bin: e.Bin, Config: filepath.Join(e.Root, "config"), Host: e.Host,
		Args: o.Args, Detached: o.Detached, Log: o.Log,
	})
	return err
}

func (e *Environment) cluster(ctx context.Context, o Options, name string) (*controlplane.ControlPlane, error) {
	fmt.Fprintf(o.Log, "starting cluster %s\n", name)
	return controlplane.Start(ctx, controlplane.Options{
		Name: name, Dir: filepath.Join(o.Dir, name), Assets: e.Assets, Workloads: true,
		AuditLog: o.AuditLog, Detached: o.Detached, Log: o.Log,
	})
}

// Stop ends everything that Start started.
func (e *Environment) Stop(ctx context.Context) error {
	var errs []error
	for _, cluster := range []*controlplane.ControlPlane{e.Host, e.Target} {
		if cluster != nil {
			errs = append(errs, cluster.StopWorkloads(ctx))
		}
	}
	if e.Convoy != nil {
		errs = append(errs, e.Convoy.Stop(ctx))
	}
	for _, cluster := range []*controlplane.ControlPlane{e.Target, e.Host} {
		if cluster != nil {
			errs = append(errs, cluster.Stop(ctx))
		}
	}
	return errors.Join(errs...)
}

// Down ends an environment that was started detached, from its folder.
func Down(ctx context.Context, dir string, log io.Writer) error {
	ended, err := process.StopFolder(ctx, dir, 5*time.Second, log)
	if err == nil && ended == 0 {
		return fmt.Errorf("nothing runs in %s", dir)
	}
	return err
}
