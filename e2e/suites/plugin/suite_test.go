// SPDX-License-Identifier: Apache-2.0

// Package plugin tests kubectl convoy as people run it, against real clusters: each command
// and its failure, and the examples of its help.
package plugin

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/suites/scenario"
)

var suite *scenario.Suite

func TestPlugin(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Plugin")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	suite = scenario.Start(ctx, map[string][]string{installation.ControllerManager: {"--resync=1h"}})
}, NodeTimeout(scenario.StartTimeout))

var _ = AfterEach(scenario.KeepLogsOfFailures)

// limit bounds a spec.
const limit = 3 * time.Minute

// convoy runs the plugin in a namespace, which has to succeed, and returns what it wrote.
func convoy(ctx context.Context, n *scenario.Namespace, args ...string) string {
	GinkgoHelper()
	return n.MustKubectl(ctx, append([]string{"convoy", "-n", n.Name}, args...)...)
}

// refused runs the plugin in a namespace, which has to fail with status 1 and write nothing
// but why, which is returned.
func refused(ctx context.Context, n *scenario.Namespace, args ...string) string {
	GinkgoHelper()
	out, errOut, code := n.Kubectl(ctx, append([]string{"convoy", "-n", n.Name}, args...)...)
	Expect(code).To(Equal(1), "kubectl convoy %v:\n%s%s", args, out, errOut)
	Expect(out).To(BeEmpty(), "%v", args)
	Expect(errOut).To(HavePrefix("error: "), "%v", args)
	return errOut
}

// held is a Release that is synced when somebody asks.
func held(n *scenario.Namespace, name, path string) *corev1alpha1.Release {
	release := n.GitRelease(name, scenario.Edge, path)
	release.Spec.Sync.Mode = corev1alpha1.SyncModeManual
	return release
}

// deployment is the manifest of a Deployment with one Pod, which fares as its annotations say.
func deployment(name, annotations string) string {
	return `apiVersion: apps/v1
kind: Deployment
metadata: {name: ` + name + `}
spec:
  selector: {matchLabels: {app: ` + name + `}}
  template:
    metadata: {labels: {app: ` + name + `}, annotations: {` + annotations + `}}
    spec: {containers: [{name: c, image: i}]}
`
}
