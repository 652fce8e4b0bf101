// SPDX-License-Identifier: Apache-2.0

// Package certs makes the keys and certificates of a throw-away cluster and
// writes them, and the kubeconfigs that use them, as files. It is for tests and
// demonstrations: keys lie unencrypted in the folder they were asked for, and
// nothing is ever renewed or revoked.
package certs
