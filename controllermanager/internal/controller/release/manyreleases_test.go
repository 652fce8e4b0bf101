// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/render"
)

// repository is a Git repository that is served over HTTP.
type repository struct {
	*WithT
	folder string
	server *httptest.Server
	// packs were fetched from it.
	packs atomic.Int32
}

func serveRepository(t *testing.T) *repository {
	r := &repository{WithT: NewWithT(t), folder: t.TempDir()}
	r.git("init", "--quiet", "--initial-branch=main", ".")
	r.git("config", "http.receivepack", "false")
	r.git("config", "uploadpack.allowAnySHA1InWant", "true")
	backend := &cgi.Handler{
		Path: filepath.Join(r.git("--exec-path"), "git-http-backend"), Dir: r.folder, Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + r.folder, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1"},
	}
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if strings.HasSuffix(request.URL.Path, "/git-upload-pack") {
			r.packs.Add(1)
		}
		backend.ServeHTTP(w, request)
	}))
	t.Cleanup(r.server.Close)
	return r
}

func (r *repository) git(args ...string) string {
	command := exec.Command("git", args...)
	command.Dir = r.folder
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.test", "GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.test")
	output, err := command.CombinedOutput()
	r.Expect(err).NotTo(HaveOccurred(), "git %v: %s", args, output)
	return strings.TrimSpace(string(output))
}

// commit writes the ConfigMaps of folders, with a value each.
func (r *repository) commit(values map[int]string) {
	for i, value := range values {
		folder := filepath.Join(r.folder, fmt.Sprintf("apps/r%d", i))
		r.Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
		manifest := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm-%d}\ndata: {v: %q}\n", i, value)
		r.Expect(os.WriteFile(filepath.Join(folder, "a.yaml"), []byte(manifest), 0o600)).To(Succeed())
	}
	r.git("add", "--all")
	r.git("commit", "--quiet", "-m", "change")
}

// TestManyReleasesOfOneRepository has the real fetch coordinator and renderer: a commit is
// fetched once, and only what it changes is rendered and sent.
func TestManyReleasesOfOneRepository(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	const many = 100
	repo := serveRepository(t)
	contents := map[int]string{}
	for i := range many {
		contents[i] = "one"
	}
	repo.commit(contents)

	w := newWorld(t, newRelease(func(r *corev1alpha1.Release) { r.Name, r.Spec.Source.Git.Path = "r0", "apps/r0" }))
	clock := testclock.NewFakeClock(w.clock.Now())
	coordinator, renderer := fetch.New(fetch.Options{Clock: clock}), render.New(render.Options{})
	w.config.Fetcher, w.renderings.engine = coordinator, renderer
	source, err := w.config.Sources.GitRepositories.GitRepositories(key.Namespace).Get("apps")
	w.Expect(err).NotTo(HaveOccurred())
	source.Spec = sourcev1alpha1.GitRepositorySpec{URL: repo.server.URL + "/.git"}
	for i := 1; i < many; i++ {
		release := newRelease(func(r *corev1alpha1.Release) {
			r.Name, r.Spec.Source.Git.Path = fmt.Sprintf("r%d", i), fmt.Sprintf("apps/r%d", i)
		})
		_, err := w.host.CoreV1alpha1().Releases(key.Namespace).Create(t.Context(), release, metav1.CreateOptions{})
		w.Expect(err).NotTo(HaveOccurred())
	}
	passes := func() {
		w.sync()
		for i := range many {
			_, err := w.Reconcile(t.Context(), types.NamespacedName{Namespace: key.Namespace, Name: fmt.Sprintf("r%d", i)})
			w.Expect(err).NotTo(HaveOccurred())
			w.events() // the recorder has room for a few
		}
		w.sync()
	}

	passes()
	w.Expect(w.condition(corev1alpha1.ConditionApplied, "r7")).To(Equal("True Applied"))
	w.Expect(w.target.takeCalls()).To(HaveLen(many))
	w.Expect(repo.packs.Load()).To(Equal(int32(1)), "one fetch for all")
	w.Expect(renderer.Stats().Renders).To(Equal(int64(many)))

	repo.commit(map[int]string{7: "two"})
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	clock.Step(time.Hour)
	passes()
	w.Expect(repo.packs.Load()).To(Equal(int32(2)), "one fetch of the commit")
	w.Expect(renderer.Stats().Renders).To(Equal(int64(many+1)), "one render")
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply cm-7"}))

	repo.git("commit", "--quiet", "--allow-empty", "-m", "nothing")
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	clock.Step(time.Hour)
	passes()
	w.Expect(renderer.Stats().Renders).To(Equal(int64(many+1)), "a commit without a change is no render")
	w.Expect(w.target.takeCalls()).To(BeEmpty())
}

// TestAPassOverOneOfMany measures what a pass allocates over a Release to which nothing happens:
// not more for each other Release on the cluster.
func TestAPassOverOneOfMany(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	each := func() uint64 {
		const passes = 50
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range passes {
			_, err := w.Reconcile(t.Context(), key)
			w.Expect(err).NotTo(HaveOccurred())
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / passes
	}
	alone := each()
	for i := range 1000 {
		w.Expect(w.releases.Add(other(fmt.Sprintf("r%d", i)))).To(Succeed())
	}
	among := each()
	t.Logf("%d bytes alone, %d among 1,000 others", alone, among)
	w.Expect(among).To(BeNumerically("<", alone+8<<10))
}
