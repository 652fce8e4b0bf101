// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// definition is that of a kind of another tool, with whatever fields.
func definition(group, kind, plural string, versions ...string) string {
	text := fmt.Sprintf(`---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[3]s.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: %[2]s, plural: %[3]s, singular: %[4]s}
  versions:
`, group, kind, plural, strings.ToLower(kind))
	for i, version := range versions {
		text += fmt.Sprintf("  - {name: %s, served: true, storage: %t, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n", version, i == 0)
	}
	return text
}

// defineTools has the host serve the kinds of Flux and Argo CD.
func defineTools(ctx context.Context) {
	GinkgoHelper()
	suite.Apply(ctx, definition("kustomize.toolkit.fluxcd.io", "Kustomization", "kustomizations", "v1", "v1beta2")+
		definition("helm.toolkit.fluxcd.io", "HelmRelease", "helmreleases", "v2beta2")+
		definition("source.toolkit.fluxcd.io", "GitRepository", "gitrepositories", "v1")+
		definition("argoproj.io", "Application", "applications", "v1alpha1")+
		definition("argoproj.io", "ApplicationSet", "applicationsets", "v1alpha1")+
		definition("argoproj.io", "AppProject", "appprojects", "v1alpha1"))
	suite.MustKubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "crd/kustomizations.kustomize.toolkit.fluxcd.io",
		"crd/helmreleases.helm.toolkit.fluxcd.io", "crd/gitrepositories.source.toolkit.fluxcd.io",
		"crd/applications.argoproj.io", "crd/applicationsets.argoproj.io", "crd/appprojects.argoproj.io")
}

// left is what another tool left in a cluster.
type left struct {
	*scenario.Namespace
	kubeconfig string
}

func (l left) kubectl(ctx context.Context, stdin string, args ...string) string {
	GinkgoHelper()
	out, errOut, code := l.KubectlWith(ctx, stdin, []string{"KUBECONFIG=" + l.kubeconfig}, append([]string{"-n", l.Name}, args...)...)
	Expect(code).To(BeZero(), "kubectl %v:\n%s%s", args, out, errOut)
	return out
}

// state gives every object with its UID and spec, Pods and ReplicaSets too: the generation of a
// Deployment also counts annotations.
func (l left) state(ctx context.Context) string {
	GinkgoHelper()
	return l.kubectl(ctx, "", "get", "deployments,replicasets,pods,configmaps", "-o",
		`jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.uid} {.spec}{"\n"}{end}`)
}

// running waits until a Deployment has its Pod, and gives the state then.
func (l left) running(ctx context.Context, name string) string {
	GinkgoHelper()
	l.kubectl(ctx, "", "wait", "deployment/"+name, "--for=condition=Available", "--timeout=60s")
	Eventually(ctx, func() string {
		return l.kubectl(ctx, "", "get", "deployment", name, "-o", "jsonpath={.status.observedGeneration}/{.metadata.generation}")
	}).Should(Equal("1/1"))
	return l.state(ctx)
}

// ours expects that an object is a Release's and nobody else's, without the marks of the tool.
func (l left) ours(ctx context.Context, object, release, mark string) {
	GinkgoHelper()
	var live metav1.PartialObjectMetadata
	Expect(json.Unmarshal([]byte(l.kubectl(ctx, "", "get", object, "-o", "json", "--show-managed-fields")), &live)).To(Succeed())
	Expect(live.Annotations).To(HaveKeyWithValue(corev1alpha1.AnnotationRelease, HaveSuffix("/"+l.Name+"/"+release)), object)
	for _, entry := range live.ManagedFields {
		if entry.Subresource == "" {
			Expect(entry.Manager).To(BeElementOf(corev1alpha1.FieldManager, "kube-controller-manager"), object)
		}
	}
	Expect(fmt.Sprint(live.Labels, live.Annotations)).NotTo(ContainSubstring(mark), object)
}

// marked is a manifest with further lines of metadata.
func marked(manifest, metadata string) string {
	return strings.Replace(manifest, "}\n", ", "+metadata+"}\n", 1)
}

// helmRecord is what Helm keeps of a release.
func helmRecord(ctx context.Context, n *scenario.Namespace, name, manifest string) {
	GinkgoHelper()
	content, err := json.Marshal(map[string]string{"name": name, "namespace": n.Name, "manifest": manifest})
	Expect(err).NotTo(HaveOccurred())
	var packed bytes.Buffer
	packer := gzip.NewWriter(&packed)
	_, err = packer.Write(content)
	Expect(err).NotTo(HaveOccurred())
	Expect(packer.Close()).To(Succeed())
	_, err = n.HostClient.CoreV1().Secrets(n.Name).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:   "sh.helm.release.v1." + name + ".v1",
			Labels: map[string]string{"owner": "helm", "name": name, "version": "1", "status": "deployed"},
		},
		Type: "helm.sh/release.v1", Data: map[string][]byte{"release": []byte(base64.StdEncoding.EncodeToString(packed.Bytes()))},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

const (
	ofFlux = "labels: {kustomize.toolkit.fluxcd.io/name: web, kustomize.toolkit.fluxcd.io/namespace: flux}"
	ofHelm = "labels: {app.kubernetes.io/managed-by: Helm, helm.toolkit.fluxcd.io/name: db}, annotations: {meta.helm.sh/release-name: store, meta.helm.sh/release-namespace: here}"
	ofArgo = "labels: {team: shop}, annotations: {argocd.argoproj.io/tracking-id: 'web:apps/Deployment:x/web'}"
)

var _ = Describe("migrate", func() {
	It("takes over what Flux has delivered, and touches no Pod", func(ctx SpecContext) {
		defineTools(ctx)
		s := newStage(ctx, map[string]string{
			"web/kustomization.yaml": "resources: [all.yaml]\n",
			"web/all.yaml":           deployment("web", "") + "---\n" + scenario.ConfigMap("cm", "v", "1"),
			"db/Chart.yaml":          "apiVersion: v2\nname: db\nversion: 1.0.0\n",
			"db/templates/all.yaml":  deployment("{{ .Release.Name }}", ""),
		})
		n := s.Namespace
		edge, host := left{n, n.Target.AdminKubeconfig()}, left{n, n.Host.AdminKubeconfig()}
		edge.kubectl(ctx, marked(deployment("web", ""), ofFlux)+"---\n"+marked(scenario.ConfigMap("cm", "v", "2"), ofFlux), "apply", "--server-side", "--field-manager=kustomize-controller", "-f", "-")
		host.kubectl(ctx, marked(deployment("store", ""), ofHelm), "create", "--field-manager=helm-controller", "-f", "-")
		helmRecord(ctx, n, "store", deployment("store", ""))
		suite.Apply(ctx, fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: apps, namespace: %[1]s}
spec: {interval: 1m, url: %[2]q, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1beta2
kind: Kustomization
metadata: {name: web, namespace: %[1]s, finalizers: [finalizers.fluxcd.io]}
spec:
  interval: 10m
  path: ./web
  prune: true
  sourceRef: {kind: GitRepository, name: apps}
  kubeConfig: {secretRef: {name: edge-kubeconfig, key: kubeconfig}}
  postBuild: {substitute: {a: b}}
status:
  inventory: {entries: [{id: %[1]s_web_apps_Deployment, v: v1}, {id: %[1]s_cm__ConfigMap, v: v1}]}
---
apiVersion: helm.toolkit.fluxcd.io/v2beta2
kind: HelmRelease
metadata: {name: db, namespace: %[1]s, labels: {team: shop}}
spec:
  interval: 10m
  releaseName: store
  chart: {spec: {chart: ./db, sourceRef: {kind: GitRepository, name: apps}}}
  install: {disableHooks: true}
  upgrade: {disableHooks: true}
`, n.Name, n.Git.RepositoryURL(n.Name)))
		onEdge, onHost := edge.running(ctx, "web"), host.running(ctx, "store")
		object := func(jsonpath string) string {
			return n.MustKubectl(ctx, "-n", n.Name, "get", "kustomizations.kustomize.toolkit.fluxcd.io", "web", "-o", "jsonpath="+jsonpath)
		}
		migrate := func(args ...string) (out, errOut string, code int) {
			return n.Kubectl(ctx, append([]string{"convoy", "-n", n.Name, "migrate", "flux"}, args...)...)
		}

		By("refusing what is lost, what would change, and what was not handed over")
		_, errOut, code := migrate("web", "--apply")
		Expect(code).To(Equal(1))
		Expect(errOut).To(And(ContainSubstring("not mapped  spec.postBuild: variables are not put in"), ContainSubstring("give --allow-unmapped if that is meant")))
		n.MustKubectl(ctx, "-n", n.Name, "patch", "kustomizations.kustomize.toolkit.fluxcd.io", "web", "--type=merge", "-p", `{"spec":{"postBuild":null}}`)
		_, errOut, code = migrate("web", "--apply")
		Expect(code).To(Equal(1))
		Expect(errOut).To(And(ContainSubstring("ConfigMap "+n.Name+"/cm would be changed: /data/v\n"), ContainSubstring("Nothing was taken over")))
		Expect(object("{.spec.suspend}")).To(BeEmpty())
		Expect(edge.kubectl(ctx, "", "get", "cm", "cm", "-o", "jsonpath={.metadata.annotations}")).To(BeEmpty())
		Expect(edge.state(ctx)).To(Equal(onEdge))
		_, errOut, code = migrate("web", "--remove")
		Expect(code).To(Equal(1))
		Expect(errOut).To(ContainSubstring("it was not handed over"))
		Expect(refused(ctx, n, "migrate", "flux", "nobody")).To(ContainSubstring(`"nobody" not found`))
		_, errOut, code = migrate("--all", "--apply")
		Expect(code).To(Equal(1))
		Expect(errOut).To(ContainSubstring("would be handed over to convoy:"))

		By("handing over, as the examples of the help do")
		edge.kubectl(ctx, "", "patch", "cm", "cm", "--field-manager=kustomize-controller", "--type=merge", "-p", `{"data":{"v":"1"}}`)
		examples := s.examples(ctx, "migrate flux")
		Expect(examples).To(HaveLen(5))
		removal := examples[4]
		for _, example := range append(s.examples(ctx, "migrate")[:1], examples[:4]...) {
			out, errOut, code := s.KubectlWith(ctx, "", []string{"KUBECONFIG=" + s.kubeconfig}, shellWords(strings.TrimPrefix(example, "kubectl "))...)
			Expect(code).To(BeZero(), "%s\n%s%s", example, out, errOut)
			Expect(out).NotTo(BeEmpty(), example)
		}
		n.AwaitReady(ctx, "web")
		n.AwaitReady(ctx, "db")
		Expect(n.Release(ctx, "web").Spec.Sync.Mode).To(Equal(corev1alpha1.SyncModeAutomatic))
		Expect(edge.state(ctx)).To(Equal(onEdge))
		Expect(host.state(ctx)).To(Equal(onHost))
		for _, name := range []string{"deployment/web", "configmap/cm"} {
			edge.ours(ctx, name, "web", "fluxcd")
		}
		host.ours(ctx, "deployment/store", "db", "elm")
		Expect(object("{.spec.suspend} {.metadata.annotations.convoy\\.kumodo\\.io/migrated-to}")).To(Equal("true " + n.Name + "/web"))

		By("removing what is Flux's, but not before convoy has all of it")
		convoy(ctx, n, "suspend", "web")
		Expect(refused(ctx, n, "migrate", "flux", "web", "--remove")).To(ContainSubstring("Release " + n.Name + "/web is suspended"))
		convoy(ctx, n, "resume", "web")
		n.AwaitReady(ctx, "web")
		inventory := `{"status":{"inventory":{"entries":[{"id":"x_other__ConfigMap","v":"v1"}]}}}`
		n.MustKubectl(ctx, "-n", n.Name, "patch", "kustomizations.kustomize.toolkit.fluxcd.io", "web", "--type=merge", "-p", inventory)
		Expect(refused(ctx, n, "migrate", "flux", "web", "--remove")).To(ContainSubstring("nobody would have ConfigMap x/other any more"))
		n.MustKubectl(ctx, "-n", n.Name, "patch", "kustomizations.kustomize.toolkit.fluxcd.io", "web", "--type=merge", "-p", strings.Replace(inventory, "x_other", n.Name+"_cm", 1))
		_, errOut, code = migrate("web", "--remove", "--timeout=1s")
		Expect(code).To(Equal(1))
		Expect(errOut).To(ContainSubstring("because of its finalizers finalizers.fluxcd.io"))
		n.MustKubectl(ctx, "-n", n.Name, "patch", "kustomizations.kustomize.toolkit.fluxcd.io", "web", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		Expect(removal).To(HaveSuffix("migrate flux web --remove"))
		out, errOut, code := migrate("helmrelease/db", "--remove")
		Expect(code).To(BeZero(), errOut)
		Expect(out).To(Equal("helmrelease.helm.toolkit.fluxcd.io/db deleted\n"))
		Expect(errOut).To(ContainSubstring("kubectl -n " + n.Name + " delete secret -l owner=helm,name=store\n"))
		convoy(ctx, n, "sync", "web", "--wait")
		convoy(ctx, n, "sync", "db", "--wait")
		Expect(edge.state(ctx)).To(Equal(onEdge))
		Expect(host.state(ctx)).To(Equal(onHost))
	}, NodeTimeout(limit))

	It("takes over what Argo CD has delivered, with its credentials", func(ctx SpecContext) {
		defineTools(ctx)
		s := newStage(ctx, map[string]string{"web/all.yaml": deployment("web", "") + "---\n" + scenario.ConfigMap("cm", "v", "1")})
		n := s.Namespace
		Expect(n.Repo.Protect("user", "password-canary")).To(Succeed())
		host := left{n, n.Host.AdminKubeconfig()}
		host.kubectl(ctx, marked(deployment("web", ""), ofArgo)+"---\n"+marked(scenario.ConfigMap("cm", "v", "1"), ofArgo), "apply", "--field-manager=argocd-controller", "-f", "-")
		before := host.running(ctx, "web")
		suite.Apply(ctx, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: repo, namespace: %[1]s, labels: {argocd.argoproj.io/secret-type: repository}}
stringData: {type: git, url: %[2]q, username: user, password: password-canary}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: %[1]s, labels: {team: shop}, finalizers: [resources-finalizer.argocd.argoproj.io]}
spec:
  project: default
  source: {repoURL: %[2]q, path: web, targetRevision: main, directory: {recurse: true}}
  destination: {server: "https://kubernetes.default.svc", namespace: %[1]s}
  syncPolicy: {automated: {prune: true, selfHeal: true}}
status:
  sourceType: Directory
  resources: [{group: apps, version: v1, kind: Deployment, namespace: %[1]s, name: web}, {version: v1, kind: ConfigMap, namespace: %[1]s, name: cm}]
---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: all, namespace: %[1]s}
spec: {}
`, n.Name, n.Git.RepositoryURL(n.Name)))
		home := "--argocd-namespace=" + n.Name
		plan := convoy(ctx, n, "migrate", "argocd", "web", home)
		Expect(plan).To(And(ContainSubstring("kind: Release\n"), Not(ContainSubstring("kind: Secret\n"))))
		Expect(convoy(ctx, n, "migrate", "argocd", "web", home, "--with-secrets")).To(ContainSubstring(base64.StdEncoding.EncodeToString([]byte("password-canary"))))
		uid := n.MustKubectl(ctx, "-n", n.Name, "get", "applicationsets", "all", "-o", "jsonpath={.metadata.uid}")
		owned := fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"argoproj.io/v1alpha1","kind":"ApplicationSet","name":"all","uid":%q,"controller":true}]}}`, uid)
		n.MustKubectl(ctx, "-n", n.Name, "patch", "applications.argoproj.io", "web", "--type=merge", "-p", owned)
		_, errOut, code := n.Kubectl(ctx, "convoy", "-n", n.Name, "migrate", "argocd", "web", home, "--apply")
		Expect(code).To(Equal(1))
		Expect(errOut).To(ContainSubstring("ApplicationSet " + n.Name + "/all would turn its sync on again"))
		n.MustKubectl(ctx, "-n", n.Name, "patch", "applications.argoproj.io", "web", "--type=merge", "-p", `{"metadata":{"ownerReferences":null}}`)

		examples := append(s.examples(ctx, "migrate")[1:], s.examples(ctx, "migrate argocd")...)
		Expect(examples).To(HaveLen(6))
		app := func(jsonpath string) string {
			return n.MustKubectl(ctx, "-n", n.Name, "get", "applications.argoproj.io", "web", "-o", "jsonpath="+jsonpath)
		}
		for i, example := range examples {
			out, errOut, code := s.KubectlWith(ctx, "", []string{"KUBECONFIG=" + s.kubeconfig}, append(shellWords(strings.TrimPrefix(example, "kubectl ")), home)...)
			Expect(code).To(BeZero(), "%s\n%s%s", example, out, errOut)
			Expect(out).NotTo(BeEmpty(), example)
			if i == 4 { // handed over, twice
				Expect(app("{.metadata.finalizers}{.spec.syncPolicy.automated}")).To(BeEmpty())
				Expect(app(`{.metadata.annotations.convoy\.kumodo\.io/before-migration}`)).To(ContainSubstring("selfHeal"))
			}
		}
		Expect(n.MustKubectl(ctx, "-n", n.Name, "get", "applications.argoproj.io", "-o", "name")).To(BeEmpty())
		n.AwaitReady(ctx, "web")
		Expect(host.state(ctx)).To(Equal(before))
		for _, name := range []string{"deployment/web", "configmap/cm"} {
			host.ours(ctx, name, "web", "argoproj")
		}
		release := n.Release(ctx, "web")
		Expect(release.Spec.DeletionPolicy).To(Equal(corev1alpha1.DeletionPolicyDelete))
		Expect(release.Spec.Sync.Mode).To(Equal(corev1alpha1.SyncModeAutomatic))
	}, NodeTimeout(limit))
})
