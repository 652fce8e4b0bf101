// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// kind is one of convoy's kinds, with an object of it. NAME stands for the object's name.
type kind struct {
	resource, short, kind, group string
	global                       bool
	manifest                     string
	// edit is a merge patch of the spec that must be accepted.
	edit string
	// columns of kubectl get, in order.
	columns string
}

var kinds = []kind{
	{resource: "clusters", short: "ccl", kind: "Cluster", group: "core", manifest: `spec: {mode: inCluster}`,
		edit: `{"spec":{"suspend":true}}`, columns: "NAME MODE READY VERSION RELEASES AGE"},
	{resource: "releases", short: "rel", kind: "Release", group: "core",
		manifest: `spec: {suspend: true, clusterRef: {name: none}, source: {git: {repositoryRef: {name: none}, ref: {branch: main}}}}`,
		edit:     `{"spec":{"wave":3}}`, columns: "NAME CLUSTER WAVE REVISION READY HEALTHY INSYNC AGE"},
	{resource: "releaseinventories", short: "relinv", kind: "ReleaseInventory", group: "core",
		manifest: `spec: {releaseRef: {name: NAME, uid: u}}`, edit: `{"spec":{"entries":[{"version":"v1","kind":"ConfigMap","name":"a"}]}}`},
	{resource: "gitrepositories", short: "cgit", kind: "GitRepository", group: "source", manifest: `spec: {url: "http://127.0.0.1:1/x.git"}`,
		edit: `{"spec":{"suspend":true}}`},
	{resource: "helmregistries", short: "chelm", kind: "HelmRegistry", group: "source", manifest: `spec: {url: "http://127.0.0.1:1/x"}`,
		edit: `{"spec":{"suspend":true}}`},
	{resource: "ociregistries", short: "coci", kind: "OCIRegistry", group: "source", manifest: `spec: {url: "oci://127.0.0.1:1/x"}`,
		edit: `{"spec":{"suspend":true}}`},
	{resource: "healthrulesets", short: "chrs", kind: "HealthRuleSet", group: "extensions",
		manifest: `spec: {rules: [{name: r, target: {kind: ConfigMap}, healthy: "true"}]}`,
		edit:     `{"spec":{"rules":[{"name":"r","target":{"kind":"Secret"},"healthy":"false"}]}}`},
	{resource: "globalhealthrulesets", short: "cghrs", kind: "GlobalHealthRuleSet", group: "extensions", global: true,
		manifest: `spec: {rules: [{name: r, target: {group: none.example, kind: Nothing}, healthy: "true"}]}`,
		edit:     `{"spec":{"rules":[{"name":"r","target":{"kind":"Nothing"},"healthy":"false"}]}}`},
}

func (k kind) apiVersion() string { return k.group + ".convoy.kumodo.io/v1alpha1" }

func (k kind) object(name string) string {
	return "apiVersion: " + k.apiVersion() + "\nkind: " + k.kind + "\nmetadata: {name: " + name + "}\n" +
		strings.ReplaceAll(k.manifest, "NAME", name) + "\n"
}

var _ = Describe("kubectl on every kind", func() {
	for _, k := range kinds {
		It(k.kind, func(ctx SpecContext) {
			n := suite.NewNamespace(ctx, nil)
			name := "x-" + n.Name
			in := func(args ...string) []string { return append([]string{"-n", n.Name}, args...) }
			get := func(path string) string {
				return n.MustKubectl(ctx, in("get", k.resource, name, "-o", "jsonpath="+path)...)
			}
			DeferCleanup(func(ctx SpecContext) {
				n.MustKubectl(ctx, in("delete", k.resource, name, "--ignore-not-found")...)
			})

			By("apply --server-side creates and, applied again, changes nothing")
			apply := func(yaml string) {
				out, errOut, code := n.KubectlWith(ctx, yaml, nil, in("apply", "--server-side", "-f", "-")...)
				ExpectWithOffset(1, code).To(BeZero(), out+errOut)
			}
			apply(k.object(name))
			Expect(get("{.metadata.generation}")).To(Equal("1"))
			Expect(get(`{.metadata.managedFields[?(@.manager=="kubectl")].operation}`)).To(ContainSubstring("Apply"))
			spec := get("{.spec}")
			apply(k.object(name))
			Expect(get("{.metadata.generation}")).To(Equal("1"))
			Expect(get("{.spec}")).To(Equal(spec))

			By("get prints a table, by every name of the resource")
			for _, resource := range []string{k.resource, k.short, strings.ToLower(k.kind), k.resource + "." + k.group + ".convoy.kumodo.io"} {
				Expect(n.MustKubectl(ctx, in("get", resource, name)...)).To(ContainSubstring(name))
			}
			table := strings.Fields(strings.SplitN(n.MustKubectl(ctx, in("get", k.resource)...), "\n", 2)[0])
			Expect(table).To(ContainElements("NAME", "AGE"))
			if k.columns != "" {
				Expect(strings.Join(table, " ")).To(Equal(k.columns))
			}
			Expect(n.MustKubectl(ctx, in("get", "convoy", "-o", "name")...)).To(ContainSubstring(name))

			By("describe and explain")
			Expect(n.MustKubectl(ctx, in("describe", k.resource, name)...)).To(ContainSubstring(name))
			explained := n.MustKubectl(ctx, "explain", k.resource+".spec", "--api-version="+k.apiVersion())
			Expect(explained).To(And(ContainSubstring("FIELDS"), ContainSubstring("KIND:       "+k.kind)))
			Expect(explained).NotTo(ContainSubstring("<no description>"))

			By("edit, patch: the generation follows the spec only")
			generation := get("{.metadata.generation}")
			n.MustKubectl(ctx, in("label", k.resource, name, "a=b")...)
			Expect(get("{.metadata.generation}")).To(Equal(generation))
			editor := filepath.Join(GinkgoT().TempDir(), "editor")
			Expect(os.WriteFile(editor, []byte("#!/bin/sh\nsed -i 's/a: b/a: edited/' \"$1\"\n"), 0o700)).To(Succeed())
			out, errOut, code := n.KubectlWith(ctx, "", []string{"KUBE_EDITOR=" + editor}, in("edit", k.resource, name)...)
			Expect(code).To(BeZero(), out+errOut)
			Expect(get("{.metadata.labels.a}")).To(Equal("edited"))
			n.MustKubectl(ctx, in("patch", k.resource, name, "--type=merge", "-p", k.edit)...)
			Expect(get("{.metadata.generation}")).NotTo(Equal(generation))

			By("status is a subresource of its own")
			n.MustKubectl(ctx, in("patch", k.resource, name, "--type=merge", "-p", `{"status":{"observedGeneration":77}}`)...)
			Expect(get("{.status.observedGeneration}")).NotTo(Equal("77"))

			By("unknown fields are refused, and a stale update conflicts")
			_, errOut, code = n.KubectlWith(ctx, strings.Replace(k.object("unknown-field"), "spec: {", "spec: {nonsense: 1, ", 1), nil, in("create", "-f", "-")...)
			Expect(code).NotTo(BeZero())
			Expect(errOut).To(ContainSubstring("nonsense"))
			stale := n.MustKubectl(ctx, in("get", k.resource, name, "-o", "json")...)
			n.MustKubectl(ctx, in("annotate", k.resource, name, "later=1")...)
			_, errOut, code = n.KubectlWith(ctx, stale, nil, in("replace", "-f", "-")...)
			Expect(code).NotTo(BeZero())
			Expect(errOut).To(ContainSubstring("Conflict"))

			By("watch sees the deletion, wait waits for it")
			n.MustKubectl(ctx, in("delete", k.resource, name, "--wait=false")...)
			n.MustKubectl(ctx, in("wait", k.resource+"/"+name, "--for=delete", "--timeout=60s")...)
		}, NodeTimeout(3*time.Minute))
	}

	It("get -w streams changes", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, nil)
		lines := make(chan string, 1)
		watchCtx, stop := context.WithTimeout(ctx, 20*time.Second)
		defer stop()
		go func() {
			out, _, _ := n.Kubectl(watchCtx, "-n", n.Name, "get", "clusters", "-w", "-o", "name")
			lines <- out
		}()
		Eventually(ctx, func() string {
			n.MustKubectl(ctx, "-n", n.Name, "annotate", "cluster", "here", "--overwrite", "at="+time.Now().Format(time.RFC3339Nano))
			select {
			case out := <-lines:
				return out
			case <-time.After(500 * time.Millisecond):
				return ""
			}
		}, time.Minute).Should(MatchRegexp(`(?s)(here.*){3}`))
	}, NodeTimeout(2*time.Minute))

	It("deletes with its namespace", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, nil)
		name := n.Name + "-deleted"
		n.MustKubectl(ctx, "create", "namespace", name)
		n.MustKubectl(ctx, "-n", name, "create", "configmap", "c")
		for _, k := range kinds {
			if !k.global {
				_, errOut, code := n.KubectlWith(ctx, k.object("x"), nil, "-n", name, "create", "-f", "-")
				Expect(code).To(BeZero(), errOut)
			}
		}
		n.MustKubectl(ctx, "delete", "namespace", name, "--timeout=60s")
	}, NodeTimeout(2*time.Minute))
})

var _ = Describe("Subresources of a Release", func() {
	It("are resources of their own in discovery", func(ctx SpecContext) {
		var list struct {
			Resources []struct {
				Name  string
				Verbs []string
			}
		}
		out := suite.MustKubectl(ctx, "get", "--raw", "/apis/core.convoy.kumodo.io/v1alpha1")
		Expect(json.Unmarshal([]byte(out), &list)).To(Succeed())
		verbs := map[string][]string{}
		for _, resource := range list.Resources {
			verbs[resource.Name] = resource.Verbs
		}
		Expect(verbs).To(HaveKeyWithValue("releases/sync", []string{"create"}))
		for _, name := range []string{"preview", "diff", "health", "history", "values"} {
			Expect(verbs).To(HaveKeyWithValue("releases/"+name, []string{"get"}))
		}
		for _, name := range []string{"status", "pin", "mutations", "lifecycle"} {
			Expect(verbs["releases/"+name]).To(ConsistOf("get", "patch", "update"))
		}
	})

	It("answer through the host, and only those who may ask", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{
			"Chart.yaml":       "apiVersion: v2\nname: app\nversion: 1.0.0\n",
			"templates/s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: {{ .Values.k }}}\n",
		})
		_, err := n.HostClient.CoreV1().Secrets(n.Name).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "given"}, StringData: map[string]string{"values.yaml": "k: value-canary"},
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		release := n.GitRelease("app", "edge", "")
		release.Spec.Render = &corev1alpha1.RenderSpec{Helm: &corev1alpha1.HelmRender{ValuesFrom: []corev1alpha1.ValuesReference{{Kind: "Secret", Name: "given"}}}}
		n.Create(ctx, release)
		n.AwaitReady(ctx, "app")
		path := "/apis/core.convoy.kumodo.io/v1alpha1/namespaces/" + n.Name + "/releases/app/"
		for subresource, kind := range map[string]string{"preview": "ReleasePreview", "diff": "ReleaseDiff", "health": "ReleaseHealth", "history": "ReleaseHistory", "values": "ReleaseValues"} {
			out := n.MustKubectl(ctx, "get", "--raw", path+subresource)
			Expect(out).To(ContainSubstring(`"kind":"` + kind + `"`))
			Expect(out).NotTo(ContainSubstring("value-canary"))
			Expect(out).NotTo(ContainSubstring("dmFsdWUtY2FuYXJ5"))
			_, errOut, code := n.Kubectl(ctx, "get", "--raw", path+subresource, "--as=nobody")
			Expect(code).NotTo(BeZero())
			Expect(errOut).To(ContainSubstring("orbidden"))
		}
		_, errOut, code := n.Kubectl(ctx, "get", "--raw", strings.Replace(path, "/app/", "/other/", 1)+"preview")
		Expect(code).NotTo(BeZero())
		Expect(errOut).To(ContainSubstring("not found"))
		_, errOut, code = n.Kubectl(ctx, "get", "--raw", path+"preview?nonsense=1")
		Expect(code).NotTo(BeZero())
		Expect(errOut).To(ContainSubstring("nonsense"))
	}, NodeTimeout(3*time.Minute))

	It("diff ends with 0, 1 or 2", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {v: '1'}\n"})
		release := n.GitRelease("app", "edge", "")
		release.Spec.Sync.Mode = "manual"
		n.Create(ctx, release)
		diff := func(name string) int {
			_, _, code := n.Kubectl(ctx, "convoy", "-n", n.Name, "diff", name)
			return code
		}
		Eventually(ctx, func() int { return diff("app") }).Should(Equal(1), "nothing is applied yet")
		n.Sync(ctx, "app")
		n.AwaitReady(ctx, "app")
		Eventually(ctx, func() int { return diff("app") }).Should(BeZero())
		Expect(diff("other")).To(Equal(2))
	}, NodeTimeout(3*time.Minute))
})
