// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/framework/poll"
)

// The test binary is its own child process: with this variable set it plays the
// named part instead of running tests.
const roleVariable = "PROCESS_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		os.Exit(m.Run())
	case "fail":
		fmt.Println("this is why it fails")
		os.Exit(3)
	case "serve":
		serve(true)
	case "stubborn":
		serve(false)
	case "parent":
		parent()
	}
}

// serve listens on the address of the first argument until SIGTERM.
func serve(obedient bool) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		for range signals {
			if obedient {
				os.Exit(0)
			}
		}
	}()
	fmt.Println("serving")
	err := http.ListenAndServe(os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strconv.Itoa(os.Getpid()))
	}))
	fmt.Println(err)
	os.Exit(1)
}

// parent starts an attached and a detached child and waits to be killed.
func parent() {
	for i, name := range []string{"attached", "detached"} {
		command := Command{Name: name, Path: os.Args[0], Args: []string{os.Args[2+i]}, Dir: os.Args[1], Detached: name == "detached"}
		command.Env = []string{roleVariable + "=serve"}
		command.Ready = HTTPReady(nil, "http://"+os.Args[2+i])
		if _, err := Start(context.Background(), command); err != nil {
			panic(err)
		}
	}
	if err := os.WriteFile(filepath.Join(os.Args[1], "ready"), nil, 0o600); err != nil {
		panic(err)
	}
	select {}
}

func address(t *testing.T) string {
	t.Helper()
	ports, err := FreePorts(1)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return fmt.Sprintf("127.0.0.1:%d", ports[0])
}

func command(t *testing.T, role, address string) Command {
	t.Helper()
	return Command{
		Name: role, Path: os.Args[0], Args: []string{address}, Dir: t.TempDir(),
		Env:   []string{roleVariable + "=" + role},
		Ready: HTTPReady(nil, "http://"+address),
	}
}

func start(t *testing.T, command Command) *Process {
	t.Helper()
	p, err := Start(t.Context(), command)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = p.Kill() })
	return p
}

func TestStartStopRestart(t *testing.T) {
	g := NewWithT(t)
	c := command(t, "serve", address(t))
	p := start(t, c)
	first := p.PID()
	g.Expect(p.Running()).To(BeTrue())
	g.Expect(p.Restart(t.Context())).NotTo(Succeed(), "it still runs")
	g.Expect(os.ReadFile(pidFile(c))).To(HavePrefix(strconv.Itoa(first) + "\n"))

	g.Expect(p.Stop(t.Context())).To(Succeed())
	g.Expect(p.Running()).To(BeFalse())
	g.Expect(p.Err()).NotTo(HaveOccurred())
	g.Expect(pidFile(c)).NotTo(BeAnExistingFile())
	g.Expect(p.Stop(t.Context())).To(Succeed(), "stopping twice is no error")

	g.Expect(p.Restart(t.Context())).To(Succeed())
	g.Expect(p.PID()).NotTo(Equal(first))
	g.Expect(os.ReadFile(p.LogFile())).To(Equal([]byte("serving\nserving\n")))
}

func TestKillAndRestartOnTheSamePort(t *testing.T) {
	g := NewWithT(t)
	p := start(t, command(t, "serve", address(t)))
	g.Expect(p.Kill()).To(Succeed())
	g.Expect(p.Done()).To(BeClosed())
	g.Expect(p.Err()).NotTo(HaveOccurred(), "a kill that was asked for is no accident")
	g.Expect(p.Restart(t.Context())).To(Succeed())
}

func TestStubbornProcessIsKilledAfterTheGrace(t *testing.T) {
	g := NewWithT(t)
	c := command(t, "stubborn", address(t))
	c.Grace = time.Millisecond
	p := start(t, c)
	g.Expect(p.Stop(t.Context())).To(Succeed())
	g.Expect(p.Running()).To(BeFalse())
}

func TestFailureShowsTheLog(t *testing.T) {
	g := NewWithT(t)
	c := command(t, "fail", address(t))
	_, err := Start(t.Context(), c)
	var exit *ExitError
	g.Expect(errors.As(err, &exit)).To(BeTrue(), "%v", err)
	g.Expect(exit.Name).To(Equal("fail"))
	g.Expect(exit.Reason).To(ContainSubstring("3"))
	g.Expect(exit.Tail).To(ContainSubstring("this is why it fails"))
}

func TestUnexpectedEndIsSurfaced(t *testing.T) {
	g := NewWithT(t)
	p := start(t, command(t, "serve", address(t)))
	g.Expect(p.Err()).NotTo(HaveOccurred())
	g.Expect(syscall.Kill(p.PID(), syscall.SIGKILL)).To(Succeed())
	<-p.Done()
	var exit *ExitError
	g.Expect(errors.As(p.Err(), &exit)).To(BeTrue())
	g.Expect(exit.Tail).To(ContainSubstring("serving"))
}

func TestProcessThatIsNeverReadyIsKilled(t *testing.T) {
	g := NewWithT(t)
	c := command(t, "serve", address(t))
	notReady := errors.New("never")
	c.Ready = func(context.Context) error { return notReady }
	c.ReadyTimeout = 10 * time.Millisecond
	_, err := Start(t.Context(), c)
	g.Expect(err).To(MatchError(notReady))
	g.Expect(pidFile(c)).NotTo(BeAnExistingFile())
}

func TestMissingBinary(t *testing.T) {
	g := NewWithT(t)
	_, err := Start(t.Context(), Command{Name: "none", Path: filepath.Join(t.TempDir(), "none"), Dir: t.TempDir()})
	g.Expect(err).To(MatchError(os.ErrNotExist))
}

func answers(address string) func(context.Context) error {
	return HTTPReady(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, "http://"+address)
}

func silent(address string) func(context.Context) error {
	return func(context.Context) error {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		return listener.Close()
	}
}

func TestChildrenOfAKilledParent(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	attached, detached := address(t), address(t)
	dir := t.TempDir()
	c := command(t, "parent", "")
	c.Args = []string{dir, attached, detached}
	c.Ready = func(context.Context) error {
		_, err := os.Stat(filepath.Join(dir, "ready"))
		return err
	}
	p := start(t, c)
	g.Expect(p.Kill()).To(Succeed())

	g.Expect(poll.Until(ctx, time.Millisecond, silent(attached))).To(Succeed(), "an attached child dies with its parent")
	g.Expect(answers(detached)(ctx)).To(Succeed(), "a detached child lives on")

	stopped, err := StopFolder(ctx, dir, 10*time.Second, t.Output())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(stopped).To(Equal(1), "only the detached one was left")
	g.Expect(silent(detached)(ctx)).To(Succeed())
	g.Expect(filepath.Glob(filepath.Join(dir, "*.pid"))).To(BeEmpty())
}

func TestHTTPReadyTellsWhatFails(t *testing.T) {
	for _, test := range []struct {
		name, given, want string
		status            int
	}{
		{name: "ready", status: http.StatusOK},
		{name: "failing checks", status: 500, given: "[+]ping ok\n[-]etcd failed\n[-]hook failed\nreadyz check failed\n", want: "[-]etcd failed, [-]hook failed"},
		{name: "anything else", status: 503, given: "starting\n", want: "503 Service Unavailable: starting"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.given)
			}))
			defer server.Close()
			err := HTTPReady(nil, server.URL)(t.Context())
			if test.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(HaveSuffix(test.want)))
		})
	}
}

func TestStopFolderSparesStrangers(t *testing.T) {
	g := NewWithT(t)
	p := start(t, command(t, "serve", address(t)))
	dir := t.TempDir()
	stale := fmt.Sprintf("%d\nanother start time\n", p.PID())
	g.Expect(os.WriteFile(filepath.Join(dir, "old.pid"), []byte(stale), 0o600)).To(Succeed())

	stopped, err := StopFolder(t.Context(), dir, time.Second, io.Discard)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(stopped).To(Equal(0))
	g.Expect(p.Running()).To(BeTrue())
	g.Expect(filepath.Join(dir, "old.pid")).NotTo(BeAnExistingFile())
}

func TestStopFolderWithoutAFolder(t *testing.T) {
	g := NewWithT(t)
	stopped, err := StopFolder(t.Context(), filepath.Join(t.TempDir(), "none"), time.Second, io.Discard)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(stopped).To(Equal(0))
}

func TestStatIdentity(t *testing.T) {
	rest := " 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1 1"
	threads := " 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 4711 1 1"
	for _, test := range []struct {
		name, given, want string
	}{
		{name: "running", given: "7 (server) S" + rest, want: "4711"},
		{name: "a name with spaces and a parenthesis", given: "7 (a) b) R" + rest, want: "4711"},
		{name: "a zombie is gone", given: "7 (server) Z" + rest},
		{name: "a zombie whose other threads still end", given: "7 (server) Z" + threads, want: "4711"},
		{name: "cut off", given: "7 (server) S 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := statIdentity(test.given)
			g.Expect(got).To(Equal(test.want))
			g.Expect(err != nil).To(Equal(test.want == ""))
		})
	}
}

func TestFreePortsDiffer(t *testing.T) {
	g := NewWithT(t)
	ports, err := FreePorts(20)
	g.Expect(err).NotTo(HaveOccurred())
	seen := map[int]bool{}
	for _, port := range ports {
		g.Expect(seen[port]).To(BeFalse())
		g.Expect(port).To(And(BeNumerically(">=", firstPort), BeNumerically("<=", lastPort)))
		seen[port] = true
	}
}
