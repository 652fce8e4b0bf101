// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/internal/digest"
	"kumodo.io/convoy/render/internal/lossless"
)

// schema names the form of a stored record. Another form gets another name.
const schema = "convoy.kumodo.io/render/1"

// record is the form in which a render is stored.
type record struct {
	Schema           string                   `json:"schema"`
	Namespace        string                   `json:"namespace"`
	Name             string                   `json:"name"`
	UID              types.UID                `json:"uid,omitempty"`
	Revision         string                   `json:"revision,omitempty"`
	Digest           string                   `json:"digest"`
	Inputs           string                   `json:"inputs,omitempty"`
	Objects          []object                 `json:"objects"`
	Hooks            []hook                   `json:"hooks,omitempty"`
	OtherHooks       []hook                   `json:"otherHooks,omitempty"`
	NonDeterministic []corev1alpha1.ObjectKey `json:"nonDeterministic,omitempty"`
	// Checksum of all the rest, as it is written; see withChecksum. Older records have none.
	Checksum string `json:"checksum,omitempty"`
}

type object struct {
	Stage  int32           `json:"stage,omitempty"`
	Origin string          `json:"origin,omitempty"`
	Keep   bool            `json:"keep,omitempty"`
	Object json.RawMessage `json:"object"`
}

type hook struct {
	Name          string                          `json:"name"`
	On            corev1alpha1.HookPoint          `json:"on"`
	When          render.Occasion                 `json:"when,omitempty"`
	Weight        int                             `json:"weight,omitempty"`
	Timeout       time.Duration                   `json:"timeoutNanoseconds,omitempty"`
	DeletePolicy  []corev1alpha1.HookDeletePolicy `json:"deletePolicy,omitempty"`
	FailurePolicy corev1alpha1.HookFailurePolicy  `json:"failurePolicy,omitempty"`
	Object        object                          `json:"object"`
}

func toRecord(r Record) (*record, error) {
	stored := &record{
		Schema: schema, Namespace: r.Namespace, Name: r.Name, UID: r.UID, Revision: r.Revision,
		Digest: r.Result.Digest, Inputs: r.Result.Inputs, NonDeterministic: r.Result.NonDeterministic,
	}
	for _, o := range r.Result.Objects {
		converted, err := toObject(o)
		if err != nil {
			return nil, err
		}
		stored.Objects = append(stored.Objects, converted)
	}
	var err error
	if stored.Hooks, err = toHooks(r.Result.Hooks); err != nil {
		return nil, err
	}
	stored.OtherHooks, err = toHooks(r.Result.OtherHooks)
	return stored, err
}

func toObject(o render.Object) (object, error) {
	text, err := json.Marshal(o.Object.Object)
	return object{Stage: o.Stage, Origin: o.Origin, Keep: o.Keep, Object: text}, err
}

func toHooks(hooks []render.Hook) ([]hook, error) {
	var stored []hook
	for _, h := range hooks {
		converted, err := toObject(h.Object)
		if err != nil {
			return nil, err
		}
		stored = append(stored, hook{
			Name: h.Name, On: h.On, When: h.When, Weight: h.Weight, Timeout: h.Timeout,
			DeletePolicy: h.DeletePolicy, FailurePolicy: h.FailurePolicy, Object: converted,
		})
	}
	return stored, nil
}

func fromRecord(stored *record) (Record, error) {
	if stored.Schema != schema {
		return Record{}, fmt.Errorf("the form %q of the stored render is not known", stored.Schema)
	}
	result := &render.Result{Digest: stored.Digest, Inputs: stored.Inputs, NonDeterministic: stored.NonDeterministic}
	for _, o := range stored.Objects {
		converted, err := fromObject(o)
		if err != nil {
			return Record{}, err
		}
		result.Objects = append(result.Objects, converted)
	}
	var err error
	if result.Hooks, err = fromHooks(stored.Hooks); err != nil {
		return Record{}, err
	}
	if result.OtherHooks, err = fromHooks(stored.OtherHooks); err != nil {
		return Record{}, err
	}
	return Record{Namespace: stored.Namespace, Name: stored.Name, UID: stored.UID, Revision: stored.Revision, Result: result}, nil
}

func fromObject(o object) (render.Object, error) {
	decoded, err := lossless.JSON(o.Object)
	if err != nil {
		return render.Object{}, err
	}
	if decoded, err = lossless.Object(decoded); err != nil {
		return render.Object{}, err
	}
	fields, ok := decoded.(map[string]any)
	if !ok {
		return render.Object{}, errors.New("an object is no object")
	}
	sum, err := digest.Of(fields)
	return render.Object{Object: &unstructured.Unstructured{Object: fields}, Stage: o.Stage, Digest: sum, Origin: o.Origin, Keep: o.Keep}, err
}

func fromHooks(stored []hook) ([]render.Hook, error) {
	var hooks []render.Hook
	for _, h := range stored {
		converted, err := fromObject(h.Object)
		if err != nil {
			return nil, err
		}
		hooks = append(hooks, render.Hook{
			Name: h.Name, On: h.On, When: h.When, Weight: h.Weight, Timeout: h.Timeout,
			DeletePolicy: h.DeletePolicy, FailurePolicy: h.FailurePolicy, Object: converted,
		})
	}
	return hooks, nil
}
