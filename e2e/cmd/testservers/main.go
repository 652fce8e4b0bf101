// SPDX-License-Identifier: Apache-2.0

// Testservers serves folders of git repositories, Helm repositories and OCI
// artifacts until it is told to stop. A demonstration leaves it running; its
// content is changed in the folders, or in the registry by pushing. Each server
// runs when its folder is given; all listen on the loopback only.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"kumodo.io/convoy/e2e/framework/gitserver"
	"kumodo.io/convoy/e2e/framework/helmrepo"
	"kumodo.io/convoy/e2e/framework/registry"
)

const closeTimeout = 5 * time.Second

// folder is a served folder and where it is served.
type folder struct{ root, address string }

func (f *folder) addFlags(name, content string) {
	flag.StringVar(&f.root, name+"-root", "", "folder of "+content+"; empty: not served")
	flag.StringVar(&f.address, name+"-address", "127.0.0.1:0", "address on which "+content+" are served")
}

// server is what the three servers have in common.
type server interface {
	URL() string
	Close(context.Context) error
}

func main() {
	var git, helm, oci folder
	git.addFlags("git", "bare git repositories")
	helm.addFlags("helm", "Helm repositories")
	oci.addFlags("registry", "OCI artifacts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, git, helm, oci); err != nil {
		fmt.Fprintln(os.Stderr, "testservers:", err)
		stop()
		os.Exit(1)
	}
}

// serve runs the servers until ctx ends.
func serve(ctx context.Context, git, helm, oci folder) (err error) {
	for _, s := range []struct {
		name   string
		folder folder
		start  func(folder) (server, error)
	}{
		{name: "git", folder: git, start: startGit},
		{name: "helm", folder: helm, start: startHelm},
		{name: "registry", folder: oci, start: startRegistry},
	} {
		if s.folder.root == "" {
			continue
		}
		running, startErr := s.start(s.folder)
		if startErr != nil {
			return fmt.Errorf("%s: %w", s.name, startErr)
		}
		defer func() { err = errors.Join(err, closeServer(running)) }()
		fmt.Printf("%s: serving %s at %s\n", s.name, s.folder.root, running.URL())
	}
	<-ctx.Done()
	return nil
}

func closeServer(s server) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return s.Close(ctx)
}

func startGit(f folder) (server, error) {
	return gitserver.Start(gitserver.Options{Root: f.root, Address: f.address, Log: os.Stderr})
}

func startHelm(f folder) (server, error) {
	return helmrepo.Start(helmrepo.Options{Root: f.root, Address: f.address})
}

func startRegistry(f folder) (server, error) {
	return registry.Start(registry.Options{Root: f.root, Address: f.address})
}
