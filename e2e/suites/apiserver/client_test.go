// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Media types of requests.
const (
	jsonType       = "application/json"
	yamlType       = "application/yaml"
	jsonPatch      = "application/json-patch+json"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
	applyPatch     = "application/apply-patch+yaml"
)

const (
	coreGroup   = "core.convoy.kumodo.io"
	sourceGroup = "source.convoy.kumodo.io"
	extGroup    = "extensions.convoy.kumodo.io"
)

// groupPaths are the groups at their version.
var groupPaths = []string{"/apis/" + coreGroup + "/v1alpha1", "/apis/" + sourceGroup + "/v1alpha1", "/apis/" + extGroup + "/v1alpha1"}

// client is somebody who asks the host, or a replica past the host. It retries nothing.
type client struct {
	http       *http.Client
	tls        *tls.Config
	kubeconfig string
	server     string
}

// clientOf gives a client with the identity of a kubeconfig.
func (r *rig) clientOf(kubeconfig string) *client {
	GinkgoHelper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	c := &client{kubeconfig: kubeconfig, server: r.host.URL()}
	c.http, err = rest.HTTPClientFor(config)
	Expect(err).NotTo(HaveOccurred())
	c.tls, err = rest.TLSConfigFor(config)
	Expect(err).NotTo(HaveOccurred())
	return c
}

// user gives a client with a client certificate, and no rights of its own.
func (r *rig) user(name string, groups ...string) *client {
	GinkgoHelper()
	kubeconfig, err := r.host.KubeconfigFor(name, groups...)
	Expect(err).NotTo(HaveOccurred())
	return r.clientOf(kubeconfig)
}

// anonymous shows no identity.
func (r *rig) anonymous() *client {
	settings := &tls.Config{RootCAs: r.host.CA().Pool()}
	return &client{http: &http.Client{Transport: &http.Transport{TLSClientConfig: settings}}, tls: settings, server: r.host.URL()}
}

// at gives the same client, asking a replica past the host.
func (c *client) at(one *replica) *client {
	direct := *c
	direct.server = one.url()
	return &direct
}

// call is a request. A body that is no string is sent as JSON.
type call struct {
	method, path, contentType string
	body                      any
	header                    map[string]string
}

// answer to a request.
type answer struct {
	code   int
	header http.Header
	body   string
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.code, a.body) }

// message of a metav1.Status.
func (a answer) message() string {
	var status metav1.Status
	_ = json.Unmarshal([]byte(a.body), &status)
	return status.Message
}

// object decodes the body.
func (a answer) object() object {
	var o object
	_ = json.Unmarshal([]byte(a.body), &o)
	return o
}

// do sends a request that has to be answered.
func (c *client) do(ctx context.Context, request call) answer {
	GinkgoHelper()
	got, err := c.try(ctx, request)
	Expect(err).NotTo(HaveOccurred(), "%s %s", request.method, request.path)
	return got
}

func (c *client) get(ctx context.Context, path string) answer {
	GinkgoHelper()
	return c.do(ctx, call{method: http.MethodGet, path: path})
}

func (c *client) post(ctx context.Context, path string, body any) answer {
	GinkgoHelper()
	return c.do(ctx, call{method: http.MethodPost, path: path, body: body})
}

func (c *client) patch(ctx context.Context, path string, body any) answer {
	GinkgoHelper()
	return c.do(ctx, call{method: http.MethodPatch, path: path, body: body, contentType: mergePatch})
}

func (c *client) remove(ctx context.Context, path string) answer {
	GinkgoHelper()
	return c.do(ctx, call{method: http.MethodDelete, path: path})
}

// try sends a request.
func (c *client) try(ctx context.Context, request call) (answer, error) {
	response, err := c.open(ctx, request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{code: response.StatusCode, header: response.Header, body: string(body)}, err
}

// tryFor sends a request and gives up after the time: what etcd has to answer for is answered
// only after half a minute or a whole one while etcd is away.
func (c *client) tryFor(ctx context.Context, patience time.Duration, request call) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return c.try(ctx, request)
}

// open sends a request and leaves the answer to be read.
func (c *client) open(ctx context.Context, request call) (*http.Response, error) {
	body, err := encode(request.body)
	if err != nil {
		return nil, err
	}
	out, err := http.NewRequestWithContext(ctx, request.method, c.server+request.path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	switch {
	case request.contentType != "":
		out.Header.Set("Content-Type", request.contentType)
	case request.body != nil:
		out.Header.Set("Content-Type", jsonType)
	}
	for name, value := range request.header {
		out.Header.Set(name, value)
	}
	return c.http.Do(out)
}

func encode(body any) ([]byte, error) {
	switch body := body.(type) {
	case nil:
		return nil, nil
	case string:
		return []byte(body), nil
	case []byte:
		return body, nil
	}
	return json.Marshal(body)
}

// command is how a kubectl ended.
type command struct {
	out, errOut string
	code        int
	took        time.Duration
}

// kubectlRun runs kubectl against the host as its administrator.
func (r *rig) kubectlRun(ctx context.Context, stdin string, args ...string) command {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, r.kubectl, args...)
	// A cache of its own: discovery that was stored before would hide what is asked for.
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.host.AdminKubeconfig(), "HOME="+r.dir)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	started := time.Now()
	err := cmd.Run()
	if cmd.ProcessState == nil {
		Expect(err).NotTo(HaveOccurred())
	}
	return command{out: stdout.String(), errOut: stderr.String(), code: cmd.ProcessState.ExitCode(), took: time.Since(started)}
}

// namespace makes a namespace with a label that leads to it alone.
func (r *rig) namespace(ctx context.Context) string {
	GinkgoHelper()
	created, err := r.kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t"}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return created.Name
}
