// SPDX-License-Identifier: Apache-2.0

package helmrepo

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"kumodo.io/convoy/e2e/framework/chart"
)

func pack(t *testing.T, version, values string) *chart.Archive {
	t.Helper()
	archive, err := chart.PackVersion(fstest.MapFS{
		"Chart.yaml":  {Data: []byte("apiVersion: v2\nname: shop\ndescription: A shop.\nversion: 0.0.0\n")},
		"values.yaml": {Data: []byte(values)},
	}, version)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return archive
}

func get(t *testing.T, url, user, password string) (status int, body []byte) {
	t.Helper()
	g := NewWithT(t)
	request, err := http.NewRequest(http.MethodGet, url, nil)
	g.Expect(err).NotTo(HaveOccurred())
	if user != "" {
		request.SetBasicAuth(user, password)
	}
	response, err := http.DefaultClient.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, body
}

type listing struct {
	APIVersion string `json:"apiVersion"`
	Entries    map[string][]struct {
		Version, Description, Digest string
		URLs                         []string `json:"urls"`
	} `json:"entries"`
}

func fetchIndex(t *testing.T, server *Server) listing {
	t.Helper()
	g := NewWithT(t)
	status, body := get(t, server.RepositoryURL("stable")+"/index.yaml", "", "")
	g.Expect(status).To(Equal(http.StatusOK))
	var listed listing
	g.Expect(yaml.Unmarshal(body, &listed)).To(Succeed())
	return listed
}

func start(t *testing.T, root string) *Server {
	t.Helper()
	server, err := Start(Options{Root: root})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	return server
}

func TestIndexAndArchives(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	server := start(t, root)
	old, replacement := pack(t, "1.0.0", "a: 1"), pack(t, "1.0.0", "a: 2")
	build := pack(t, "1.1.0+build.1", "")
	g.Expect(Add(root, "stable", old)).To(Succeed())
	g.Expect(Add(root, "stable", build, replacement)).To(Succeed())

	listed := fetchIndex(t, server)
	g.Expect(listed.APIVersion).To(Equal("v1"))
	g.Expect(listed.Entries["shop"]).To(HaveLen(2))
	for i, want := range []*chart.Archive{build, replacement} {
		entry := listed.Entries["shop"][i]
		g.Expect(entry.Version).To(Equal(want.Version))
		g.Expect(entry.Description).To(Equal("A shop."))
		g.Expect(entry.Digest).To(Equal(want.Digest()))
		status, body := get(t, server.RepositoryURL("stable")+"/"+entry.URLs[0], "", "")
		g.Expect(status).To(Equal(http.StatusOK))
		g.Expect(body).To(Equal(want.Content))
	}
	indexes, archives := server.Requests("stable")
	g.Expect([]int{indexes, archives}).To(Equal([]int{1, 2}))
	indexes, archives = server.Requests("other")
	g.Expect([]int{indexes, archives}).To(Equal([]int{0, 0}))
}

func TestRemove(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	server := start(t, root)
	archive := pack(t, "1.0.0", "")
	g.Expect(Add(root, "stable", archive)).To(Succeed())
	g.Expect(Remove(root, "stable", "shop", "1.0.0")).To(Succeed())
	g.Expect(Remove(root, "stable", "shop", "1.0.0")).To(Succeed())
	g.Expect(fetchIndex(t, server).Entries).To(BeEmpty())
	status, _ := get(t, server.RepositoryURL("stable")+"/"+archive.FileName(), "", "")
	g.Expect(status).To(Equal(http.StatusNotFound))
}

func TestProtectedRepository(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	server := start(t, root)
	g.Expect(Add(root, "private", pack(t, "1.0.0", ""))).To(Succeed())
	g.Expect(Protect(root, "private", "alice", "secret")).To(Succeed())
	url := server.RepositoryURL("private") + "/"
	for _, test := range []struct {
		name, file, user string
		want             int
	}{
		{name: "without credentials", file: "index.yaml", want: http.StatusUnauthorized},
		{name: "with credentials", file: "index.yaml", user: "alice", want: http.StatusOK},
		{name: "the archive without", file: "shop-1.0.0.tgz", want: http.StatusUnauthorized},
		{name: "the archive with", file: "shop-1.0.0.tgz", user: "alice", want: http.StatusOK},
		{name: "the credentials are no content", file: ".auth", user: "alice", want: http.StatusNotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, _ := get(t, url+test.file, test.user, "secret")
			NewWithT(t).Expect(status).To(Equal(test.want))
		})
	}
}
