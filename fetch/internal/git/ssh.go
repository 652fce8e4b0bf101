// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"kumodo.io/convoy/fetch/internal/access"
	"kumodo.io/convoy/fetch/internal/fault"
)

// sshRemote runs git-upload-pack on the server, see gitprotocol-pack(5).
type sshRemote struct {
	backend *Backend
	login   *access.SSHLogin
	address string
	client  *ssh.Client
	session *ssh.Session
	stop    func() bool
	stdin   io.WriteCloser
	stdout  io.Reader
	errors  firstLine
}

func (b *Backend) openSSH() (remote, error) { return b.newSSH() }

func (b *Backend) newSSH() (*sshRemote, error) {
	address := b.url.Host
	if b.url.Port() == "" {
		address = net.JoinHostPort(b.url.Hostname(), "22")
	}
	user := "git"
	if b.url.User != nil && b.url.User.Username() != "" {
		user = b.url.User.Username()
	}
	login, err := b.access.NewSSHLogin(user, address)
	if err != nil {
		return nil, err
	}
	return &sshRemote{backend: b, login: login, address: address}, nil
}

func (r *sshRemote) close() {
	if r.stop != nil {
		r.stop()
	}
	if r.client != nil {
		_ = r.client.Close()
	}
}

// sessionEnd is for how long the end of a session is waited for, when that of its output has come.
const sessionEnd = 5 * time.Second

func (r *sshRemote) advertise(ctx context.Context) (io.Reader, error) {
	return r.run(ctx, service+" "+quote(r.backend.path()))
}

// run logs in and runs a command, whose output it returns.
func (r *sshRemote) run(ctx context.Context, command string) (io.Reader, error) {
	connection, err := r.backend.access.Dial(ctx, r.address)
	if err != nil {
		return nil, err
	}
	// Neither the handshake nor the session knows contexts.
	r.stop = context.AfterFunc(ctx, func() { _ = connection.Close() })
	ended := access.Waits(ctx)
	c, channels, requests, err := ssh.NewClientConn(connection, r.address, r.login.Config)
	if err == nil {
		r.client = ssh.NewClient(c, channels, requests)
		err = r.start(command)
	}
	ended()
	switch {
	case err == nil:
		// The session reads ahead: that it waits does not mean that we do.
		r.stdout = access.Awaited(ctx, r.stdout)
		return r.spoken(ctx)
	case r.client == nil:
		_ = connection.Close()
		return nil, r.login.Failed(ctx, err)
	}
	return nil, r.backend.broken(ctx, "the server does not run a command", err)
}

func (r *sshRemote) start(command string) error {
	session, err := r.client.NewSession()
	r.session = session
	if err != nil {
		return err
	}
	session.Stderr = &r.errors
	if r.stdin, err = session.StdinPipe(); err != nil {
		return err
	}
	if r.stdout, err = session.StdoutPipe(); err != nil {
		return err
	}
	return session.Start(command)
}

// spoken returns the server's output, or its complaint when it has none.
func (r *sshRemote) spoken(ctx context.Context) (io.Reader, error) {
	buffered := bufio.NewReader(r.stdout)
	if _, err := buffered.Peek(1); err != nil {
		// Only the end of the session is the end of the complaint.
		waited := access.Waits(ctx)
		end := time.AfterFunc(sessionEnd, func() { _ = r.client.Close() })
		_ = r.session.Wait()
		end.Stop()
		waited()
		if ctx.Err() != nil {
			return nil, fault.FromRequest(ctx.Err(), nil)
		}
		if complaint := r.errors.String(); complaint != "" {
			return nil, fault.New(fault.ErrNotFound, "the server answered: %s", r.backend.scrubber().Clean(complaint))
		}
		return nil, fault.New(fault.ErrUnreachable, "the server ended the conversation")
	}
	return buffered, nil
}

func (r *sshRemote) upload(ctx context.Context, message []byte) (io.Reader, error) {
	ended := access.Waits(ctx)
	_, err := r.stdin.Write(message)
	ended()
	if err != nil {
		return nil, r.backend.broken(ctx, "the server does not listen", err)
	}
	return r.stdout, nil
}

// authenticateLFS asks the server where its objects of Git LFS are, and for the header that
// opens them there, as git-lfs does over ssh.
func (b *Backend) authenticateLFS(ctx context.Context) (*url.URL, http.Header, error) {
	r, err := b.newSSH()
	if err != nil {
		return nil, nil, err
	}
	defer r.close()
	stream, err := r.run(ctx, "git-lfs-authenticate "+quote(strings.TrimPrefix(b.path(), "/"))+" download")
	if err != nil {
		return nil, nil, err
	}
	var answer struct {
		Href   string            `json:"href"`
		Header map[string]string `json:"header"`
	}
	body, err := access.ReadAll(stream, -1, lfsAnswerBytes, "the answer of git-lfs-authenticate")
	if err != nil || json.Unmarshal(body, &answer) != nil {
		return nil, nil, fault.New(fault.ErrUnreachable, "the server's answer to git-lfs-authenticate cannot be read")
	}
	endpoint, err := parseLFSURL(answer.Href, "git-lfs-authenticate")
	if err != nil {
		return nil, nil, err
	}
	header := http.Header{}
	for name, value := range answer.Header {
		header.Set(name, value)
	}
	if endpoint.Scheme != "https" {
		return nil, nil, fault.New(fault.ErrUnreachable, "git-lfs-authenticate leads to a server without TLS")
	}
	return endpoint, header, nil
}

// quote makes one word of text for the server's shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// firstLine keeps the beginning of what a server complains.
type firstLine struct {
	mu   sync.Mutex
	text []byte
}

func (f *firstLine) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if room := 500 - len(f.text); room > 0 {
		f.text = append(f.text, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

func (f *firstLine) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.TrimSpace(string(f.text))
}
