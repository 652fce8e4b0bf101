// SPDX-License-Identifier: Apache-2.0

//go:build convoy_without_gar

package cloud

// logIntoGoogle was left out.
var logIntoGoogle login
