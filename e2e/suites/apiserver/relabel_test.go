// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const (
	shardLabel = "convoy.kumodo.io/shard"
	newShards  = 8
)

// sharded is an object with a shard label, and the key of its shard as docs/sharding.md
// tells it.
type sharded struct {
	path, key string
	before    object
}

var _ = Describe("Shard labels", func() {
	It("of what was stored follow the number of shards, by two replicas at once, and nothing else changes", func(ctx SpecContext) {
		namespace := suite.namespace(ctx)
		var all []*sharded
		for i := range 12 {
			all = append(all,
				suite.createSharded(ctx, namespace, "releases", fmt.Sprintf("%s/edge-%d", namespace, i),
					with(newRelease(namespace, fmt.Sprintf("app-%d", i)), "spec.clusterRef.name", fmt.Sprintf("edge-%d", i))),
				suite.createSharded(ctx, namespace, "gitrepositories", fmt.Sprintf("GitRepository/%s/repo-%d", namespace, i), object{
					"apiVersion": sourceGroup + "/v1alpha1", "kind": "GitRepository",
					"metadata": object{"namespace": namespace, "name": fmt.Sprintf("repo-%d", i), "labels": object{"of": "mine"}},
					"spec":     object{"url": "https://git.example.com/app.git"},
				}))
		}
		for _, one := range all {
			Expect(field(one.before, "metadata.labels", shardLabel)).To(Equal("0"), one.path)
		}
		DeferCleanup(func(ctx SpecContext) { suite.restored(ctx) })
		for _, one := range suite.replicas {
			Expect(one.Stop(ctx)).To(Succeed())
		}

		replicas := suite.together(ctx, apiServer+"-more-shards", 2, fmt.Sprintf("shards=%d", newShards))
		asker := suite.admin.at(replicas[0])
		moved := 0
		for _, one := range all {
			want := fmt.Sprint(shardOf(one.key, newShards))
			var now object
			Eventually(ctx, func() any {
				now = asker.get(ctx, one.path).object()
				return field(now, "metadata.labels", shardLabel)
			}).Should(Equal(want), one.path)
			if want != "0" {
				moved++
				Expect(field(now, "metadata.resourceVersion")).NotTo(Equal(field(one.before, "metadata.resourceVersion")))
			}
			for _, o := range []object{now, one.before} {
				delete(field(o, "metadata").(object), "resourceVersion")
				delete(field(o, "metadata.labels").(object), shardLabel)
			}
			Expect(now).To(Equal(one.before), "no generation, no field manager, nothing but the label")
		}
		Expect(moved).To(BeNumerically(">", len(all)/2))

		By("whoever selects a shard finds what is in it")
		found := 0
		for number := range newShards {
			selector := url.QueryEscape(fmt.Sprintf("%s=%d", shardLabel, number))
			items, _ := field(asker.get(ctx, releasesPath(namespace)+"?labelSelector="+selector).object(), "items").([]any)
			found += len(items)
		}
		Expect(found).To(Equal(len(all) / 2))

		By("it is counted")
		counted := 0.0
		for _, one := range replicas {
			for _, line := range strings.Split(suite.admin.at(one).get(ctx, "/metrics").body, "\n") {
				var count float64
				if n, _ := fmt.Sscanf(line, "convoy_apiserver_relabelled_objects_total %g", &count); n == 1 {
					counted += count
				}
			}
		}
		Expect(counted).To(BeNumerically(">=", moved))
	})
})

// createSharded makes an object as the administrator.
func (r *rig) createSharded(ctx context.Context, namespace, plural, key string, o object) *sharded {
	GinkgoHelper()
	group, _, _ := strings.Cut(o["apiVersion"].(string), "/")
	collection := "/apis/" + group + "/v1alpha1/namespaces/" + namespace + "/" + plural
	got := r.admin.post(ctx, collection, o)
	Expect(got.code).To(Equal(http.StatusCreated), got.body)
	return &sharded{path: collection + "/" + field(o, "metadata.name").(string), key: key, before: got.object()}
}

// together starts replicas at the same time, for one spec.
func (r *rig) together(ctx context.Context, name string, count int, flags ...string) []*replica {
	GinkgoHelper()
	replicas := make([]*replica, count)
	var starts sync.WaitGroup
	for i := range replicas {
		starts.Go(func() {
			defer GinkgoRecover()
			replicas[i] = r.newReplica(ctx, fmt.Sprintf("%s-%d", name, i), flags...)
		})
	}
	starts.Wait()
	DeferCleanup(func(ctx SpecContext) {
		for _, one := range replicas {
			if one != nil {
				Expect(one.Stop(ctx)).To(Succeed())
			}
		}
	})
	return replicas
}

// shardOf is FNV-1a of the key, modulo the number of shards.
func shardOf(key string, shards int) int {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(key))
	return int(hash.Sum32() % uint32(shards))
}
