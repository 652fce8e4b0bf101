// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

const (
	// maxRefusals is how often a refusal is looked into of which another one comes.
	maxRefusals = 4
	// maxQuestions is how often a server is asked about one object.
	maxQuestions = 40
)

// Ask asks a server what it would store of an object in the place of a live one: a dry run of
// their Replacement. The error is that of the server.
type Ask func(object *unstructured.Unstructured) (*unstructured.Unstructured, error)

// InTheWay finds which fields of a live object its server refuses together with the desired ones,
// as it did with refusal. It must have said that it would accept the desired object as a new one.
// The fields are no more than it takes, whatever the refusal is about: with any of them left in its
// place, the server refuses the object still, and without all of them it would store result.
//
// explains tells the refusals that may say what is in the way. Any other error ends the search, as
// does a refusal that leads to nothing more; it is given then.
func InTheWay(live, desired *unstructured.Unstructured, refusal error, ask Ask, explains func(error) bool) (
	fields *fieldpath.Set, result *unstructured.Unstructured, err error,
) {
	owners, err := ownersOf(live)
	if err != nil {
		return nil, nil, err
	}
	t := trial{live: live, desired: desired, ask: ask}
	var suspects []fieldpath.Path
	for range maxRefusals {
		known := fieldpath.NewSet(suspects...)
		suspects = append(suspects, slices.DeleteFunc(candidates(owners, live, desired, causes(refusal)), known.Has)...)
		if len(suspects) == known.Size() {
			return nil, nil, refusal
		}
		if result, err = t.without(suspects); err == nil {
			return t.least(suspects, result, refusal)
		}
		if refusal = err; !explains(err) {
			break
		}
	}
	return nil, nil, refusal
}

// trial takes fields off an object by way of trial.
type trial struct {
	live, desired *unstructured.Unstructured
	ask           Ask
	asked         int
}

// without asks for the live object without some fields and with all that is desired.
func (t *trial) without(fields []fieldpath.Path) (*unstructured.Unstructured, error) {
	merged, err := Merged(t.live, t.desired, fieldpath.NewSet(fields...))
	if err != nil {
		return nil, err
	}
	t.asked++
	return t.ask(merged)
}

// least reduces fields without which the server accepts the object to those that have to go.
func (t *trial) least(fields []fieldpath.Path, result *unstructured.Unstructured, refusal error) (*fieldpath.Set, *unstructured.Unstructured, error) {
	needed, err := t.needed(nil, fields, false)
	switch {
	case err != nil:
		return nil, nil, err
	case t.asked > maxQuestions:
		return nil, nil, refusal
	case len(needed) < len(fields):
		if result, err = t.without(needed); err != nil {
			return nil, nil, err
		}
	}
	return fieldpath.NewSet(needed...), result, nil
}

// needed gives those of fields, the first ones rather than the last, that have to go for the server
// to accept the object when gone have gone, and without all of which it does. It halves them, as
// QuickXplain does (U. Junker, AAAI 2004): a few among many are found with few questions. grown is
// false when the server is known to refuse the object of which only gone have gone.
func (t *trial) needed(gone, fields []fieldpath.Path, grown bool) ([]fieldpath.Path, error) {
	if t.asked > maxQuestions {
		return nil, nil
	}
	if grown {
		if _, err := t.without(gone); err == nil {
			return nil, nil
		} else if !refused(err) {
			return nil, err
		}
	}
	if len(fields) == 1 {
		return fields, nil
	}
	first, last := fields[:len(fields)/2], fields[len(fields)/2:]
	late, err := t.needed(slices.Concat(gone, first), last, true)
	if err != nil {
		return nil, err
	}
	early, err := t.needed(slices.Concat(gone, late), first, len(late) > 0)
	return slices.Concat(early, late), err
}

// refused tells that a server, or what it asks, does not accept an object as it is.
func refused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err)
}

// causes are what the answer of a server consists of; none when err is no answer.
func causes(err error) []metav1.StatusCause {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || answer.Status().Details == nil {
		return nil
	}
	return answer.Status().Details.Causes
}
