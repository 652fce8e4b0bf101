// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// The texts of the query parameters of subresources, for OpenAPI documents: those of types,
// which are made from the comments, do not reach parameters.

// SwaggerDoc gives the texts of the fields, by their names.
func (ReleaseSyncOptions) SwaggerDoc() map[string]string {
	return map[string]string{
		"force":  "force applies every object again, and recreates one whose immutable field changed.",
		"dryRun": "dryRun, when it is All, asks for nothing: the answer is the Release as it would be.",
	}
}

// SwaggerDoc gives the texts of the fields, by their names.
func (ReleasePreviewOptions) SwaggerDoc() map[string]string {
	return map[string]string{
		"revision": "revision of the source to preview; by default what a sync would take now.",
		"force":    "force previews a forced sync, which recreates objects whose immutable fields changed, and runs hooks afresh.",
	}
}

// SwaggerDoc gives the texts of the fields, by their names.
func (ReleaseHealthOptions) SwaggerDoc() map[string]string {
	return map[string]string{"tree": "tree asks for what the objects own, too: ReplicaSets, Pods, Jobs."}
}

// SwaggerDoc gives the texts of the fields, by their names.
func (ReleaseDiffOptions) SwaggerDoc() map[string]string {
	return map[string]string{
		"from": "from is one side: live, desired, a render's digest or a history id. Defaults to live.",
		"to":   "to is the other side: live, desired, a render's digest or a history id. Defaults to desired.",
	}
}

// SwaggerDoc gives the texts of the fields, by their names.
func (ReleaseHistoryOptions) SwaggerDoc() map[string]string {
	return map[string]string{"id": "id of one entry, which is then answered with its objects."}
}

// SwaggerDoc gives the texts of the fields, by their names.
func (ReleaseValuesOptions) SwaggerDoc() map[string]string {
	return map[string]string{"revision": "revision of the source whose values are wanted; by default what a sync would take now."}
}
