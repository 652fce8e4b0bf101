// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
)

// renamed are the keys that Flux has under older names.
var renamed = map[string]string{
	"caFile": sourcev1alpha1.SecretKeyCACert, "certFile": sourcev1alpha1.SecretKeyTLSCert, "keyFile": sourcev1alpha1.SecretKeyTLSKey,
}

// secret gives the reference to a Secret with what the named ones of Flux have together; nil
// when none is named. A single one of the Release's namespace that convoy can read as it is is
// taken itself; otherwise a new one is made, of the name to. With a suffix, keys have to
// end in it, or in .gpg.
func (c *conversion) secret(to, namespace, suffix string, names ...string) (*sourcev1alpha1.SecretReference, error) {
	data := map[string][]byte{}
	var found []*unstructured.Unstructured
	asIs := namespace == c.release.Namespace
	var name string
	for _, one := range names {
		if one == "" {
			continue
		}
		asIs = asIs && name == ""
		name = one
		secret, err := c.reader.Get(migrate.SecretKind, namespace, name)
		if err != nil {
			return nil, err
		}
		if secret == nil {
			c.Unmapped("spec", fmt.Sprintf("Secret %s/%s does not exist", namespace, name))
			continue
		}
		found = append(found, secret)
		content, err := migrate.SecretData(secret)
		if err != nil {
			return nil, err
		}
		for key, value := range content {
			read := key
			if other, ok := renamed[key]; ok {
				read = other
			}
			if suffix != "" && !strings.HasSuffix(key, suffix) && !strings.HasSuffix(key, ".gpg") {
				read += suffix
			}
			asIs = asIs && read == key
			data[read] = value
		}
	}
	if name == "" {
		return nil, nil
	}
	if asIs || len(found) == 0 {
		return &sourcev1alpha1.SecretReference{Name: name}, nil
	}
	kind := corev1.SecretTypeOpaque
	if len(found) == 1 && found[0].Object["type"] == string(corev1.SecretTypeDockerConfigJson) {
		kind = corev1.SecretTypeDockerConfigJson
	}
	return &sourcev1alpha1.SecretReference{Name: c.Secret(c.release.Namespace, to, kind, data)}, nil
}
