// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// sent is a request that changes something.
type sent struct{ what, body string }

// recorder is a server that answers as answers says, and to a PATCH with the object that it
// is of; it keeps what was sent to change something.
type recorder struct {
	answers map[string]runtime.Object
	sent    []sent
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet {
		body, _ := io.ReadAll(req.Body)
		r.sent = append(r.sent, sent{req.Method + " " + req.URL.RequestURI(), string(body)})
	}
	answer, ok := r.answers[req.Method+" "+req.URL.RequestURI()]
	if !ok && req.Method == http.MethodPatch {
		path := req.URL.Path
		for _, part := range []string{"/lifecycle", "/pin", "/mutations"} {
			path = strings.TrimSuffix(path, part)
		}
		answer, ok = r.answers["GET "+path]
	}
	if !ok {
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, `not found`)
		return
	}
	send(w, answer)
}

// change executes a command line against a recorder.
func (r *recorder) change(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	r.sent = nil
	return runAgainst(t, context.Background(), r.ServeHTTP, args...)
}

// answered executes a command line as on a terminal at which somebody types.
func (r *recorder) answered(t *testing.T, typed string, args ...string) (code int, out, errOut string) {
	t.Helper()
	r.sent = nil
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	streams, in, outBuffer, errBuffer := genericiooptions.NewTestIOStreams()
	in.WriteString(typed)
	root := newRootFor(&environment{flags: genericclioptions.NewConfigFlags(true), IOStreams: streams, interactive: true})
	root.SetArgs(append([]string{"--kubeconfig", emptyKubeconfig(t), "--server", server.URL, "-n", "shop"}, args...))
	if err := root.Execute(); err != nil {
		code = 1
		errBuffer.WriteString(err.Error())
	}
	return code, outBuffer.String(), errBuffer.String()
}

func named(name string) func(*corev1alpha1.Release) {
	return func(r *corev1alpha1.Release) { r.Name = name }
}

func releaseList(next string, releases ...*corev1alpha1.Release) *corev1alpha1.ReleaseList {
	list := &corev1alpha1.ReleaseList{TypeMeta: typeMeta("ReleaseList"), ListMeta: metav1.ListMeta{Continue: next}}
	for _, release := range releases {
		list.Items = append(list.Items, *release)
	}
	return list
}

const clustersPath = "/apis/core.convoy.kumodo.io/v1alpha1/namespaces/shop/clusters"

// fleet answers for two Releases and a Cluster.
func fleet() *recorder {
	cluster := &corev1alpha1.Cluster{TypeMeta: typeMeta("Cluster"), ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "edge"}}
	return &recorder{answers: map[string]runtime.Object{
		"GET " + releasesPath + "/web":                                            newRelease(),
		"GET " + releasesPath + "/off":                                            newRelease(named("off"), suspended),
		"GET " + clustersPath + "/edge":                                           cluster,
		"GET " + releasesPath + "?labelSelector=team%3Dx&limit=500":               releaseList("next", newRelease()),
		"GET " + releasesPath + "?continue=next&labelSelector=team%3Dx&limit=500": releaseList("", newRelease(named("off"), suspended)),
		"GET " + releasesPath + "?limit=500":                                      releaseList("", newRelease()),
		"GET " + clustersPath + "?limit=500":                                      &corev1alpha1.ClusterList{TypeMeta: typeMeta("ClusterList"), Items: []corev1alpha1.Cluster{*cluster}},
		"GET " + clustersPath + "?labelSelector=team%3Dnone&limit=500":            &corev1alpha1.ClusterList{TypeMeta: typeMeta("ClusterList")},
	}}
}

func TestSuspendChoosesAndWrites(t *testing.T) {
	const (
		body    = `{"spec":{"suspend":true}}`
		manager = "?fieldManager=kubectl-convoy"
	)
	web := sent{"PATCH " + releasesPath + "/web" + manager, body}
	edge := sent{"PATCH " + clustersPath + "/edge" + manager, body}
	for _, test := range []struct {
		name string
		args []string
		want []sent
		out  string
	}{
		{"a Release", []string{"web"}, []sent{web}, "release.core.convoy.kumodo.io/web suspended\n"},
		{"kinds by any name", []string{"rel/web", "clusters/edge"}, []sent{web, edge}, "release.core.convoy.kumodo.io/web suspended\ncluster.core.convoy.kumodo.io/edge suspended\n"},
		{"one that is suspended already", []string{"off"}, nil, "release.core.convoy.kumodo.io/off unchanged\n"},
		{"by labels, in pages", []string{"-l", "team=x", "-y"}, []sent{web}, "release.core.convoy.kumodo.io/off unchanged\nrelease.core.convoy.kumodo.io/web suspended\n"},
		{"all of several kinds", []string{"releases.core.convoy.kumodo.io", "ccl", "--all", "--yes"}, []sent{web, edge}, "release.core.convoy.kumodo.io/web suspended\ncluster.core.convoy.kumodo.io/edge suspended\n"},
		{"a dry run here", []string{"web", "--dry-run"}, nil, "release.core.convoy.kumodo.io/web suspended (dry run)\n"},
		{"a dry run there", []string{"web", "--dry-run=server"}, []sent{{"PATCH " + releasesPath + "/web?dryRun=All&fieldManager=kubectl-convoy", body}}, "release.core.convoy.kumodo.io/web suspended (server dry run)\n"},
		{"what it would be", []string{"web", "--dry-run=client", "-o", "jsonpath={.spec.suspend}"}, nil, "true\n"},
		{"many as names", []string{"web", "cluster/edge", "-o", "name"}, []sent{web, edge}, "release.core.convoy.kumodo.io/web\ncluster.core.convoy.kumodo.io/edge\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			server := fleet()
			code, out, errOut := server.change(t, append([]string{"suspend"}, test.args...)...)
			g.Expect(errOut).To(BeEmpty())
			g.Expect(code).To(Equal(0))
			g.Expect(out).To(Equal(test.out))
			g.Expect(server.sent).To(Equal(test.want))
		})
	}
}

func TestResume(t *testing.T) {
	g := NewWithT(t)
	server := fleet()
	code, out, _ := server.change(t, "resume", "off", "web")
	g.Expect(code).To(Equal(0))
	g.Expect(out).To(Equal("release.core.convoy.kumodo.io/web unchanged\nrelease.core.convoy.kumodo.io/off resumed\n"))
	g.Expect(server.sent).To(Equal([]sent{{"PATCH " + releasesPath + "/off?fieldManager=kubectl-convoy", `{"spec":{"suspend":false}}`}}))
}

func TestChoicesThatAreRefused(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"suspend"}, "suspend takes names, --selector or --all"},
		{[]string{"suspend", "-A"}, "--all-namespaces needs --selector or --all"},
		{[]string{"suspend", "--all", "-l", "a=b"}, "--all and --selector exclude each other"},
		{[]string{"suspend", "web", "--all"}, `with --selector and --all, objects are not named: unknown kind "web"`},
		{[]string{"suspend", "pod/web"}, `unknown kind "pod", must be one of release, cluster, gitrepository, helmregistry, ociregistry`},
		{[]string{"suspend", "cluster/"}, "has no name behind the slash"},
		{[]string{"suspend", "clusters", "-l", "team=none"}, "nothing fits"},
		{[]string{"suspend", "web", "--dry-run=maybe"}, `--dry-run: unknown value "maybe"`},
		{[]string{"suspend", "web", "-o", "xml"}, `unknown format "xml", must be name, json`},
		{[]string{"sync", "cluster/edge"}, `unknown kind "cluster", must be one of release`},
		{[]string{"suspend", "--all"}, "1 Release would be suspended:\n  Release shop/web\nerror: nothing was done: there is nobody to ask; give --yes if that is meant\n"},
		{[]string{"sync", "--all"}, "1 Release would be synced:\n  Release shop/web\nerror: nothing was done"},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			g := NewWithT(t)
			server := fleet()
			code, _, errOut := server.change(t, test.args...)
			g.Expect(code).To(Equal(1))
			g.Expect(errOut).To(ContainSubstring(test.want))
			if test.args[len(test.args)-1] != "xml" {
				g.Expect(server.sent).To(BeEmpty())
			}
		})
	}
}

func TestBulkIsAskedFor(t *testing.T) {
	for typed, want := range map[string]int{"y\n": 1, " YES \n": 1, "n\n": 0, "\n": 0, "": 0, "yesterday\n": 0} {
		g := NewWithT(t)
		server := fleet()
		code, _, errOut := server.answered(t, typed, "suspend", "releases", "clusters", "--all")
		g.Expect(errOut).To(HavePrefix("1 Release and 1 Cluster would be suspended:\n  Release shop/web\n  Cluster shop/edge\nGo on? [y/N] "), typed)
		g.Expect(server.sent).To(HaveLen(2*want), typed)
		g.Expect(code).To(Equal(1-want), typed)
	}
}

func TestOneFailureKeepsNobodyElseFromBeingWritten(t *testing.T) {
	g := NewWithT(t)
	server := fleet()
	code, out, errOut := runAgainst(t, context.Background(), func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/web") {
			refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "eve may not")
			return
		}
		server.ServeHTTP(w, req)
	}, "suspend", "web", "cluster/edge")
	g.Expect(code).To(Equal(1))
	g.Expect(out).To(Equal("cluster.core.convoy.kumodo.io/edge suspended\n"))
	g.Expect(errOut).To(Equal("error: Release shop/web: eve may not\n"))
}

func TestPagesGoOnWhenTheirStateIsGone(t *testing.T) {
	g := NewWithT(t)
	expired, err := json.Marshal(&metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, ListMeta: metav1.ListMeta{Continue: "newer"},
		Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: http.StatusGone, Message: "gone"})
	g.Expect(err).NotTo(HaveOccurred())
	code, out, _ := runAgainst(t, context.Background(), func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Query().Get("continue") {
		case "":
			send(w, releaseList("old", newRelease(named("a"))))
		case "old":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusGone)
			_, _ = io.Copy(w, bytes.NewReader(expired))
		default:
			send(w, releaseList("", newRelease(named("b"))))
		}
	}, "status", "-o", "name")
	g.Expect(code).To(Equal(0))
	g.Expect(out).To(Equal("release.core.convoy.kumodo.io/a\nrelease.core.convoy.kumodo.io/b\n"))
}
