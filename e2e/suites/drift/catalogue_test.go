// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/restmapper"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/framework/process"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// catalogue are manifests that clusters change in one way or another. $NAMESPACE is where
// they are delivered, $PORT where the habits are served, $LONG a long text.
//
//go:embed testdata/catalogue
var catalogue embed.FS

// catalogueFiles are the files of the catalogue as a repository has them.
func catalogueFiles(replace *strings.Replacer) map[string]string {
	GinkgoHelper()
	const folder = "testdata/catalogue"
	entries, err := catalogue.ReadDir(folder)
	Expect(err).NotTo(HaveOccurred())
	files := map[string]string{}
	for _, entry := range entries {
		data, err := catalogue.ReadFile(folder + "/" + entry.Name())
		Expect(err).NotTo(HaveOccurred())
		files["catalogue/"+entry.Name()] = replace.Replace(string(data))
	}
	return files
}

const (
	// checks is how many complete checks nothing must come of.
	checks = 10
	// settling is how often in a row nothing has changed when all have had their say.
	settling = 30
	// checkInterval is how often a complete check is made.
	checkInterval = 2 * time.Second
)

var _ = Describe("Objects that the cluster changes", func() {
	It("are no drift, in ten complete checks", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, nil)
		h := startHabits(ctx, n)
		n.Commit(ctx, catalogueFiles(strings.NewReplacer("$NAMESPACE", n.Name, "$PORT", h.port(), "$LONG", strings.Repeat("0123456789", 5000))))
		release := n.GitRelease("catalogue", scenario.Edge, "catalogue")
		release.Spec.Sync.PruneCRDs = true
		release.Spec.Drift = &corev1alpha1.DriftSpec{Ignore: []corev1alpha1.DriftIgnore{{
			Target: corev1alpha1.ObjectSelector{Group: "apps", Kind: "Deployment", Name: "scaled"}, Paths: []string{"/spec/replicas"},
		}}}
		n.Create(ctx, release)
		n.AwaitReady(ctx, "catalogue")
		objects := delivered(ctx, n, "catalogue")
		Expect(len(objects)).To(BeNumerically(">=", 50))
		By("letting controllers, webhooks and autoscalers have their say")
		Eventually(ctx, func() (int32, error) {
			scaled, err := n.TargetClient.AppsV1().Deployments(n.Name).Get(ctx, "scaled", metav1.GetOptions{})
			return scaled.Status.ReadyReplicas, err
		}).Should(BeEquivalentTo(3))
		n.AwaitCondition(ctx, "catalogue", corev1alpha1.ConditionInSync, metav1.ConditionTrue)
		versions := settled(ctx, objects)

		By("checking all objects again and again")
		before := n.Release(ctx, "catalogue")
		said := sayings(n, "catalogue")
		since := now(ctx)
		checkOften(ctx)
		Eventually(ctx, func() error { return checked(ctx, objects, since) }).WithPolling(time.Second).Should(Succeed())
		n.AwaitReady(ctx, "catalogue")
		Expect(writes(ctx, since)).To(BeEmpty())
		Expect(said()).To(BeEmpty(), "it is in sync all the time")
		after := n.Release(ctx, "catalogue")
		Expect(after.Annotations).To(Equal(before.Annotations), "no sync is asked for")
		Expect(after.Status.Applied).To(Equal(before.Status.Applied))
		for o, version := range current(ctx, objects) {
			if o.Resource != "horizontalpodautoscalers" { // whose controller writes how it fares now and then
				Expect(version).To(Equal(versions[o]), "%s %s", o.Resource, o.name)
			}
		}
	}, NodeTimeout(4*time.Minute))
})

// delivered are the objects of a Release.
func delivered(ctx context.Context, n *scenario.Namespace, name string) []object {
	GinkgoHelper()
	groups, err := restmapper.GetAPIGroupResources(n.TargetClient.Discovery())
	Expect(err).NotTo(HaveOccurred())
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	var objects []object
	for _, entry := range n.Inventory(ctx, name).Spec.Entries {
		mapping, err := mapper.RESTMapping(schema.GroupKind{Group: entry.Group, Kind: entry.Kind}, entry.Version)
		Expect(err).NotTo(HaveOccurred())
		versionOf[mapping.Resource.GroupResource()] = mapping.Resource.Version
		objects = append(objects, object{mapping.Resource.GroupResource(), entry.Namespace, entry.Name})
	}
	return objects
}

// versionOf are the versions in which kinds are read.
var versionOf = map[schema.GroupResource]string{}

// current are the resourceVersions of objects now.
func current(ctx context.Context, objects []object) map[object]string {
	GinkgoHelper()
	config, err := suite.Target.RESTConfig()
	Expect(err).NotTo(HaveOccurred())
	client, err := metadata.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	versions := map[object]string{}
	for _, o := range objects {
		live, err := client.Resource(o.WithVersion(versionOf[o.GroupResource])).Namespace(o.namespace).Get(ctx, o.name, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		versions[o] = live.ResourceVersion
	}
	return versions
}

// settled waits until nobody writes to the objects any more, and gives their versions.
func settled(ctx context.Context, objects []object) map[object]string {
	GinkgoHelper()
	versions, same := current(ctx, objects), 0
	Eventually(ctx, func() int {
		again := current(ctx, objects)
		if same++; !maps.Equal(versions, again) {
			versions, same = again, 0
		}
		return same
	}).Should(BeNumerically(">=", settling))
	return versions
}

// sayings collects what the condition InSync of a Release says but that it is, until the
// function that it gives is called.
func sayings(n *scenario.Namespace, name string) func() []string {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	watcher, err := n.API.CoreV1alpha1().Releases(n.Name).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	Expect(err).NotTo(HaveOccurred())
	var mu sync.Mutex
	var said []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watcher.ResultChan() {
			release, ok := event.Object.(*corev1alpha1.Release)
			if !ok {
				continue
			}
			c := meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionInSync)
			if c != nil && c.Status != metav1.ConditionTrue {
				mu.Lock()
				said = append(said, fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message))
				mu.Unlock()
			}
		}
	}()
	stop := func() []string {
		cancel()
		watcher.Stop()
		<-done
		return slices.Compact(said)
	}
	DeferCleanup(func() { stop() })
	return stop
}

// checkOften replaces convoy-observer by one that makes a complete check every few seconds,
// until the end of the test.
func checkOften(ctx context.Context) {
	GinkgoHelper()
	usual := suite.Convoy.Process(installation.Observer)
	Expect(usual.Stop(ctx)).To(Succeed())
	kubeconfig, err := suite.Host.ServiceAccountKubeconfig(ctx, installation.Namespace, installation.Observer)
	Expect(err).NotTo(HaveOccurred())
	ports, err := process.FreePorts(2)
	Expect(err).NotTo(HaveOccurred())
	often, err := process.Start(ctx, process.Command{
		Name: "observer-that-checks-often", Path: filepath.Join(suite.Bin, installation.Observer), Dir: filepath.Join(suite.Dir, "convoy"),
		Ready: process.HTTPReady(nil, fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[0])),
		Args: []string{
			"--kubeconfig=" + kubeconfig, "--resync=1h", "--drift-full-interval=" + checkInterval.String(),
			fmt.Sprintf("--metrics-addr=127.0.0.1:%d", ports[0]), fmt.Sprintf("--serve-addr=127.0.0.1:%d", ports[1]),
		},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(often.Stop(ctx)).To(Succeed())
		Expect(usual.Restart(ctx)).To(Succeed())
	})
}

// checked tells which objects were looked at fewer times than there are to be checks: they are
// read, or listed with others of the kind in their namespace.
func checked(ctx context.Context, objects []object, since moment) error {
	looks := map[object]int{}
	for _, r := range requests(ctx, "convoy-observer/", since) {
		if r.Verb == "get" || r.Verb == "list" && r.ObjectRef.Namespace != "" {
			looks[r.object()]++
		}
	}
	for _, o := range objects {
		all := o
		all.name = ""
		if n := looks[o] + looks[all]; n < checks {
			return fmt.Errorf("%s was looked at %d times", o, n)
		}
	}
	return nil
}
