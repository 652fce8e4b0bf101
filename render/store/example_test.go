// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"fmt"

	"filippo.io/age"
	"gocloud.dev/blob/memblob"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/store"
)

// A render is stored, encrypted, and read again. location.Open opens a store by its URL, such
// as file:///var/lib/convoy/renders or s3://bucket/prefix.
func ExampleStore() {
	ctx := context.Background()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		panic(err)
	}
	renders := store.New(store.Place{Bucket: memblob.OpenBucket(nil), Name: "mem://"}, store.Options{
		Installation: "example",
		Recipients:   []age.Recipient{identity.Recipient()},
		Identities:   []age.Identity{identity},
	})
	defer func() { _ = renders.Close() }()

	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": "shop", "name": "db"},
	}}
	result := &render.Result{Objects: []render.Object{{Object: secret}}} // of a Renderer, most often
	if result.Digest, err = result.ComputeDigest(); err != nil {
		panic(err)
	}
	record := store.Record{Namespace: "shop", Name: "web", Revision: "main@sha1:0", Result: result}
	if err := renders.Put(ctx, record); err != nil {
		panic(err)
	}

	stored, err := renders.Get(ctx, "shop", "web", result.Digest)
	if err != nil {
		panic(err)
	}
	fmt.Println(stored.Revision, stored.Result.Objects[0].Object.GetName())
	_, err = renders.Get(ctx, "shop", "web", "sha256:0000000000000000000000000000000000000000000000000000000000000000")
	fmt.Println(errors.Is(err, store.ErrNotFound))
	// Output:
	// main@sha1:0 db
	// true
}
