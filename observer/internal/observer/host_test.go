// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kumodo.io/convoy/clusterconn"
)

func TestTheClusterIsNamedOnce(t *testing.T) {
	w := newWorld(t)
	w.setRelease(nothing)
	target, err := w.host.Connect(t.Context(), w.release())
	w.Expect(err).NotTo(HaveOccurred())
	for _, test := range []struct {
		name  string
		given error
		want  string
	}{
		{"it does not answer", fmt.Errorf("reading: %w", clusterconn.ErrUnreachable), "cluster edge: reading: target cluster is unreachable"},
		{"it does not accept the credentials", clusterconn.ErrUnauthenticated, "cluster edge: target cluster does not accept the credentials"},
		{"it is named", fmt.Errorf("reading: %w", target.Blame(clusterconn.ErrUnreachable)), "reading: cluster edge: target cluster is unreachable"},
		{"an object is to blame", clusterconn.ErrForbidden, clusterconn.ErrForbidden.Error()},
		{"something else", errors.New("surprise"), "surprise"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			named := target.Blame(test.given)
			g.Expect(named).To(MatchError(test.given))
			g.Expect(named.Error()).To(Equal(test.want))
			g.Expect(target.Blame(named)).To(BeIdenticalTo(named))
		})
	}
	w.Expect(target.Blame(nil)).To(Succeed())

	w.cluster.Stop()
	_, _, err = target.Capabilities(t.Context())
	w.Expect(err).To(MatchError(HavePrefix("cluster edge: target cluster is unreachable: ")))
	w.clock.Step(time.Minute)
	_, err = target.Namespaced(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	w.Expect(err).To(MatchError(HavePrefix("cluster edge: target cluster is unreachable: ")))
}
