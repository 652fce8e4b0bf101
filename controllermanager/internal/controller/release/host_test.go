// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned/fake"
)

// host is the API of the host cluster as far as the controller relies on it: resource
// versions and conflicts, generations, a status of its own, and finalizers.
type host struct {
	*fake.Clientset
	mu      sync.Mutex
	version int
	// writes are the verbs and resources of all writes, such as "update releases/status".
	writes []string
	// fail is the error of the writes that it names; each is given once.
	fail map[string]error
	// onWrite is called with each write before it happens.
	onWrite func(write string)
	// made counts the objects that were created, by resource and name.
	made map[string]int
}

func newHost() *host {
	h := &host{Clientset: fake.NewSimpleClientset(), fail: map[string]error{}, made: map[string]int{}}
	h.PrependReactor("*", "*", h.react)
	return h
}

func (h *host) react(action clienttesting.Action) (bool, runtime.Object, error) {
	verb := action.GetVerb()
	if verb == "get" || verb == "list" || verb == "watch" {
		return false, nil, nil
	}
	write := verb + " " + action.GetResource().Resource
	if action.GetSubresource() != "" {
		write += "/" + action.GetSubresource()
	}
	if h.onWrite != nil {
		h.onWrite(write)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writes = append(h.writes, write)
	if err, ok := h.fail[write]; ok {
		delete(h.fail, write)
		return true, nil, err
	}
	switch action := action.(type) {
	case clienttesting.CreateActionImpl:
		object := action.Object.DeepCopyObject().(apiObject)
		object.SetUID(types.UID("uid-" + object.GetName()))
		made := action.Resource.Resource + " " + object.GetName()
		if h.made[made]++; h.made[made] > 1 {
			object.SetUID(types.UID(fmt.Sprintf("uid-%s-%d", object.GetName(), h.made[made])))
		}
		object.SetGeneration(1)
		h.stamp(object)
		return true, object, h.Tracker().Create(action.Resource, object, action.Namespace)
	case clienttesting.UpdateActionImpl:
		object, err := h.update(action.Resource, action.Subresource, action.Object.(apiObject))
		return true, object, err
	case clienttesting.PatchActionImpl:
		object, err := h.patch(action)
		return true, object, err
	case clienttesting.DeleteActionImpl:
		return true, nil, h.delete(action)
	}
	return false, nil, nil
}

// apiObject is an object of the host.
type apiObject interface {
	runtime.Object
	metav1.Object
}

func (h *host) stamp(object metav1.Object) {
	h.version++
	object.SetResourceVersion(strconv.Itoa(h.version))
}

func (h *host) stored(resource schema.GroupVersionResource, namespace, name string) (apiObject, error) {
	object, err := h.Tracker().Get(resource, namespace, name)
	if err != nil {
		return nil, err
	}
	return object.DeepCopyObject().(apiObject), nil
}

func (h *host) update(resource schema.GroupVersionResource, subresource string, wanted apiObject) (apiObject, error) {
	stored, err := h.stored(resource, wanted.GetNamespace(), wanted.GetName())
	if err != nil {
		return nil, err
	}
	if version := wanted.GetResourceVersion(); version != "" && version != stored.GetResourceVersion() {
		return nil, apierrors.NewConflict(resource.GroupResource(), wanted.GetName(), nil)
	}
	wanted = wanted.DeepCopyObject().(apiObject)
	changed := mixed(stored, wanted, subresource)
	return changed, h.put(resource, changed)
}

// mixed gives what an update stores: the status of the one and the rest of the other.
func mixed(stored, wanted apiObject, subresource string) apiObject {
	status := subresource == "status"
	switch wanted := wanted.(type) {
	case *corev1alpha1.Release:
		stored := stored.(*corev1alpha1.Release)
		if status {
			stored.Status = wanted.Status
			return stored
		}
		wanted.Status = stored.Status
		if !equality.Semantic.DeepEqual(wanted.Spec, stored.Spec) {
			wanted.Generation = stored.Generation + 1
		}
	case *corev1alpha1.ReleaseInventory:
		stored := stored.(*corev1alpha1.ReleaseInventory)
		if status {
			stored.Status = wanted.Status
			return stored
		}
		wanted.Status = stored.Status
		if !equality.Semantic.DeepEqual(wanted.Spec, stored.Spec) {
			wanted.Generation = stored.Generation + 1
		}
	}
	return wanted
}

// put stores an object, or removes it when it is deleted and its last finalizer is gone.
func (h *host) put(resource schema.GroupVersionResource, object apiObject) error {
	h.stamp(object)
	if object.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) == 0 {
		return h.Tracker().Delete(resource, object.GetNamespace(), object.GetName())
	}
	return h.Tracker().Update(resource, object, object.GetNamespace())
}

// patch knows JSON patches, and merge patches of finalizers.
func (h *host) patch(action clienttesting.PatchActionImpl) (apiObject, error) {
	object, err := h.stored(action.Resource, action.Namespace, action.Name)
	if err != nil {
		return nil, err
	}
	if action.PatchType == types.JSONPatchType {
		return h.jsonPatch(action, object)
	}
	var patch struct {
		Metadata struct {
			ResourceVersion string   `json:"resourceVersion"`
			Finalizers      []string `json:"finalizers"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(action.Patch, &patch); err != nil {
		return nil, err
	}
	if patch.Metadata.ResourceVersion != object.GetResourceVersion() {
		return nil, apierrors.NewConflict(action.Resource.GroupResource(), action.Name, nil)
	}
	object.SetFinalizers(patch.Metadata.Finalizers)
	return object, h.put(action.Resource, object)
}

// jsonPatch answers a test that fails as the API server does.
func (h *host) jsonPatch(action clienttesting.PatchActionImpl, object apiObject) (apiObject, error) {
	patch, err := jsonpatch.DecodePatch(action.Patch)
	if err != nil {
		return nil, err
	}
	before, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	after, err := patch.Apply(before)
	if err != nil {
		return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	wanted := &corev1alpha1.ReleaseInventory{}
	if err := json.Unmarshal(after, wanted); err != nil {
		return nil, err
	}
	changed := mixed(object, wanted, action.Subresource)
	return changed, h.put(action.Resource, changed)
}

func (h *host) delete(action clienttesting.DeleteActionImpl) error {
	object, err := h.stored(action.Resource, action.Namespace, action.Name)
	if err != nil {
		return err
	}
	if len(object.GetFinalizers()) == 0 {
		return h.Tracker().Delete(action.Resource, action.Namespace, action.Name)
	}
	now := metav1.Now()
	object.SetDeletionTimestamp(&now)
	return h.put(action.Resource, object)
}

// forgetWrites begins the list of writes anew.
func (h *host) forgetWrites() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writes = nil
}
