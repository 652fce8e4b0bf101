// SPDX-License-Identifier: Apache-2.0

package testsource

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/ssh"
)

// SSHServer serves the repositories below a directory.
type SSHServer struct {
	Address string
	// Client is the private key that may log in, in PEM form.
	Client []byte
	// LFS answers git-lfs-authenticate for the path of a repository; nil does not know the
	// command.
	LFS func(path string) string
	// Connections counts those that clients made.
	Connections atomic.Int32
}

// NewSigner makes an ed25519 key.
func NewSigner(t testing.TB) (ssh.Signer, []byte) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	return signer, pem.EncodeToMemory(block)
}

// ServeSSH serves repositories below root to one client key, with the host keys.
func ServeSSH(t testing.TB, root string, hostKeys ...ssh.Signer) *SSHServer {
	t.Helper()
	allowed, private := NewSigner(t)
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if string(key.Marshal()) == string(allowed.PublicKey().Marshal()) {
			return nil, nil
		}
		return nil, errors.New("unknown key")
	}}
	for _, key := range hostKeys {
		config.AddHostKey(key)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	server := &SSHServer{Address: listener.Addr().String(), Client: private}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			server.Connections.Add(1)
			go server.serveConnection(connection, config, root)
		}
	}()
	return server
}

func (s *SSHServer) serveConnection(connection net.Conn, config *ssh.ServerConfig, root string) {
	defer connection.Close()
	_, channels, requests, err := ssh.NewServerConn(connection, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		go s.serveSession(channel, requests, root)
	}
}

func (s *SSHServer) serveSession(channel ssh.Channel, requests <-chan *ssh.Request, root string) {
	defer channel.Close()
	for request := range requests {
		_ = request.Reply(request.Type == "exec", nil)
		if request.Type != "exec" {
			continue
		}
		var payload struct{ Command string }
		_ = ssh.Unmarshal(request.Payload, &payload)
		if path, ok := strings.CutPrefix(payload.Command, "git-lfs-authenticate '"); ok && s.LFS != nil {
			_, _ = io.WriteString(channel, s.LFS(strings.TrimSuffix(path, "' download")))
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{0}))
			return
		}
		path := strings.Trim(strings.TrimPrefix(payload.Command, "git-upload-pack "), "'/")
		cmd := exec.Command("git", "-c", "safe.directory=*", "upload-pack", path)
		cmd.Dir, cmd.Stdout, cmd.Stderr = root, channel, channel.Stderr()
		stdin, err := cmd.StdinPipe()
		if err != nil || cmd.Start() != nil {
			return
		}
		go func() {
			buffer := make([]byte, 32<<10)
			for {
				n, err := channel.Read(buffer)
				if _, e := stdin.Write(buffer[:n]); e != nil || err != nil {
					_ = stdin.Close()
					return
				}
			}
		}()
		_ = cmd.Wait()
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{0}))
		return
	}
}

// KnownHosts returns a known_hosts file with keys for the server.
func (s *SSHServer) KnownHosts(keys ...ssh.PublicKey) string {
	host, port, _ := net.SplitHostPort(s.Address)
	var b strings.Builder
	for _, key := range keys {
		b.WriteString("[" + host + "]:" + port + " " + string(ssh.MarshalAuthorizedKey(key)))
	}
	return b.String()
}
