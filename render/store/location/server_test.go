// SPDX-License-Identifier: Apache-2.0

//go:build !convoy_without_s3

package location

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// versitygw builds the S3 server of testdata/s3server, once for each version of it, and
// gives its path.
func versitygw(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and starts an S3 server")
	}
	path, err := built()
	if err != nil {
		t.Fatalf("building the S3 server: %v", err)
	}
	return path
}

var built = sync.OnceValues(func() (string, error) {
	sums, err := os.ReadFile("testdata/s3server/go.sum")
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(sums)
	path := filepath.Join(cache, "convoy", "s3server", "versitygw-"+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	fresh := path + "." + hex.EncodeToString([]byte(time.Now().Format("150405.000000")))
	build := exec.Command("go", "build", "-o", fresh, "github.com/versity/versitygw/cmd/versitygw")
	build.Dir, build.Env = "testdata/s3server", append(os.Environ(), "GOWORK=off")
	if output, err := build.CombinedOutput(); err != nil {
		return "", errors.Join(err, errors.New(string(output)))
	}
	return path, os.Rename(fresh, path)
})

// Credentials of the server.
const (
	accessKey = "convoy-test"
	secretKey = "hunter2-canary"
)

// server is an S3 server with its data in a directory.
type server struct {
	dir       string
	secure    bool
	arguments []string

	mu      sync.Mutex // guards the rest
	address string
	process *exec.Cmd
	ended   chan struct{} // closed when the process has ended
	output  bytes.Buffer
}

// startServer starts a server with one bucket, which is called renders.
func startServer(t *testing.T, arguments ...string) *server {
	t.Helper()
	g := NewWithT(t)
	s := &server{dir: t.TempDir(), arguments: arguments, secure: len(arguments) > 0}
	g.Expect(os.MkdirAll(filepath.Join(s.dir, "data", "renders"), 0o700)).To(Succeed())
	g.Expect(os.MkdirAll(filepath.Join(s.dir, "meta"), 0o700)).To(Succeed())
	s.start(t)
	t.Cleanup(func() { s.stop() })
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_REGION": "", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
	} {
		t.Setenv(name, value)
	}
	return s
}

// start starts the server if it does not run, and waits until it answers. It may get another address
// than it had.
func (s *server) start(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	program := versitygw(t)
	for try := 1; s.process == nil; try++ {
		if try > 10 {
			t.Fatalf("the S3 server does not start: %s", s.output.String())
		}
		s.startAt(t, program, freeAddress(t))
	}
}

// startAt starts the server at an address, unless somebody else takes that first. It is for who holds
// mu.
func (s *server) startAt(t *testing.T, program, address string) {
	t.Helper()
	health := "/" + rand.Text() // by which it is told from whoever may listen there
	arguments := append([]string{"--port", address, "--access", accessKey, "--secret", secretKey, "--quiet", "--health", health}, s.arguments...)
	process := exec.Command(program, append(arguments, "posix", "--sidecar", filepath.Join(s.dir, "meta"), filepath.Join(s.dir, "data"))...)
	process.Stdout, process.Stderr = &s.output, &s.output
	NewWithT(t).Expect(process.Start()).To(Succeed())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = process.Wait() }()
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	answers := func() bool {
		answer, err := (&http.Client{Transport: transport}).Get(s.scheme() + "://" + address + health)
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if answers() {
			s.address, s.process, s.ended = address, process, ended
			return
		}
		select {
		case <-ended:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
	_ = process.Process.Kill()
	<-ended
}

// freeAddress gives one that nobody listens at just now.
func freeAddress(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(free.Close()).To(Succeed())
	return free.Addr().String()
}

// stop kills the server.
func (s *server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	_ = s.process.Process.Kill()
	<-s.ended
	s.process = nil
}

// at gives the address of the server.
func (s *server) at() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

func (s *server) scheme() string {
	if s.secure {
		return "https"
	}
	return "http"
}

// url gives the URL of a store in a bucket of the server.
func (s *server) url(bucket string, more ...string) string {
	return urlOf(s.scheme()+"://"+s.at(), bucket, more...)
}

func urlOf(endpoint, bucket string, more ...string) string {
	return "s3://" + bucket + "?" + strings.Join(append([]string{"use_path_style=true", "endpoint=" + url.QueryEscape(endpoint)}, more...), "&")
}

// objects gives the keys in the bucket of the server.
func (s *server) objects(t *testing.T) []string {
	t.Helper()
	var found []string
	root := filepath.Join(s.dir, "data", "renders")
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && strings.HasPrefix(name, ".") {
			return filepath.SkipDir // parts of uploads
		}
		if !entry.IsDir() {
			name, err := filepath.Rel(root, path)
			found = append(found, filepath.ToSlash(name))
			return err
		}
		return nil
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return found
}

// middle stands between a client and the server. Each request goes to between, which may
// answer it, or send it on with forward.
type middle struct {
	url     string
	between func(w http.ResponseWriter, r *http.Request, forward func())
}

func startMiddle(t *testing.T, s *server, between func(w http.ResponseWriter, r *http.Request, forward func())) *middle {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	m := &middle{url: "http://" + listener.Addr().String(), between: between}
	web := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.between(w, r, func() { forwardTo(w, r, s.at()) })
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = web.Serve(listener) }()
	t.Cleanup(func() { _ = web.Close(); <-done })
	return m
}

// direct opens a connection for each request: one to a server that was killed would be taken for
// one to the next at its address.
var direct = &http.Transport{DisableKeepAlives: true}

// forwardTo sends a request on as it is: its signature names the host that the client meant.
func forwardTo(w http.ResponseWriter, r *http.Request, address string) {
	sent := r.Clone(r.Context())
	sent.RequestURI, sent.URL.Scheme, sent.URL.Host = "", "http", address
	answer, err := direct.RoundTrip(sent)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = answer.Body.Close() }()
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body)
}

// certificate writes a certificate for 127.0.0.1 that is its own CA, and its key.
func certificate(t *testing.T, dir string) {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	made, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	private, err := x509.MarshalPKCS8PrivateKey(key)
	g.Expect(err).NotTo(HaveOccurred())
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: made}, "tls.key": {Type: "PRIVATE KEY", Bytes: private}} {
		g.Expect(os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600)).To(Succeed())
	}
}
