// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// endpoint is a resource or subresource, as discovery tells of it.
type endpoint struct {
	group, plural, subresource, kind string
	namespaced                       bool
	methods                          []string // that mean something there
}

// methodOf a verb of discovery. Patches, which do most, are more than others.
var methodOf = map[string][]string{
	"get": {http.MethodGet}, "list": {http.MethodGet}, "watch": {http.MethodGet}, "create": {http.MethodPost, http.MethodPost}, "update": {http.MethodPut},
	"patch": {http.MethodPatch, http.MethodPatch, http.MethodPatch}, "delete": {http.MethodDelete}, "deletecollection": {},
}

// fuzzer makes requests. The same seed and number of the worker make the same requests, for
// what is answered has no influence on them.
type fuzzer struct {
	*rand.Rand
	endpoints []endpoint
	corpus    map[string]object // by kind
	namespace string
}

func newFuzzer(seed, worker uint64, endpoints []endpoint, corpus map[string]object, namespace string) *fuzzer {
	return &fuzzer{Rand: rand.New(rand.NewPCG(seed, worker)), endpoints: endpoints, corpus: corpus, namespace: namespace}
}

// one picks one of the choices.
func one[T any](f *fuzzer, choices ...T) T { return choices[f.IntN(len(choices))] }

// seldom is true once in n times.
func (f *fuzzer) seldom(n int) bool { return f.IntN(n) == 0 }

// next makes the next request.
func (f *fuzzer) next() call {
	if f.seldom(25) {
		return f.document()
	}
	e := one(f, f.endpoints...)
	if e.subresource == "" && f.seldom(3) { // or there would be little to work on
		return call{method: http.MethodPost, path: f.collection(e), body: f.object(e)}
	}
	method := one(f, e.methods...)
	if f.seldom(20) {
		method = one(f, http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions, "TRACE", "PROPFIND", "X")
	}
	request := call{method: method, path: f.path(e, method) + f.query(), header: f.headers()}
	if method != http.MethodGet || f.seldom(10) {
		request.contentType, request.body = f.body(e, method)
	}
	return request
}

// document asks for what is not of a kind.
func (f *fuzzer) document() call {
	path := one(f, "/", "/apis", "/apis/"+coreGroup, groupPaths[0], "/openapi/v2", "/openapi/v3", "/openapi/v3"+groupPaths[1], "/version", "/readyz", "/livez/etcd", "/metrics", "/healthz", "/api", "/apis/x/v1/y", "/apis/"+coreGroup+"/v1/releases")
	return call{method: one(f, http.MethodGet, http.MethodPost, http.MethodHead, http.MethodDelete), path: path + f.query(), header: f.headers()}
}

// collection is where objects of the kind are created.
func (f *fuzzer) collection(e endpoint) string {
	if !e.namespaced {
		return "/apis/" + e.group + "/v1alpha1/" + e.plural
	}
	return "/apis/" + e.group + "/v1alpha1/namespaces/" + f.namespace + "/" + e.plural
}

// path leads to the collection or to an item.
func (f *fuzzer) path(e endpoint, method string) string {
	path := "/apis/" + e.group + "/v1alpha1"
	if e.namespaced && !f.seldom(15) {
		path += "/namespaces/" + one(f, f.namespace, f.namespace, f.namespace, f.namespace, "nowhere", f.name())
	}
	path += "/" + e.plural
	if e.subresource == "" && (method == http.MethodPost || f.seldom(6)) && !f.seldom(20) {
		return path
	}
	path += "/" + one(f, "app", "app", "app", "a", "b", f.name())
	if e.subresource != "" {
		path += "/" + e.subresource
	}
	if f.seldom(50) {
		path += "/" + f.name()
	}
	return path
}

// name is a name in a path, escaped.
func (f *fuzzer) name() string {
	return url.PathEscape(one(f, "app", "x", "..", ".", "a/b", "A", strings.Repeat("n", f.IntN(400)), "\x00", "é", "%", "app\n", " ", f.text(), string(f.bytes(20))))
}

// query is some parameters that mean something, and some that do not.
func (f *fuzzer) query() string {
	var parameters []string
	for f.IntN(3) > 0 && len(parameters) < 8 {
		name := one(f, slices.Sorted(maps.Keys(parameterValues))...)
		value := one(f, parameterValues[name]...)
		if f.seldom(4) {
			value = f.text()
		}
		parameters = append(parameters, url.QueryEscape(name)+"="+url.QueryEscape(value))
	}
	if f.seldom(20) {
		parameters = append(parameters, strings.Map(func(r rune) rune {
			if r <= ' ' || r == '#' || r >= 0x7f {
				return '%'
			}
			return r
		}, string(f.bytes(30))))
	}
	if f.seldom(300) { // a version that never comes is waited for
		parameters = append(parameters, "resourceVersion=18446744073709551615")
	}
	if len(parameters) == 0 {
		return ""
	}
	return "?" + strings.Join(parameters, "&")
}

var parameterValues = map[string][]string{
	"limit": {"1", "0", "-1", "9223372036854775808", "500"}, "continue": {"x", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYS8uLi8uLi8uLiJ9", ""},
	"resourceVersion": {"0", "1", "-1", "x", ""}, "resourceVersionMatch": {"Exact", "NotOlderThan", "x"},
	"fieldSelector": {"metadata.name=app", "spec.clusterRef.name!=x", "status.x=y", "=,=", "a=b=c"}, "labelSelector": {"a=b", "a in (b,c)", "!a", "a>1", "(((", "convoy.kumodo.io/shard=0"},
	"watch": {"true", "1", "x"}, "timeoutSeconds": {"1", "0", "-1", "99999999999"}, "allowWatchBookmarks": {"true"}, "sendInitialEvents": {"true", "false"},
	"dryRun": {"All", "", "x"}, "fieldManager": {"m", strings.Repeat("m", 200), "\x01"}, "fieldValidation": {"Strict", "Warn", "Ignore", "x"}, "force": {"true", "false", "", "x"},
	"pretty": {"true"}, "propagationPolicy": {"Foreground", "Background", "Orphan", "x"}, "gracePeriodSeconds": {"0", "-1", "x"}, "orphanDependents": {"true"}, "ignoreStoreReadErrorWithClusterBreakingPotential": {"true"},
	"revision": {"main", "../x", "\x00"}, "from": {"live", "1"}, "to": {"desired", "sha256:0"}, "id": {"1", "../2"}, "timeout": {"1s", "1ns", "x"}, "includeObject": {"None", "Object", "x"},
}

func (f *fuzzer) headers() map[string]string {
	headers := map[string]string{"Accept": jsonType}
	if f.seldom(3) {
		headers["Accept"] = one(f, "*/*", yamlType, "application/vnd.kubernetes.protobuf", "application/cbor", "text/html", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
			"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v9;g=x", "application/json;stream=watch", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", ";;;", "")
	}
	if f.seldom(20) {
		headers[one(f, "Accept-Encoding", "If-None-Match", "Impersonate-User", "Range", "Content-Encoding", "Traceparent", "Audit-Id", "X-Remote-User")] = one(f, "gzip", "*", "x", "bytes=0-", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", strings.Repeat("h", 3000))
	}
	return headers
}

// body makes a body, and says what it claims to be.
func (f *fuzzer) body(e endpoint, method string) (contentType string, body []byte) {
	contentType = jsonType
	if method == http.MethodPatch {
		contentType = one(f, jsonPatch, mergePatch, applyPatch, strategicPatch, "application/apply-patch+cbor")
	}
	switch {
	case f.seldom(12):
		body = f.bytes(one(f, 0, 1, 100, 4096, 100_000))
	case contentType == jsonPatch:
		body = f.jsonPatch(e)
	case method == http.MethodDelete:
		body = encodeJSON(f.mutated(object{"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": object{"uid": "x", "resourceVersion": "1"}, "propagationPolicy": "Orphan", "dryRun": []any{"All"}, "gracePeriodSeconds": 1}, 2))
	default:
		body = f.document3(e, contentType)
	}
	for f.seldom(6) && len(body) > 0 {
		body = f.flipped(body)
	}
	switch {
	case f.seldom(15):
		contentType = one(f, jsonType, yamlType, applyPatch, mergePatch, jsonPatch, "application/vnd.kubernetes.protobuf", "application/cbor", "text/plain", "application/json; charset=utf-16", ";", "multipart/form-data")
	case contentType == jsonType && f.seldom(4):
		contentType = yamlType
		body = f.toYAML(body)
	case contentType == applyPatch && f.seldom(2):
		body = f.toYAML(body)
	}
	return contentType, body
}

// document3 is an object of the kind, of another one, or of none.
func (f *fuzzer) document3(e endpoint, contentType string) []byte {
	o := f.object(e)
	if contentType == mergePatch || f.seldom(8) {
		for name := range o {
			if f.seldom(3) {
				delete(o, name)
			}
		}
	}
	if contentType == strategicPatch {
		with(o, "spec.$patch", one[any](f, "replace", "delete", "merge", "x", 1))
		with(o, "metadata.$deleteFromPrimitiveList/finalizers", []any{f.value(1)})
		with(o, "spec.$setElementOrder/mutations", []any{f.value(2)})
		with(o, "spec.$retainKeys", []any{"source", f.value(1)})
	}
	if f.seldom(4) {
		return encodeJSON(o)
	}
	return encodeJSON(f.mutated(o, f.IntN(5)))
}

// object is a copy of the corpus's object of the kind. Names and namespaces fit now and then.
func (f *fuzzer) object(e endpoint) object {
	kind := e.kind
	if _, ok := f.corpus[kind]; !ok || f.seldom(30) {
		kind = one(f, slices.Sorted(maps.Keys(f.corpus))...)
	}
	o := clone(f.corpus[kind]).(object)
	meta := o["metadata"].(object)
	meta["name"] = one(f, "app", "app", "a", "b")
	if e.namespaced {
		meta["namespace"] = f.namespace
	}
	if !f.seldom(4) {
		delete(meta, "finalizers") // or everything stays for ever
	}
	if f.seldom(5) {
		meta["resourceVersion"] = one(f, "1", "0", "x", "99999999")
	}
	if f.seldom(8) {
		delete(meta, "name")
		meta["generateName"] = one(f, "g-", strings.Repeat("g", 300), "_")
	}
	if f.seldom(10) {
		meta["managedFields"] = []any{object{"manager": "m", "operation": one(f, "Apply", "Update", "x"), "apiVersion": one(f, e.group+"/v1alpha1", "v9"), "fieldsType": "FieldsV1", "fieldsV1": f.value(3)}}
	}
	return o
}

// jsonPatch is a list of operations, most of which lead somewhere.
func (f *fuzzer) jsonPatch(e endpoint) []byte {
	places := pointers(f.object(e), "")
	var operations []any
	for range f.IntN(6) {
		operation := object{"op": one(f, "add", "remove", "replace", "move", "copy", "test", "x"), "path": one(f, places...)}
		if f.seldom(3) {
			operation["path"] = one(f, places...) + one(f, "/-", "/0", "/99999999999", "/x", "/~1", "/~", "")
		}
		operation["from"] = one(f, places...)
		operation["value"] = f.value(4)
		operations = append(operations, operation)
	}
	if f.seldom(30) { // each copy doubles what is there
		for range 40 {
			operations = append(operations, object{"op": "copy", "from": "/metadata", "path": "/metadata/annotations/" + one(f, "a", "b", "c")})
		}
	}
	return encodeJSON(operations)
}

// bytes are up to so many arbitrary bytes.
func (f *fuzzer) bytes(most int) []byte {
	result := make([]byte, f.IntN(most+1))
	for i := range result {
		result[i] = byte(f.IntN(256))
	}
	return result
}

// flipped changes a body as a faulty wire would.
func (f *fuzzer) flipped(body []byte) []byte {
	body = bytes.Clone(body)
	at := f.IntN(len(body))
	switch f.IntN(4) {
	case 0:
		body[at] = byte(f.IntN(256))
	case 1:
		return body[:at]
	case 2:
		return append(body[:at:at], append(f.bytes(8), body[at:]...)...)
	default:
		return append(body, body[at:]...)
	}
	return body
}

func (f *fuzzer) toYAML(body []byte) []byte {
	if f.seldom(12) {
		return []byte(one(f, yamlBomb, "a: &a [*a]\n", "<<: {a: b}\n", "!!binary x", "? [a]\n: b\n", "a: b\n---\nc: d\n", "{a: !!float 1e999, b: 0x1G, c: 1_000}", "\t\x00", "%YAML 9.9\n---\n", strings.Repeat("[", 20000), strings.Repeat("{a: ", 5000)))
	}
	converted, err := yaml.JSONToYAML(body)
	if err != nil {
		return body
	}
	return converted
}

// yamlBomb grows to billions of elements when its aliases are followed.
var yamlBomb = func() string {
	text := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	return text
}()

func encodeJSON(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		return []byte("null")
	}
	return data
}
