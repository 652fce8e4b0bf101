// SPDX-License-Identifier: Apache-2.0

// Package naming says how objects and revisions are written for people.
package naming

import (
	"strings"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// shownDigits is how many hex digits of a hash are written: enough to tell it from others.
const shownDigits = 12

// Object is how an object is written for people: Kind.group namespace/name.
func Object(key corev1alpha1.ObjectKey) string {
	kind, name := key.Kind, key.Name
	if key.Group != "" {
		kind += "." + key.Group
	}
	if key.Namespace != "" {
		name = key.Namespace + "/" + name
	}
	return kind + " " + name
}

// Path is how kubectl takes an object of a namespace: kind.group/name, in lower case.
func Path(group, kind, name string) string {
	kind = strings.ToLower(kind)
	if group != "" {
		kind += "." + group
	}
	return kind + "/" + name
}

// Identity is a key without the version, which is not part of an object's identity.
func Identity(key corev1alpha1.ObjectKey) corev1alpha1.ObjectKey {
	key.Version = ""
	return key
}

// Short shortens the hash at the end of a revision or digest to 12 digits.
func Short(revision string) string {
	at := strings.LastIndex(revision, ":")
	if at < 0 || len(revision)-at-1 <= shownDigits {
		return revision
	}
	return revision[:at+1+shownDigits]
}
