// SPDX-License-Identifier: Apache-2.0

// Package source is what the controllers of GitRepositories, HelmRegistries and
// OCIRegistries have in common: they check at intervals that a source can be reached and
// accepts the credentials, and write what they learnt into its status. They fetch no
// content.
package source
