// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// outageVariable holds how long convoy-apiserver is away. The outcome does not depend on it,
// but what is told in the report does: the documentation was written after a minute.
const outageVariable = "CONVOY_E2E_OUTAGE"

// recovery is how long everything may take to recover: the namespace controller of the host
// tries again after up to a minute.
const recovery = 2 * time.Minute

var _ = Describe("While convoy-apiserver is away", Ordered, func() {
	var with, without, survivor string
	var down, up time.Time

	BeforeAll(func(ctx SpecContext) {
		DeferCleanup(func(ctx SpecContext) { suite.restored(ctx) })
		with, without, survivor = suite.namespace(ctx), suite.namespace(ctx), suite.namespace(ctx)
		suite.createRelease(ctx, with, "app")
		suite.createRelease(ctx, survivor, "app")
		suite.dependents(ctx, survivor)
		for _, one := range suite.replicas {
			Expect(one.Stop(ctx)).To(Succeed())
		}
		down = time.Now()
	})

	It("its kinds are unavailable, and nothing else", func(ctx SpecContext) {
		suite.tell(ctx, "the APIServices are unavailable", down, func() error { return suite.available(ctx, "False") })
		for _, one := range commands(survivor) {
			got := suite.kubectlRun(ctx, one.stdin, one.args...)
			fmt.Fprintf(GinkgoWriter, "kubectl %s: exit %d after %s, convoy's named %d times\n%s\n", strings.Join(one.args, " "), got.code, got.took.Round(time.Millisecond), strings.Count(got.out, "convoy.kumodo.io"), indent(got.errOut))
			if one.works {
				Expect(got.code).To(BeZero(), "kubectl %v: %s", one.args, got.errOut)
			} else {
				Expect(got.code).NotTo(BeZero(), "kubectl %v", one.args)
			}
		}
	}, NodeTimeout(2*time.Minute))

	It("garbage of other kinds is collected", func(ctx SpecContext) {
		Expect(suite.kube.CoreV1().ConfigMaps(survivor).Delete(ctx, "owner", metav1.DeleteOptions{})).To(Succeed())
		suite.tell(ctx, "a dependent is collected", time.Now(), func() error { return suite.gone(ctx, survivor, "dependent") })
	})

	It("deleted namespaces wait, also those without convoy's objects, and say for what", func(ctx SpecContext) {
		for _, name := range []string{with, without} {
			Expect(suite.kube.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
		}
		Eventually(ctx, func() string {
			namespace, err := suite.kube.CoreV1().Namespaces().Get(ctx, without, metav1.GetOptions{})
			Expect(err).NotTo(HaveOccurred())
			for _, condition := range namespace.Status.Conditions {
				if condition.Type == corev1.NamespaceDeletionDiscoveryFailure && condition.Status == corev1.ConditionTrue {
					return condition.Message
				}
			}
			return ""
		}).Should(ContainSubstring("convoy.kumodo.io/v1alpha1"))
	})

	It("and afterwards everything recovers by itself", func(ctx SpecContext) {
		if length, err := time.ParseDuration(os.Getenv(outageVariable)); err == nil {
			keepOn(ctx, time.Until(down.Add(length)))
		}
		for _, one := range suite.replicas {
			one.ensure(ctx)
		}
		up = time.Now()
		AddReportEntry("the outage lasted", up.Sub(down).Round(time.Second).String())
		suite.tell(ctx, "the host passes requests on again", up, func() error {
			if got := suite.admin.get(ctx, releasePath(survivor, "app")); got.code != http.StatusOK {
				return fmt.Errorf("%s", got)
			}
			return nil
		})
		suite.tell(ctx, "the APIServices are available", up, func() error { return suite.available(ctx, "True") })
		suite.tell(ctx, "kubectl finds the kinds", up, func() error {
			if got := suite.kubectlRun(ctx, "", "get", "releases", "-n", survivor); got.code != 0 {
				return fmt.Errorf("%s", got.errOut)
			}
			return nil
		})
		for what, name := range map[string]string{"with": with, "without": without} {
			suite.tell(ctx, "the namespace "+what+" convoy's objects is gone", up, func() error {
				_, err := suite.kube.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
				if apierrors.IsNotFound(err) {
					return nil
				}
				return fmt.Errorf("namespace %s: %w", name, err)
			})
		}
		Expect(suite.kube.CoreV1().ConfigMaps(survivor).Delete(ctx, "second-owner", metav1.DeleteOptions{})).To(Succeed())
		suite.tell(ctx, "a Release whose owner is deleted is collected", time.Now(), func() error {
			if got := suite.admin.get(ctx, releasePath(survivor, "owned")); got.code != http.StatusNotFound {
				return fmt.Errorf("%s", got)
			}
			return nil
		})
	}, NodeTimeout(5*time.Minute))
})

// attempt is a kubectl and whether it works during an outage.
type attempt struct {
	args  []string
	stdin string
	works bool
}

func commands(namespace string) []attempt {
	configMap := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: during}\n"
	release := "apiVersion: core.convoy.kumodo.io/v1alpha1\nkind: Release\nmetadata: {name: during}\n" +
		"spec: {clusterRef: {name: edge}, source: {git: {repositoryRef: {name: repo}}}}\n"
	return []attempt{
		{args: []string{"get", "configmaps", "-n", namespace}, works: true},
		{args: []string{"get", "all", "-n", namespace}, works: true},
		{args: []string{"apply", "-n", namespace, "-f", "-"}, stdin: configMap, works: true},
		{args: []string{"apply", "--server-side", "-n", namespace, "-f", "-"}, stdin: configMap, works: true},
		{args: []string{"explain", "deployment.spec"}, works: true},
		{args: []string{"get", "--raw", "/readyz"}, works: true},
		{args: []string{"get", "--raw", "/openapi/v2"}, works: true},
		{args: []string{"get", "--raw", "/openapi/v3"}, works: true},
		{args: []string{"get", "--raw", "/apis"}, works: true},
		{args: []string{"auth", "can-i", "create", "releases.core.convoy.kumodo.io/sync", "-n", namespace}, works: true},
		{args: []string{"api-resources"}, works: true},
		{args: []string{"get", "releases", "-n", namespace}},
		{args: []string{"get", "convoy", "-n", namespace}},
		{args: []string{"apply", "-n", namespace, "-f", "-"}, stdin: release},
		{args: []string{"apply", "-n", namespace, "-f", "-"}, stdin: strings.Replace(configMap, "during", "mixed", 1) + "---\n" + release},
		{args: []string{"get", "configmap", "mixed", "-n", namespace}, works: true}, // the rest of a mixture is applied
		{args: []string{"explain", "release.spec"}},
		{args: []string{"get", "--raw", "/apis/" + coreGroup + "/v1alpha1"}},
	}
}

// dependents makes a ConfigMap with a ConfigMap and one with a Release that depends on it.
func (r *rig) dependents(ctx context.Context, namespace string) {
	GinkgoHelper()
	r.createOwned(ctx, namespace, "owner", func(owner metav1.OwnerReference) {
		_, err := r.kube.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "dependent", OwnerReferences: []metav1.OwnerReference{owner}}}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
	})
	r.createOwned(ctx, namespace, "second-owner", func(owner metav1.OwnerReference) {
		release := with(newRelease(namespace, "owned"), "metadata.ownerReferences", []any{owner})
		Expect(r.admin.post(ctx, releasesPath(namespace), release).code).To(Equal(http.StatusCreated))
	})
}

// createOwned makes a ConfigMap and has something made that it owns.
func (r *rig) createOwned(ctx context.Context, namespace, name string, make func(metav1.OwnerReference)) {
	GinkgoHelper()
	owner, err := r.kube.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	make(metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: owner.UID})
}

func (r *rig) gone(ctx context.Context, namespace, name string) error {
	_, err := r.kube.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("ConfigMap %s: %w", name, err)
}

// available asks whether the APIServices all have that condition.
func (r *rig) available(ctx context.Context, want string) error {
	for _, group := range []string{coreGroup, sourceGroup, extGroup} {
		got := r.admin.get(ctx, "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1."+group)
		conditions, _ := field(got.object(), "status.conditions").([]any)
		for _, condition := range conditions {
			if c := condition.(object); c["type"] == "Available" && c["status"] != want {
				return fmt.Errorf("%s: %v", group, c["message"])
			}
		}
	}
	return nil
}

// tell waits for something, and tells in the report how long after a time it came.
func (r *rig) tell(ctx context.Context, what string, since time.Time, check func() error) {
	GinkgoHelper()
	Eventually(ctx, check).WithTimeout(recovery).Should(Succeed(), what)
	AddReportEntry(what, "after "+time.Since(since).Round(10*time.Millisecond).String())
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}
