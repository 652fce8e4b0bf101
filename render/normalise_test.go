// SPDX-License-Identifier: Apache-2.0

package render

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestNormalise(t *testing.T) {
	tests := []struct {
		name        string
		given, want string
	}{
		{"stringData goes over data",
			"{apiVersion: v1, kind: Secret, stringData: {a: x, b: z, empty: ''}, data: {b: eQ==, c: eQ==}, immutable: true}",
			"{apiVersion: v1, kind: Secret, data: {a: eA==, b: eg==, c: eQ==, empty: ''}, immutable: true}"},
		{"stringData alone", "{apiVersion: v1, kind: Secret, stringData: {a: x}}", "{apiVersion: v1, kind: Secret, data: {a: eA==}}"},
		{"empty stringData", "{apiVersion: v1, kind: Secret, stringData: {}}", "{apiVersion: v1, kind: Secret}"},
		{"data null", "{apiVersion: v1, kind: Secret, stringData: {a: x}, data: null}", "{apiVersion: v1, kind: Secret, data: {a: eA==}}"},
		{"another group's Secret", "{apiVersion: ex.test/v1, kind: Secret, stringData: {a: x}}", "{apiVersion: ex.test/v1, kind: Secret, stringData: {a: x}}"},
		{"rules of an aggregated role",
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, aggregationRule: {clusterRoleSelectors: [{}]}, rules: []}",
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, aggregationRule: {clusterRoleSelectors: [{}]}}"},
		{"rules of another role",
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: []}",
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: []}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			given := parse(t, tt.given)
			g.Expect(normalised(given)).To(Equal(parse(t, tt.want)))
			g.Expect(given).To(Equal(parse(t, tt.given)), "the argument stays as it is")
		})
	}
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}
