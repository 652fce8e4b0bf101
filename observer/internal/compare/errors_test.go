// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"errors"
	"net"
	"net/url"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/clusterconn"
)

func TestUnreachable(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 6443}, Err: errors.New("connection refused")}
	reset := *refused
	reset.Op, reset.Source, reset.Err = "read", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 40000}, errors.New("connection reset")
	of := func(err error) error {
		return &url.Error{Op: "Get", URL: "https://edge/api/v1/namespaces/ns/configmaps/cm", Err: err}
	}
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"nobody listens", of(refused), "target cluster is unreachable: dial tcp 127.0.0.1:6443: connection refused"},
		{"the connection broke", of(&reset), "target cluster is unreachable: read tcp 127.0.0.1:6443: connection reset"},
		{"in an outage", of(&clusterconn.OutageError{Err: &url.Error{Op: "Get", URL: "https://edge/livez", Err: refused}}),
			`target cluster is unreachable: Get "https://edge/livez": dial tcp 127.0.0.1:6443: connection refused`},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			err := unreachable(test.err)
			g.Expect(err).To(MatchError(test.want))
			g.Expect(err).To(MatchError(clusterconn.ErrUnreachable))
		})
	}
}
