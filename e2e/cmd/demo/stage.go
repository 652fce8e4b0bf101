// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"kumodo.io/convoy/e2e/framework/environment"
	"kumodo.io/convoy/e2e/framework/gitserver"
	"kumodo.io/convoy/e2e/framework/manifests"
	"kumodo.io/convoy/e2e/framework/process"
)

//go:embed all:content
var content embed.FS

// stage is the running environment and what the steps need of it.
type stage struct {
	env        *environment.Environment
	repository *gitserver.Repository
	gitURL     string
	began      time.Time
}

// prepare starts the environment and a git server with the demonstration's repository.
func prepare(ctx context.Context, dir string) (*stage, error) {
	env, err := environment.Start(ctx, environment.Options{Dir: dir, Detached: true, Log: os.Stdout})
	if err != nil {
		return nil, err
	}
	s := &stage{env: env}
	if err := s.startGit(ctx, dir); err != nil {
		return nil, err
	}
	return s, nil
}

// startGit serves the repository by a process that outlives this one.
func (s *stage) startGit(ctx context.Context, dir string) error {
	binary := filepath.Join(dir, "testservers")
	compile := exec.CommandContext(ctx, "go", "build", "-o", binary, "./e2e/cmd/testservers")
	compile.Dir, compile.Stdout, compile.Stderr = s.env.Root, os.Stdout, os.Stderr
	if err := compile.Run(); err != nil {
		return fmt.Errorf("build the git server: %w", err)
	}
	root := filepath.Join(dir, "git")
	var err error
	if s.repository, err = gitserver.Create(ctx, root, "apps"); err != nil {
		return err
	}
	if _, err := s.repository.Commit(ctx, gitserver.Commit{Message: "The shop and a broken chart", Write: charts()}); err != nil {
		return err
	}
	ports, err := process.FreePorts(1)
	if err != nil {
		return err
	}
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	s.gitURL = "http://" + address + "/apps.git"
	_, err = process.Start(ctx, process.Command{
		Name: "git-server", Path: binary, Dir: dir, Detached: true,
		Args:  []string{"--git-root=" + root, "--git-address=" + address},
		Ready: process.HTTPReady(nil, s.gitURL+"/info/refs?service=git-upload-pack"),
	})
	return err
}

// charts are the files of the repository's first commit.
func charts() map[string]string {
	files := map[string]string{}
	for _, folder := range []string{"shop", "broken"} {
		_ = fs.WalkDir(content, "content/"+folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := content.ReadFile(path)
			files[strings.TrimPrefix(path, "content/")] = string(data)
			return err
		})
	}
	return files
}

// declare applies a manifest of content/ to the host cluster.
func (s *stage) declare(ctx context.Context, name string) error {
	data, err := content.ReadFile("content/" + name)
	if err != nil {
		return err
	}
	return s.apply(ctx, bytes.ReplaceAll(data, []byte("GIT_URL"), []byte(s.gitURL)))
}

// apply applies YAML to the host cluster.
func (s *stage) apply(ctx context.Context, yaml []byte) error {
	objects, err := manifests.Parse(yaml)
	if err != nil {
		return err
	}
	config, err := s.env.Host.RESTConfig()
	if err != nil {
		return err
	}
	applier, err := manifests.NewApplier(config)
	if err != nil {
		return err
	}
	return applier.Apply(ctx, objects...)
}

// giveKubeconfig puts the kubeconfig of the edge cluster into a Secret of the host.
func (s *stage) giveKubeconfig(ctx context.Context) error {
	data, err := os.ReadFile(s.env.Target.AdminKubeconfig())
	if err != nil {
		return err
	}
	secret := fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"demo"}}
---
{"apiVersion":"v1","kind":"Secret","metadata":{"name":"edge-kubeconfig","namespace":"demo"},"data":{"kubeconfig":%q}}`,
		base64.StdEncoding.EncodeToString(data))
	return s.apply(ctx, []byte(secret))
}

// run executes kubectl against the cluster of the kubeconfig and returns what it printed.
func (s *stage) run(ctx context.Context, kubeconfig string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.env.Kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+s.env.Bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// show runs kubectl and prints command and output, as a person would see them.
func (s *stage) show(ctx context.Context, kubeconfig string, args ...string) (string, error) {
	out, err := s.run(ctx, kubeconfig, args...)
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = quoted(arg)
	}
	fmt.Printf("\n  $ kubectl %s\n", strings.Join(words, " "))
	for _, line := range strings.Split(strings.TrimRight(out, "\n"), "\n") {
		fmt.Println("  " + line)
	}
	return out, err
}

func (s *stage) host() string { return s.env.Host.AdminKubeconfig() }
func (s *stage) edge() string { return s.env.Target.AdminKubeconfig() }
