// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

const (
	// listFrom is how many objects of one kind and namespace are listed rather than read.
	listFrom = 10
	// listPage is how many objects one answer has at most, and are held at a time.
	listPage = 500
)

// Each calls do for each of some objects of the Release, a bounded number at a time. Those that
// are many of a kind come with the live object, from pages of lists; live is nil where it was
// not listed, and has to be read.
func (c *Comparer) Each(ctx context.Context, keys []corev1alpha1.ObjectKey, do func(i int, live *unstructured.Unstructured)) {
	groups := map[corev1alpha1.ObjectKey]map[string]int{} // by all but the name, indices by name
	for i, key := range keys {
		name := key.Name
		key.Name = ""
		if groups[key] == nil {
			groups[key] = map[string]int{}
		}
		groups[key][name] = i
	}
	for key, wanted := range groups {
		if len(wanted) >= listFrom {
			c.list(ctx, key, wanted, do)
		}
	}
	var left []int
	for _, wanted := range groups {
		left = slices.AppendSeq(left, maps.Values(wanted))
	}
	slices.Sort(left)
	Parallel(len(left), func(n int) { do(left[n], nil) })
}

// list hands on what it finds of the wanted objects, and leaves the others: those that have
// lost their mark, or are not there, or cannot be listed. It reads no more pages than objects are
// wanted: what it has not found by then is read for less one by one.
func (c *Comparer) list(ctx context.Context, kind corev1alpha1.ObjectKey, wanted map[string]int, do func(i int, live *unstructured.Unstructured)) {
	resource, err := c.resource(ctx, kind, true)
	if err != nil {
		return
	}
	if resource, err = c.reading(ctx, resource, kind); err != nil {
		return
	}
	options := metav1.ListOptions{
		LabelSelector: corev1alpha1.LabelOwner + "=" + corev1alpha1.OwnerLabelValue(c.Installation, c.Release.Namespace, c.Release.Name),
		Limit:         listPage,
	}
	for pages := len(wanted); pages > 0 && len(wanted) > 0 && c.away.Load() == nil; pages-- {
		page, err := listOf(ctx, resource, options)
		if err != nil {
			return
		}
		items := slices.DeleteFunc(page.Items, func(item unstructured.Unstructured) bool {
			_, ok := wanted[item.GetName()]
			return !ok
		})
		Parallel(len(items), func(n int) { do(wanted[items[n].GetName()], &items[n]) })
		for _, item := range items {
			delete(wanted, item.GetName())
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return
		}
	}
}

func listOf(ctx context.Context, resource dynamic.ResourceInterface, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	return resource.List(ctx, options)
}
