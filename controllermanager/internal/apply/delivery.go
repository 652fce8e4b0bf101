// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/managed"
	"kumodo.io/convoy/render"
)

const (
	// maxReads is how often an object is read again because it changed between the read and
	// the write.
	maxReads = 4
	// noResourceVersion is a resourceVersion that no stored object has: the store's first
	// write already gets a higher one. An apply that carries it creates or conflicts.
	noResourceVersion = "1"
)

// delivery is the sending of one object.
type delivery struct {
	*Applier
	client dynamic.ResourceInterface
	key    corev1alpha1.ObjectKey
	digest string
	// desired is what is sent, without preconditions; never changed once made.
	desired *unstructured.Unstructured
	// known is the object's inventory entry; without UID when it was never applied.
	known corev1alpha1.InventoryEntry
	// ignored are the fields that stay as they are in a live object.
	ignored []pointer
	// made tells whether the object that was found bore the signs of having been made for this Release.
	made bool
}

func (a *Applier) newDelivery(ctx context.Context, o render.Object) (*delivery, error) {
	if problems := a.configurationProblems(); len(problems) > 0 {
		return nil, &ValidationError{Problems: problems}
	}
	client, err := a.served(ctx, o.Key())
	if err != nil {
		return nil, err
	}
	d := &delivery{Applier: a, client: client, key: o.Key(), digest: o.Digest, known: a.lookUp(o.Key())}
	d.ignored = ignoredIn(a.ignores, o.Object)
	d.desired = o.Object.DeepCopy()
	render.Mark(d.desired, a.options.Installation, a.options.Release.Namespace, a.options.Release.Name)
	return d, nil
}

// precondition is what must be true of the stored object for a write to happen.
type precondition struct {
	uid             types.UID
	resourceVersion string
}

// send applies the object in one of the ways that the package describes and gives the
// object as stored.
func (d *delivery) send(ctx context.Context) (*unstructured.Unstructured, Action, error) {
	switch {
	case d.known.UID == "":
		live, err := d.patch(ctx, d.desired, precondition{resourceVersion: noResourceVersion})
		if !exists(err) {
			return live, Created, err
		}
	case d.known.Digest != "" && d.known.Digest != d.digest && len(d.ignored) == 0:
		live, err := d.patch(ctx, d.desired, precondition{uid: d.known.UID})
		if !outdated(err) {
			return d.settle(ctx, live, Configured, err)
		}
	}
	return d.sendRead(ctx)
}

// sendRead applies the object after reading what is there.
func (d *delivery) sendRead(ctx context.Context) (*unstructured.Unstructured, Action, error) {
	for range maxReads {
		live, err := d.client.Get(ctx, d.key.Name, metav1.GetOptions{})
		if absent(err) {
			created, err := d.patch(ctx, d.desired, precondition{resourceVersion: noResourceVersion})
			if exists(err) {
				continue
			}
			return created, d.created(), err
		}
		if err != nil {
			return nil, "", err
		}
		if err := d.free(ctx, live); outdated(err) {
			continue
		} else if err != nil {
			return nil, "", err
		}
		d.made = d.owns(live) && managed.Made(live)
		applied, err := d.adopt(ctx, live)
		if outdated(err) {
			continue
		}
		action := Configured
		if err == nil && applied.GetResourceVersion() == live.GetResourceVersion() {
			action = Unchanged
		}
		return d.settle(ctx, applied, action, err)
	}
	return nil, "", &WaitingError{For: "the object to be left alone for a moment: it changed whenever it was about to be applied"}
}

// free tells whether this Release may write to the object. One that another Release has is
// claimed; the error is outdated when it changed meanwhile.
func (d *delivery) free(ctx context.Context, live *unstructured.Unstructured) error {
	owner := ownerOf(live)
	if owner == "" || owner == d.owner {
		return terminating(live)
	}
	free, err := d.givenUp(ctx, owner)
	if err != nil {
		return err
	}
	if free {
		return terminating(live)
	}
	claimed, err := d.claim(ctx, live)
	if err != nil {
		return err
	}
	return &OwnershipError{Owner: owner, Installation: d.options.Installation, Claimed: claimed}
}

// adopt applies over an object that was read, under the state that was read.
func (d *delivery) adopt(ctx context.Context, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if d.owns(live) {
		return d.patch(ctx, withIgnored(d.desired, live, d.ignored), at(live))
	}
	live, err := d.unclaim(ctx, d.client, live)
	if err != nil {
		return nil, err
	}
	migrated, err := d.migrate(ctx, live)
	if err != nil {
		return nil, err
	}
	return d.patch(ctx, withIgnored(d.desired, migrated, d.ignored), at(migrated))
}

func at(live *unstructured.Unstructured) precondition {
	return precondition{uid: live.GetUID(), resourceVersion: live.GetResourceVersion()}
}

// settle turns the answer to a write on an existing object into the outcome.
func (d *delivery) settle(ctx context.Context, live *unstructured.Unstructured, action Action, err error) (*unstructured.Unstructured, Action, error) {
	if apierrors.IsInvalid(err) {
		return d.refused(ctx, err)
	}
	if err != nil {
		return nil, "", err
	}
	return live, action, terminating(live)
}

// created is the action when the object was just created.
func (d *delivery) created() Action {
	if d.known.UID != "" {
		return Recreated
	}
	return Created
}

// adopted tells whether the object that an action led to was there before this Release applied it
// first. One that is not what the inventory knows, and bore no signs of having been made by a process
// that died before it could note that, was made by nobody knows whom, or for another Release.
func (d *delivery) adopted(live *unstructured.Unstructured, action Action) bool {
	switch {
	case action == Created || action == Recreated:
		return false
	case d.known.UID == live.GetUID():
		return d.known.Adopted
	}
	return !d.made
}

// patch sends body by server-side apply.
func (d *delivery) patch(ctx context.Context, body *unstructured.Unstructured, pre precondition, dryRun ...string) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(with(body, pre))
	if err != nil {
		return nil, fmt.Errorf("encoding the object: %w", err)
	}
	return d.client.Patch(ctx, d.key.Name, types.ApplyPatchType, data, metav1.PatchOptions{
		FieldManager: corev1alpha1.FieldManager,
		Force:        &d.override,
		DryRun:       dryRun,
	})
}

// with gives the content of body with preconditions; all else is shared with body.
func with(body *unstructured.Unstructured, pre precondition) map[string]any {
	metadata, _ := body.Object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	if pre.uid != "" {
		metadata["uid"] = string(pre.uid)
	}
	if pre.resourceVersion != "" {
		metadata["resourceVersion"] = pre.resourceVersion
	}
	content := maps.Clone(body.Object)
	content["metadata"] = metadata
	return content
}

// terminating gives an error for an object that is being deleted: what is applied to it
// is lost with it.
func terminating(live *unstructured.Unstructured) error {
	if live.GetDeletionTimestamp() == nil {
		return nil
	}
	return &WaitingError{For: "the object to be gone: it " + beingDeleted(live)}
}

func beingDeleted(live *unstructured.Unstructured) string {
	if finalizers := live.GetFinalizers(); len(finalizers) > 0 {
		return "is being deleted, waits for finalizers [" + strings.Join(finalizers, " ") + "]"
	}
	return "is being deleted"
}
