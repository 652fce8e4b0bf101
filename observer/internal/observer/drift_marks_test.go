// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	clienttesting "k8s.io/client-go/testing"
)

// Another Release is asked about once in a pass, however many objects bear its mark.
func TestMarksOfOthersCostNoRequestEach(t *testing.T) {
	for name, stands := range map[string]bool{"a Release that has nothing": true, "a Release that is gone": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var manifests []string
			for i := range 30 {
				manifests = append(manifests, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: cm-%d}, data: {a: '1'}}", i))
			}
			w.applied(manifests...)
			if stands {
				w.stand("web")
			}
			for _, manifest := range manifests {
				w.cluster.Put(markedOf("inst/ns/web", manifest))
			}
			w.catchUp()
			w.client.ClearActions()
			w.look()
			w.expectInSync("False Drifted", "a sync is requested")
			asked := 0
			for _, action := range w.client.Actions() {
				if get, ok := action.(clienttesting.GetAction); ok && (get.GetName() == "web" || get.GetName() == "web.1") {
					asked++
				}
			}
			w.Expect(asked).To(And(BeNumerically(">", 0), BeNumerically("<=", 3)), "the Release, and the pages of its inventory")
		})
	}
}
