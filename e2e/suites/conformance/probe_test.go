// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// Media types of requests.
const (
	jsonType      = "application/json"
	yamlType      = "application/yaml"
	protobufType  = "application/vnd.kubernetes.protobuf"
	jsonPatch     = "application/json-patch+json"
	mergePatch    = "application/merge-patch+json"
	strategic     = "application/strategic-merge-patch+json"
	applyPatch    = "application/apply-patch+yaml"
	probeLabel    = "probe" // on every object of a probe, with its namespace as value
	namespacePath = "/api/v1/namespaces"
)

// probe does one thing of the table to one subject, in a namespace of its own.
type probe struct {
	*subject
	*record
	namespace string
	client    *http.Client
}

// newProbe makes the namespace. It is never deleted: the cluster is thrown away.
func newProbe(ctx context.Context, s *subject) *probe {
	GinkgoHelper()
	namespace := createNamespace(ctx)
	return &probe{subject: s, record: newRecord(s, namespace), namespace: namespace, client: suite.admin}
}

func createNamespace(ctx context.Context) string {
	GinkgoHelper()
	response := send(ctx, suite.admin, request{method: http.MethodPost, path: namespacePath, body: object{
		"apiVersion": "v1", "kind": "Namespace", "metadata": object{"generateName": "n"},
	}})
	Expect(response.code).To(Equal(http.StatusCreated), string(response.body))
	return response.string(at("metadata.name"))
}

// name of an object of this probe; that of a global kind must be its own in the cluster.
func (p *probe) name(name string) string {
	if p.global {
		return p.namespace + "-" + name
	}
	return name
}

// object is a valid object of that name; its field has the first value.
func (p *probe) object(name string) object {
	meta := object{"name": p.name(name), "labels": object{probeLabel: p.namespace}}
	if !p.global {
		meta["namespace"] = p.namespace
	}
	o := object{"apiVersion": p.groupVersion(), "kind": p.kind, "metadata": meta, "spec": p.spec(p.name(name))}
	return set(o, p.field, p.values[0])
}

// identity is an object without a spec, to build what is applied.
func (p *probe) identity(name string) object {
	return object{"apiVersion": p.groupVersion(), "kind": p.kind, "metadata": object{"name": p.name(name)}}
}

// collection is the path of the objects of the probe's namespace.
func (p *probe) collection() string {
	if p.global {
		return "/apis/" + p.groupVersion() + "/" + p.plural
	}
	return "/apis/" + p.groupVersion() + "/namespaces/" + p.namespace + "/" + p.plural
}

// item is the path of an object or of a subresource of it.
func (p *probe) item(name string, subresource ...string) string {
	path := p.collection() + "/" + p.name(name)
	for _, element := range subresource {
		path += "/" + element
	}
	return path
}

// scope selects the probe's own objects, and joins further parameters, given as name=value.
func (p *probe) scope(parameters ...string) string {
	return query(append([]string{"labelSelector=" + probeLabel + "=" + p.namespace}, parameters...)...)
}

// query encodes parameters that are given as name=value; empty ones are none.
func query(parameters ...string) string {
	values := url.Values{}
	for _, parameter := range parameters {
		if name, value, ok := strings.Cut(parameter, "="); ok {
			values.Add(name, value)
		}
	}
	return values.Encode()
}

// request to an API server. A body that is no string or bytes is sent as JSON.
type request struct {
	method, server, path, query string
	body                        any
	header                      map[string]string
}

func (p *probe) send(ctx context.Context, r request) *response {
	GinkgoHelper()
	return send(ctx, p.client, r)
}

// together sends several requests at once and returns the answers in their order.
func (p *probe) together(ctx context.Context, requests ...request) []*response {
	responses := make([]*response, len(requests))
	var all sync.WaitGroup
	for i, r := range requests {
		all.Go(func() {
			defer GinkgoRecover()
			responses[i] = p.send(ctx, r)
		})
	}
	all.Wait()
	return responses
}

func (p *probe) get(ctx context.Context, path string, parameters ...string) *response {
	GinkgoHelper()
	return p.send(ctx, request{path: path, query: query(parameters...)})
}

func (p *probe) post(ctx context.Context, path string, body any, parameters ...string) *response {
	GinkgoHelper()
	return p.send(ctx, request{method: http.MethodPost, path: path, body: body, query: query(parameters...)})
}

func (p *probe) put(ctx context.Context, path string, body any, parameters ...string) *response {
	GinkgoHelper()
	return p.send(ctx, request{method: http.MethodPut, path: path, body: body, query: query(parameters...)})
}

func (p *probe) patch(ctx context.Context, path, contentType string, body any, parameters ...string) *response {
	GinkgoHelper()
	return p.send(ctx, request{method: http.MethodPatch, path: path, body: body, query: query(parameters...), header: map[string]string{"Content-Type": contentType}})
}

func (p *probe) remove(ctx context.Context, path string, options any, parameters ...string) *response {
	GinkgoHelper()
	return p.send(ctx, request{method: http.MethodDelete, path: path, body: options, query: query(parameters...)})
}

// create makes a valid object, which has to work, and returns it as stored. Changes are
// done to it before.
func (p *probe) create(ctx context.Context, name string, changes ...func(object)) *response {
	GinkgoHelper()
	o := p.object(name)
	for _, change := range changes {
		change(o)
	}
	response := p.post(ctx, p.collection(), o)
	Expect(response.code).To(Equal(http.StatusCreated), "%s: %s", p.kind, response.body)
	return response
}

func withFinalizer(o object) { set(o, at("metadata.finalizers"), []any{"convoy.test/hold"}) }

// withField sets the field to its first, second or third value.
func (p *probe) withField(value int) func(object) {
	return func(o object) { set(o, p.field, p.values[value-1]) }
}

// change is a merge patch that gives the field its first, second or third value.
func (p *probe) change(value int) object { return containing(p.field, p.values[value-1]) }

func send(ctx context.Context, client *http.Client, r request) *response {
	GinkgoHelper()
	return readAll(open(ctx, client, r))
}

func readAll(raw *http.Response) *response {
	GinkgoHelper()
	defer raw.Body.Close()
	body, err := io.ReadAll(raw.Body)
	Expect(err).NotTo(HaveOccurred())
	return &response{code: raw.StatusCode, header: raw.Header, body: body}
}

// open sends a request and leaves the body to be read.
func open(ctx context.Context, client *http.Client, r request) *http.Response {
	GinkgoHelper()
	if r.method == "" {
		r.method = http.MethodGet
	}
	if r.server == "" {
		r.server = suite.host.URL()
	}
	target := r.server + r.path
	if r.query != "" {
		target += "?" + r.query
	}
	sent, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(encode(r.body)))
	Expect(err).NotTo(HaveOccurred())
	if r.body != nil {
		sent.Header.Set("Content-Type", jsonType)
	}
	for name, value := range r.header {
		sent.Header.Set(name, value)
	}
	response, err := client.Do(sent)
	Expect(err).NotTo(HaveOccurred())
	return response
}

func encode(body any) []byte {
	GinkgoHelper()
	switch body := body.(type) {
	case nil:
		return nil
	case string:
		return []byte(body)
	case []byte:
		return body
	}
	data, err := json.Marshal(body)
	Expect(err).NotTo(HaveOccurred())
	return data
}

// response of an API server.
type response struct {
	code   int
	header http.Header
	body   []byte
}

// object decodes the body, nil when it is no JSON object.
func (r *response) object() object {
	var o object
	if json.Unmarshal(r.body, &o) != nil {
		return nil
	}
	return o
}

// string reads a field of the body, empty when it is absent.
func (r *response) string(p path) string {
	value, _ := get(r.object(), p).(string)
	return value
}

func (r *response) version() string { return r.string(at("metadata.resourceVersion")) }

// items of a list.
func (r *response) items() []object {
	list, _ := r.object()["items"].([]any)
	items := make([]object, len(list))
	for i, item := range list {
		items[i], _ = item.(object)
	}
	return items
}
