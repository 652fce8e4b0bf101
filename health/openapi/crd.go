// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ErrNoDefinition says that an object is no CustomResourceDefinition of version v1.
var ErrNoDefinition = errors.New("no CustomResourceDefinition of apiextensions.k8s.io/v1")

// OfDefinition gives, by version, the schemas of the kind that a CustomResourceDefinition
// defines: of the versions that are served. data is the object in JSON. The error is
// ErrNoDefinition when it is another one, or why it is not well formed.
func OfDefinition(data []byte) (map[schema.GroupVersionKind]*Schema, error) {
	var crd struct {
		APIVersion, Kind string
		Spec             struct {
			Group    string
			Names    struct{ Kind string }
			Versions []struct {
				Name   string
				Served bool
				Schema struct{ OpenAPIV3Schema definition }
			}
		}
	}
	if err := json.Unmarshal(data, &crd); err != nil {
		return nil, err
	}
	if crd.APIVersion != "apiextensions.k8s.io/v1" || crd.Kind != "CustomResourceDefinition" {
		return nil, ErrNoDefinition
	}
	schemas := map[schema.GroupVersionKind]*Schema{}
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		read := &reader{known: map[string]*Schema{}}
		kind := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
		schemas[kind] = root(read.schema(version.Schema.OpenAPIV3Schema))
	}
	return schemas, nil
}
