// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
	"kumodo.io/convoy/kubectl-convoy/internal/output"
	"kumodo.io/convoy/kubectl-convoy/internal/wayout"
)

// migrationManager is under what name objects of other tools are written. It does not begin with
// kubectl: Flux takes back what such managers write to objects that it delivers itself.
const migrationManager = "convoy-migrate"

// handover is one object that is being handed over.
type handover struct {
	chosen
	*migrate.Migration
	// releases are those of the migration as they are on the host.
	releases []*corev1alpha1.Release
	failed   error
}

// apply hands over the chosen objects. One that cannot be does not keep the others from it.
func (r *migrationRun) apply(ctx context.Context, objects []chosen, all []*migrate.Migration) error {
	handovers := make([]*handover, len(all))
	for i, m := range all {
		handovers[i] = &handover{chosen: objects[i], Migration: m}
		handovers[i].failed = r.refusal(handovers[i])
	}
	if err := r.refuseDependents(ctx, handovers); err != nil {
		return err
	}
	due := going(handovers)
	if len(due) > 0 {
		if err := r.confirm(r.choice, chosenOf(due), "handed over to convoy"); err != nil {
			return err
		}
		support, err := migrate.Support(migrationsOf(due))
		if err != nil {
			return err
		}
		for _, object := range support {
			if err := r.ensure(ctx, object); err != nil {
				return err
			}
		}
		for _, step := range []func(context.Context, *handover) error{r.createReleases, r.compare, r.stop} {
			for _, h := range going(due) {
				h.failed = step(ctx, h)
			}
		}
		r.takeOver(ctx, due)
	}
	var failures []error
	for _, h := range handovers {
		if h.failed != nil {
			failures = append(failures, fmt.Errorf("%s: %w", h.Name(), h.failed))
		}
	}
	return errors.Join(failures...)
}

// refusal says why an object is not handed over.
func (r *migrationRun) refusal(h *handover) error {
	if len(h.Releases) == 0 {
		return errNothingMapped
	}
	if h.Lost() && !r.allowUnmapped {
		return errors.New("something of it has no counterpart, as is told above: change it, or give --allow-unmapped if that is meant")
	}
	why, err := r.tool.held(h.Old, r.reader)
	if err == nil && why != "" {
		err = errors.New(why)
	}
	return err
}

// refuseDependents refuses what waits for Releases that are neither there nor made.
func (r *migrationRun) refuseDependents(ctx context.Context, all []*handover) error {
	for again := true; again; {
		again = false
		made := map[types.NamespacedName]bool{}
		for _, h := range going(all) {
			for _, release := range h.Releases {
				made[types.NamespacedName{Namespace: release.Namespace, Name: release.Name}] = true
			}
		}
		for _, h := range going(all) {
			missing, err := r.missingDependency(ctx, h, made)
			if err != nil {
				return err
			}
			if missing != "" {
				h.failed = fmt.Errorf("it depends on what would be Release %s/%s, which is not there: hand that over with it, or before", h.Old.GetNamespace(), missing)
				again = true
			}
		}
	}
	return nil
}

func (r *migrationRun) missingDependency(ctx context.Context, h *handover, made map[types.NamespacedName]bool) (string, error) {
	for _, release := range h.Releases {
		for _, dependency := range release.Spec.DependsOn {
			if made[types.NamespacedName{Namespace: release.Namespace, Name: dependency.Name}] {
				continue
			}
			_, err := r.api.CoreV1alpha1().Releases(release.Namespace).Get(ctx, dependency.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return dependency.Name, nil
			}
			if err != nil {
				return "", fmt.Errorf("Release %s/%s: %w", release.Namespace, dependency.Name, err)
			}
		}
	}
	return "", nil
}

func going(all []*handover) []*handover {
	return filter(all, func(h *handover) bool { return h.failed == nil })
}

func chosenOf(all []*handover) []chosen {
	objects := make([]chosen, len(all))
	for i, h := range all {
		objects[i] = h.chosen
	}
	return objects
}

func migrationsOf(all []*handover) []*migrate.Migration {
	migrations := make([]*migrate.Migration, len(all))
	for i, h := range all {
		migrations[i] = h.Migration
	}
	return migrations
}

// ensure creates an object that Releases need. One that is there already has to be the same.
func (r *migrationRun) ensure(ctx context.Context, object runtime.Object) error {
	manifest, err := manifestOf(object)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s %s/%s", manifest.GetKind(), manifest.GetNamespace(), manifest.GetName())
	resource, err := r.resource(manifest.GroupVersionKind().GroupKind(), manifest.GetNamespace())
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	_, err = resource.Create(ctx, manifest, metav1.CreateOptions{FieldManager: fieldManager})
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(r.Out, "%s created\n", output.NameOf(manifest))
		return nil
	}
	existing, err := resource.Get(ctx, manifest.GetName(), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, part := range []string{"spec", "data"} {
		if !within(manifest.Object[part], existing.Object[part]) {
			return fmt.Errorf("there is a %s already, with another %s than is needed: delete or rename one of them", name, part)
		}
	}
	return nil
}

// within tells whether all of content is in another: the server puts defaults beside it.
func within(content, other any) bool {
	of, isMap := content.(map[string]any)
	if !isMap {
		return content == nil || fmt.Sprint(content) == fmt.Sprint(other)
	}
	all, _ := other.(map[string]any)
	for key, value := range of {
		if !within(value, all[key]) {
			return false
		}
	}
	return true
}

// createReleases creates the Releases of an object, in sync mode manual: nothing is applied. Those
// of an earlier try are taken as they are.
func (r *migrationRun) createReleases(ctx context.Context, h *handover) error {
	for _, wanted := range h.Releases {
		releases := r.api.CoreV1alpha1().Releases(wanted.Namespace)
		manual := wanted.DeepCopy()
		manual.Spec.Sync.Mode = corev1alpha1.SyncModeManual
		created, err := releases.Create(ctx, manual, metav1.CreateOptions{FieldManager: fieldManager})
		switch {
		case apierrors.IsAlreadyExists(err):
			created, err = releases.Get(ctx, wanted.Name, metav1.GetOptions{})
			if err == nil && created.Annotations[migrate.AnnotationFrom] != h.From() {
				err = errors.New("there is one already, which is not of this migration: delete or rename it")
			}
		case err == nil:
			fmt.Fprintf(r.Out, "release.core.convoy.kumodo.io/%s created\n", created.Name)
		}
		if err != nil {
			return fmt.Errorf("Release %s: %w", fullName(wanted), err)
		}
		h.releases = append(h.releases, created)
	}
	return nil
}

// stop has the tool do nothing for the object any more, and notes what became of it. What is
// suspended stays as it is.
func (r *migrationRun) stop(ctx context.Context, h *handover) error {
	if h.suspended() {
		return nil
	}
	patch, err := r.tool.stop(h.Old)
	if err != nil {
		return err
	}
	names := make([]string, len(h.Releases))
	for i, release := range h.Releases {
		names[i] = fullName(release)
	}
	patch = merged(&unstructured.Unstructured{Object: patch}, map[string]any{"metadata": map[string]any{
		"annotations":     map[string]any{migrate.AnnotationTo: strings.Join(names, ",")},
		"resourceVersion": h.Old.GetResourceVersion(),
	}}).Object
	after, err := r.patchOld(ctx, h.chosen, patch)
	if err != nil {
		return err
	}
	if !r.tool.still(after) {
		return errors.New("it was not stopped: something in the cluster changes what was written")
	}
	h.Old, h.Unstructured = after, after
	fmt.Fprintf(r.Out, "%s stopped\n", output.NameOf(after))
	return nil
}

// suspended tells of an object that is suspended, and not by a migration: its Releases are, too.
func (h *handover) suspended() bool { return h.Releases[0].Spec.Suspend }

// takeOver has convoy sync the Releases, waits for them, and gives them the mode that they are
// to have.
func (r *migrationRun) takeOver(ctx context.Context, all []*handover) {
	var requested []*handover
	for _, h := range going(all) {
		if h.suspended() {
			fmt.Fprintf(r.ErrOut, "%s is suspended: nothing is taken over until its Release is resumed: %s\n", h.Name(), wayout.Resume(h.Releases[0], releaseKind.name))
			continue
		}
		for i, release := range h.releases {
			synced, err := r.api.CoreV1alpha1().Releases(release.Namespace).Sync(ctx, release.Name, corev1alpha1.ReleaseSyncOptions{})
			if err != nil {
				h.failed = fmt.Errorf("sync of Release %s: %w", fullName(release), err)
				break
			}
			h.releases[i] = synced
		}
		if h.failed == nil {
			requested = append(requested, h)
		}
	}
	for _, h := range requested {
		if h.failed = r.waitForSyncs(ctx, r.api, h.releases, r.timeout); h.failed == nil {
			h.failed = r.settle(ctx, h)
		}
	}
}

// settle gives the Releases of an object their mode, and tells what they have.
func (r *migrationRun) settle(ctx context.Context, h *handover) error {
	for _, wanted := range h.Releases {
		if wanted.Spec.Sync.Mode != corev1alpha1.SyncModeManual {
			patch := []byte(`{"spec":{"sync":{"mode":"automatic"}}}`)
			_, err := r.api.CoreV1alpha1().Releases(wanted.Namespace).Patch(ctx, wanted.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
			if err != nil {
				return fmt.Errorf("Release %s: %w", fullName(wanted), err)
			}
		}
		keys, err := r.entries(ctx, wanted)
		if err != nil {
			return err
		}
		fmt.Fprintf(r.Out, "release.core.convoy.kumodo.io/%s has taken over %s\n", wanted.Name, objectsOf(len(keys)))
	}
	fmt.Fprintf(r.ErrOut, "%s stays, stopped; to delete it and nothing that it delivered: %s\n", h.Name(),
		wayout.Command(h.Old.GetNamespace(), "migrate", r.toolName, strings.ToLower(h.kind.name)+"/"+h.Old.GetName(), "--remove"))
	return nil
}

func objectsOf(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}

// entries gives the objects that a Release has in its inventory.
func (r *migrationRun) entries(ctx context.Context, release *corev1alpha1.Release) ([]corev1alpha1.ObjectKey, error) {
	pages, err := inventory(ctx, r.api, release.Namespace, release.Name)
	if err != nil {
		return nil, err
	}
	var keys []corev1alpha1.ObjectKey
	for i := range pages {
		for _, entry := range pages[i].Spec.Entries {
			if entry.UID != "" {
				keys = append(keys, entry.ObjectKey)
			}
		}
	}
	return keys, nil
}

// patchOld writes to an object of another tool.
func (r *migrationRun) patchOld(ctx context.Context, object chosen, patch map[string]any) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	return r.client.Resource(object.kind.resource).Namespace(object.GetNamespace()).Patch(ctx, object.GetName(),
		types.MergePatchType, data, metav1.PatchOptions{FieldManager: migrationManager})
}
