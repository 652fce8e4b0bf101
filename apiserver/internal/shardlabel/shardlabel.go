// SPDX-License-Identifier: Apache-2.0

// Package shardlabel sets the shard label, by which the replicas of the controllers divide
// objects among themselves. The server sets it on every write, from the object's key and
// the number of shards, whatever the client sent. All replicas of the server must be given
// the same number of shards, and the controllers the same as well.
package shardlabel

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/shard"
)

// Labeler sets the shard label for a number of shards.
type Labeler struct {
	shards int
}

// New gives a Labeler for a number of shards, which is at least 1.
func New(shards int) Labeler {
	return Labeler{shards: max(shards, 1)}
}

// Set labels an object with the shard of a key.
func (l Labeler) Set(obj metav1.Object, key string) {
	l.set(obj, shard.Of(key, l.shards))
}

// Keep leaves the label that the object has, if it is the number of a shard. It says
// whether it is.
func (l Labeler) Keep(obj metav1.Object) bool {
	number, err := strconv.Atoi(obj.GetLabels()[corev1alpha1.LabelShard])
	if err != nil || number < 0 || number >= l.shards {
		return false
	}
	l.set(obj, number)
	return true
}

// set writes into a copy of the labels: during an update, a map may still be shared with
// the stored object, which the watch cache hands out to others.
func (l Labeler) set(obj metav1.Object, number int) {
	value := strconv.Itoa(number)
	present := obj.GetLabels()
	if present[corev1alpha1.LabelShard] == value {
		return
	}
	labels := make(map[string]string, len(present)+1)
	for name, content := range present {
		labels[name] = content
	}
	labels[corev1alpha1.LabelShard] = value
	obj.SetLabels(labels)
}

// Path is the field of the label, which no field manager but the server owns.
func Path() fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "labels", corev1alpha1.LabelShard)
}
