// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// HealthRuleSet holds rules of health for the Releases of its namespace. They go before
// those of a GlobalHealthRuleSet and before what convoy knows itself.
type HealthRuleSet struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec holds the rules.
	// +optional
	Spec HealthRuleSetSpec `json:"spec,omitempty"`
	// status says whether the rules can be used.
	// +optional
	Status HealthRuleSetStatus `json:"status,omitempty"`
}

// HealthRuleSetSpec holds rules of health.
type HealthRuleSetSpec struct {
	// rules, of which the first that matches an object decides.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchStrategy=merge
	// +patchMergeKey=name
	Rules []HealthRule `json:"rules,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
}

// HealthRule decides the health of the objects that it matches. The expressions are CEL
// over `object`; they are tried in the order degraded, suspended, healthy, progressing,
// and the first that is true decides. An object for which none is true is progressing.
type HealthRule struct {
	// name of the rule, unique in the set.
	Name string `json:"name"`
	// target says which objects the rule is for.
	Target HealthRuleTarget `json:"target"`
	// healthy is true when the object does what it is there for.
	// +optional
	Healthy string `json:"healthy,omitempty"`
	// progressing is true while the object is on its way.
	// +optional
	Progressing string `json:"progressing,omitempty"`
	// degraded is true when the object has failed.
	// +optional
	Degraded string `json:"degraded,omitempty"`
	// suspended is true when the object is paused on purpose.
	// +optional
	Suspended string `json:"suspended,omitempty"`
	// message gives the text that is shown, a CEL expression of type string.
	// +optional
	Message string `json:"message,omitempty"`
}

// HealthRuleTarget says which objects a rule is for.
type HealthRuleTarget struct {
	// group of the object's API; empty for the core group.
	// +optional
	Group string `json:"group,omitempty"`
	// version of the object's API; every version when empty.
	// +optional
	Version string `json:"version,omitempty"`
	// kind of the object.
	Kind string `json:"kind"`
	// labelSelector over the object's labels.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// HealthRuleSetStatus says whether rules can be used.
type HealthRuleSetStatus struct {
	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions: Ready is True when every expression compiles.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// HealthRuleSetList is a list of HealthRuleSets.
type HealthRuleSetList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the HealthRuleSets.
	Items []HealthRuleSet `json:"items"`
}

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// GlobalHealthRuleSet holds rules of health for the Releases of every namespace.
type GlobalHealthRuleSet struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec holds the rules.
	// +optional
	Spec HealthRuleSetSpec `json:"spec,omitempty"`
	// status says whether the rules can be used.
	// +optional
	Status HealthRuleSetStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// GlobalHealthRuleSetList is a list of GlobalHealthRuleSets.
type GlobalHealthRuleSetList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the GlobalHealthRuleSets.
	Items []GlobalHealthRuleSet `json:"items"`
}
