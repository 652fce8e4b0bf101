// SPDX-License-Identifier: Apache-2.0

// Package lookup reads objects of a target cluster for templates, and records what was
// read, so that a render can be told from one for which the cluster had something else.
package lookup

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kumodo.io/convoy/render/internal/digest"
	"kumodo.io/convoy/render/internal/limit"
	"kumodo.io/convoy/render/internal/weight"
)

// Reader reads objects. What does not exist is an error for which apierrors.IsNotFound
// holds.
type Reader interface {
	// Get reads one object; namespace is empty for those that live in none.
	Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error)
	// List reads the objects of a kind, of all namespaces when namespace is empty.
	List(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (*unstructured.UnstructuredList, error)
}

// question is what a template asks for: one object, or all of a kind when there is no name.
type question struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
}

func (q question) String() string {
	name := q.Name
	if name == "" {
		name = "*"
	}
	if q.Namespace != "" {
		name = q.Namespace + "/" + name
	}
	return q.Kind + " " + name
}

// read is a question and the digest of its answer.
type read struct {
	question
	Digest string `json:"digest"`
}

// Reads are what a render read, in that order.
type Reads []read

// Inputs gives the digest of a render's inputs together with what was read; base is the
// digest of all other inputs.
func (r Reads) Inputs(base string) (string, error) {
	return digest.Of(struct {
		Base  string `json:"base"`
		Reads Reads  `json:"reads"`
	}{base, r})
}

// Again asks the same questions once more.
func (r Reads) Again(ctx context.Context, reader Reader) (Reads, error) {
	again := make(Reads, len(r))
	for i, before := range r {
		content, err := ask(ctx, reader, before.question)
		if err != nil {
			return nil, err
		}
		sum, err := digest.Of(content)
		if err != nil {
			return nil, err
		}
		again[i] = read{question: before.question, Digest: sum}
	}
	return again, nil
}

// maxReads is how many different questions a render may ask.
const maxReads = 500

// MaxBytes is how much memory what one render reads may take.
const MaxBytes = 128 << 20

// TooLarge gives the error for what takes more than MaxBytes.
func TooLarge(what string) error {
	return limit.New("%s take more than %s of memory, the most that a render may look up", what, limit.Size(MaxBytes))
}

// Recorder answers the questions of one render, each once. It is for one goroutine. The nil
// Recorder has recorded nothing.
type Recorder struct {
	ctx     context.Context
	reader  Reader
	answers map[question]map[string]any
	reads   Reads
	bytes   int64
	secrets []string
	failed  error
}

// Record makes a Recorder that reads until ctx ends.
func Record(ctx context.Context, reader Reader) *Recorder {
	return &Recorder{ctx: ctx, reader: reader, answers: map[question]map[string]any{}, reads: Reads{}}
}

// Read answers the function lookup of templates: an object, or a list when there is no
// name; what does not exist is an empty map.
func (r *Recorder) Read(apiVersion, kind, namespace, name string) (map[string]any, error) {
	q := question{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name}
	content, ok := r.answers[q]
	if !ok {
		var err error
		if content, err = r.ask(q); err != nil {
			return nil, err
		}
		r.answers[q] = content
	}
	return runtime.DeepCopyJSON(content), nil // templates change what they get
}

func (r *Recorder) ask(q question) (map[string]any, error) {
	if len(r.reads) >= maxReads {
		return nil, limit.New("templates look up more than %d objects and lists", maxReads)
	}
	content, err := ask(r.ctx, r.reader, q)
	if err != nil {
		r.failed = err
		return nil, err
	}
	if r.bytes += weight.Of(content); r.bytes > MaxBytes {
		return nil, TooLarge(fmt.Sprintf("%s and the %d objects and lists looked up before it", q, len(r.reads)))
	}
	sum, err := digest.Of(content)
	if err != nil {
		return nil, err
	}
	r.reads = append(r.reads, read{question: q, Digest: sum})
	r.secrets = secretTexts(content, r.secrets)
	return content, nil
}

func ask(ctx context.Context, reader Reader, q question) (map[string]any, error) {
	if q.APIVersion == "" || q.Kind == "" {
		return nil, errors.New("lookup: apiVersion and kind are needed")
	}
	gvk := schema.FromAPIVersionAndKind(q.APIVersion, q.Kind)
	content := map[string]any{}
	var err error
	if q.Name == "" {
		var list *unstructured.UnstructuredList
		if list, err = reader.List(ctx, gvk, q.Namespace); err == nil {
			for i := range list.Items {
				list.Items[i].Object = withoutManagers(list.Items[i].Object)
			}
			content = list.UnstructuredContent()
			// It changes with whatever is written to the cluster.
			content["metadata"] = map[string]any{}
		}
	} else {
		var object *unstructured.Unstructured
		if object, err = reader.Get(ctx, gvk, q.Namespace, q.Name); err == nil {
			content = withoutManagers(object.Object)
		}
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("lookup of %s: %w", q, err)
	}
	return content, nil
}

func withoutManagers(object map[string]any) map[string]any {
	metadata, ok := object["metadata"].(map[string]any)
	if _, has := metadata["managedFields"]; !ok || !has {
		return object
	}
	object, metadata = maps.Clone(object), maps.Clone(metadata)
	delete(metadata, "managedFields")
	object["metadata"] = metadata
	return object
}

// secretTexts adds the values of Secrets, alone or in a list, to texts.
func secretTexts(content map[string]any, texts []string) []string {
	if items, ok := content["items"].([]any); ok {
		for _, item := range items {
			if object, ok := item.(map[string]any); ok {
				texts = secretTexts(object, texts)
			}
		}
	}
	if content["kind"] != "Secret" || content["apiVersion"] != "v1" {
		return texts
	}
	data, _, _ := unstructured.NestedStringMap(content, "data")
	for _, encoded := range data {
		texts = append(texts, encoded)
		if decoded, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			texts = append(texts, string(decoded))
		}
	}
	return texts
}

// Failed gives the error of the question that could not be answered; nil when all were.
func (r *Recorder) Failed() error {
	if r == nil {
		return nil
	}
	return r.failed
}

// Reads gives what was read; nil for the nil Recorder.
func (r *Recorder) Reads() Reads {
	if r == nil {
		return nil
	}
	return r.reads
}

// Secrets gives the texts of Secrets that were read.
func (r *Recorder) Secrets() []string {
	if r == nil {
		return nil
	}
	return slices.Clone(r.secrets)
}
