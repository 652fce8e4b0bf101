// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kumodo.io/convoy/render/internal/limit"
	"kumodo.io/convoy/render/internal/lookup"
	"kumodo.io/convoy/render/internal/weight"
	"kumodo.io/convoy/render/memo"
)

// Lookup reads objects of a target cluster for the function lookup of templates: Get one
// object, List those of a kind. What does not exist is an error for which
// apierrors.IsNotFound holds; any other error ends the render.
type Lookup = lookup.Reader

// draftWithLookups gives what the engine gives for a plan whose templates may read the
// target cluster. Failures are not remembered.
func (r *Renderer) draftWithLookups(ctx context.Context, p *plan) (*draft, error) {
	f := &flight{}
	d, err := memo.Guarded(ctx, func(ctx context.Context) (*draft, error) {
		claim := r.slots.Claim()
		defer claim.Close()
		claim.Join(p.tenant)
		return r.run(ctx, p, claim, f)
	})
	r.note(p, err)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err() // who asks has left, and ended the render with it
	case err != nil:
		return nil, err
	case f.known:
		r.hits.Add(1)
		return d, nil
	}
	r.drafts.Put(d.inputs, d)
	r.lookups.Put(p.inputs, d.reads)
	r.lookups.Put(p.asked(), d.reads)
	return d, nil
}

// again gives what an earlier render gave, if all that it read is as it was: it is read again,
// with the identity of who asks now. That is what the Release itself read, or else what another
// one with the same inputs did: questions that this one may not ask say nothing of it, for its
// templates may ask others.
func (r *Renderer) again(ctx context.Context, p *plan) (_ *draft, err error, ok bool) {
	before, own := r.lookups.Get(p.asked())
	if !own {
		if before, ok = r.lookups.Get(p.inputs); !ok {
			return nil, nil, false
		}
	}
	now, err := before.Again(ctx, p.lookup)
	if refused(err) {
		return nil, nil, false
	}
	if err != nil {
		return nil, err, true
	}
	inputs, err := now.Inputs(p.inputs)
	if err != nil {
		return nil, err, true
	}
	d, ok := r.drafts.Get(inputs)
	return d, nil, ok
}

// refused tells the errors of questions that another may be answered, or that make sense elsewhere.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || meta.IsNoMatchError(err)
}

// LookupOf gives the Lookup of a connection to a target cluster; nil when the connection
// has no client for objects of any kind. It reads as whom the connection reads. classify gives
// the errors of requests, and nil, the form in which those of the connection itself come.
func LookupOf(c Cluster, classify func(error) error) Lookup {
	connection, ok := c.(objects)
	if !ok {
		return nil
	}
	return reader{objects: connection, classify: classify}
}

// objects is what a connection needs for reading objects of any kind.
type objects interface {
	Dynamic() dynamic.Interface
	Mapping(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error)
}

type reader struct {
	objects
	classify func(error) error
}

const (
	// pageSize is how many objects are read at once: a page of the largest that etcd takes is no
	// more than a connection to a target takes of one answer.
	pageSize = 20
	// maxListed is how many objects a list may have, and maxPages how many pages: they need not
	// be full.
	maxListed = 5000
	maxPages  = 2 * maxListed / pageSize
)

// Get reads one object.
func (r reader) Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	client, err := r.client(ctx, gvk, namespace)
	if err != nil {
		return nil, err
	}
	object, err := client.Get(ctx, name, metav1.GetOptions{})
	return object, r.classify(err)
}

// List reads the objects of a kind. More than may be held in memory is an error; no page is
// read after that.
func (r reader) List(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (*unstructured.UnstructuredList, error) {
	client, err := r.client(ctx, gvk, namespace)
	if err != nil {
		return nil, err
	}
	var all *unstructured.UnstructuredList
	var bytes int64
	next := ""
	for range maxPages {
		page, err := client.List(ctx, metav1.ListOptions{Limit: pageSize, Continue: next})
		if err != nil {
			return nil, r.classify(err)
		}
		for _, item := range page.Items {
			unstructured.RemoveNestedField(item.Object, "metadata", "managedFields")
			bytes += weight.Of(item.Object)
		}
		if all == nil {
			all = page
		} else {
			all.Items = append(all.Items, page.Items...)
		}
		if len(all.Items) > maxListed {
			return nil, limit.New("there are more than %d objects of the kind %s", maxListed, gvk.Kind)
		}
		if bytes > lookup.MaxBytes {
			return nil, lookup.TooLarge("the objects of the kind " + gvk.Kind)
		}
		if next = page.GetContinue(); next == "" {
			return all, nil
		}
	}
	return nil, limit.New("the list of the kind %s has not ended after %d pages", gvk.Kind, maxPages)
}

func (r reader) client(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := r.Mapping(ctx, gvk)
	if err != nil {
		return nil, fmt.Errorf("asking the target cluster for the kind %s: %w", gvk, err)
	}
	resources := r.Dynamic().Resource(mapping.Resource)
	if namespace == "" || mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return resources, nil
	}
	return resources.Namespace(namespace), nil
}
