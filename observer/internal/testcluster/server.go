// SPDX-License-Identifier: Apache-2.0

// Package testcluster is the API server of a target cluster for tests: it has discovery,
// reads, metadata watches, and a dry run of server-side apply that lays the desired fields
// over the live ones. It notes what it is asked, and what it is not meant to be asked, a
// real write, it refuses. It knows nothing of validation, defaults or field management.
package testcluster

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Resource is a kind that the server serves.
type Resource struct {
	Group, Version, Plural, Kind string
	ClusterScoped                bool
}

// Widget is a kind that is not served until a test adds it.
var Widget = Resource{Group: "example.com", Version: "v1", Plural: "widgets", Kind: "Widget"}

// Server is the API server.
type Server struct {
	*httptest.Server

	mu        sync.Mutex
	resources []Resource
	objects   map[string]map[string]any // by path
	version   int
	requests  []string
	handlers  map[string]http.HandlerFunc
	watches   map[chan event]Resource
	ended     chan struct{}
	stop      sync.Once
}

type event struct {
	Type   string         `json:"type"`
	Object map[string]any `json:"object"`
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		resources: []Resource{
			{Version: "v1", Plural: "configmaps", Kind: "ConfigMap"},
			{Version: "v1", Plural: "secrets", Kind: "Secret"},
			{Version: "v1", Plural: "namespaces", Kind: "Namespace", ClusterScoped: true},
			{Group: "apps", Version: "v1", Plural: "deployments", Kind: "Deployment"},
			{Group: "batch", Version: "v1", Plural: "jobs", Kind: "Job"},
		},
		objects:  map[string]map[string]any{},
		version:  100,
		handlers: map[string]http.HandlerFunc{},
		watches:  map[chan event]Resource{},
		ended:    make(chan struct{}),
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Stop)
	return s
}

// Stop ends the server, before the end of the test.
func (s *Server) Stop() {
	s.stop.Do(func() {
		close(s.ended)
		s.CloseClientConnections()
		s.Close()
	})
}

// Config is how clients reach the server.
func (s *Server) Config() *rest.Config { return &rest.Config{Host: s.URL} }

// Serve adds a kind to those that are served.
func (s *Server) Serve(r Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resources = append(s.resources, r)
}

// Handle has requests answered by handler; request is "<method> <path>". nil undoes it.
func (s *Server) Handle(request string, handler http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if handler == nil {
		delete(s.handlers, request)
		return
	}
	s.handlers[request] = handler
}

// Refuse has requests answered with an error.
func (s *Server) Refuse(request string, err *apierrors.StatusError) {
	s.Handle(request, func(w http.ResponseWriter, _ *http.Request) { writeStatus(w, err) })
}

// Contest answers an apply of an object without force with an error, as for fields of other
// managers.
func (s *Server) Contest(manifest string, err *apierrors.StatusError) {
	s.Handle("PATCH "+s.Path(manifest), func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("force") == "true" {
			s.dryRun(w, r)
			return
		}
		writeStatus(w, err)
	})
}

// Put brings an object into the cluster, or a new version of it, and returns it as it is
// stored.
func (s *Server) Put(manifest string) *unstructured.Unstructured {
	object := Object(manifest)
	s.mu.Lock()
	defer s.mu.Unlock()
	path := s.pathOf(object)
	kind := "ADDED"
	if old, ok := s.objects[path]; ok {
		kind = "MODIFIED"
		uid, _, _ := unstructured.NestedString(old, "metadata", "uid")
		object.SetUID(types.UID(uid))
	}
	s.version++
	if object.GetUID() == "" {
		object.SetUID(types.UID("uid-" + strconv.Itoa(s.version)))
	}
	object.SetResourceVersion(strconv.Itoa(s.version))
	s.objects[path] = object.Object
	s.tell(kind, object)
	return object.DeepCopy()
}

// Delete takes an object out of the cluster.
func (s *Server) Delete(manifest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := s.pathOf(Object(manifest))
	object := &unstructured.Unstructured{Object: s.objects[path]}
	delete(s.objects, path)
	s.version++
	object.SetResourceVersion(strconv.Itoa(s.version))
	s.tell("DELETED", object)
}

// Asked gives what was asked since the last call, as "<method> <path>", in order: requests
// for objects, without discovery and watches.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.requests
	s.requests = nil
	return asked
}

// Watches is how many watches are open.
func (s *Server) Watches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watches)
}

// Object parses a manifest; one that is not well formed panics.
func Object(manifest string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(manifest))
	if err == nil {
		err = object.UnmarshalJSON(data)
	}
	if err != nil {
		panic(err)
	}
	return object
}

// Path is the path of an object.
func (s *Server) Path(manifest string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pathOf(Object(manifest))
}

func (s *Server) pathOf(object *unstructured.Unstructured) string {
	gvk := object.GroupVersionKind()
	i := slices.IndexFunc(s.resources, func(r Resource) bool { return r.Group == gvk.Group && r.Version == gvk.Version && r.Kind == gvk.Kind })
	if i < 0 {
		panic("the test cluster does not serve " + gvk.String())
	}
	path := s.resources[i].root()
	if !s.resources[i].ClusterScoped {
		path += "namespaces/" + object.GetNamespace() + "/"
	}
	return path + s.resources[i].Plural + "/" + object.GetName()
}

func (r Resource) root() string {
	if r.Group == "" {
		return "/api/" + r.Version + "/"
	}
	return "/apis/" + r.Group + "/" + r.Version + "/"
}

// Watched is the resourceVersion at which watches have an object once they have seen all; ""
// when there is none, or it has no owner.
func (s *Server) Watched(key corev1alpha1.ObjectKey) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, object := range s.objects {
		o := &unstructured.Unstructured{Object: object}
		gvk := o.GroupVersionKind()
		if gvk.Group == key.Group && gvk.Kind == key.Kind && o.GetNamespace() == key.Namespace && o.GetName() == key.Name && owned(object) {
			return o.GetResourceVersion()
		}
	}
	return ""
}

// tell sends an event to the watches of the object's kind, for which one without an owner is
// not there.
func (s *Server) tell(kind string, object *unstructured.Unstructured) {
	if !owned(object.Object) {
		kind = "DELETED"
	}
	for watch, resource := range s.watches {
		gvk := object.GroupVersionKind()
		if resource.Group == gvk.Group && resource.Kind == gvk.Kind {
			watch <- event{Type: kind, Object: metadataOf(object.Object)}
		}
	}
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.discovery(w, r) {
		return
	}
	s.mu.Lock()
	handler := s.handlers[r.Method+" "+r.URL.Path]
	metadata := strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata")
	if !metadata {
		s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	}
	s.mu.Unlock()
	switch {
	case handler != nil:
		handler(w, r)
	case r.Method == http.MethodGet && metadata:
		s.metadata(w, r)
	case r.Method == http.MethodGet:
		s.get(w, r)
	case r.URL.Query().Get("dryRun") != "All":
		writeStatus(w, apierrors.NewForbidden(schema.GroupResource{Resource: "writes"}, r.URL.Path, nil))
	case r.Method == http.MethodPatch:
		s.dryRun(w, r)
	default:
		writeStatus(w, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "objects"}, r.URL.Path))
	}
}

func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object, ok := s.objects[r.URL.Path]
	if kind, is := s.listed(r.URL.Path); is && !ok {
		s.list(w, r, kind)
		return
	}
	if !ok {
		writeStatus(w, apierrors.NewNotFound(schema.GroupResource{Resource: "objects"}, r.URL.Path))
		return
	}
	writeJSON(w, http.StatusOK, object)
}

func (s *Server) dryRun(w http.ResponseWriter, r *http.Request) {
	var desired map[string]any
	if err := json.NewDecoder(r.Body).Decode(&desired); err != nil {
		writeStatus(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	result := merge(s.objects[r.URL.Path], desired)
	own(result, desired)
	writeJSON(w, http.StatusOK, result)
}

// own has convoy own what it applies of an object that says already that it owns something.
func own(result, desired map[string]any) {
	object, applied := &unstructured.Unstructured{Object: result}, &unstructured.Unstructured{Object: merge(nil, desired)}
	fields := object.GetManagedFields()
	i := slices.IndexFunc(fields, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == corev1alpha1.FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply
	})
	if i < 0 {
		return
	}
	Own(applied)
	fields[i] = applied.GetManagedFields()[0]
	object.SetManagedFields(fields)
}

// merge lays the fields of over on those of under.
func merge(under, over map[string]any) map[string]any {
	result := map[string]any{}
	for key, value := range under {
		result[key] = value
	}
	for key, value := range over {
		below, isMap := result[key].(map[string]any)
		above, isMapToo := value.(map[string]any)
		if isMap && isMapToo {
			value = merge(below, above)
		}
		result[key] = value
	}
	return result
}

func writeJSON(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value)
}

func writeStatus(w http.ResponseWriter, err *apierrors.StatusError) {
	status := err.Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	writeJSON(w, int(status.Code), status)
}

// Own makes convoy the manager of all fields that an object has, as one that was applied; every
// list is owned as a whole.
func Own(object *unstructured.Unstructured) {
	fields := ownedFields(object.Object)
	delete(fields, "f:apiVersion")
	delete(fields, "f:kind")
	if metadata, ok := fields["f:metadata"].(map[string]any); ok {
		for _, field := range []string{"name", "namespace", "uid"} {
			delete(metadata, "f:"+field)
		}
	}
	data, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	object.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: corev1alpha1.FieldManager, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(data)),
	}})
}

func ownedFields(object map[string]any) map[string]any {
	fields := map[string]any{}
	for field, value := range object {
		inner, _ := value.(map[string]any)
		fields["f:"+field] = ownedFields(inner)
	}
	return fields
}
