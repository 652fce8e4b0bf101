// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/suites/scenario"
)

const (
	podlessJob = `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "migrate"}, "spec": {"template": {"spec":
		{"restartPolicy": "Never", "serviceAccountName": "nobody", "containers": [{"name": "c", "image": "example.com/c"}]}}}}`
	podlessSet = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {serviceAccountName: nobody, containers: [{name: c, image: example.com/c}]}}
`
)

// Only events tell, of the kinds whose status does not.
var _ = Describe("A workload whose pods are refused", func() {
	const nobody = `serviceaccount "nobody" not found`

	It("says why when it is a hook that a sync waits for", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"app/a.yaml": scenario.ConfigMap("a", "v", "1")})
		release := n.GitRelease("app", scenario.Edge, "app")
		release.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Hooks: []corev1alpha1.Hook{
			{Name: "migrate", On: corev1alpha1.HookPreSync, Template: runtime.RawExtension{Raw: []byte(podlessJob)}},
		}}
		n.Create(ctx, release)
		Eventually(ctx, func() string {
			applied := meta.FindStatusCondition(n.Release(ctx, "app").Status.Conditions, corev1alpha1.ConditionApplied)
			if applied == nil {
				return ""
			}
			return applied.Message
		}).Should(And(ContainSubstring("preSync hook migrate"), ContainSubstring("0 pods run"), ContainSubstring(nobody)))
		Expect(n.MustKubectl(ctx, "convoy", "-n", n.Name, "status", "app")).To(ContainSubstring(nobody))
	}, NodeTimeout(3*time.Minute))

	It("says why when it is an object of the Release", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"app/db.yaml": podlessSet})
		n.Create(ctx, n.GitRelease("app", scenario.Edge, "app"))
		Eventually(ctx, func() string {
			out, _, _ := n.Kubectl(ctx, "convoy", "-n", n.Name, "health", "app") // which fails while something is on its way
			return out
		}).Should(And(ContainSubstring("0 of 1 pods are updated"), ContainSubstring(nobody)))
		Expect(n.Inventory(ctx, "app").Status.Health).To(ContainElement(HaveField("Message", ContainSubstring(nobody))))
	}, NodeTimeout(3*time.Minute))
})

var _ = Describe("A claim of a class that binds late", func() {
	It("is well before somebody uses it", func(ctx SpecContext) {
		mode := storagev1.VolumeBindingWaitForFirstConsumer
		class, err := suite.TargetClient.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "late-"}, Provisioner: "example.com/none", VolumeBindingMode: &mode,
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) error {
			return suite.TargetClient.StorageV1().StorageClasses().Delete(ctx, class.Name, metav1.DeleteOptions{})
		})
		n := suite.NewNamespace(ctx, map[string]string{"app/data.yaml": "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n" +
			"spec: {storageClassName: " + class.Name + ", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"})
		n.Create(ctx, n.GitRelease("app", scenario.Edge, "app"))
		n.AwaitReady(ctx, "app")
		Expect(n.MustKubectl(ctx, "convoy", "-n", n.Name, "health", "app")).To(ContainSubstring("waits for first consumer"))
	}, NodeTimeout(3*time.Minute))
})
