// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/controllermanager/internal/inventory"
	"kumodo.io/convoy/render"
)

// leaving is what a rollback to a render leaves out, by key. It holds for as long as nothing changes of
// the Releases that have it, and is found again by another process.
type leaving struct {
	render  string
	objects map[string]leftOut
	state   string // of the Releases
}

// leftOut is an object that another Release has.
type leftOut struct {
	object string // for people
	owner  types.NamespacedName
}

// leaveOut leaves an object out of a rollback that another Release of the installation has by now, so
// that the others come back. ok is false for any other failure.
func (c *Controller) leaveOut(s *scope, result apply.Result) (ok bool) {
	owned, ok := errors.AsType[*apply.OwnershipError](result.Err)
	if !ok || !s.rolledBack {
		return false
	}
	installation, namespace, name, ok := corev1alpha1.ParseReleaseAnnotation(owned.Owner)
	if !ok || installation != owned.Installation {
		return false
	}
	objects := maps.Clone(s.leftOut)
	if objects == nil {
		objects = map[string]leftOut{}
	}
	objects[inventory.KeyOf(result.Key)] = leftOut{objectName(result.Key), types.NamespacedName{Namespace: namespace, Name: name}}
	c.left.keep(s.key, leaving{render: s.result.Digest, objects: objects, state: c.stateOf(ownersOf(objects))})
	s.leave(objects)
	return true
}

// leaveOutKnown leaves out what an earlier pass of the rollback left out.
func (c *Controller) leaveOutKnown(s *scope) {
	known := c.left.get(s.key)
	if len(known.objects) == 0 {
		return
	}
	if known.render != s.result.Digest || c.stateOf(ownersOf(known.objects)) != known.state {
		c.left.forget(s.key)
		return
	}
	c.await(s, ownersOf(known.objects)...)
	s.leave(known.objects)
}

// leave takes objects out of what is desired.
func (s *scope) leave(objects map[string]leftOut) {
	s.leftOut = objects
	rest := *s.result
	rest.Objects = slices.DeleteFunc(slices.Clone(rest.Objects), func(object render.Object) bool { return s.leavesOut(object.Key()) })
	s.result = &rest
}

func (s *scope) leavesOut(key corev1alpha1.ObjectKey) bool {
	_, left := s.leftOut[inventory.KeyOf(key)]
	return left
}

// leftOutNote says what a rollback left out.
func (s *scope) leftOutNote() string {
	if len(s.leftOut) == 0 {
		return ""
	}
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(s.leftOut)) {
		texts = append(texts, s.leftOut[key].object+", which Release "+s.leftOut[key].owner.String()+" has")
	}
	return "; left out: " + listed(texts, "; ")
}

// ownersOf gives the Releases that have what is left out, in order.
func ownersOf(left map[string]leftOut) []types.NamespacedName {
	var owners []types.NamespacedName
	for _, key := range slices.Sorted(maps.Keys(left)) {
		if owner := left[key].owner; !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	return owners
}
