// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

func signerOf(t *testing.T, key any, err error) ssh.Signer {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func TestSSHHostKeys(t *testing.T) {
	root := t.TempDir()
	testsource.NewGitRepository(t, root, "app.git").Commit(map[string]string{"a.yaml": "a"})
	edKey, _ := testsource.NewSigner(t)
	rsaPrivate, err := rsa.GenerateKey(rand.Reader, 2048)
	rsaKey := signerOf(t, rsaPrivate, err)
	ecPrivate, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ecKey := signerOf(t, ecPrivate, err)
	wrong, _ := testsource.NewSigner(t)
	_, strange := testsource.NewSigner(t)
	server := testsource.ServeSSH(t, root, ecKey, edKey, rsaKey)
	onlyRSA := testsource.ServeSSH(t, root, rsaKey)

	for _, tc := range []struct {
		name     string
		server   *testsource.SSHServer
		given    map[string]string
		want     error
		wantText string
	}{
		{name: "only ed25519 is known", given: map[string]string{"known_hosts": server.KnownHosts(edKey.PublicKey())}},
		{name: "only rsa is known", given: map[string]string{"known_hosts": server.KnownHosts(rsaKey.PublicKey())}},
		{name: "all are known", given: map[string]string{"known_hosts": server.KnownHosts(wrong.PublicKey(), edKey.PublicKey(), ecKey.PublicKey())}},
		{name: "hashed host", given: map[string]string{"known_hosts": knownhosts.HashHostname(knownhosts.Normalize(server.Address)) + " " + string(ssh.MarshalAuthorizedKey(edKey.PublicKey()))}},
		{name: "port, comments, blank lines, line ends, a malformed line", given: map[string]string{"known_hosts": "# hosts\r\n\r\nnonsense\r\n" + strings.ReplaceAll(server.KnownHosts(edKey.PublicKey()), "\n", " me@here\r\n")}},
		{name: "a malformed line, and not the key", given: map[string]string{"known_hosts": "# hosts\nnonsense\n" + server.KnownHosts(wrong.PublicKey())}, want: fetch.ErrUnauthorized, wantText: "(malformed lines: 2)"},
		{name: "another port", given: map[string]string{"known_hosts": "127.0.0.1 " + string(ssh.MarshalAuthorizedKey(edKey.PublicKey()))}, want: fetch.ErrSecret, wantText: "holds no key of [127.0.0.1]:"},
		{name: "nothing", given: map[string]string{"known_hosts": "\n"}, want: fetch.ErrSecret, wantText: "holds no key of"},
		{name: "wrong key, known kinds", given: map[string]string{"known_hosts": server.KnownHosts(wrong.PublicKey())}, want: fetch.ErrUnauthorized, wantText: "it holds ssh-ed25519 " + ssh.FingerprintSHA256(wrong.PublicKey())},
		{name: "wrong key", given: map[string]string{"known_hosts": server.KnownHosts(wrong.PublicKey())}, want: fetch.ErrUnauthorized, wantText: ssh.FingerprintSHA256(edKey.PublicKey())},
		{name: "key of a kind that the server lacks", server: onlyRSA, given: map[string]string{"known_hosts": onlyRSA.KnownHosts(edKey.PublicKey())}, want: fetch.ErrUnauthorized, wantText: "ssh-ed25519"},
		{name: "unknown host", given: map[string]string{"known_hosts": "elsewhere.test " + string(ssh.MarshalAuthorizedKey(edKey.PublicKey()))}, want: fetch.ErrSecret, wantText: "holds no key of [127.0.0.1]:"},
		{name: "no known_hosts", want: fetch.ErrSecret, wantText: "no key known_hosts"},
		{name: "no identity", given: map[string]string{"known_hosts": "x", "identity": ""}, want: fetch.ErrSecret, wantText: "no credentials"},
		{name: "identity that is no key", given: map[string]string{"known_hosts": server.KnownHosts(edKey.PublicKey()), "identity": "canary"}, want: fetch.ErrSecret, wantText: "no usable private key"},
		{name: "identity that the server does not know", given: map[string]string{"known_hosts": server.KnownHosts(edKey.PublicKey()), "identity": string(strange)}, want: fetch.ErrUnauthorized, wantText: "does not accept the key identity"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			if tc.server == nil {
				tc.server = server
			}
			data := map[string]string{"identity": string(tc.server.Client)}
			for k, v := range tc.given {
				data[k] = v
			}
			r := newRig(t, fetch.Options{Secrets: secrets{"ssh": data}})
			a, err := r.get(t, gitWant("ssh://git@"+tc.server.Address+"/app.git", "ssh", corev1alpha1.GitSource{}))
			if tc.want != nil {
				g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(ContainSubstring(tc.wantText))
				g.Expect(err.Error()).NotTo(ContainSubstring("canary"))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(read(a, "a.yaml")).To(Equal("a"))
		})
	}
}

func TestSSHServerThatSaysNothing(t *testing.T) {
	g := NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = listener.Close() })
	key, private := testsource.NewSigner(t)
	server := &testsource.SSHServer{Address: listener.Addr().String(), Client: private}
	r := newRig(t, fetch.Options{Secrets: secrets{"ssh": sshSecret(server, key)}})
	want := gitWant("ssh://git@"+server.Address+"/app.git", "ssh", corev1alpha1.GitSource{})
	want.Source.(*sourcev1alpha1.GitRepository).Spec.Timeout = &metav1.Duration{Duration: 50 * time.Millisecond}
	_, err = r.get(t, want)
	g.Expect(errors.Is(err, fetch.ErrUnreachable)).To(BeTrue(), "%v", err)
	g.Expect(err.Error()).To(ContainSubstring("time limit of 50ms"))
}

// TestSSHServerThatEndsNoSession ends its output only: nobody waits long for the rest, and others have the
// slot meanwhile.
func TestSSHServerThatEndsNoSession(t *testing.T) {
	g := NewWithT(t)
	key, private := testsource.NewSigner(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		config := &ssh.ServerConfig{PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil }}
		config.AddHostKey(key)
		_, channels, requests, err := ssh.NewServerConn(connection, config)
		if err != nil {
			return
		}
		go ssh.DiscardRequests(requests)
		for offered := range channels {
			channel, of, err := offered.Accept()
			if err != nil {
				return
			}
			for request := range of {
				_ = request.Reply(true, nil)
				if request.Type == "exec" {
					_ = channel.CloseWrite()
				}
			}
		}
	}()
	server := &testsource.SSHServer{Address: listener.Addr().String(), Client: private}
	r := newRig(t, fetch.Options{Secrets: secrets{"ssh": sshSecret(server, key)}})
	done := make(chan error, 1)
	go func() {
		_, err := r.get(t, gitWant("ssh://git@"+server.Address+"/app.git", "ssh", corev1alpha1.GitSource{}))
		done <- err
	}()
	g.Eventually(func() int { return r.Stats().Running }).WithTimeout(20 * time.Second).Should(Equal(1))
	g.Eventually(func() int { return r.Stats().Running }).WithTimeout(20 * time.Second).Should(BeZero())
	g.Eventually(done).WithTimeout(30 * time.Second).Should(Receive(MatchError(ContainSubstring("ended the conversation"))))
}

func TestSSHThroughAProxy(t *testing.T) {
	root := t.TempDir()
	testsource.NewGitRepository(t, root, "app.git").Commit(map[string]string{"a.yaml": "a"})
	key, _ := testsource.NewSigner(t)
	server := testsource.ServeSSH(t, root, key)
	plain, secured, socks := testsource.ServeProxy(t, false), testsource.ServeProxy(t, true), testsource.ServeSOCKS(t)
	for _, tc := range []struct {
		name     string
		proxy    *testsource.Proxy
		address  string
		password string
		to       string
		want     error
		wantText string
	}{
		{name: "http", proxy: plain, password: testsource.ProxyPassword},
		{name: "https", proxy: secured, password: testsource.ProxyPassword},
		{name: "socks5", proxy: socks, password: testsource.ProxyPassword},
		{name: "socks5h", proxy: socks, address: strings.Replace(socks.URL, "socks5", "socks5h", 1), password: testsource.ProxyPassword},
		{name: "http, wrong password", proxy: plain, password: "canary-wrong", want: fetch.ErrUnauthorized, wantText: "status 407"},
		{name: "socks5, wrong password", proxy: socks, password: "canary-wrong", want: fetch.ErrUnreachable, wantText: "authentication failed"},
		{name: "http, nobody there", proxy: plain, password: testsource.ProxyPassword, to: "127.0.0.1:1", want: fetch.ErrUnreachable, wantText: "does not connect to 127.0.0.1:1: it answered with status 502"},
		{name: "socks5, nobody there", proxy: socks, password: testsource.ProxyPassword, to: "127.0.0.1:1", want: fetch.ErrUnreachable, wantText: "host unreachable"},
		{name: "no proxy there", proxy: plain, address: "http://127.0.0.1:1", password: testsource.ProxyPassword, want: fetch.ErrUnreachable, wantText: "refused"},
		{name: "a proxy that is none", proxy: plain, address: "http://" + server.Address, password: testsource.ProxyPassword, want: fetch.ErrUnreachable, wantText: "the proxy's answer cannot be read"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			login := sshSecret(server, key)
			to := server.Address
			if tc.to != "" {
				to = tc.to
				login["known_hosts"] = "[127.0.0.1]:1 " + string(sshKeyLine(key))
			}
			if tc.address == "" {
				tc.address = tc.proxy.URL
			}
			r := newRig(t, fetch.Options{Secrets: secrets{
				"ssh": login, "ca": {"ca.crt": string(secured.Certificate)},
				"proxy": {"address": tc.address, "username": testsource.ProxyUser, "password": tc.password},
			}})
			want := gitWant("ssh://git@"+to+"/app.git", "ssh", corev1alpha1.GitSource{})
			spec := &want.Source.(*sourcev1alpha1.GitRepository).Spec
			spec.ProxySecretRef, spec.CASecretRef = ref("proxy"), ref("ca")
			before := tc.proxy.Tunnels.Load()
			a, err := r.get(t, want)
			if tc.want != nil {
				g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(And(ContainSubstring(tc.wantText), Not(ContainSubstring("canary"))))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(read(a, "a.yaml")).To(Equal("a"))
			g.Expect(tc.proxy.Tunnels.Load() - before).To(Equal(int32(2)))
		})
	}
}

func TestSSHProxyThatSaysNothing(t *testing.T) {
	g := NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = listener.Close() })
	key, private := testsource.NewSigner(t)
	server := &testsource.SSHServer{Address: "127.0.0.1:1", Client: private}
	for _, scheme := range []string{"http", "https", "socks5"} {
		r := newRig(t, fetch.Options{Secrets: secrets{"ssh": sshSecret(server, key), "proxy": {"address": scheme + "://" + listener.Addr().String()}}})
		want := gitWant("ssh://git@"+server.Address+"/app.git", "ssh", corev1alpha1.GitSource{})
		spec := &want.Source.(*sourcev1alpha1.GitRepository).Spec
		spec.ProxySecretRef, spec.Timeout = ref("proxy"), &metav1.Duration{Duration: 50 * time.Millisecond}
		_, err = r.get(t, want)
		g.Expect(errors.Is(err, fetch.ErrUnreachable)).To(BeTrue(), "%v", err)
		g.Expect(err.Error()).To(ContainSubstring("time limit of 50ms"))
	}
}
