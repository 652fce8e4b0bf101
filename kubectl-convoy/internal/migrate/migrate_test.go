// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate/golden"
)

func TestRelative(t *testing.T) {
	for _, test := range []struct{ folder, file, want string }{
		{"", "a.yaml", "a.yaml"},
		{"./charts/web/", "charts/web/a.yaml", "a.yaml"},
		{"charts/web", "charts/db/a.yaml", "../db/a.yaml"},
		{"charts/web", "/env/a.yaml", "../../env/a.yaml"},
		{"charts", "charts", "../charts"},
		{"a", "../../b", "../b"}, // nothing is above the root
	} {
		NewWithT(t).Expect(migrate.Relative(test.folder, test.file)).To(Equal(test.want), "%s from %s", test.file, test.folder)
	}
}

func TestMissing(t *testing.T) {
	g := NewWithT(t)
	key := func(version, namespace, name string) corev1alpha1.ObjectKey {
		return corev1alpha1.ObjectKey{Group: "apps", Version: version, Kind: "Deployment", Namespace: namespace, Name: name}
	}
	is := []corev1alpha1.ObjectKey{key("v1", "shop", "web"), key("v1", "shop", "db")}
	g.Expect(migrate.Missing([]corev1alpha1.ObjectKey{key("v1beta1", "shop", "web"), key("v1", "", "db")}, is)).To(BeEmpty(), "versions and absent namespaces do not count")
	g.Expect(migrate.Missing([]corev1alpha1.ObjectKey{key("v1", "other", "web"), key("v1", "shop", "gone")}, is)).To(HaveExactElements(key("v1", "other", "web"), key("v1", "shop", "gone")))
}

func TestWhatSeveralMigrationsNeed(t *testing.T) {
	g := NewWithT(t)
	needing := func(name, key string) *migrate.Migration {
		m := &migrate.Migration{Old: golden.Object(t, "{apiVersion: example.com/v1, kind: X, metadata: {namespace: shop, name: "+name+"}}")}
		m.Secret("shop", "login", corev1.SecretTypeOpaque, map[string][]byte{key: []byte("x")})
		return m
	}
	objects, err := migrate.Support([]*migrate.Migration{needing("a", "k"), needing("b", "k")})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects).To(HaveLen(1))
	_, err = migrate.Support([]*migrate.Migration{needing("a", "k"), needing("b", "other")})
	g.Expect(err).To(MatchError("X shop/a and X shop/b need different objects Secret shop/login: migrate them one after the other, and rename one"))
}

func TestFieldsOfAnotherType(t *testing.T) {
	g := NewWithT(t)
	var findings migrate.Findings
	f := migrate.Read("spec", map[string]any{"text": int64(1), "number": "x", "duration": "soon", "texts": []any{int64(1)}, "off": false, "new": "x"}, &findings)
	f.Text("text")
	f.Int("number")
	f.Duration("duration")
	f.Texts("texts")
	f.Rest()
	g.Expect(findings).To(HaveExactElements(
		HaveField("Field", "spec.text"), HaveField("Field", "spec.number"), HaveField("Field", "spec.duration"), HaveField("Field", "spec.texts"),
		HaveField("Field", "spec.new"),
	))
	g.Expect(findings.Lost()).To(BeTrue())
}
