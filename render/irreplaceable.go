// SPDX-License-Identifier: Apache-2.0

package render

import "k8s.io/apimachinery/pkg/runtime/schema"

// irreplaceable are the kinds whose deletion takes data or other people's objects along.
var irreplaceable = map[schema.GroupKind]string{
	{Kind: "Namespace"}: "everything in it",
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: "every custom resource of its kind",
	{Kind: "PersistentVolumeClaim"}:                                   "its data",
	{Kind: "PersistentVolume"}:                                        "its data",
}

// Irreplaceable tells whether objects of a kind are never deleted in order to be created
// again, and what would be lost with one.
func Irreplaceable(kind schema.GroupKind) (lost string, ok bool) {
	lost, ok = irreplaceable[kind]
	return lost, ok
}
