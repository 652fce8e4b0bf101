// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
	"kumodo.io/convoy/kubectl-convoy/internal/naming"
	"kumodo.io/convoy/kubectl-convoy/internal/wayout"
)

// compare asks convoy what a sync would change, which has to be nothing but labels and
// annotations, and whether everything that the tool has applied is in it.
func (r *migrationRun) compare(ctx context.Context, h *handover) error {
	if h.suspended() {
		return nil
	}
	var differences []string
	var rendered []corev1alpha1.ObjectKey
	for _, release := range h.releases {
		preview, err := r.preview(ctx, release)
		if err != nil {
			return err
		}
		for i := range preview.Objects {
			object := &preview.Objects[i]
			rendered = append(rendered, object.ObjectKey)
			if text := difference(object); text != "" {
				differences = append(differences, text)
			}
			differences = append(differences, unheard(object)...)
		}
	}
	was, known, err := r.tool.applied(h.Old, r.reader)
	if err != nil {
		return err
	}
	if !known {
		fmt.Fprintf(r.ErrOut, "%s does not tell what it has applied: whether convoy has all of it is not known\n", h.Name())
	}
	for _, key := range migrate.Missing(was, rendered) {
		differences = append(differences, naming.Object(key)+" would be left behind: it is not in what convoy renders")
	}
	if len(differences) == 0 {
		return nil
	}
	for _, text := range differences {
		fmt.Fprintf(r.ErrOut, "%s: %s\n", h.Name(), text)
	}
	if r.allowChanges {
		return nil
	}
	return fmt.Errorf("convoy would change what is there, as is told above: make the Release render the same, or give --allow-changes if that is meant. "+
		"Nothing was taken over; Release %s stays in sync mode manual: %s", fullName(h.releases[0]), wayout.Command(h.releases[0].Namespace, "preview", h.releases[0].Name))
}

// preview asks for what a sync of a Release would do, until its content is there or cannot be
// had.
func (r *migrationRun) preview(ctx context.Context, release *corev1alpha1.Release) (*corev1alpha1.ReleasePreview, error) {
	var preview *corev1alpha1.ReleasePreview
	var last error // of the last question that was answered
	releases := r.api.CoreV1alpha1().Releases(release.Namespace)
	err := pollFor(ctx, time.Second, r.timeout, func(ctx context.Context) (bool, error) {
		answer, err := releases.Preview(ctx, release.Name, corev1alpha1.ReleasePreviewOptions{})
		switch {
		case err == nil:
			preview = answer
			return true, nil
		case ctx.Err() != nil:
			return false, err
		}
		last = err
		now, err := releases.Get(ctx, release.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, name := range []string{corev1alpha1.ConditionSourceReady, corev1alpha1.ConditionRendered} {
			condition := meta.FindStatusCondition(now.Status.Conditions, name)
			if condition != nil && condition.Status == metav1.ConditionFalse && condition.ObservedGeneration == now.Generation {
				return false, fmt.Errorf("%s: %s", condition.Reason, condition.Message)
			}
		}
		return false, nil
	})
	if wait.Interrupted(err) && last != nil {
		err = last
	}
	if err != nil {
		return nil, fmt.Errorf("Release %s cannot be rendered: %w. Nothing was taken over", fullName(release), err)
	}
	return preview, nil
}

// difference says how a sync would change an object; "" for nothing but labels and annotations.
func difference(object *corev1alpha1.ObjectPreview) string {
	name := naming.Object(object.ObjectKey)
	if object.Hook != "" {
		return fmt.Sprintf("%s would run, for hook %s", name, object.Hook)
	}
	switch object.Action {
	case corev1alpha1.ActionUnchanged:
		return ""
	case corev1alpha1.ActionUpdate:
		var fields []string
		for _, change := range object.Changes {
			path := change.Path + "/"
			if !strings.HasPrefix(path, "/metadata/labels/") && !strings.HasPrefix(path, "/metadata/annotations/") {
				fields = append(fields, change.Path)
			}
		}
		if len(fields) == 0 {
			return ""
		}
		return fmt.Sprintf("%s would be changed: %s", name, strings.Join(fields, ", "))
	case corev1alpha1.ActionError:
		return fmt.Sprintf("%s cannot be compared: %s", name, object.Message)
	}
	return fmt.Sprintf("%s would be %sd", name, object.Action)
}

// foreign are annotations on what is delivered that say to other tools what convoy has to be told
// in another way: a part of the value, and the way.
var foreign = map[string]map[string]string{
	"argocd.argoproj.io/sync-options": {
		"Prune=false":  "convoy.kumodo.io/prune: disabled",
		"Delete=false": "convoy.kumodo.io/prune: disabled",
	},
	"argocd.argoproj.io/hook": {
		"": "a hook of Helm, or spec.lifecycle.hooks of the Release",
	},
	"kustomize.toolkit.fluxcd.io/reconcile": {
		"disabled": "spec.drift.ignore of the Release for all its fields, or take the object out of the source",
	},
	"kustomize.toolkit.fluxcd.io/ssa": {
		"": "spec.drift.ignore of the Release for the fields that others write",
	},
}

// unheard lists what an object says to another tool and convoy does not hear.
func unheard(object *corev1alpha1.ObjectPreview) []string {
	if object.Object == nil {
		return nil
	}
	var metadata struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(object.Object.Raw, &metadata); err != nil {
		return nil
	}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(foreign)) {
		value, has := metadata.Metadata.Annotations[key]
		if !has {
			continue
		}
		for _, part := range slices.Sorted(maps.Keys(foreign[key])) {
			if strings.Contains(value, part) {
				all = append(all, fmt.Sprintf("%s has the annotation %s: %s, which convoy does not hear: it takes %s", naming.Object(object.ObjectKey), key, value, foreign[key][part]))
			}
		}
	}
	return all
}

var errNotHandedOver = errors.New("it was not handed over: do that with --apply")
