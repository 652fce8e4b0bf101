// SPDX-License-Identifier: Apache-2.0

//go:build convoy_without_acr

package cloud

// logIntoAzure was left out.
var logIntoAzure login
