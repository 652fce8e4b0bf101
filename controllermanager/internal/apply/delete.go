// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// delete deletes exactly the object that was read. gone is true when the server says that it
// exists no more; otherwise that has to be read, which most deletions so do without: the client
// for objects of any kind does not hand out the answer.
func (a *Applier) delete(ctx context.Context, key corev1alpha1.ObjectKey, live *unstructured.Unstructured) (gone bool, err error) {
	mapping, err := a.servedMapping(ctx, key)
	if err != nil {
		return false, err
	}
	options, err := json.Marshal(deleteOptions(live, propagation(live)))
	if err != nil {
		return false, fmt.Errorf("encoding the options of a deletion: %w", err)
	}
	result := a.target.REST().Delete().AbsPath(pathOf(mapping, key)...).SetHeader("Content-Type", "application/json").Body(options).Do(ctx)
	if err := result.Error(); err != nil {
		if absent(err) {
			return true, nil
		}
		return false, err
	}
	answer, err := result.Raw()
	return err == nil && tellsGone(answer, live.GetUID()), err
}

// pathOf gives the path of an object in the API.
func pathOf(mapping *meta.RESTMapping, key corev1alpha1.ObjectKey) []string {
	path := []string{"apis", mapping.Resource.Group, mapping.Resource.Version}
	if mapping.Resource.Group == "" {
		path = []string{"api", mapping.Resource.Version}
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		path = append(path, "namespaces", key.Namespace)
	}
	return append(path, mapping.Resource.Resource, key.Name)
}

// tellsGone tells whether the answer to a deletion says that the object was taken out of
// storage: then it is a success that names the UID. That of an object which is yet to go is the
// object, or names none.
func tellsGone(answer []byte, uid types.UID) bool {
	var status metav1.Status
	return json.Unmarshal(answer, &status) == nil && status.Kind == "Status" && status.Status == metav1.StatusSuccess &&
		status.Details != nil && status.Details.UID == uid && uid != ""
}
