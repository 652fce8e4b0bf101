// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kumodo.io/convoy/render/internal/weight"
)

// weight is about how much memory a draft takes.
func (d *draft) weight() int64 {
	var bytes int64
	for _, i := range d.all() {
		bytes += weighed(i.object, i.origin)
	}
	for _, text := range d.secrets {
		bytes += weight.Of(text)
	}
	return bytes
}

// Weight is about how many bytes of memory a Result takes, what it shares with others included.
func (r *Result) Weight() int64 {
	var bytes int64
	for _, o := range r.Objects {
		bytes += weighed(o.Object, o.Origin)
	}
	for _, h := range slices.Concat(r.Hooks, r.OtherHooks) {
		bytes += weighed(h.Object.Object, h.Object.Origin)
	}
	return bytes
}

// besides is what an object takes besides its fields: digests, pointers.
const besides = 256

func weighed(object *unstructured.Unstructured, origin string) int64 {
	return besides + int64(len(origin)) + weight.Of(object.Object)
}
