// SPDX-License-Identifier: Apache-2.0

// Package scenario is what the suites share: one environment for each suite, a namespace
// with clusters and a repository for each test, and the questions that tests ask.
package scenario

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes"

	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/e2e/framework/environment"
	"kumodo.io/convoy/e2e/framework/gitserver"
	"kumodo.io/convoy/e2e/framework/helmrepo"
	"kumodo.io/convoy/e2e/framework/registry"
)

// Timeouts of the suites: far more than anything takes, so that only what does not happen
// fails.
const (
	StartTimeout = 15 * time.Minute
	Timeout      = 2 * time.Minute
	Interval     = 100 * time.Millisecond
)

// Suite is a running environment with servers of content.
type Suite struct {
	*environment.Environment
	Git  *gitserver.Server
	Helm *helmrepo.Server
	OCI  *registry.Server

	API          versioned.Interface  // convoy's API, as an administrator of the host
	HostClient   kubernetes.Interface // the host cluster, likewise
	TargetClient kubernetes.Interface // the edge cluster, likewise

	gitRoot, helmRoot string
}

// Start starts an environment for the suite and ends it after the suite. A suite that
// failed leaves its logs; their place is printed.
func Start(ctx context.Context, args map[string][]string) *Suite {
	GinkgoHelper()
	SetDefaultEventuallyTimeout(Timeout)
	SetDefaultEventuallyPollingInterval(Interval)
	dir, err := os.MkdirTemp("", "convoy-e2e-")
	Expect(err).NotTo(HaveOccurred())
	env, err := environment.Start(ctx, environment.Options{Dir: dir, AuditLog: true, Args: args, Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	s := &Suite{Environment: env, gitRoot: filepath.Join(dir, "git"), helmRoot: filepath.Join(dir, "helm")}
	s.serve(dir)
	s.connect()
	DeferCleanup(func(ctx SpecContext) {
		Expect(s.Stop(ctx)).To(Succeed())
		if CurrentSpecReport().Failed() || suiteFailed {
			fmt.Fprintf(os.Stderr, "the logs of the failed suite are in %s\n", dir)
			return
		}
		Expect(os.RemoveAll(dir)).To(Succeed())
	}, NodeTimeout(2*time.Minute))
	return s
}

// suiteFailed is set by a failed test, so that the suite's logs are kept.
var suiteFailed bool

// KeepLogsOfFailures notes failed tests; call it in AfterEach.
func KeepLogsOfFailures() {
	suiteFailed = suiteFailed || CurrentSpecReport().Failed()
}

func (s *Suite) serve(dir string) {
	GinkgoHelper()
	var err error
	s.Git, err = gitserver.Start(gitserver.Options{Root: s.gitRoot, Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	s.Helm, err = helmrepo.Start(helmrepo.Options{Root: s.helmRoot})
	Expect(err).NotTo(HaveOccurred())
	s.OCI, err = registry.Start(registry.Options{Root: filepath.Join(dir, "oci")})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(s.Git.Close(ctx)).To(Succeed())
		Expect(s.Helm.Close(ctx)).To(Succeed())
		Expect(s.OCI.Close(ctx)).To(Succeed())
	})
}

func (s *Suite) connect() {
	GinkgoHelper()
	host, err := s.Host.RESTConfig()
	Expect(err).NotTo(HaveOccurred())
	s.API, err = versioned.NewForConfig(host)
	Expect(err).NotTo(HaveOccurred())
	s.HostClient, err = kubernetes.NewForConfig(host)
	Expect(err).NotTo(HaveOccurred())
	target, err := s.Target.RESTConfig()
	Expect(err).NotTo(HaveOccurred())
	s.TargetClient, err = kubernetes.NewForConfig(target)
	Expect(err).NotTo(HaveOccurred())
}

// Kubectl runs kubectl against the host cluster, with the plugin on the PATH, and returns
// both outputs and the exit code.
func (s *Suite) Kubectl(ctx context.Context, args ...string) (out, errOut string, code int) {
	GinkgoHelper()
	return s.KubectlWith(ctx, "", nil, args...)
}

// KubectlWith is Kubectl with a standard input and more environment.
func (s *Suite) KubectlWith(ctx context.Context, stdin string, env []string, args ...string) (out, errOut string, code int) {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, s.Environment.Kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.Host.AdminKubeconfig(), "PATH="+s.Bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewBufferString(stdin), &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		Expect(err).NotTo(HaveOccurred())
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// MustKubectl is Kubectl that has to succeed; it returns the standard output.
func (s *Suite) MustKubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	out, errOut, code := s.Kubectl(ctx, args...)
	Expect(code).To(BeZero(), "kubectl %v:\n%s%s", args, out, errOut)
	return out
}

// Apply applies YAML with kubectl apply --server-side.
func (s *Suite) Apply(ctx context.Context, yaml string) {
	GinkgoHelper()
	out, errOut, code := s.KubectlWith(ctx, yaml, nil, "apply", "--server-side", "-f", "-")
	Expect(code).To(BeZero(), "%s%s", out, errOut)
}

// HelmRoot is the folder of the Helm repositories that the suite serves.
func (s *Suite) HelmRoot() string { return s.helmRoot }
