// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kumodo.io/convoy/e2e/framework/process"
)

// foreign are the groups of operators that the host does not have.
var foreign = []string{"cert-manager.io", "monitoring.coreos.com"}

var _ = Describe("The chart", func() {
	DescribeTable("consists of what the host accepts, with pods of the restricted profile", func(ctx SpecContext, values string) {
		objects := slices.DeleteFunc(chart(ctx, values), func(o *unstructured.Unstructured) bool {
			return slices.Contains(foreign, o.GroupVersionKind().Group)
		})
		Expect(objects).NotTo(BeEmpty())
		dryRun(ctx, objects)
		for _, o := range objects { // a pod is refused while its account is missing
			if o.GetKind() == "ServiceAccount" {
				kubectl(ctx, suite.host.AdminKubeconfig(), text(o), "apply", "--server-side", "--force-conflicts", "-f", "-")
			}
		}
		pods := podsOf(objects)
		Expect(len(pods)).To(BeNumerically(">=", 3))
		dryRun(ctx, pods)
	},
		Entry("as shipped", ``),
		Entry("with certificates by cert-manager", `{certificates: {issuer: cert-manager}}`),
		Entry("with certificates of one's own", `{certificates: {issuer: secrets, caBundle: Q0E=}}`),
		Entry("with an etcd for trials", `{etcd: {trial: {enabled: true, storageClassName: fast}}}`),
		Entry("with monitoring and the host as a target", `{monitoring: {scrape: true, alerts: true, dashboard: true}, rbac: {inCluster: true}}`),
		Entry("with values of every kind", `
image: {registry: registry.example.com/convoy, pullPolicy: Always, pullSecrets: [{name: registry}]}
shards: 4
installation: acme
renderStoreURL: s3://acme-renders
etcd: {trial: {enabled: true}}
pod:
  annotations: {a/b: "1"}
  labels: {team: "1"}
  nodeSelector: {pool: "true"}
  tolerations: [{key: a/b, operator: Exists}]
  affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {team: "1"}}}}]}}
observer:
  image: {digest: "sha256:`+strings.Repeat("ab", 32)+`"}
  extraArgs: ["--v=2"]
  extraEnv: [{name: AWS_REGION, value: eu-central-1}]
  extraVolumes: [{name: keys, secret: {secretName: keys}}]
  extraVolumeMounts: [{name: keys, mountPath: /keys}]
  priorityClassName: system-cluster-critical
  resources: {limits: {memory: 8Gi}}
`),
	)

	It("has a Job that installs the rules of health with the rights that it is given", func(ctx SpecContext) {
		var job *unstructured.Unstructured
		data := map[string]string{}
		for _, o := range chart(ctx, ``) {
			switch {
			case !strings.HasPrefix(o.GetName(), "convoy-health-rules"):
			case o.GetKind() == "Job":
				job = o
			default:
				kubectl(ctx, suite.host.AdminKubeconfig(), text(o), "apply", "--server-side", "-f", "-")
				rules, _, err := unstructured.NestedStringMap(o.Object, "data")
				Expect(err).NotTo(HaveOccurred())
				maps.Copy(data, rules)
			}
		}
		folder := GinkgoT().TempDir()
		for name, content := range data {
			Expect(os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600)).To(Succeed())
		}
		kubeconfig, err := suite.host.ServiceAccountKubeconfig(ctx, system, "convoy-health-rules")
		Expect(err).NotTo(HaveOccurred())
		args := argsOf(job, "/etc/convoy/health-rules", folder)
		for range 2 { // an upgrade applies them again
			kubectl(ctx, kubeconfig, "", args...)
		}
		sets, err := suite.api.ExtensionsV1alpha1().GlobalHealthRuleSets().List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(len(data)).To(BeNumerically(">", 40))
		Expect(sets.Items).To(HaveLen(len(data)))
	}, NodeTimeout(5*time.Minute))

	It("has an etcd for trials whose flags etcd knows, and whose probes it answers", func(ctx SpecContext) {
		var set *unstructured.Unstructured
		for _, o := range chart(ctx, `{etcd: {trial: {enabled: true}}}`) {
			if o.GetKind() == "StatefulSet" {
				set = o
			}
		}
		ports, err := process.FreePorts(3)
		Expect(err).NotTo(HaveOccurred())
		address := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
		etcd, err := process.Start(ctx, process.Command{
			Name: "trial", Path: filepath.Join(suite.assets, "etcd"), Dir: suite.dir, Grace: 10 * time.Second, ReadyTimeout: time.Minute,
			Args: argsOf(set, "/var/lib/etcd", GinkgoT().TempDir(), "0.0.0.0:2379", address(0), "127.0.0.1:2380", address(1), "0.0.0.0:2381", address(2)),
			Ready: func(ctx context.Context) error {
				for _, probe := range []string{"readyz", "livez"} {
					if err := process.HTTPReady(nil, "http://"+address(2)+"/"+probe)(ctx); err != nil {
						return err
					}
				}
				return nil
			},
		})
		Expect(err).NotTo(HaveOccurred())
		Expect(etcd.Stop(ctx)).To(Succeed())
	}, NodeTimeout(3*time.Minute))
})

// dryRun has the host check objects as if they were to be applied.
func dryRun(ctx context.Context, objects []*unstructured.Unstructured) {
	GinkgoHelper()
	var stream strings.Builder
	for _, o := range objects {
		stream.WriteString("---\n" + text(o))
	}
	out := kubectl(ctx, suite.host.AdminKubeconfig(), stream.String(), "apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-f", "-")
	Expect(strings.Count(out, "serverside-applied")).To(Equal(len(objects)), out)
}

// podsOf are pods such as controllers would make of the templates of objects.
func podsOf(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	GinkgoHelper()
	var pods []*unstructured.Unstructured
	for _, o := range objects {
		template, found, err := unstructured.NestedMap(o.Object, "spec", "template")
		Expect(err).NotTo(HaveOccurred())
		if !found {
			continue
		}
		pod := &unstructured.Unstructured{Object: template}
		pod.SetAPIVersion("v1")
		pod.SetKind("Pod")
		pod.SetName(o.GetName())
		pod.SetNamespace(o.GetNamespace())
		if o.GetKind() == "StatefulSet" { // whose controller adds the volumes of its claims
			volume := map[string]any{"name": "data", "emptyDir": map[string]any{}}
			Expect(unstructured.SetNestedSlice(pod.Object, []any{volume}, "spec", "volumes")).To(Succeed())
		}
		pods = append(pods, pod)
	}
	return pods
}

// argsOf are the arguments of an object's container, with texts in them replaced by others.
func argsOf(o *unstructured.Unstructured, replacements ...string) []string {
	GinkgoHelper()
	containers, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	Expect(err).NotTo(HaveOccurred())
	Expect(containers).To(HaveLen(1))
	args, _, err := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
	Expect(err).NotTo(HaveOccurred())
	replacer := strings.NewReplacer(replacements...)
	for i := range args {
		args[i] = replacer.Replace(args[i])
	}
	return args
}

func text(o *unstructured.Unstructured) string {
	GinkgoHelper()
	data, err := yaml.Marshal(o.Object)
	Expect(err).NotTo(HaveOccurred())
	return string(data)
}
