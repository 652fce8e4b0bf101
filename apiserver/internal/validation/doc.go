// SPDX-License-Identifier: Apache-2.0

// Package validation says what objects of convoy may hold. It finds all faults at once and
// names each by its field. It looks at one object at a time and asks nobody: whether what an
// object refers to exists is for the controllers to say, in conditions.
//
// Values that may hold credentials, as a URL may, are never repeated in an error.
package validation
