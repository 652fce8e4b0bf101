// SPDX-License-Identifier: Apache-2.0

package gitserver

import (
	"context"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

type fixture struct {
	*WithT
	t          *testing.T
	server     *Server
	repository *Repository
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	g := NewWithT(t)
	root := t.TempDir()
	server, err := Start(Options{Root: root, Log: t.Output()})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(server.Close(context.Background())).To(Succeed()) }) // the test's own context has ended by then
	repository, err := Create(t.Context(), root, "shop")
	g.Expect(err).NotTo(HaveOccurred())
	return fixture{WithT: g, t: t, server: server, repository: repository}
}

func (f fixture) commit(c Commit) string {
	f.t.Helper()
	hash, err := f.repository.Commit(f.t.Context(), c)
	f.Expect(err).NotTo(HaveOccurred())
	return hash
}

func (f fixture) clone(args ...string) (dir string, err error) {
	dir = filepath.Join(f.t.TempDir(), "clone")
	args = append([]string{"clone", "--quiet"}, args...)
	_, err = run(f.t.Context(), f.t.TempDir(), nil, append(args, f.server.RepositoryURL("shop"), dir)...)
	return dir, err
}

func TestCommitsArriveInClones(t *testing.T) {
	f := newFixture(t)
	first := f.commit(Commit{Message: "Open", Write: map[string]string{
		"chart/Chart.yaml": "name: shop\n", "old/a": "a", "old/b": "b", `od"d \name`: "", "empty": "",
	}})
	second := f.commit(Commit{Write: map[string]string{"chart/values.yaml": "a: 1\n"}, Links: map[string]string{"link": "chart/values.yaml"}, Delete: []string{"old"}})
	f.Expect(first).To(HaveLen(40))
	f.Expect(second).NotTo(Equal(first))

	dir, err := f.clone()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(os.ReadFile(filepath.Join(dir, "chart/Chart.yaml"))).To(BeEquivalentTo("name: shop\n"))
	f.Expect(os.ReadFile(filepath.Join(dir, "link"))).To(BeEquivalentTo("a: 1\n"))
	f.Expect(filepath.Join(dir, `od"d \name`)).To(BeAnExistingFile())
	f.Expect(filepath.Join(dir, "empty")).To(BeAnExistingFile())
	f.Expect(filepath.Join(dir, "old")).NotTo(BeAnExistingFile())
	f.Expect(run(t.Context(), dir, nil, "rev-parse", "HEAD", "HEAD^")).To(Equal(second + "\n" + first))
}

func TestTagsBranchesAndReset(t *testing.T) {
	f := newFixture(t)
	first := f.commit(Commit{Write: map[string]string{"a": "1"}})
	f.Expect(f.repository.Tag(t.Context(), "v1.0.0", first)).To(Succeed())
	f.commit(Commit{Write: map[string]string{"a": "2"}})
	branch := f.commit(Commit{Branch: "other", Write: map[string]string{"b": "1"}})
	f.Expect(f.repository.Head(t.Context(), "other")).To(Equal(branch))

	dir, err := f.clone("--branch", "v1.0.0", "--depth", "1")
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(os.ReadFile(filepath.Join(dir, "a"))).To(BeEquivalentTo("1"))

	f.Expect(f.repository.Reset(t.Context(), DefaultBranch, first)).To(Succeed())
	f.Expect(f.repository.Head(t.Context(), DefaultBranch)).To(Equal(first))
	f.Expect(f.repository.DeleteReference(t.Context(), "refs/heads/other")).To(Succeed())
	_, err = f.repository.Head(t.Context(), "other")
	f.Expect(err).To(HaveOccurred())
}

func TestProtectedRepository(t *testing.T) {
	f := newFixture(t)
	f.commit(Commit{Write: map[string]string{"a": "1"}})
	f.Expect(f.repository.Protect("alice", "secret")).To(Succeed())
	_, err := f.clone()
	f.Expect(err).To(HaveOccurred())
	f.Expect(f.server.Requests("shop")).To(Equal(Requests{Denied: 1}))

	withCredentials := "credential.helper=!f() { echo username=alice; echo password=secret; }; f"
	_, err = f.clone("--config", withCredentials)
	f.Expect(err).NotTo(HaveOccurred())
	requests := f.server.Requests("shop")
	f.Expect(requests.InfoRefs).To(Equal(1))
	f.Expect(requests.UploadPack).To(BeNumerically(">", 0))
	f.Expect(requests.Denied).To(Equal(2), "git asks without credentials first")

	f.Expect(f.repository.Unprotect()).To(Succeed())
	_, err = f.clone()
	f.Expect(err).NotTo(HaveOccurred())
}

func TestRequestsAreCountedPerRepository(t *testing.T) {
	f := newFixture(t)
	f.commit(Commit{Write: map[string]string{"a": "1"}})
	_, err := f.clone()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.server.Requests("shop").InfoRefs).To(Equal(1))
	f.Expect(f.server.Requests("other")).To(Equal(Requests{}))
	f.server.ResetRequests()
	f.Expect(f.server.Requests("shop")).To(Equal(Requests{}))
}

func TestPushAndLargeRequests(t *testing.T) {
	f := newFixture(t)
	f.commit(Commit{Write: map[string]string{"a": "1"}})
	dir, err := f.clone()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(os.WriteFile(filepath.Join(dir, "b"), []byte(strings.Repeat("0123456789", 20000)), 0o600)).To(Succeed())
	_, err = run(t.Context(), dir, nil, "add", "b")
	f.Expect(err).NotTo(HaveOccurred())
	_, err = run(t.Context(), dir, nil, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message=b")
	f.Expect(err).NotTo(HaveOccurred())
	// A buffer smaller than the pack makes git send it in chunks.
	_, err = run(t.Context(), dir, nil, "-c", "http.postBuffer=1", "-c", "core.compression=0", "push", "--quiet", "origin", DefaultBranch)
	f.Expect(err).NotTo(HaveOccurred())
	head, err := run(t.Context(), dir, nil, "rev-parse", "HEAD")
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.repository.Head(t.Context(), DefaultBranch)).To(Equal(head))
}

func TestCreateTwice(t *testing.T) {
	f := newFixture(t)
	_, err := Create(t.Context(), filepath.Dir(f.repository.Dir()), "shop")
	f.Expect(err).To(MatchError(fs.ErrExist))
}

func TestOnlyTheSmartProtocol(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{"/shop.git/HEAD", "/shop.git/config", "/shop.git/info/refs"} {
		response, err := http.Get(f.server.URL() + path)
		f.Expect(err).NotTo(HaveOccurred())
		f.Expect(response.Body.Close()).To(Succeed())
		f.Expect(response.StatusCode).To(Equal(http.StatusNotFound), path)
	}
}
