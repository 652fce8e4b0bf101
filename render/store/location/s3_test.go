// SPDX-License-Identifier: Apache-2.0

//go:build !convoy_without_s3

package location

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	signer "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/store"
	"kumodo.io/convoy/render/store/internal/storetest"
)

// large makes a render that takes so many MiB, compressed or not.
func large(t *testing.T, mib int) store.Record {
	t.Helper()
	var objects []any
	for range mib {
		random := make([]byte, 3<<20/4)
		_, err := rand.Read(random)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		objects = append(objects, base64.StdEncoding.EncodeToString(random))
	}
	return storetest.Record(t, storetest.Object("ConfigMap", "a", map[string]any{"large": objects}))
}

func TestConformanceS3(t *testing.T) {
	s := startServer(t)
	var places atomic.Int32
	storetest.Conform(t, func(*testing.T) storetest.Opener {
		// Each place is a prefix: that is how several share a bucket.
		at := strings.Replace(s.url("renders"), "renders?", "renders/at/"+string(rune('a'+places.Add(1)))+"?", 1)
		return func(t *testing.T, o store.Options) *store.Store { return opened(t, at, o) }
	})
}

func TestLargeRendersS3(t *testing.T) {
	g := NewWithT(t)
	s := startServer(t)
	r := large(t, 24)
	g.Expect(opened(t, s.url("renders"), store.Options{}).Put(t.Context(), r)).To(Succeed())
	got, err := opened(t, s.url("renders"), store.Options{ReadOnly: true}).Get(t.Context(), "team", "web", r.Result.Digest)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got.Result.Objects[0].Object).To(Equal(r.Result.Objects[0].Object))
	stored := storetest.Stored(t, opened(t, s.url("renders"), store.Options{}))["team/web"]
	g.Expect(stored).To(ConsistOf(HaveField("Size", BeNumerically(">", 17<<20))))
}

// The server is asked to write only what is not there, for small renders and for those that
// go in parts.
func TestConditionalWritesS3(t *testing.T) {
	g := NewWithT(t)
	s := startServer(t)
	var conditional, plain atomic.Int32
	m := startMiddle(t, s, func(_ http.ResponseWriter, r *http.Request, forward func()) {
		whole := r.Method == http.MethodPut && !r.URL.Query().Has("partNumber") || r.Method == http.MethodPost && r.URL.Query().Has("uploadId")
		switch {
		case whole && r.Header.Get("If-None-Match") == "*":
			conditional.Add(1)
		case whole:
			plain.Add(1)
		}
		forward()
	})
	at := opened(t, urlOf(m.url, "renders"), store.Options{})
	g.Expect(at.Put(t.Context(), storetest.Record(t))).To(Succeed())
	g.Expect(at.Put(t.Context(), large(t, 24))).To(Succeed())
	g.Expect(conditional.Load()).To(BeEquivalentTo(4), "two renders, and their index entries")
	g.Expect(plain.Load()).To(BeZero())
}

// A writer that looked before another one wrote is told by the server, and leaves what is
// there as it is.
func TestAWriterThatComesSecondS3(t *testing.T) {
	for name, r := range map[string]store.Record{"small": storetest.Record(t, storetest.ConfigMap("x")), "in parts": large(t, 24)} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := startServer(t)
			first := opened(t, s.url("renders"), store.Options{})
			var looked atomic.Bool
			m := startMiddle(t, s, func(_ http.ResponseWriter, req *http.Request, forward func()) {
				forward()
				if req.Method == http.MethodHead && looked.CompareAndSwap(false, true) {
					g.Expect(first.Put(t.Context(), r)).To(Succeed())
				}
			})
			second := r
			second.Revision = "second"
			g.Expect(opened(t, urlOf(m.url, "renders"), store.Options{}).Put(t.Context(), second)).To(Succeed())
			g.Expect(looked.Load()).To(BeTrue())
			got, err := first.Get(t.Context(), "team", "web", r.Result.Digest)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Revision).To(Equal(r.Revision))
		})
	}
}

// What was written although the answer did not come is written.
func TestALostAnswerS3(t *testing.T) {
	g := NewWithT(t)
	s := startServer(t)
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	var lost atomic.Bool
	m := startMiddle(t, s, func(w http.ResponseWriter, r *http.Request, forward func()) {
		if r.Method == http.MethodPut && lost.CompareAndSwap(false, true) {
			forwardTo(httptest.NewRecorder(), r, s.at())
			panic(http.ErrAbortHandler)
		}
		forward()
	})
	g.Expect(opened(t, urlOf(m.url, "renders"), store.Options{}).Put(t.Context(), storetest.Record(t))).To(Succeed())
	g.Expect(lost.Load()).To(BeTrue())
}

// Some servers know no conditional writes, and say so.
func TestServersWithoutConditionalWrites(t *testing.T) {
	g := NewWithT(t)
	s := startServer(t)
	var refused atomic.Int32
	m := startMiddle(t, s, func(w http.ResponseWriter, r *http.Request, forward func()) {
		if r.Header.Get("If-None-Match") == "" {
			forward()
			return
		}
		refused.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNotImplemented)
		_, _ = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>NotImplemented</Code><Message>no such header</Message></Error>`)
	})
	at := opened(t, urlOf(m.url, "renders"), store.Options{})
	r := storetest.Record(t)
	g.Expect(at.Put(t.Context(), r)).To(Succeed())
	g.Expect(refused.Load()).To(BeNumerically(">", 0))
	before := refused.Load()
	g.Expect(at.Put(t.Context(), storetest.Record(t, storetest.ConfigMap("x")))).To(Succeed())
	g.Expect(refused.Load()).To(Equal(before), "it is asked once")
	_, err := at.Get(t.Context(), "team", "web", r.Result.Digest)
	g.Expect(err).NotTo(HaveOccurred())
}

func TestFaultsS3(t *testing.T) {
	tests := []struct {
		name   string
		env    map[string]string
		bucket string
		settle func(*s3.Options)
		// what Put and Get say
		want string
	}{
		{"a bucket that is not there", nil, "none", nil, "s3://none"},
		{"a wrong secret key", map[string]string{"AWS_SECRET_ACCESS_KEY": "wrong-canary"}, "renders", nil, "correct the credentials"},
		{"an unknown access key", map[string]string{"AWS_ACCESS_KEY_ID": "unknown"}, "renders", nil, "; correct the credentials"},
		{"no credentials", map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "renders", nil, "credentials"},
		{"a clock an hour behind", nil, "renders", skewed(-time.Hour), "compare this machine's clock"},
		{"a clock an hour ahead", nil, "renders", skewed(time.Hour), "compare this machine's clock"},
	}
	s := startServer(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			u, err := url.Parse(s.url(test.bucket))
			g.Expect(err).NotTo(HaveOccurred())
			var more []func(*s3.Options)
			if test.settle != nil {
				more = append(more, test.settle)
			}
			place, err := openS3With(t.Context(), u, more...)
			g.Expect(err).NotTo(HaveOccurred())
			place.Name = "s3://" + test.bucket
			at := store.New(place, store.Options{})
			defer func() { g.Expect(at.Close()).To(Succeed()) }()

			r := storetest.Record(t)
			putting := at.Put(t.Context(), r)
			_, getting := at.Get(t.Context(), "team", "web", r.Result.Digest)
			again := at.Put(t.Context(), r)
			for _, err := range []error{putting, getting} {
				g.Expect(err).To(MatchError(store.ErrUnavailable))
				g.Expect(err).NotTo(MatchError(store.ErrNotFound))
				g.Expect(err.Error()).To(And(ContainSubstring("s3://"+test.bucket), Not(ContainSubstring("canary"))))
			}
			g.Expect(getting.Error()).To(ContainSubstring(test.want))
			g.Expect(again.Error()).To(Equal(putting.Error()), "the text is that of a condition: it stays while the fault stays")
		})
	}
	NewWithT(t).Expect(s.objects(t)).To(BeEmpty())
}

// skewed signs requests with another clock.
func skewed(by time.Duration) func(*s3.Options) {
	return func(o *s3.Options) {
		o.HTTPSignerV4 = skewedSigner{signer.NewSigner(func(o *signer.SignerOptions) { o.DisableURIPathEscaping = true }), by}
		o.RetryMaxAttempts = 1
	}
}

type skewedSigner struct {
	signer *signer.Signer
	by     time.Duration
}

func (s skewedSigner) SignHTTP(ctx context.Context, c aws.Credentials, r *http.Request, hash, service, region string, at time.Time, more ...func(*signer.SignerOptions)) error {
	return s.signer.SignHTTP(ctx, c, r, hash, service, region, time.Now().Add(s.by), more...)
}

func TestInterruptedUploadsS3(t *testing.T) {
	tests := []struct {
		name      string
		interrupt func(s *server, stop context.CancelFunc)
	}{
		{"by the writer", func(_ *server, stop context.CancelFunc) { stop() }},
		{"by the server, which is killed", func(s *server, _ context.CancelFunc) { s.stop() }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			s := startServer(t)
			t.Setenv("AWS_MAX_ATTEMPTS", "1")
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var parts atomic.Int32
			m := startMiddle(t, s, func(_ http.ResponseWriter, r *http.Request, forward func()) {
				if r.URL.Query().Has("partNumber") && parts.Add(1) == 3 {
					test.interrupt(s, stop)
				}
				forward()
			})
			r := large(t, 24)
			g.Expect(opened(t, urlOf(m.url, "renders"), store.Options{}).Put(ctx, r)).NotTo(Succeed())
			g.Expect(parts.Load()).To(BeNumerically(">=", 3))
			g.Expect(s.objects(t)).To(BeEmpty(), "nothing is there that is not whole")

			s.start(t)
			again := opened(t, s.url("renders"), store.Options{})
			_, err := again.Get(t.Context(), "team", "web", r.Result.Digest)
			g.Expect(err).To(MatchError(store.ErrNotFound))
			g.Expect(again.Put(t.Context(), r)).To(Succeed())
			_, err = again.Get(t.Context(), "team", "web", r.Result.Digest)
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}

// A store that is away or slow is an error, in time, and leaves nothing running.
func TestAwayS3(t *testing.T) {
	tests := []struct {
		name    string
		between func(w http.ResponseWriter, r *http.Request, forward func())
		want    string
	}{
		{"it does not answer", func(_ http.ResponseWriter, r *http.Request, _ func()) { <-r.Context().Done() }, "did not answer within 500ms"},
		{"it stops in the middle of an answer", func(w http.ResponseWriter, r *http.Request, _ func()) {
			w.Header().Set("Content-Length", "1000")
			w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
			_, _ = w.Write([]byte("half"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "did not answer within 500ms"},
		{"it hangs up", func(http.ResponseWriter, *http.Request, func()) { panic(http.ErrAbortHandler) }, ""},
		{"it is overloaded", func(w http.ResponseWriter, _ *http.Request, _ func()) { w.WriteHeader(http.StatusServiceUnavailable) }, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			s := startServer(t)
			before := runtime.NumGoroutine()
			t.Run("used", func(t *testing.T) {
				m := startMiddle(t, s, test.between)
				at := opened(t, urlOf(m.url, "renders"), store.Options{Patience: 500 * time.Millisecond})
				for range 3 {
					_, err := at.Get(t.Context(), "team", "web", storetest.Record(t).Result.Digest)
					g.Expect(err).To(MatchError(store.ErrUnavailable))
					g.Expect(err).NotTo(MatchError(context.Canceled), "which would be a stop of this process")
					g.Expect(err.Error()).To(ContainSubstring(test.want))
				}
				if strings.Contains(test.name, "answer") {
					return
				}
				g.Expect(at.Put(t.Context(), large(t, 24))).To(MatchError(store.ErrUnavailable))
			})
			g.Eventually(runtime.NumGoroutine, 10*time.Second).Should(BeNumerically("<=", before+2), "nothing is left running")
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		g := NewWithT(t)
		startServer(t).stop()
		address := silentAddress(t)
		at := opened(t, urlOf("http://"+address, "renders"), store.Options{})
		err := at.Put(t.Context(), storetest.Record(t))
		g.Expect(err).To(MatchError(store.ErrUnavailable))
		g.Expect(err.Error()).To(And(ContainSubstring("s3://renders"), ContainSubstring("dial "+address), ContainSubstring("connection refused")))
	})
}

// silentAddress gives an address that nobody can listen at for as long as the test goes on.
func silentAddress(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = syscall.Close(socket) })
	g.Expect(syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})).To(Succeed())
	bound, err := syscall.Getsockname(socket)
	g.Expect(err).NotTo(HaveOccurred())
	return fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port)
}

func TestOwnCAOfS3(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	certificate(t, dir)
	s := startServer(t, "--cert", filepath.Join(dir, "tls.crt"), "--key", filepath.Join(dir, "tls.key"))
	r := storetest.Record(t)
	err := opened(t, s.url("renders"), store.Options{}).Put(t.Context(), r)
	g.Expect(err).To(MatchError(store.ErrUnavailable))
	g.Expect(err.Error()).To(ContainSubstring("certificate signed by unknown authority"))

	t.Setenv("AWS_CA_BUNDLE", filepath.Join(dir, "tls.crt"))
	at := opened(t, s.url("renders"), store.Options{})
	g.Expect(at.Put(t.Context(), r)).To(Succeed())
	_, err = at.Get(t.Context(), "team", "web", r.Result.Digest)
	g.Expect(err).NotTo(HaveOccurred())
}

// Reading and writing a render whose key is known lists nothing.
func TestNothingIsListedS3(t *testing.T) {
	g := NewWithT(t)
	s := startServer(t)
	var requests atomic.Int32
	m := startMiddle(t, s, func(_ http.ResponseWriter, r *http.Request, forward func()) {
		requests.Add(1)
		if r.URL.Query().Has("list-type") || strings.Trim(r.URL.Path, "/") == "renders" {
			t.Errorf("the bucket is listed: %s", r.URL)
		}
		forward()
	})
	at := opened(t, urlOf(m.url, "renders"), store.Options{})
	r := storetest.Record(t)
	g.Expect(at.Put(t.Context(), r)).To(Succeed())
	g.Expect(requests.Load()).To(BeEquivalentTo(5), "looks at its mark, at removals and at the render; the render, its index entry")
	_, err := at.Get(t.Context(), "team", "web", r.Result.Digest)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(requests.Load()).To(BeEquivalentTo(6))
	g.Expect(at.Put(t.Context(), r)).To(Succeed())
	g.Expect(requests.Load()).To(BeEquivalentTo(10), "looks at its mark, at removals, at the render and its entry")
}

// What changed behind the server's back is not what was stored, and says where it is.
func TestCorruptS3(t *testing.T) {
	g := NewWithT(t)
	s := startServer(t)
	at := opened(t, s.url("renders"), store.Options{})
	r := storetest.Record(t)
	g.Expect(at.Put(t.Context(), r)).To(Succeed())
	file := filepath.Join(s.dir, "data", "renders", "team", "web", strings.TrimPrefix(r.Result.Digest, "sha256:")+".json.zst")
	content, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	content[40] ^= 1
	g.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
	_, err = at.Get(t.Context(), "team", "web", r.Result.Digest)
	g.Expect(err).To(Or(MatchError(store.ErrCorrupt), MatchError(store.ErrUnavailable)))
	g.Expect(err.Error()).To(And(ContainSubstring(strings.TrimPrefix(r.Result.Digest, "sha256:")), ContainSubstring("s3://renders")))
}
