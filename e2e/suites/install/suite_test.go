// SPDX-License-Identifier: Apache-2.0

// Package install holds the two forms of installation, config/ and charts/convoy, against a
// host with convoy-apiserver: what they consist of is accepted, and does what it is there for.
// That both are the same objects is tested in tools/chart.
package install

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/e2e/framework/build"
	"kumodo.io/convoy/e2e/framework/controlplane"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/framework/manifests"
)

const system = installation.Namespace

var suite struct {
	dir, root, assets, kubectl string

	host   *controlplane.ControlPlane
	convoy *installation.Installation
	api    versioned.Interface
	failed bool
}

func TestInstall(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Install")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	suite.dir, err = os.MkdirTemp("", "convoy-install-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(end, NodeTimeout(2*time.Minute))
	suite.root, err = build.Root()
	Expect(err).NotTo(HaveOccurred())
	suite.assets, err = controlplane.Assets(ctx, filepath.Join(suite.root, "e2e", "controlplane", "build.sh"), GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	suite.kubectl, err = controlplane.Kubectl(suite.assets)
	Expect(err).NotTo(HaveOccurred())
	bin, err := build.Convoy(ctx, suite.root, GinkgoWriter, installation.APIServer)
	Expect(err).NotTo(HaveOccurred())
	suite.host, err = controlplane.Start(ctx, controlplane.Options{
		Name: "host", Dir: filepath.Join(suite.dir, "host"), Assets: suite.assets, Log: GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	suite.convoy, err = installation.Start(ctx, installation.Options{
		Dir: filepath.Join(suite.dir, "convoy"), Bin: bin, Config: filepath.Join(suite.root, "config"), Host: suite.host,
		Only: []string{installation.APIServer}, Log: GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	// The account of pods that name none; the controller that makes it does not run here.
	kubectl(ctx, suite.host.AdminKubeconfig(), "", "--namespace="+system, "create", "serviceaccount", "default")
	config, err := suite.host.RESTConfig()
	Expect(err).NotTo(HaveOccurred())
	suite.api, err = versioned.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
}, NodeTimeout(15*time.Minute))

var _ = AfterEach(func() { suite.failed = suite.failed || CurrentSpecReport().Failed() })

func end(ctx SpecContext) {
	if suite.convoy != nil {
		Expect(suite.convoy.Stop(ctx)).To(Succeed())
	}
	if suite.host != nil {
		Expect(suite.host.Stop(ctx)).To(Succeed())
	}
	if suite.failed || suite.api == nil {
		fmt.Fprintf(os.Stderr, "the logs of the failed suite are in %s\n", suite.dir)
		return
	}
	Expect(os.RemoveAll(suite.dir)).To(Succeed())
}

// chart renders the chart with values, as YAML.
func chart(ctx context.Context, values string) []*unstructured.Unstructured {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "values.yaml")
	Expect(os.WriteFile(file, []byte(values), 0o600)).To(Succeed())
	cmd := exec.CommandContext(ctx, "go", "run", ".", "render", "-values", file)
	cmd.Dir = filepath.Join(suite.root, "tools", "chart")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	objects, err := manifests.Parse([]byte(output(cmd)))
	Expect(err).NotTo(HaveOccurred())
	return objects
}

// kubectl runs kubectl against the host with a kubeconfig, and returns its output.
func kubectl(ctx context.Context, kubeconfig, stdin string, args ...string) string {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, suite.kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+suite.dir)
	cmd.Stdin = strings.NewReader(stdin)
	return output(cmd)
}

func output(cmd *exec.Cmd) string {
	GinkgoHelper()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	Expect(cmd.Run()).To(Succeed(), "%s\n%s", cmd, &errOut)
	return out.String()
}
