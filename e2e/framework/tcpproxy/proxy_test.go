// SPDX-License-Identifier: Apache-2.0

package tcpproxy

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// echo answers each line with itself, and tells of it before.
func echo(t *testing.T) (address string, heard chan string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = listener.Close() })
	heard = make(chan string, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					heard <- lines.Text()
					_, _ = io.WriteString(conn, lines.Text()+"\n")
				}
			}()
		}
	}()
	return listener.Addr().String(), heard
}

// end is a client's end of a connection.
type end struct {
	net.Conn
	lines *bufio.Reader
}

func dial(t *testing.T, p *Proxy) *end {
	conn, err := net.Dial("tcp", p.Address())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = conn.Close() })
	return &end{Conn: conn, lines: bufio.NewReader(conn)}
}

func (e *end) say(line string) error {
	_, err := io.WriteString(e, line+"\n")
	return err
}

func TestWhatIsLostStaysLost(t *testing.T) {
	g := NewWithT(t)
	server, heard := echo(t)
	p, err := Start(server)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = p.Close() })
	talker, quiet := dial(t, p), dial(t, p)
	for _, e := range []*end{talker, quiet} {
		g.Expect(e.say("one")).To(Succeed())
		g.Expect(e.lines.ReadString('\n')).To(Equal("one\n"))
		g.Expect(<-heard).To(Equal("one"))
	}

	p.Lose()
	g.Expect(talker.say("two")).To(Succeed(), "nobody is told")
	deaf := dial(t, p)
	g.Expect(deaf.say("two")).To(Succeed())
	g.Eventually(p.Deaf).WithTimeout(10 * time.Second).Should(Equal(2))

	p.Deliver()
	g.Expect(talker.say("three")).To(Succeed())
	g.Expect(deaf.say("three")).To(Succeed())
	fresh := dial(t, p)
	for _, e := range []*end{quiet, fresh} {
		g.Expect(e.say("four")).To(Succeed())
		g.Expect(e.lines.ReadString('\n')).To(Equal("four\n"), "what lost nothing goes on")
		g.Expect(<-heard).To(Equal("four"))
	}
	g.Expect(heard).To(BeEmpty())
	g.Expect(p.Opened()).To(Equal(4))
}

func TestCloseEndsConnections(t *testing.T) {
	g := NewWithT(t)
	server, _ := echo(t)
	p, err := Start(server)
	g.Expect(err).NotTo(HaveOccurred())
	e := dial(t, p)
	g.Expect(e.say("one")).To(Succeed())
	g.Expect(e.lines.ReadString('\n')).To(Equal("one\n"))
	g.Expect(p.Close()).To(Succeed())
	_, err = e.lines.ReadString('\n')
	g.Expect(err).To(HaveOccurred())
}
