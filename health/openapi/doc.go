// SPDX-License-Identifier: Apache-2.0

// Package openapi reads which fields the objects of a kind have: from the OpenAPI v3 that API
// servers publish, and from CustomResourceDefinitions. Of a schema it keeps what tells the
// type of a value in an object as it is read, and nothing of what is valid: a date is a text.
package openapi
