// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/engine"
	"kumodo.io/convoy/render/internal/limit"
)

// parentOfWorker makes the test binary a process that has a worker at work.
const parentOfWorker = "TEST_PARENT_OF_WORKER"

func TestMain(m *testing.M) {
	Prepare()
	if os.Getenv(parentOfWorker) != "" {
		_, err := NewPool(1<<30).Run(context.Background(), endless())
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func plainJob(root fs.FS) engine.Job {
	return engine.Job{Type: corev1alpha1.RenderPlain, Root: root, Path: ".", OutputBytes: 1 << 20}
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

var manifests = fstest.MapFS{"a.yaml": {Data: []byte(configMap)}}

// endless is a job that heeds no context: its last file is read, then it loops.
func endless() engine.Job {
	return engine.Job{Type: corev1alpha1.RenderKustomize, Path: ".", OutputBytes: 1 << 20, Root: fstest.MapFS{
		"kustomization.yaml": {Data: []byte("resources: [a.yaml]\nopenapi: {path: s.json}\npatches: [{patch: '{apiVersion: x.test/v1, kind: Foo, metadata: {name: a}, spec: {a: {b: 2}}}'}]\n")},
		"a.yaml":             {Data: []byte("apiVersion: x.test/v1\nkind: Foo\nmetadata: {name: a}\nspec: {a: {b: 1}}\n")},
		"s.json": {Data: []byte(`{"definitions": {
			"v1.Foo": {"x-kubernetes-group-version-kind": [{"group": "x.test", "version": "v1", "kind": "Foo"}], "type": "object", "properties": {"spec": {"$ref": "#/definitions/v1.B"}}},
			"v1.B": {"$ref": "#/definitions/v1.C"}, "v1.C": {"$ref": "#/definitions/v1.B"}}}`)},
	}}
}

// spied calls back when a directory of it is listed.
type spied struct {
	fstest.MapFS
	listed func()
}

func (s spied) ReadDir(name string) ([]fs.DirEntry, error) {
	s.listed()
	return s.MapFS.ReadDir(name)
}

// children are the processes that a process started and that live.
func children(t *testing.T, parent int) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var found []int
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended meanwhile
		}
		fields := strings.Fields(string(stat[strings.LastIndex(string(stat), ")")+1:]))
		if fields[1] == strconv.Itoa(parent) && fields[0] != "Z" {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			found = append(found, pid)
		}
	}
	return found
}

func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func newPool(t *testing.T) *Pool {
	p := NewPool(256 << 20)
	t.Cleanup(func() {
		for worker := p.pop(); worker != nil; worker = p.pop() {
			worker.end()
		}
	})
	return p
}

func TestWorkersAreKept(t *testing.T) {
	g := NewWithT(t)
	p := newPool(t)
	output, err := p.Run(t.Context(), plainJob(manifests))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(output.Objects).To(ConsistOf(HaveField("Origin", "a.yaml")))
	g.Expect(p.idle).To(HaveLen(1))
	first := p.idle[0]
	_, err = p.Run(t.Context(), plainJob(fstest.MapFS{"a.yaml": {Data: []byte("no manifest")}}))
	g.Expect(err).To(MatchError(ContainSubstring("a.yaml: this is no Kubernetes manifest")))
	g.Expect(p.idle).To(ConsistOf(first), "a worker outlives the faults of content")
}

func TestIdleWorkersEnd(t *testing.T) {
	g := NewWithT(t)
	p := newPool(t)
	p.rest = time.Millisecond
	_, err := p.Run(t.Context(), plainJob(manifests))
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() []int { return children(t, os.Getpid()) }).WithTimeout(time.Minute).Should(BeEmpty())
	_, err = p.Run(t.Context(), plainJob(manifests))
	g.Expect(err).NotTo(HaveOccurred())
}

// TestKilledWorker kills the worker of a job: once, which is made good, and again.
func TestKilledWorker(t *testing.T) {
	for name, tc := range map[string]struct {
		times   int
		wantErr string
	}{
		"once":  {times: 1},
		"twice": {times: 2, wantErr: "ended twice (signal: killed)"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPool(t)
			left := tc.times
			root := spied{manifests, func() {
				if left > 0 {
					for _, pid := range children(t, os.Getpid()) {
						_ = syscall.Kill(pid, syscall.SIGKILL) // another may be about to end
					}
				}
				left--
			}}
			output, err := p.Run(t.Context(), plainJob(root))
			g.Expect(p.Ended(Crash)).To(BeEquivalentTo(tc.times))
			if tc.wantErr == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(output.Objects).To(HaveLen(1))
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(tc.wantErr)))
			g.Expect(errors.As(err, new(*EndedError))).To(BeTrue())
		})
	}
}

// TestKilledWhileIdle hands no dead worker out.
func TestKilledWhileIdle(t *testing.T) {
	g := NewWithT(t)
	p := newPool(t)
	_, err := p.Run(t.Context(), plainJob(manifests))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.idle[0].cmd.Process.Kill()).To(Succeed())
	<-p.idle[0].ended
	_, err = p.Run(t.Context(), plainJob(manifests))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Ended(Crash)).To(BeZero())
}

// TestStoppedWhileIdle hands no worker out that does not answer.
func TestStoppedWhileIdle(t *testing.T) {
	g := NewWithT(t)
	p := newPool(t)
	_, err := p.Run(t.Context(), plainJob(manifests))
	g.Expect(err).NotTo(HaveOccurred())
	first := p.idle[0]
	g.Expect(first.cmd.Process.Signal(syscall.SIGSTOP)).To(Succeed())
	g.Eventually(func() bool { return stopped(first.cmd.Process.Pid) }).Should(BeTrue())
	_, err = p.Run(t.Context(), plainJob(manifests))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.idle).NotTo(ContainElement(first))
	g.Expect(children(t, os.Getpid())).To(HaveLen(1))
}

// TestCancelledJob ends its worker at once: nobody wants what it does.
func TestCancelledJob(t *testing.T) {
	g := NewWithT(t)
	p := newPool(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := func() {
		cancel()
		g.Eventually(func() []int { return children(t, os.Getpid()) }).WithTimeout(time.Minute).Should(BeEmpty())
	}
	_, err := p.Run(ctx, plainJob(spied{manifests, ended}))
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(p.idle).To(BeEmpty())
	_, err = p.Run(t.Context(), plainJob(manifests))
	g.Expect(err).NotTo(HaveOccurred())
}

// TestPanicOfTheContent ends the worker that waits for an answer.
func TestPanicOfTheContent(t *testing.T) {
	g := NewWithT(t)
	p := newPool(t)
	g.Expect(func() { _, _ = p.Run(t.Context(), plainJob(spied{manifests, func() { panic("broken") }})) }).To(Panic())
	g.Expect(children(t, os.Getpid())).To(BeEmpty())
}

// TestWorkersEndWithTheirParent kills a process whose worker is busy.
func TestWorkersEndWithTheirParent(t *testing.T) {
	g := NewWithT(t)
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentOfWorker+"=1")
	g.Expect(parent.Start()).To(Succeed())
	var workers []int
	g.Eventually(func() []int { workers = children(t, parent.Process.Pid); return workers }).WithTimeout(time.Minute).Should(HaveLen(1))
	g.Expect(parent.Process.Kill()).To(Succeed())
	g.Expect(parent.Wait()).NotTo(Succeed())
	g.Eventually(func() bool { return lives(workers[0]) }).WithTimeout(time.Minute).Should(BeFalse())
}

// TestWorkerEndsWithItsOrders is that without the help of the operating system.
func TestWorkerEndsWithItsOrders(t *testing.T) {
	g := NewWithT(t)
	worker, err := start(256 << 20)
	g.Expect(err).NotTo(HaveOccurred())
	defer worker.end()
	looping := make(chan struct{})
	go func() {
		j := endless()
		sent, content := jobOf(j)
		h := &host{content: content, most: leastRead}
		_ = worker.out.Encode(order{Job: sent})
		worker.meter.left = beyond
		for h.last != "a.yaml" { // then it asks for nothing any more
			var r report
			if worker.in.Decode(&r) != nil {
				break
			}
			if r.Question != nil {
				_ = worker.out.Encode(order{Answer: h.answer(r.Question)})
			}
		}
		close(looping)
	}()
	<-looping
	g.Expect(worker.alive()).To(BeTrue())
	g.Expect(worker.orders.Close()).To(Succeed())
	<-worker.ended
}

// TestWorkersHaveNothing looks at what a worker has besides its job.
func TestWorkersHaveNothing(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("CLOUD_SECRET", "x")
	t.Setenv("TZ", "Asia/Tokyo")
	t.Setenv("ZONEINFO", "/nowhere")
	open, err := os.Open(os.Args[0])
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = open.Close() }()
	p := newPool(t)
	_, err = p.Run(t.Context(), plainJob(manifests))
	g.Expect(err).NotTo(HaveOccurred())
	proc := fmt.Sprintf("/proc/%d/", p.idle[0].cmd.Process.Pid)
	environ, err := os.ReadFile(proc + "environ")
	g.Expect(err).NotTo(HaveOccurred())
	var names []string
	for variable := range strings.SplitSeq(strings.TrimSuffix(string(environ), "\x00"), "\x00") {
		name, _, _ := strings.Cut(variable, "=")
		names = append(names, name)
	}
	g.Expect(names).To(ContainElements(environment, "ZONEINFO"))
	g.Expect([]string{environment, "GOMEMLIMIT", "GOMAXPROCS", "GOTRACEBACK", "GODEBUG", "ZONEINFO"}).To(ContainElements(names))
	descriptors, err := filepath.Glob(proc + "fd/*")
	g.Expect(err).NotTo(HaveOccurred())
	for _, name := range descriptors {
		to, err := os.Readlink(name)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(to).To(Or(HavePrefix("pipe:"), HavePrefix("anon_inode:")), name)
	}
	limits, err := os.ReadFile(proc + "limits")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(limits)).To(And(MatchRegexp(`Max core file size +0 +0 `), MatchRegexp(`Max file size +0 +0 `), MatchRegexp(fmt.Sprintf(`Max data size +%[1]d +%[1]d `, 256<<20+beside))))
}

// TestHostAnswers nothing but what belongs to a job.
func TestHostAnswers(t *testing.T) {
	g := NewWithT(t)
	h := &host{content: []fs.FS{manifests}, most: leastRead}
	g.Expect(h.answer(&question{File: "a.yaml"}).Text).To(BeEquivalentTo(configMap))
	for _, q := range []question{{File: "../a.yaml"}, {File: "/etc/passwd"}, {Content: 1, File: "a.yaml"}, {Content: -1, File: "a.yaml"}, {}, {Lookup: &object{"v1", "Secret", "team", "a"}}} {
		a := h.answer(&q)
		g.Expect(a.Fault).NotTo(BeNil(), "%+v", q)
		g.Expect(a.Text).To(BeNil())
		g.Expect(a.Object.any).To(BeNil())
	}
}

func TestLastWords(t *testing.T) {
	g := NewWithT(t)
	w := &words{}
	for _, text := range []string{"Warning: the value is s3cret\nrunt", "ime: goroutine stack exceeds", " a limit\nfatal error: stack overflow\n", strings.Repeat("frame\n", 1<<20)} {
		n, err := w.Write([]byte(text))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(n).To(Equal(len(text)))
	}
	g.Expect(w.String()).To(HavePrefix("runtime: goroutine stack exceeds a limit\nfatal error: stack overflow\nframe\n"))
	g.Expect(len(w.String())).To(BeNumerically("<=", maxWords))
}

// unread is content of which nobody reads the large file.
type unread struct{ fstest.MapFS }

func (u unread) ReadFile(name string) ([]byte, error) {
	if name == "large.yaml" {
		panic("it is read")
	}
	return u.MapFS.ReadFile(name)
}

// TestLargeFilesAreNotRead asks for files that are larger than all manifests may be.
func TestLargeFilesAreNotRead(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"manifests":     {"a.yaml": {Data: []byte(configMap)}},
		"kustomization": {"kustomization.yaml": {Data: []byte("resources: [large.yaml]\n")}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			files["large.yaml"] = &fstest.MapFile{Data: make([]byte, leastRead+1)}
			j := plainJob(unread{files})
			if name == "kustomization" {
				j.Type = corev1alpha1.RenderKustomize
			}
			_, err := newPool(t).Run(t.Context(), j)
			g.Expect(err).To(MatchError("stopped: large.yaml has more than 5 MiB; raise --render-max-bytes"))
			g.Expect(errors.As(err, new(*limit.Error))).To(BeTrue())
		})
	}
}
