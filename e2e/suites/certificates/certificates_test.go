// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/framework/installation"
)

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

var names = []string{"v1alpha1.core.convoy.kumodo.io", "v1alpha1.source.convoy.kumodo.io", "v1alpha1.extensions.convoy.kumodo.io"}

var _ = Describe("an installation that makes its certificates itself", Ordered, func() {
	// keys are all that were in the Secret, for the logs.
	var keys []string
	keep := func(ctx context.Context) *corev1.Secret {
		secret := authority(ctx)
		keys = append(keys, string(secret.Data["tls.key"]))
		return secret
	}

	It("starts with an empty Secret", func(ctx SpecContext) {
		secret := keep(ctx)
		Expect(secret.Data).To(HaveLen(3))
		Expect(secret.Data["ca.crt"]).To(Equal(secret.Data["tls.crt"]))
		Eventually(ctx, serves(ctx)).Should(Succeed())
		Eventually(ctx, previews(ctx)).Should(Succeed())
	}, NodeTimeout(2*time.Minute))

	It("answers nobody at the observer but the apiserver", func(ctx SpecContext) {
		roots := x509.NewCertPool()
		Expect(roots.AppendCertsFromPEM(authority(ctx).Data["ca.crt"])).To(BeTrue())
		config := &tls.Config{RootCAs: roots, ServerName: "convoy-observer.convoy-system.svc"}
		connection, err := tls.Dial("tcp", suite.convoy.ObserverAddress(), config)
		if err == nil {
			_, err = connection.Read(make([]byte, 1))
			connection.Close()
		}
		Expect(err).To(MatchError(ContainSubstring("certificate required")))
	})

	It("needs no more rights than it has", func(ctx SpecContext) {
		for _, test := range []struct {
			verb, group, resource, namespace, name string
			want                                   bool
		}{
			{"watch", "", "secrets", system, installation.CertificateSecret, true},
			{"get", "", "secrets", system, "another", false},
			{"list", "", "secrets", system, "", false},
			{"create", "", "secrets", system, "", false},
			{"delete", "", "secrets", system, installation.CertificateSecret, false},
			{"get", "", "secrets", namespace, installation.CertificateSecret, false},
			{"patch", "apiregistration.k8s.io", "apiservices", "", names[0], true},
			{"patch", "apiregistration.k8s.io", "apiservices", "", "v1.apps", false},
			{"create", "apiregistration.k8s.io", "apiservices", "", names[0], false},
		} {
			review, err := suite.kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{
					User: "system:serviceaccount:" + system + ":" + installation.APIServer,
					ResourceAttributes: &authorizationv1.ResourceAttributes{
						Verb: test.verb, Group: test.group, Resource: test.resource, Namespace: test.namespace, Name: test.name,
					},
				},
			}, metav1.CreateOptions{})
			Expect(err).NotTo(HaveOccurred())
			Expect(review.Status.Allowed).To(Equal(test.want), "%+v", test)
		}
	})

	for _, test := range []struct {
		name string
		lose func(ctx context.Context, secret *corev1.Secret)
	}{
		{"emptied", func(ctx context.Context, secret *corev1.Secret) {
			change(ctx, func(data map[string][]byte) { clear(data) })
		}},
		{"damaged", func(ctx context.Context, secret *corev1.Secret) {
			change(ctx, func(data map[string][]byte) { data["tls.key"] = data["tls.key"][:100] })
		}},
		{"deleted", func(ctx context.Context, secret *corev1.Secret) {
			Expect(suite.kube.CoreV1().Secrets(system).Delete(ctx, secret.Name, metav1.DeleteOptions{})).To(Succeed())
		}},
	} {
		It("comes back by itself after the Secret was "+test.name, func(ctx SpecContext) {
			before := keep(ctx)
			test.lose(ctx, before)
			Eventually(ctx, func() ([]byte, error) {
				secret, err := suite.kube.CoreV1().Secrets(system).Get(ctx, before.Name, metav1.GetOptions{})
				if err != nil {
					return nil, err
				}
				return secret.Data["ca.crt"], nil
			}).Should(And(Not(BeEmpty()), Not(Equal(before.Data["ca.crt"]))))
			Eventually(ctx, serves(ctx)).Should(Succeed())
			Eventually(ctx, previews(ctx)).Should(Succeed())
			Expect(bytes.Contains(keep(ctx).Data["ca.crt"], before.Data["tls.crt"])).To(BeFalse(), "what was lost is not trusted any more")
		}, NodeTimeout(2*time.Minute))
	}

	It("goes on with the same authority after both were killed", func(ctx SpecContext) {
		before, serial := keep(ctx), leaf(ctx).SerialNumber
		for _, name := range []string{installation.APIServer, installation.Observer} {
			Expect(suite.convoy.Process(name).Kill()).To(Succeed())
		}
		for _, name := range []string{installation.Observer, installation.APIServer} {
			Expect(suite.convoy.Process(name).Restart(ctx)).To(Succeed())
		}
		Eventually(ctx, serves(ctx)).Should(Succeed())
		Eventually(ctx, previews(ctx)).Should(Succeed())
		Expect(keep(ctx).Data).To(Equal(before.Data))
		Expect(leaf(ctx).SerialNumber).NotTo(Equal(serial), "its own key was in its memory")
	}, NodeTimeout(2*time.Minute))

	It("logs no key", func() {
		for _, name := range []string{installation.APIServer, installation.Observer} {
			log, err := os.ReadFile(filepath.Join(suite.dir, "convoy", name+".log"))
			Expect(err).NotTo(HaveOccurred())
			Expect(string(log)).To(ContainSubstring("The certificate or what is trusted changed"))
			Expect(string(log)).NotTo(ContainSubstring("PRIVATE KEY"))
			for _, key := range keys {
				Expect(string(log)).NotTo(ContainSubstring(strings.Split(key, "\n")[1]))
				Expect(string(log)).NotTo(ContainSubstring(base64.StdEncoding.EncodeToString([]byte(key))[:60]))
			}
		}
	})
})

// change changes what the Secret holds, as a person would.
func change(ctx context.Context, edit func(data map[string][]byte)) {
	GinkgoHelper()
	Expect(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		secret := authority(ctx)
		edit(secret.Data)
		_, err := suite.kube.CoreV1().Secrets(system).Update(ctx, secret, metav1.UpdateOptions{})
		return err
	})).To(Succeed())
}

// serves asks whether the host passes requests of all groups on to the apiserver, which it
// knows by what the Secret says.
func serves(ctx context.Context) func() error {
	return func() error {
		for _, name := range names {
			service, err := suite.services.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			bundle, _, _ := unstructured.NestedString(service.Object, "spec", "caBundle")
			if bundle != base64.StdEncoding.EncodeToString(authority(ctx).Data["ca.crt"]) {
				return fmt.Errorf("%s has another caBundle", name)
			}
			group := strings.TrimPrefix(name, "v1alpha1.")
			if _, err := suite.kube.Discovery().ServerResourcesForGroupVersion(group + "/v1alpha1"); err != nil {
				return err
			}
		}
		return nil
	}
}

// previews asks for a preview, which the apiserver asks the observer for.
func previews(ctx context.Context) func() error {
	return func() error {
		preview, err := suite.api.CoreV1alpha1().Releases(namespace).Preview(ctx, release, corev1alpha1.ReleasePreviewOptions{})
		if err != nil {
			return err
		}
		if len(preview.Objects) != 1 {
			return errors.New("the preview does not show the object")
		}
		return nil
	}
}

// leaf is the serving certificate of the apiserver.
func leaf(ctx context.Context) *x509.Certificate {
	GinkgoHelper()
	roots := x509.NewCertPool()
	Expect(roots.AppendCertsFromPEM(authority(ctx).Data["ca.crt"])).To(BeTrue())
	address, err := url.Parse(suite.convoy.APIServerURL())
	Expect(err).NotTo(HaveOccurred())
	connection, err := tls.Dial("tcp", address.Host, &tls.Config{RootCAs: roots, ServerName: "convoy-apiserver.convoy-system.svc"})
	Expect(err).NotTo(HaveOccurred())
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0]
}
