// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// apiServer keeps objects as a kube-apiserver does, in what the applier relies on: the real
// field manager of server-side apply (with the schemas of Kubernetes' own kinds; lists of others are
// one value each), preconditions on uid and resourceVersion, dry runs, merge and JSON patches, deletion with
// preconditions, propagation and finalizers. Its answers are those of a kube-apiserver 1.37.
type apiServer struct {
	dynamic  dynamic.Interface
	metadata metadata.Interface
	rest     rest.Interface

	mu       sync.Mutex
	kinds    map[schema.GroupVersionResource]served
	objects  map[string]*unstructured.Unstructured // by path
	revision int64
	requests []request
	// refuse, when set, may give an answer in place of what a write would do.
	refuse func(r request) *metav1.Status
	// before, when set, is called before a request is looked at, as another client would come.
	before      func(r request)
	invalidated int
}

type served struct {
	kind       string
	namespaced bool
}

// request is what a client asked for.
type request struct {
	verb   string // get, list, create, apply, merge, json, delete
	path   string
	dryRun bool
	force  bool
	body   map[string]any
	// selector of labels, and whether only metadata is asked for, of a list.
	selector string
	partial  bool
	live     *unstructured.Unstructured // nil when there is none
	result   *unstructured.Unstructured // what a write would store
}

func (r request) String() string {
	text := r.verb + " " + r.path
	if r.dryRun {
		text += " (dry run)"
	}
	return text
}

func newAPIServer(t *testing.T) *apiServer {
	s := &apiServer{objects: map[string]*unstructured.Unstructured{}, revision: 100, kinds: map[schema.GroupVersionResource]served{
		{Version: "v1", Resource: "namespaces"}:                                                           {"Namespace", false},
		{Version: "v1", Resource: "configmaps"}:                                                           {"ConfigMap", true},
		{Version: "v1", Resource: "secrets"}:                                                              {"Secret", true},
		{Version: "v1", Resource: "services"}:                                                             {"Service", true},
		{Version: "v1", Resource: "persistentvolumeclaims"}:                                               {"PersistentVolumeClaim", true},
		{Version: "v1", Resource: "events"}:                                                               {"Event", true},
		{Group: "events.k8s.io", Version: "v1", Resource: "events"}:                                       {"Event", true},
		{Group: "apps", Version: "v1", Resource: "deployments"}:                                           {"Deployment", true},
		{Group: "apps", Version: "v1", Resource: "statefulsets"}:                                          {"StatefulSet", true},
		{Group: "batch", Version: "v1", Resource: "jobs"}:                                                 {"Job", true},
		{Version: "v1", Resource: "pods"}:                                                                 {"Pod", true},
		{Group: "ex.test", Version: "v1", Resource: "widgets"}:                                            {"Widget", true},
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}:             {"CustomResourceDefinition", false},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}:                     {"ClusterRole", false},
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}: {"MutatingWebhookConfiguration", false},
	}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1}
	var errs [3]error
	s.dynamic, errs[0] = dynamic.NewForConfig(config)
	s.metadata, errs[1] = metadata.NewForConfig(config)
	s.rest, errs[2] = rest.UnversionedRESTClientForConfigAndClient(dynamic.ConfigFor(config), http.DefaultClient)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return s
}

// Dynamic, Metadata, REST, Mapping and Invalidate make the server a Target.

func (s *apiServer) Dynamic() dynamic.Interface { return s.dynamic }

func (s *apiServer) Metadata() metadata.Interface { return s.metadata }

func (s *apiServer) REST() rest.Interface { return s.rest }

func (s *apiServer) Invalidate() { s.invalidated++ }

func (s *apiServer) Mapping(_ context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	for gvr, k := range s.kinds {
		if gvr.Group != gvk.Group || k.kind != gvk.Kind || gvk.Version != "" && gvk.Version != gvr.Version {
			continue
		}
		scope := meta.RESTScopeRoot
		if k.namespaced {
			scope = meta.RESTScopeNamespace
		}
		return &meta.RESTMapping{Resource: gvr, GroupVersionKind: gvr.GroupVersion().WithKind(k.kind), Scope: scope}, nil
	}
	return nil, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
}

// asked gives the requests since the last call of it.
func (s *apiServer) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var texts []string
	for _, r := range s.requests {
		texts = append(texts, r.String())
	}
	s.requests = nil
	return texts
}

// get gives the stored object, nil when there is none.
func (s *apiServer) get(path string) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[path]
}

// put stores an object as a manager's update, whatever is there.
func (s *apiServer) put(path, manager string, obj *unstructured.Unstructured) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := s.objects[path]
	updated, err := fieldManager(obj.GroupVersionKind()).Update(orNew(live, obj.GroupVersionKind()), obj.DeepCopy(), manager)
	if err != nil {
		panic(err)
	}
	return s.store(path, live, updated.(*unstructured.Unstructured))
}

// change changes the stored object without a manager, as the server itself does.
func (s *apiServer) change(path string, change func(*unstructured.Unstructured)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	obj := s.objects[path].DeepCopy()
	change(obj)
	s.store(path, s.objects[path], obj)
}

// age makes an object, and all that was written to it, an hour older.
func (s *apiServer) age(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	obj := s.objects[path].DeepCopy()
	obj.SetCreationTimestamp(metav1.NewTime(obj.GetCreationTimestamp().Add(-time.Hour)))
	entries := obj.GetManagedFields()
	for i := range entries {
		entries[i].Time = &metav1.Time{Time: entries[i].Time.Add(-time.Hour)}
	}
	obj.SetManagedFields(entries)
	s.objects[path] = obj
}

func (s *apiServer) drop(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, path)
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, h *http.Request) {
	r, gvr, err := parse(h)
	if err != nil {
		answer(w, http.StatusBadRequest, statusf(http.StatusBadRequest, metav1.StatusReasonBadRequest, "%v", err))
		return
	}
	if s.before != nil {
		s.before(r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, ok := s.kinds[gvr]
	r.live = s.objects[r.path]
	s.requests = append(s.requests, r)
	if !ok {
		http.NotFound(w, h)
		return
	}
	result, status := s.serve(r, gvr, kind)
	if status != nil {
		answer(w, int(status.Code), status)
		return
	}
	answer(w, http.StatusOK, result)
}

func parse(h *http.Request) (request, schema.GroupVersionResource, error) {
	r := request{path: strings.Trim(h.URL.Path, "/"), dryRun: h.URL.Query().Get("dryRun") == "All", force: h.URL.Query().Get("force") == "true"}
	parts := strings.Split(r.path, "/")
	var gvr schema.GroupVersionResource
	if parts[0] == "api" {
		gvr.Version, parts = parts[1], parts[2:]
	} else {
		gvr.Group, gvr.Version, parts = parts[1], parts[2], parts[3:]
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	gvr.Resource = parts[0]
	r.verb = map[string]string{
		"GET": "get", "POST": "create", "DELETE": "delete",
		"PATCH" + string(types.ApplyPatchType): "apply",
		"PATCH" + string(types.MergePatchType): "merge", "PATCH" + string(types.JSONPatchType): "json",
	}[h.Method+patchType(h)]
	if r.verb == "get" && len(parts) == 1 {
		r.verb, r.selector, r.partial = "list", h.URL.Query().Get("labelSelector"), strings.Contains(h.Header.Get("Accept"), "as=PartialObjectMetadataList")
	}
	body, err := io.ReadAll(h.Body)
	if err != nil || len(body) == 0 {
		return r, gvr, err
	}
	if r.verb == "json" {
		r.body = map[string]any{"patch": string(body)}
		return r, gvr, nil
	}
	err = utiljson.Unmarshal(body, &r.body) // whole numbers as int64
	return r, gvr, err
}

func patchType(h *http.Request) string {
	if h.Method != http.MethodPatch {
		return ""
	}
	return h.Header.Get("Content-Type")
}

func (s *apiServer) serve(r request, gvr schema.GroupVersionResource, kind served) (any, *metav1.Status) {
	name := r.path[strings.LastIndex(r.path, "/")+1:]
	gvk := gvr.GroupVersion().WithKind(kind.kind)
	switch r.verb {
	case "list":
		if s.refuse != nil {
			if status := s.refuse(r); status != nil {
				return nil, status
			}
		}
		return s.list(r, gvk), nil
	case "create":
		return s.createDryRun(r, gvr)
	case "apply":
		return s.apply(r, gvr, gvk, name)
	}
	if r.live == nil {
		return nil, notFound(gvr, name)
	}
	switch r.verb {
	case "get":
		return r.live.Object, nil
	case "delete":
		return s.delete(r, gvr, name)
	}
	return s.patch(r, gvr, gvk, name)
}

func (s *apiServer) list(r request, gvk schema.GroupVersionKind) any {
	items := []any{}
	selector, err := labels.Parse(r.selector)
	if err != nil {
		panic(err)
	}
	for path, obj := range s.objects {
		if obj.GroupVersionKind() != gvk || !strings.HasPrefix(path, r.path+"/") && strings.Contains(r.path, "/namespaces/") || !selector.Matches(labels.Set(obj.GetLabels())) {
			continue
		}
		if r.partial {
			items = append(items, map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": obj.Object["metadata"]})
			continue
		}
		items = append(items, obj.Object)
	}
	list := map[string]any{"apiVersion": gvk.GroupVersion().String(), "kind": gvk.Kind + "List", "metadata": map[string]any{}, "items": items}
	if r.partial {
		list["apiVersion"], list["kind"] = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}
	return list
}

func (s *apiServer) createDryRun(r request, gvr schema.GroupVersionResource) (any, *metav1.Status) {
	name := (&unstructured.Unstructured{Object: r.body}).GetName()
	r.path += "/" + name
	r.live = nil // a create is judged without what is there
	if s.refuse != nil {
		if status := s.refuse(r); status != nil {
			return nil, status
		}
	}
	if !r.dryRun {
		return nil, statusf(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "only dry runs")
	}
	if s.objects[r.path] != nil {
		return nil, status(apierrors.NewAlreadyExists(gvr.GroupResource(), name))
	}
	return r.body, nil
}

func (s *apiServer) apply(r request, gvr schema.GroupVersionResource, gvk schema.GroupVersionKind, name string) (any, *metav1.Status) {
	body := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(r.body)}
	uid, version := body.GetUID(), body.GetResourceVersion()
	body.SetUID("")
	body.SetResourceVersion("")
	if r.live == nil && uid != "" {
		return nil, conflict(gvr, name, "uid mismatch: the provided object specified uid %s, and no existing object was found", uid)
	}
	applied, err := fieldManager(gvk).Apply(orNew(r.live, gvk), body, "convoy", r.force)
	if err != nil {
		return nil, status(err)
	}
	if r.live != nil && version != "" && version != r.live.GetResourceVersion() {
		return nil, conflict(gvr, name, "the object has been modified")
	}
	if r.live != nil && uid != "" && uid != r.live.GetUID() {
		return nil, invalid(gvk, name, metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "metadata.uid", Message: "field is immutable"})
	}
	return s.write(r, applied.(*unstructured.Unstructured))
}

func (s *apiServer) patch(r request, gvr schema.GroupVersionResource, gvk schema.GroupVersionKind, name string) (any, *metav1.Status) {
	before, _ := json.Marshal(r.live.Object)
	var after []byte
	var err error
	if r.verb == "json" {
		var patch jsonpatch.Patch
		if patch, err = jsonpatch.DecodePatch([]byte(r.body["patch"].(string))); err == nil {
			after, err = patch.Apply(before)
		}
	} else {
		body, _ := json.Marshal(r.body)
		after, err = jsonpatch.MergePatch(before, body)
	}
	if err != nil {
		return nil, statusf(http.StatusBadRequest, metav1.StatusReasonBadRequest, "%v", err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(after); err != nil {
		return nil, statusf(http.StatusBadRequest, metav1.StatusReasonBadRequest, "%v", err)
	}
	if obj.GetResourceVersion() != r.live.GetResourceVersion() {
		return nil, conflict(gvr, name, "the object has been modified")
	}
	return s.write(r, fieldManager(gvk).UpdateNoErrors(r.live, obj, "convoy").(*unstructured.Unstructured))
}

func (s *apiServer) write(r request, obj *unstructured.Unstructured) (any, *metav1.Status) {
	r.result = obj
	if s.refuse != nil {
		if status := s.refuse(r); status != nil {
			return nil, status
		}
	}
	if r.dryRun {
		return obj.Object, nil
	}
	return s.store(r.path, r.live, obj).Object, nil
}

// store keeps obj over live, with the metadata that is the server's to set.
func (s *apiServer) store(path string, live, obj *unstructured.Unstructured) *unstructured.Unstructured {
	s.revision++
	if live == nil {
		obj.SetUID(types.UID("uid-" + strconv.FormatInt(s.revision, 10)))
		obj.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
	} else {
		obj.SetUID(live.GetUID())
		obj.SetCreationTimestamp(live.GetCreationTimestamp())
		obj.SetResourceVersion(live.GetResourceVersion())
		if reflect.DeepEqual(withoutTimes(obj).Object, withoutTimes(live).Object) {
			return live
		}
	}
	obj.SetResourceVersion(strconv.FormatInt(s.revision, 10))
	if obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 {
		delete(s.objects, path)
		return obj
	}
	s.objects[path] = obj
	return obj
}

func withoutTimes(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	fields := obj.GetManagedFields()
	for i := range fields {
		fields[i].Time = nil
	}
	obj.SetManagedFields(fields)
	return obj
}

func (s *apiServer) delete(r request, gvr schema.GroupVersionResource, name string) (any, *metav1.Status) {
	var options metav1.DeleteOptions
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(r.body, &options); err != nil {
		return nil, statusf(http.StatusBadRequest, metav1.StatusReasonBadRequest, "%v", err)
	}
	if pre := options.Preconditions; pre != nil {
		if pre.UID != nil && *pre.UID != r.live.GetUID() || pre.ResourceVersion != nil && *pre.ResourceVersion != r.live.GetResourceVersion() {
			return nil, conflict(gvr, name, "the precondition does not match")
		}
	}
	if s.refuse != nil {
		if status := s.refuse(r); status != nil {
			return nil, status
		}
	}
	obj := r.live.DeepCopy()
	if options.PropagationPolicy != nil && *options.PropagationPolicy == metav1.DeletePropagationOrphan {
		obj.SetFinalizers(append(obj.GetFinalizers(), metav1.FinalizerOrphanDependents))
	}
	now := metav1.Now()
	obj.SetDeletionTimestamp(&now)
	s.store(r.path, r.live, obj)
	if left := s.objects[r.path]; left != nil {
		return left.Object, nil
	}
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: name, Group: gvr.Group, Kind: gvr.Resource, UID: r.live.GetUID()},
	}, nil
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func status(err error) *metav1.Status {
	s := err.(apierrors.APIStatus).Status()
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return &s
}

func statusf(code int32, reason metav1.StatusReason, format string, args ...any) *metav1.Status {
	return status(&apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: fmt.Sprintf(format, args...)}})
}

func notFound(gvr schema.GroupVersionResource, name string) *metav1.Status {
	return status(apierrors.NewNotFound(gvr.GroupResource(), name))
}

func conflict(gvr schema.GroupVersionResource, name, format string, args ...any) *metav1.Status {
	return status(apierrors.NewConflict(gvr.GroupResource(), name, fmt.Errorf(format, args...)))
}

func invalid(gvk schema.GroupVersionKind, name string, causes ...metav1.StatusCause) *metav1.Status {
	s := status(apierrors.NewInvalid(gvk.GroupKind(), name, nil))
	s.Details.Causes = causes
	return s
}

// builtin are Kubernetes' own kinds, and schemas what is known of them.
var (
	builtin = sync.OnceValue(func() *runtime.Scheme {
		kinds := runtime.NewScheme() // others may have added to the one of client-go
		if err := scheme.AddToScheme(kinds); err != nil {
			panic(err)
		}
		return kinds
	})
	schemas = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(builtin()) })
)

// fieldManager is the server's bookkeeping of field ownership.
func fieldManager(gvk schema.GroupVersionKind) *managedfields.FieldManager {
	types := managedfields.NewDeducedTypeConverter()
	if builtin().Recognizes(gvk) {
		types = schemas()
	}
	m, err := managedfields.NewDefaultCRDFieldManager(types, asIs{}, asIs{}, asIs{}, gvk, gvk.GroupVersion(), "", nil)
	if err != nil {
		panic(err)
	}
	return m
}

func orNew(live *unstructured.Unstructured, gvk schema.GroupVersionKind) *unstructured.Unstructured {
	if live != nil {
		return live.DeepCopy()
	}
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(gvk)
	return obj
}

// asIs converts, defaults and creates nothing but what is there.
type asIs struct{}

func (asIs) Default(runtime.Object) {}

func (asIs) Convert(any, any, any) error { return fmt.Errorf("not converted") }

func (asIs) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (asIs) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (asIs) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	return orNew(nil, kind), nil
}
