// SPDX-License-Identifier: Apache-2.0

package check

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const day = 24 * time.Hour

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// pemOf gives a certificate, of which some time is left of its whole life.
func pemOf(t *testing.T, left, life time.Duration) []byte {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	end := now.Add(left)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: end.Add(-life), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestCertificates(t *testing.T) {
	type judge = func(what, do string, bundle []byte, now time.Time) Check
	long, ending, ended := pemOf(t, 200*day, 365*day), pemOf(t, 10*day, 365*day), pemOf(t, -day, 365*day)
	for _, test := range []struct {
		name   string
		judge  judge
		bundle []byte
		status Status
		want   string
	}{
		{"one authority goes on", Authorities, append(ended, long...), OK, "valid until 2026-09-17"},
		{"each authority ends", Authorities, append(ended, ending...), Failed, "expires on 2026-03-11, and should have been replaced before"},
		{"a server's, with an authority that goes on", Certificate, append(ending, long...), Failed, "expires on 2026-03-11"},
		{"a server's, that ended", Certificate, append(ended, long...), Failed, "expired on 2026-02-28"},
		{"a server's, before an authority that ends", Certificate, append(long, ending...), OK, "valid until 2026-09-17"},
		{"a short one in time", Certificate, pemOf(t, 2*day, 7*day), OK, "valid until 2026-03-03"},
		{"a short one too late", Certificate, pemOf(t, day, 7*day), Failed, "expires on 2026-03-02"},
		{"a key before it", Certificate, append([]byte("-----BEGIN X-----\nYQ==\n-----END X-----\n"), long...), OK, "valid until"},
		{"none", Certificate, []byte("x"), Failed, "has no certificate"},
		{"no authority", Authorities, nil, Failed, "has no certificate"},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(test.judge("it", "renew it", test.bundle, now)).To(And(HaveField("Status", test.status), HaveField("Message", ContainSubstring(test.want))))
		})
	}
}

func TestObjects(t *testing.T) {
	ready := func(status metav1.ConditionStatus, generation int64) []metav1.Condition {
		return []metav1.Condition{{Type: "Ready", Status: status, Reason: "Why", Message: "so", ObservedGeneration: generation}}
	}
	for _, test := range []struct {
		name   string
		object Object
		status Status
		want   string
	}{
		{"ready", Object{Conditions: ready(metav1.ConditionTrue, 2)}, OK, "1 Clusters answer"},
		{"not ready", Object{Conditions: ready(metav1.ConditionFalse, 2)}, Failed, "Cluster shop/edge: Why: so"},
		{"not known", Object{Conditions: ready(metav1.ConditionUnknown, 2)}, Failed, "Cluster shop/edge: Why: so"},
		{"changed since", Object{Conditions: ready(metav1.ConditionTrue, 1)}, Failed, "Cluster shop/edge was changed, and nobody has looked at it yet"},
		{"without Ready", Object{Conditions: []metav1.Condition{{Type: "Other", Status: metav1.ConditionTrue}}}, Failed, "Cluster shop/edge: nobody has looked at it yet"},
		{"suspended", Object{Suspended: true}, OK, "0 Clusters answer, 1 suspended"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.object.Kind, test.object.Namespace, test.object.Name, test.object.Generation = "Cluster", "shop", "edge", 2
			NewWithT(t).Expect(Objects("Clusters", []Object{test.object})).To(ConsistOf(And(HaveField("Status", test.status), HaveField("Message", test.want))))
		})
	}
}

func TestRightsThatAnInstallationTakes(t *testing.T) {
	g := NewWithT(t)
	const rbac = "rbac.authorization.k8s.io"
	for _, right := range []authorizationv1.ResourceAttributes{
		{Verb: "create", Group: rbac, Resource: "rolebindings", Namespace: "kube-system"},
		{Verb: "bind", Group: rbac, Resource: "roles", Namespace: "kube-system"},
		{Verb: "bind", Group: rbac, Resource: "clusterroles"}, {Verb: "escalate", Group: rbac, Resource: "clusterroles"},
		{Verb: "create", Group: "networking.k8s.io", Resource: "networkpolicies", Namespace: "convoy-system"},
		{Verb: "create", Group: "batch", Resource: "jobs", Namespace: "convoy-system"},
		{Verb: "create", Resource: "configmaps", Namespace: "convoy-system"},
	} {
		g.Expect(NeededToInstall("convoy-system")).To(ContainElement(right))
	}
}
