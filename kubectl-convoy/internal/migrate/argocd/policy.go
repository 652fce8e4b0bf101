// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"strings"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
)

// policy maps syncPolicy; automated is as it was before a migration.
func (c *conversion) policy(f *migrate.Fields, was Was) {
	f.Drop("automated")
	automated := migrate.Read(f.Path("automated"), was.Automated, &c.Findings)
	enabled, set := automated.Bool("enabled")
	spec := &c.template
	if was.Automated == nil || set && !enabled {
		spec.Sync.Mode = corev1alpha1.SyncModeManual
	} else if !automated.True("selfHeal") {
		spec.Drift = &corev1alpha1.DriftSpec{Mode: corev1alpha1.DriftModeDisabled}
	}
	if !automated.True("prune") {
		spec.Sync.Prune = new(bool)
		c.Note(f.Path("automated.prune"), "is not true, and so nothing is pruned, by a sync that a person requests neither: spec.sync.prune")
	}
	spec.Sync.AllowEmpty = automated.True("allowEmpty")
	automated.Drop("selfHeal")
	automated.Rest()
	for _, option := range f.Texts("syncOptions") {
		c.option(option)
	}
	c.retry(f.In("retry"))
	f.Unmapped("managedNamespaceMetadata", "labels of the namespace are not set: deliver the Namespace itself")
	f.Rest()
	if len(was.Finalizers) == 0 {
		spec.DeletionPolicy = corev1alpha1.DeletionPolicyOrphan
	}
}

func (c *conversion) retry(f *migrate.Fields) {
	limit := f.Int("limit")
	backoff := f.In("backoff")
	first, longest := backoff.Duration("duration"), backoff.Duration("maxDuration")
	if factor := backoff.Int("factor"); factor != nil && *factor != 2 {
		c.Note(backoff.Path("factor"), "is not 2: waits double each time")
	}
	backoff.Rest()
	f.Drop("refresh") // what is newer always takes the place of what failed
	f.Rest()
	if limit == nil && first == nil && longest == nil {
		return
	}
	retry := &corev1alpha1.RetrySpec{InitialBackoff: first, MaxBackoff: longest}
	if limit != nil {
		count := int32(max(min(*limit, 1_000_000), -1))
		retry.Limit = &count
	}
	c.template.Sync.Retry = retry
}

// option maps one of syncOptions.
func (c *conversion) option(text string) {
	name, value, _ := strings.Cut(text, "=")
	spec := &c.template
	switch {
	case name == "CreateNamespace":
		spec.CreateNamespace = value == "true"
	case text == "Prune=false":
		spec.Sync.Prune = new(bool)
	case text == "Delete=false":
		spec.DeletionPolicy = corev1alpha1.DeletionPolicyOrphan
	case text == "Replace=true", text == "Force=true":
		spec.Sync.Replace = corev1alpha1.ReplaceOnImmutable
		c.Note("spec.syncPolicy.syncOptions", text+": objects are applied, and replaced only where a field that cannot be changed did")
	case text == "Validate=false":
		c.Note("spec.syncPolicy.syncOptions", text+": the API server checks objects always")
	case value == "false":
	default:
		switch name {
		// What convoy does anyway, or has no need for.
		case "ServerSideApply", "PruneLast", "ApplyOutOfSyncOnly", "RespectIgnoreDifferences", "FailOnSharedResource",
			"SkipDryRunOnMissingResource", "PrunePropagationPolicy", "Validate", "ClientSideApplyMigration", "Prune", "Delete":
		default:
			c.Unmapped("spec.syncPolicy.syncOptions", fmt.Sprintf("%s has no counterpart that this version of kubectl convoy knows", text))
		}
	}
}
