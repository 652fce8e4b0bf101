// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Bounds of a HealthRuleSet or GlobalHealthRuleSet, beyond which it is refused.
const (
	// MaxRules of a set.
	MaxRules = 256
	// MaxExpressionBytes is how long an expression may be.
	MaxExpressionBytes = 2 << 10
	// MaxExpressionsBytes is how long all expressions of a set may be together.
	MaxExpressionsBytes = 64 << 10
)
