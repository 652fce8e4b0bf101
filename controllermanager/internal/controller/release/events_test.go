// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestAReleaseThatIsNotLookedAtSaysSo(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.Expect(w.clusters.Delete(w.cachedCluster(key.Namespace, "here"))).To(Succeed())
	w.pass()
	w.Expect(w.events()).To(ConsistOf(HavePrefix("Warning ClusterNotFound")))
	w.pass()
	w.Expect(w.events()).To(BeEmpty(), "once")
}

func TestManyObjectsInFewEvents(t *testing.T) {
	w := newWorld(t, newRelease())
	s := &scope{release: w.release()}
	var texts []string
	for i := range 55 {
		texts = append(texts, fmt.Sprintf("ConfigMap ns/%02d: was replaced by another object of its name, which stays", i))
	}
	w.tellAll(s, "Kept", texts)
	events := w.events()
	w.Expect(len(events)).To(BeNumerically("<", 6))
	w.Expect(events).To(HaveEach(HavePrefix("Normal Kept ")))
	w.Expect(strings.Split(strings.ReplaceAll(strings.Join(events, "; "), "Normal Kept ", ""), "; ")).To(Equal(texts))

	long := strings.Repeat("x", 2*maxEvent)
	w.tellAll(s, "Kept", []string{long, "short"})
	w.Expect(w.events()).To(Equal([]string{"Normal Kept " + long, "Normal Kept short"}))
}
