// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"context"
	"net"
	"sync/atomic"
)

// Wire counts the bytes that pass through connections, TLS and all.
type Wire struct {
	sent, received atomic.Int64
}

// Dial connects and counts; it is for rest.Config.Dial and http.Transport.DialContext.
func (w *Wire) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &counted{Conn: conn, wire: w}, nil
}

// Totals gives the bytes sent and received so far, as costs of the client.
func (w *Wire) Totals() Costs {
	return Costs{
		{Of: "client", What: "sent", Unit: "bytes"}:     float64(w.sent.Load()),
		{Of: "client", What: "received", Unit: "bytes"}: float64(w.received.Load()),
	}
}

type counted struct {
	net.Conn
	wire *Wire
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.wire.received.Add(int64(n))
	return n, err
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.wire.sent.Add(int64(n))
	return n, err
}
