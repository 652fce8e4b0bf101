// SPDX-License-Identifier: Apache-2.0

package command

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestShards(t *testing.T) {
	g := NewWithT(t)
	h := wellHost(t)
	code, out, errOut := h.run(t, "shards")
	g.Expect(code).To(Equal(0), errOut)
	g.Expect(words(out)).To(HaveExactElements(
		"SHARD CONTROLLER-MANAGER OBSERVER CLUSTERS RELEASES HEAVIEST CLUSTER",
		"0 a a 1 3 shop/edge (3)", "1 b b 1 1 shop/far (1)", "",
		"REPLICA COMPONENT SHARDS RELEASES OF MEAN RENEWED",
		MatchRegexp(`^a convoy-controller-manager 0 3 150% \d+s ago$`), MatchRegexp(`^b convoy-controller-manager 1 1 50% \d+s ago$`),
		MatchRegexp(`^a convoy-observer 0 3 150% \d+s ago$`), MatchRegexp(`^b convoy-observer 1 1 50% \d+s ago$`), "",
		"! Cluster shop/edge has 3 Releases, more than the share of a replica: neither more shards nor more replicas divide it",
	))
	g.Expect(h.asked).To(ContainElement("GET " + coreAPI + "releases?limit=500"))

	_, out, _ = h.run(t, "shards", "-o", "jsonpath={.shards[*].owners.convoy-observer}")
	g.Expect(out).To(Equal("a b\n"))
}

func TestShardsOnWhichNobodyWorks(t *testing.T) {
	g := NewWithT(t)
	h := wellHost(t)
	h.objects[leasesPath] = listOf(t, "LeaseList")
	code, out, _ := h.run(t, "shards")
	g.Expect(code).To(Equal(0))
	g.Expect(words(out)).To(HaveExactElements(
		"SHARD CONTROLLER-MANAGER OBSERVER CLUSTERS RELEASES HEAVIEST CLUSTER",
		"0 <nobody> <nobody> 1 3 shop/edge (3)", "1 <nobody> <nobody> 1 1 shop/far (1)", "",
		"✗ convoy-controller-manager: no replica has been heard of for 1m0s", "✗ convoy-observer: no replica has been heard of for 1m0s",
	))
}

func TestShardsThatMayNotBeRead(t *testing.T) {
	g := NewWithT(t)
	h := wellHost(t)
	h.forbidden = []string{leasesPath}
	code, out, errOut := h.run(t, "shards")
	g.Expect(code).To(Equal(1))
	g.Expect(out).To(BeEmpty())
	g.Expect(errOut).To(ContainSubstring("error: Leases of namespace convoy-system: you may not"))
	h.run(t, "shards", "--convoy-namespace", "elsewhere")
	g.Expect(h.asked[0]).To(Equal("GET /apis/coordination.k8s.io/v1/namespaces/elsewhere/leases"))
}
