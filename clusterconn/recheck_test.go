// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestRecheck(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	secrets := kubeconfigSecret(f.kubeconfig(t, canary))
	connector := New(Options{Secrets: secrets, Clock: newFakeClock()})
	connector.Recheck("web", "edge") // not known yet
	before, err := connector.Connect(t.Context(), agentless())
	g.Expect(err).NotTo(HaveOccurred())
	secrets.set("target", map[string][]byte{"kubeconfig": f.kubeconfig(t, "another")})
	g.Expect(connector.Connect(t.Context(), agentless())).To(BeIdenticalTo(before), "it was looked at just now")

	connector.Recheck("web", "other")
	g.Expect(connector.Connect(t.Context(), agentless())).To(BeIdenticalTo(before), "it is another one's")
	connector.Recheck("web", "edge")
	after, err := connector.Connect(t.Context(), agentless())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after).NotTo(BeIdenticalTo(before))
}
