// SPDX-License-Identifier: Apache-2.0

//go:build convoy_without_ecr

package cloud

// logIntoAWS was left out.
var logIntoAWS login
