// SPDX-License-Identifier: Apache-2.0

// Package expressions compiles and evaluates the CEL expressions that users write: conditions and
// messages of health rules, and spec.dependsOn[].readyExpr of a Release. It has the standard library
// of CEL, its extensions, and the libraries that Kubernetes has in CustomResourceDefinitions.
//
// Who writes an expression need not be trusted: every one is bounded in time and memory, compiled
// and evaluated. Its text is at most [MaxBytes] long and, with its macros expanded, at most [MaxNodes]
// parts large. An evaluation has a budget of [Budget] units, from which every turn of a loop and every
// call of a function takes what it will cost before it is made; see costs.go. A unit is worth about ten
// bytes read, or one part of an expression, and never allocates more than some hundred bytes.
package expressions
