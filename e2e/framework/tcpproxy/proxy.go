// SPDX-License-Identifier: Apache-2.0

// Package tcpproxy stands between clients and a server, and can be told to lose what they
// say to each other, as a network does that drops packets: nobody gets an error, and nobody
// an answer.
package tcpproxy

import (
	"errors"
	"fmt"
	"net"
	"sync"
)

// Proxy passes TCP connections on.
type Proxy struct {
	listener net.Listener
	server   string
	done     sync.WaitGroup

	mu     sync.Mutex
	loses  bool
	opened int
	deaf   int // connections that lost something
	open   map[net.Conn]bool
}

// Start passes connections on to a server, host and port, from a free port of 127.0.0.1.
func Start(server string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	p := &Proxy{listener: listener, server: server, open: map[net.Conn]bool{}}
	p.done.Go(p.serve)
	return p, nil
}

// Address gives the proxy's host and port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Lose makes everything be lost that is sent from now on. New connections can be opened,
// and are as deaf.
func (p *Proxy) Lose() { p.setLoses(true) }

// Deliver ends that. What was lost is not sent again: a connection that lost something is
// deaf for good, and it is for its client to find that out.
func (p *Proxy) Deliver() { p.setLoses(false) }

// Opened is how many connections were opened so far.
func (p *Proxy) Opened() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opened
}

// Deaf is how many connections have lost something so far.
func (p *Proxy) Deaf() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.deaf
}

// Close ends all connections, and returns when nothing of the proxy runs any more.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	for conn := range p.open {
		err = errors.Join(err, conn.Close())
	}
	p.open = nil
	p.mu.Unlock()
	p.done.Wait()
	return err
}

func (p *Proxy) setLoses(loses bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loses = loses
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed; a listener that broke, the next client notices
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		if !p.keep(client, server) {
			return
		}
		pair := &pair{}
		p.done.Go(func() { p.carry(pair, client, server) })
		p.done.Go(func() { p.carry(pair, server, client) })
	}
}

// keep notes the ends of a connection, or closes them when the proxy is closed.
func (p *Proxy) keep(client, server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		_, _ = client.Close(), server.Close()
		return false
	}
	p.opened++
	p.open[client], p.open[server] = true, true
	return true
}

// pair is one connection, both ways.
type pair struct{ deaf bool }

// lost says whether what a connection carries now is lost.
func (p *Proxy) lost(c *pair) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loses && !c.deaf {
		c.deaf = true
		p.deaf++
	}
	return c.deaf
}

// carry passes on what one end sends, until either end is closed.
func (p *Proxy) carry(c *pair, from, to net.Conn) {
	defer p.drop(from)
	defer p.drop(to)
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !p.lost(c) {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *Proxy) drop(conn net.Conn) {
	p.mu.Lock()
	delete(p.open, conn)
	p.mu.Unlock()
	_ = conn.Close()
}
