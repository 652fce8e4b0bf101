// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestProfilesAreServedAtASocket(t *testing.T) {
	g := NewWithT(t)
	folder, err := os.MkdirTemp("", "socket") // t.TempDir may be too long a path for a socket
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	path := filepath.Join(folder, "debug.sock")
	stale, err := net.Listen("unix", path)
	g.Expect(err).NotTo(HaveOccurred())
	stale.(*net.UnixListener).SetUnlinkOnClose(false) // as if the process had been killed
	g.Expect(stale.Close()).To(Succeed())

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	options := &Options{DebugSocketPath: path}
	go func() { ended <- RunAll(ctx, time.Minute, options.Debug()...) }()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	get := func(path string) (string, error) {
		response, err := client.Get("http://socket" + path)
		if err != nil {
			return "", err
		}
		body, err := io.ReadAll(response.Body)
		return string(body), err
	}
	g.Eventually(get).WithArguments("/debug/pprof/goroutine?debug=1").Should(ContainSubstring("goroutine profile"))
	g.Expect(get("/metrics")).To(ContainSubstring("not found"))
	info, err := os.Stat(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))
	stop()
	g.Expect(<-ended).To(Succeed())
	g.Expect(path).NotTo(BeAnExistingFile())
}

func TestProfilesAreServedOnlyWhenAskedForAndHarmNoFile(t *testing.T) {
	g := NewWithT(t)
	g.Expect((&Options{}).Debug()).To(BeEmpty())
	path := filepath.Join(t.TempDir(), "file")
	g.Expect(os.WriteFile(path, []byte("kept"), 0o600)).To(Succeed())
	options := &Options{DebugSocketPath: path}
	g.Expect(RunAll(t.Context(), time.Minute, options.Debug()...)).To(MatchError(ContainSubstring("is no socket")))
	g.Expect(os.ReadFile(path)).To(Equal([]byte("kept")))
}
