// SPDX-License-Identifier: Apache-2.0

// Package look tests what people are shown of Releases: preview, diff, health, history; that
// it is what a sync does then; and that however many ask, it costs little.
package look

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	corev1alpha1client "kumodo.io/convoy/client/clientset/versioned/typed/core/v1alpha1"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/suites/scenario"
)

var suite *scenario.Suite

func TestLook(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Look")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	suite = scenario.Start(ctx, map[string][]string{installation.ControllerManager: {"--resync=1h"}})
}, NodeTimeout(scenario.StartTimeout))

var _ = AfterEach(scenario.KeepLogsOfFailures)

// limit bounds a spec.
const limit = 3 * time.Minute

// releases gives the client for the Releases of a namespace.
func releases(n *scenario.Namespace) corev1alpha1client.ReleaseInterface {
	return n.API.CoreV1alpha1().Releases(n.Name)
}

// held is a Release that is synced when somebody asks.
func held(n *scenario.Namespace, name, path string) *corev1alpha1.Release {
	release := n.GitRelease(name, scenario.Edge, path)
	release.Spec.Sync.Mode = corev1alpha1.SyncModeManual
	return release
}

// preview asks what a sync of a Release would do.
func preview(ctx context.Context, n *scenario.Namespace, name string, options corev1alpha1.ReleasePreviewOptions) *corev1alpha1.ReleasePreview {
	GinkgoHelper()
	found, err := releases(n).Preview(ctx, name, options)
	Expect(err).NotTo(HaveOccurred())
	return found
}

// diff asks how a Release differs.
func diff(ctx context.Context, n *scenario.Namespace, name, from, to string) *corev1alpha1.ReleaseDiff {
	GinkgoHelper()
	found, err := releases(n).Diff(ctx, name, corev1alpha1.ReleaseDiffOptions{From: from, To: to})
	Expect(err).NotTo(HaveOccurred())
	return found
}

// steps are what a preview tells of each object.
func steps(preview *corev1alpha1.ReleasePreview) []string {
	var all []string
	for _, object := range preview.Objects {
		line := fmt.Sprintf("%s %s %s", object.Action, object.Kind, object.Name)
		if object.Simulated {
			line += " simulated"
		}
		if object.Reason != "" {
			line += " " + object.Reason
		}
		all = append(all, line)
	}
	return all
}

// changes are the fields that a preview says change, as "path: from -> to".
func changes(object corev1alpha1.ObjectPreview) []string {
	var all []string
	for _, change := range object.Changes {
		all = append(all, fmt.Sprintf("%s: %s -> %s", change.Path, change.From, change.To))
	}
	return all
}

// asked counts the requests of convoy-observer to the target about objects of a namespace, by
// verb, from a place in its audit log on.
func asked(ctx context.Context, n *scenario.Namespace, from int) map[string]int {
	GinkgoHelper()
	text := auditLog(ctx, n)[from:]
	counts := map[string]int{}
	for line := range strings.Lines(text) {
		if strings.Contains(line, `"userAgent":"convoy-observer/`) && strings.Contains(line, `"namespace":"`+n.Name+`"`) {
			counts[verb.FindStringSubmatch(line)[1]]++
		}
	}
	return counts
}

var verb = regexp.MustCompile(`"verb":"(\w+)"`)

// auditLog is the target's, with all that was answered before.
func auditLog(ctx context.Context, n *scenario.Namespace) string {
	GinkgoHelper()
	marker := fmt.Sprintf("marker-%d", time.Now().UnixNano())
	_, _ = n.TargetClient.CoreV1().ConfigMaps("default").Get(ctx, marker, metav1.GetOptions{})
	var text string
	Eventually(ctx, func() (string, error) {
		data, err := os.ReadFile(filepath.Join(suite.Dir, "edge", "audit.log"))
		text = string(data)
		return text, err
	}).Should(ContainSubstring(marker))
	return text
}
