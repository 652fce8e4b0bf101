// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	extlisters "kumodo.io/convoy/client/listers/extensions/v1alpha1"
	"kumodo.io/convoy/health"
	"kumodo.io/convoy/internal/controller/base"
)

// RuleSetController says in the conditions of HealthRuleSets and GlobalHealthRuleSets
// whether their expressions compile. Its key is the name; a global one has no namespace.
type RuleSetController struct {
	Client versioned.Interface
	Sets   extlisters.HealthRuleSetLister
	Global extlisters.GlobalHealthRuleSetLister
}

// Reconcile writes the condition Ready of one rule set.
func (c *RuleSetController) Reconcile(ctx context.Context, key types.NamespacedName) (base.Result, error) {
	if key.Namespace == "" {
		return base.Result{}, ignoreNotFound(c.global(ctx, key.Name))
	}
	return base.Result{}, ignoreNotFound(c.local(ctx, key))
}

func (c *RuleSetController) local(ctx context.Context, key types.NamespacedName) error {
	set, err := c.Sets.HealthRuleSets(key.Namespace).Get(key.Name)
	if err != nil {
		return err
	}
	status := ruleSetStatus(set.Spec.Rules, set.Status, set.Generation)
	if equality.Semantic.DeepEqual(status, set.Status) {
		return nil
	}
	set = set.DeepCopy()
	set.Status = status
	_, err = c.Client.ExtensionsV1alpha1().HealthRuleSets(key.Namespace).UpdateStatus(ctx, set, metav1.UpdateOptions{})
	return err
}

func (c *RuleSetController) global(ctx context.Context, name string) error {
	set, err := c.Global.Get(name)
	if err != nil {
		return err
	}
	status := ruleSetStatus(set.Spec.Rules, set.Status, set.Generation)
	if equality.Semantic.DeepEqual(status, set.Status) {
		return nil
	}
	set = set.DeepCopy()
	set.Status = status
	_, err = c.Client.ExtensionsV1alpha1().GlobalHealthRuleSets().UpdateStatus(ctx, set, metav1.UpdateOptions{})
	return err
}

func ruleSetStatus(rules []extv1alpha1.HealthRule, old extv1alpha1.HealthRuleSetStatus, generation int64) extv1alpha1.HealthRuleSetStatus {
	status := *old.DeepCopy()
	status.ObservedGeneration = generation
	if known := meta.FindStatusCondition(status.Conditions, conditionMistyped); known != nil && known.ObservedGeneration != generation {
		meta.RemoveStatusCondition(&status.Conditions, conditionMistyped)
	}
	condition := metav1.Condition{
		Type: corev1alpha1.ConditionReady, ObservedGeneration: generation,
		Status: metav1.ConditionTrue, Reason: corev1alpha1.ReasonReady,
		Message: fmt.Sprintf("all expressions compile; rules: %d", len(rules)),
	}
	if _, errs := health.Compile(rules, "", field.NewPath("spec", "rules")); len(errs) > 0 {
		condition.Status = metav1.ConditionFalse
		condition.Reason = corev1alpha1.ReasonInvalidConfiguration
		condition.Message = shorten(errs.ToAggregate().Error())
	}
	meta.SetStatusCondition(&status.Conditions, condition)
	return status
}

// longestMessage is the most that a condition of this process says; the API allows 32 KiB.
const longestMessage = 2048

func shorten(message string) string { return shortenTo(message, longestMessage) }

func shortenTo(message string, limit int) string {
	if len(message) <= limit {
		return message
	}
	return strings.ToValidUTF8(message[:limit], "") + "…"
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
