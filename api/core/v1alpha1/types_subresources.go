// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// +k8s:conversion-gen:explicit-from=net/url.Values
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ReleaseSyncOptions are the query parameters of POST …/sync.
type ReleaseSyncOptions struct {
	metav1.TypeMeta `json:",inline"`
	// force applies every object again, and recreates one whose immutable field changed.
	// +optional
	Force bool `json:"force,omitempty"`
	// dryRun, when it is All, asks for nothing: the answer is the Release as it would be.
	// +optional
	// +listType=atomic
	DryRun []string `json:"dryRun,omitempty"`
}

// +k8s:conversion-gen:explicit-from=net/url.Values
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ReleasePreviewOptions are the query parameters of GET …/preview.
type ReleasePreviewOptions struct {
	metav1.TypeMeta `json:",inline"`
	// revision of the source to preview; by default what a sync would take now.
	// +optional
	Revision string `json:"revision,omitempty"`
	// force previews a forced sync, which recreates objects whose immutable fields changed, and
	// runs hooks afresh.
	// +optional
	Force bool `json:"force,omitempty"`
}

// +k8s:conversion-gen:explicit-from=net/url.Values
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ReleaseDiffOptions are the query parameters of GET …/diff.
type ReleaseDiffOptions struct {
	metav1.TypeMeta `json:",inline"`
	// from is one side: live, desired, a render's digest or a history id. Defaults to live.
	// +optional
	From string `json:"from,omitempty"`
	// to is the other side: live, desired, a render's digest or a history id. Defaults to desired.
	// +optional
	To string `json:"to,omitempty"`
}

// +k8s:conversion-gen:explicit-from=net/url.Values
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ReleaseHealthOptions are the query parameters of GET …/health.
type ReleaseHealthOptions struct {
	metav1.TypeMeta `json:",inline"`
	// tree asks for what the objects own, too: ReplicaSets, Pods, Jobs.
	// +optional
	Tree bool `json:"tree,omitempty"`
}

// +k8s:conversion-gen:explicit-from=net/url.Values
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ReleaseHistoryOptions are the query parameters of GET …/history.
type ReleaseHistoryOptions struct {
	metav1.TypeMeta `json:",inline"`
	// id of one entry, which is then answered with its objects.
	// +optional
	ID string `json:"id,omitempty"`
}

// +k8s:conversion-gen:explicit-from=net/url.Values
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ReleaseValuesOptions are the query parameters of GET …/values.
type ReleaseValuesOptions struct {
	metav1.TypeMeta `json:",inline"`
	// revision of the source whose values are wanted; by default what a sync would take now.
	// +optional
	Revision string `json:"revision,omitempty"`
}

// ObjectAction is what a sync would do with an object.
// +enum
type ObjectAction string

const (
	// ActionCreate: the object does not exist.
	ActionCreate ObjectAction = "create"
	// ActionUpdate: the object differs.
	ActionUpdate ObjectAction = "update"
	// ActionUnchanged: the object is as desired.
	ActionUnchanged ObjectAction = "unchanged"
	// ActionRecreate: an immutable field differs; the object would be deleted and created.
	ActionRecreate ObjectAction = "recreate"
	// ActionDelete: the object left the render and would be pruned.
	ActionDelete ObjectAction = "delete"
	// ActionError: the comparison failed; the message says why.
	ActionError ObjectAction = "error"
)

// ReasonDenied is the reason of an object that an admission webhook or an admission policy of
// the target cluster refuses.
const ReasonDenied = "Denied"

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ReleasePreview is the answer of GET …/preview: what a sync would apply now. Values of
// Secrets are masked; that one changed is still visible.
type ReleasePreview struct {
	metav1.TypeMeta `json:",inline"`
	// metadata carries the Release's namespace and name.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// revision of the source.
	// +optional
	Revision string `json:"revision,omitempty"`
	// render is the digest of the render.
	// +optional
	Render string `json:"render,omitempty"`
	// plan is a digest of the render and of what would be done with which object, in which
	// fields: two previews with the same plan announce the same sync.
	// +optional
	Plan string `json:"plan,omitempty"`
	// objects, in the order in which they would be applied; those to be pruned last.
	// +listType=atomic
	Objects []ObjectPreview `json:"objects"`
}

// ObjectPreview is what a sync would do with one object.
type ObjectPreview struct {
	ObjectKey `json:",inline"`
	// action is create, update, unchanged, recreate, delete or error.
	Action ObjectAction `json:"action"`
	// stage in which it would happen.
	// +optional
	Stage int32 `json:"stage,omitempty"`
	// hook is the name of the hook whose object this is.
	// +optional
	Hook string `json:"hook,omitempty"`
	// simulated is true when the cluster could not be asked, because the object's kind or
	// namespace is created by the same sync.
	// +optional
	Simulated bool `json:"simulated,omitempty"`
	// object as it would be applied; absent for delete.
	// +optional
	Object *runtime.RawExtension `json:"object,omitempty"`
	// changes are the fields that would change.
	// +optional
	// +listType=atomic
	Changes []FieldChange `json:"changes,omitempty"`
	// message of an error, or a remark.
	// +optional
	Message string `json:"message,omitempty"`
	// reason of an error, or of why a sync would fail with the object: Denied by admission,
	// Forbidden, ImmutableField, ApplyConflict with other field managers, OwnershipConflict with
	// another Release, UnknownKind, InvalidObjects.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// FieldChange is one field that differs.
type FieldChange struct {
	// path of the field, as a JSON pointer (RFC 6901).
	Path string `json:"path"`
	// from is the JSON of the value before; absent when the field is new. Masked in Secrets.
	// +optional
	From string `json:"from,omitempty"`
	// to is the JSON of the value after; absent when the field goes. Masked in Secrets.
	// +optional
	To string `json:"to,omitempty"`
	// manager is the field manager that owns the field, where it is another than convoy.
	// +optional
	Manager string `json:"manager,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ReleaseDiff is the answer of GET …/diff. Values of Secrets are masked.
type ReleaseDiff struct {
	metav1.TypeMeta `json:",inline"`
	// metadata carries the Release's namespace and name.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// from says what the left side is.
	From string `json:"from"`
	// to says what the right side is.
	To string `json:"to"`
	// changed is true when any object differs or could not be compared.
	Changed bool `json:"changed"`
	// objects that differ or could not be compared.
	// +listType=atomic
	Objects []ObjectDiff `json:"objects"`
}

// ObjectDiff is how one object differs.
type ObjectDiff struct {
	ObjectKey `json:",inline"`
	// action is what a sync would do: create, update, recreate, delete or error.
	Action ObjectAction `json:"action"`
	// changes are the fields that differ.
	// +optional
	// +listType=atomic
	Changes []FieldChange `json:"changes,omitempty"`
	// unified is the difference as a unified diff of YAML.
	// +optional
	Unified string `json:"unified,omitempty"`
	// message of an error, or a remark.
	// +optional
	Message string `json:"message,omitempty"`
	// reason of an error, or of why a sync would fail with the object: Denied by admission,
	// Forbidden, ImmutableField, ApplyConflict with other field managers, OwnershipConflict with
	// another Release, UnknownKind, InvalidObjects.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ReleaseHealth is the answer of GET …/health: the health of each object, with the rule
// that decided.
type ReleaseHealth struct {
	metav1.TypeMeta `json:",inline"`
	// metadata carries the Release's namespace and name.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// status is the worst of the objects.
	Status HealthStatus `json:"status"`
	// summary counts the objects by health.
	Summary HealthSummary `json:"summary"`
	// objects with their health.
	// +listType=atomic
	Objects []ObjectHealthDetail `json:"objects"`
}

// ObjectHealthDetail is the health of one object, with the rule that decided.
type ObjectHealthDetail struct {
	ObjectHealth `json:",inline"`
	// rule that decided, for example builtin/apps/Deployment or HealthRuleSet/web/ready.
	Rule string `json:"rule"`
	// children are the objects that this one owns, when they are asked for. They do not count.
	// Where some may not be listed, one with the name * says so.
	// +optional
	// +listType=atomic
	Children []ObjectHealthDetail `json:"children,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ReleaseHistory is the answer of GET …/history: past renders and their outcomes.
type ReleaseHistory struct {
	metav1.TypeMeta `json:",inline"`
	// metadata carries the Release's namespace and name.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// entries, newest first.
	// +listType=atomic
	Entries []HistoryEntry `json:"entries"`
	// objects of the one entry that was asked for, as they were rendered; values of Secrets
	// are masked.
	// +optional
	// +listType=atomic
	Objects []runtime.RawExtension `json:"objects,omitempty"`
}

// ValueOriginKind is what kind of source set a value of a chart.
// +enum
type ValueOriginKind string

const (
	// ValueOriginChart is a default of the chart or of a subchart: name is its values.yaml,
	// with the charts that it is a subchart of.
	ValueOriginChart ValueOriginKind = "Chart"
	// ValueOriginChartImport is what stands in no file: what a chart takes over from a
	// subchart (import-values), and the empty globals that Helm gives to subcharts.
	ValueOriginChartImport ValueOriginKind = "ChartImport"
	// ValueOriginFile is a file of spec.render.helm.valuesFiles: name is the file.
	ValueOriginFile ValueOriginKind = "File"
	// ValueOriginConfigMap is a key of a ConfigMap of valuesFrom.
	ValueOriginConfigMap ValueOriginKind = "ConfigMap"
	// ValueOriginSecret is a key of a Secret of valuesFrom: the value is masked.
	ValueOriginSecret ValueOriginKind = "Secret"
	// ValueOriginGitRepository is a file of a GitRepository of valuesFrom.
	ValueOriginGitRepository ValueOriginKind = "GitRepository"
	// ValueOriginOCIRegistry is a file of an OCIRegistry of valuesFrom.
	ValueOriginOCIRegistry ValueOriginKind = "OCIRegistry"
	// ValueOriginRelease is spec.render.helm.values.
	ValueOriginRelease ValueOriginKind = "Release"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ReleaseValues is the answer of GET …/values: the values that the chart of a Release is
// rendered with, and which source set each of them.
type ReleaseValues struct {
	metav1.TypeMeta `json:",inline"`
	// metadata carries the Release's namespace and name.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// revision of the source.
	// +optional
	Revision string `json:"revision,omitempty"`
	// values as a map: those of valuesFiles, valuesFrom and values over the defaults of the
	// chart, those of subcharts under the subcharts' names. What comes from a Secret is
	// masked.
	Values runtime.RawExtension `json:"values"`
	// origins of the values, in the order of their paths: one for each.
	// +listType=atomic
	Origins []ValueOrigin `json:"origins"`
}

// ValueOrigin says which source set a value: the last of those that have it.
type ValueOrigin struct {
	// path of the value: keys joined by dots, as in targetPath; a dot or backslash in a key
	// has a backslash before it. A list is a value as a whole, and so is an empty map.
	Path string `json:"path"`
	// kind of the source.
	Kind ValueOriginKind `json:"kind"`
	// name of the file, the object or the values.yaml; absent for Release and ChartImport.
	// +optional
	Name string `json:"name,omitempty"`
	// key in a ConfigMap or Secret; file in a GitRepository or OCIRegistry.
	// +optional
	Key string `json:"key,omitempty"`
}
