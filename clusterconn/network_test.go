// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"net"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// network is what lies between a Connector and a fakeCluster: TCP connections go through it
// as long as it works. What is lost is not sent again, so that a connection that lost
// something is of no use any more.
type network struct {
	net.Listener
	server string

	mu     sync.Mutex
	broken func(net.Conn) // what becomes of connections; nil: it works
	conns  []net.Conn     // that were opened so far

	closed chan int // gets the number of each connection that its client has closed
}

// newNetwork gives a network to the cluster, and a change of a kubeconfig that leads
// through it.
func newNetwork(t *testing.T, f *fakeCluster) (*network, func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	n := &network{Listener: listener, server: f.Listener.Addr().String(), closed: make(chan int, 100)}
	t.Cleanup(n.end)
	go n.accept()
	return n, func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
		c.Server = "https://" + listener.Addr().String()
	}
}

// loses drops all that is sent, without a word.
func loses(net.Conn) {}

// hangsUp closes connections.
func hangsUp(c net.Conn) { _ = c.Close() }

func (n *network) breaks(how func(net.Conn)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broken = how
}

func (n *network) works() { n.breaks(nil) }

// opened is how many connections were opened so far.
func (n *network) opened() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.conns)
}

func (n *network) end() {
	_ = n.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, conn := range n.conns {
		_ = conn.Close()
	}
}

func (n *network) state() func(net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.broken
}

func (n *network) accept() {
	for {
		near, err := n.Accept()
		if err != nil {
			return
		}
		number := n.note(near)
		far, err := net.Dial("tcp", n.server)
		if err != nil {
			_ = near.Close()
			continue
		}
		go func() {
			n.carry(near, far)
			n.closed <- number
		}()
		go n.carry(far, near)
	}
}

// note notes a connection and gives its number.
func (n *network) note(conn net.Conn) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns = append(n.conns, conn)
	return len(n.conns)
}

func (n *network) carry(from, to net.Conn) {
	defer func() { _ = from.Close() }()
	defer func() { _ = to.Close() }()
	buffer := make([]byte, 32<<10)
	lost := false
	for {
		size, err := from.Read(buffer)
		if err != nil {
			return
		}
		if broken := n.state(); broken != nil {
			broken(from)
			lost = true
		}
		if lost {
			continue
		}
		if _, err := to.Write(buffer[:size]); err != nil {
			return
		}
	}
}
