// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/suites/scenario"
)

const (
	shards   = 4
	clusters = 12
)

// addClusters makes Clusters that are all the same one, and gives their names by shard.
func addClusters(ctx context.Context, n *scenario.Namespace) map[string][]string {
	GinkgoHelper()
	edge, err := n.API.CoreV1alpha1().Clusters(n.Name).Get(ctx, scenario.Edge, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	names := map[string][]string{}
	for i := 0; len(names) < shards || i < clusters; i++ {
		created, err := n.API.CoreV1alpha1().Clusters(n.Name).Create(ctx, &corev1alpha1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c%02d", i)}, Spec: edge.Spec,
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		shard := created.Labels[corev1alpha1.LabelShard]
		names[shard] = append(names[shard], created.Name)
	}
	return names
}

// files are those of Releases "r-<shard>" and "after-<shard>".
func files(value string) map[string]string {
	files := map[string]string{}
	for shard := range shards {
		for _, kind := range []string{"r", "after"} {
			name := fmt.Sprintf("%s-%d", kind, shard)
			files[name+"/a.yaml"] = scenario.ConfigMap(name, "v", value)
		}
	}
	return files
}

// names are those of all Releases.
func names() []string {
	var names []string
	for shard := range shards {
		names = append(names, fmt.Sprintf("r-%d", shard), fmt.Sprintf("after-%d", shard))
	}
	return names
}

// appliedAll asks for the values of all objects.
func appliedAll(ctx context.Context, n *scenario.Namespace) func() (map[string]string, error) {
	return func() (map[string]string, error) {
		list, err := n.TargetClient.CoreV1().ConfigMaps(n.Name).List(ctx, metav1.ListOptions{LabelSelector: corev1alpha1.LabelOwner})
		if err != nil {
			return nil, err
		}
		values := map[string]string{}
		for _, one := range list.Items {
			values[one.Name] = one.Data["v"]
		}
		return values, nil
	}
}

func all(value string) map[string]string {
	values := map[string]string{}
	for _, name := range names() {
		values[name] = value
	}
	return values
}

// awaitWell waits until the observer has found everything well and as applied.
func awaitWell(ctx context.Context, n *scenario.Namespace) {
	GinkgoHelper()
	for _, name := range names() {
		n.AwaitReady(ctx, name)
		n.AwaitCondition(ctx, name, corev1alpha1.ConditionInSync, metav1.ConditionTrue)
	}
}

var _ = Describe("Replicas with --shard-scoped-cache", Serial, func() {
	It("hold what they work on, and go on when one is killed", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, files("1"))
		managers := []replica{first(installation.ControllerManager), second(ctx, installation.ControllerManager)}
		observers := []replica{first(installation.Observer), second(ctx, installation.Observer)}
		both := append(append([]replica{}, managers...), observers...)
		half := HaveKeyWithValue("shards", shards/2)
		Eventually(ctx, caches(ctx, both...)).Should(HaveEach(half), "the shards are shared, and cached")

		By("delivering to clusters of all shards, one after another that is in the next shard")
		byShard := addClusters(ctx, n)
		for shard := range shards {
			dependency := fmt.Sprintf("r-%d", (shard+1)%shards)
			after := n.GitRelease(fmt.Sprintf("after-%d", shard), byShard[fmt.Sprint(shard)][0], fmt.Sprintf("after-%d", shard))
			after.Spec.DependsOn = []corev1alpha1.Dependency{{Name: dependency}}
			n.Create(ctx, after)
		}
		for shard := range shards {
			Eventually(ctx, func() string {
				return n.AwaitCondition(ctx, fmt.Sprintf("after-%d", shard), corev1alpha1.ConditionApplied, metav1.ConditionFalse).Message
			}).Should(ContainSubstring("Release r-%d: does not exist", (shard+1)%shards))
		}
		began := time.Now()
		for shard := range shards {
			n.Create(ctx, n.GitRelease(fmt.Sprintf("r-%d", shard), byShard[fmt.Sprint(shard)][1%len(byShard[fmt.Sprint(shard)])], fmt.Sprintf("r-%d", shard)))
		}
		awaitWell(ctx, n)
		Expect(time.Since(began)).To(BeNumerically("<", time.Minute), "dependencies in other shards are watched, not looked at with the next resync")
		Expect(appliedAll(ctx, n)()).To(Equal(all("1")))

		By("each holding a part, and all of them everything")
		for _, of := range [][]replica{managers, observers} {
			Eventually(ctx, func() (map[string]int, error) { return sum(ctx, of) }).Should(Equal(map[string]int{
				"shards": shards, "Release": 2 * shards, "ReleaseInventory": 2 * shards, "Cluster": total(byShard) + 2,
			}))
			Expect(caches(ctx, of...)()).To(HaveEach(HaveKeyWithValue("Release", shards)))
		}

		By("answering for a Release of whatever shard")
		for _, name := range names() {
			Expect(n.MustKubectl(ctx, "convoy", "-n", n.Name, "health", name)).To(ContainSubstring(name))
			n.MustKubectl(ctx, "convoy", "-n", n.Name, "diff", name)
		}

		By("killing one of each, and delivering another commit")
		Expect(managers[1].Kill()).To(Succeed())
		Expect(observers[1].Kill()).To(Succeed())
		n.Commit(ctx, files("2"))
		for _, name := range names() {
			n.Sync(ctx, name)
		}
		Eventually(ctx, appliedAll(ctx, n)).Should(Equal(all("2")))
		awaitWell(ctx, n)
		whole := And(HaveKeyWithValue("shards", shards), HaveKeyWithValue("Release", 2*shards), HaveKeyWithValue("Cluster", total(byShard)+2))
		Eventually(ctx, caches(ctx, managers[0], observers[0])).Should(HaveEach(whole))

		By("sharing again: the memory is given back, and nothing is deleted by that")
		managers[1], observers[1] = second(ctx, installation.ControllerManager), second(ctx, installation.Observer)
		Eventually(ctx, caches(ctx, managers[0], observers[0], managers[1], observers[1])).
			Should(HaveEach(And(half, HaveKeyWithValue("Release", shards))))
		n.Commit(ctx, files("3"))
		for _, name := range names() {
			n.Sync(ctx, name)
		}
		Eventually(ctx, appliedAll(ctx, n)).Should(Equal(all("3")))
		awaitWell(ctx, n)
		Expect(sum(ctx, managers)).To(HaveKeyWithValue("Release", 2*shards))

		By("deleting a Release that another one in another shard waits for")
		n.MustKubectl(ctx, "-n", n.Name, "delete", "release", "r-1", "--timeout=90s")
		Eventually(ctx, func() string {
			ready := meta.FindStatusCondition(n.Release(ctx, "after-0").Status.Conditions, corev1alpha1.ConditionReady)
			if ready == nil {
				return ""
			}
			return ready.Message
		}).Should(ContainSubstring("Release r-1: does not exist"))
		Expect(appliedAll(ctx, n)()).To(And(HaveKey("after-0"), Not(HaveKey("r-1"))))
		Expect(suite.Environment.Convoy.Err()).To(Succeed(), "no process ended")
	}, NodeTimeout(8*time.Minute))
})

// sum adds up what replicas hold.
func sum(ctx context.Context, replicas []replica) (map[string]int, error) {
	all, err := caches(ctx, replicas...)()
	sum := map[string]int{}
	for _, one := range all {
		for name, value := range one {
			sum[name] += value
		}
	}
	return sum, err
}

func total(names map[string][]string) int {
	total := 0
	for _, some := range names {
		total += len(some)
	}
	return total
}
