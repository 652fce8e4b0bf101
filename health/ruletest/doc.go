// SPDX-License-Identifier: Apache-2.0

// Package ruletest judges objects by rule sets, both read from files: as convoy-observer
// would judge them, without a cluster. Rules are checked as when they are written to one.
package ruletest
