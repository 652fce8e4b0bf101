// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/framework/build"
	"kumodo.io/convoy/e2e/framework/gitserver"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/framework/process"
)

// delivered is a Release that is delivered from its creation to its end by convoy as a whole:
// the host is its target, reached with an administrator's kubeconfig.
type delivered struct {
	*rig
	namespace, target string
	git               *gitserver.Server
	repository        *gitserver.Repository
	observing         *replica // asks the real observer
}

// startControllers starts the observer, the controller-manager, and a replica of
// convoy-apiserver that asks this observer.
func (r *rig) startControllers(ctx context.Context) (replica *replica, stop func(context.Context)) {
	GinkgoHelper()
	_, err := build.Convoy(ctx, r.root, GinkgoWriter, installation.ControllerManager, installation.Observer)
	Expect(err).NotTo(HaveOccurred())
	ports, err := process.FreePorts(3)
	Expect(err).NotTo(HaveOccurred())
	serving, err := r.host.CA().Server("real-observer", "127.0.0.1")
	Expect(err).NotTo(HaveOccurred())
	args := map[string][]string{
		installation.ControllerManager: {"--metrics-addr=" + address(ports[0])},
		installation.Observer: {
			"--metrics-addr=" + address(ports[1]), "--serve-addr=" + address(ports[2]),
			"--tls-cert-file=" + serving.CertFile, "--tls-private-key-file=" + serving.KeyFile,
			"--client-ca-file=" + r.host.CA().CertFile(), "--allowed-client-names=" + apiServer,
		},
	}
	var running []*process.Process
	for i, name := range []string{installation.ControllerManager, installation.Observer} {
		started, err := process.Start(ctx, process.Command{
			Name: name, Path: filepath.Join(r.bin, name), Dir: r.dir,
			Args:  append(args[name], "--kubeconfig="+r.accountKubeconfig(ctx, name)),
			Ready: process.HTTPReady(nil, "http://"+address(ports[i])+"/readyz"),
		})
		Expect(err).NotTo(HaveOccurred())
		running = append(running, started)
	}
	stop = func(ctx context.Context) {
		for _, one := range running {
			Expect(one.Stop(ctx)).To(Succeed())
		}
	}
	DeferCleanup(func(ctx SpecContext) { stop(ctx) })
	return r.extraReplica(ctx, apiServer+"-observing", "observer-url=https://"+address(ports[2])), stop
}

// prepare makes the sources, the Cluster and what values come from.
func (r *rig) prepare(ctx context.Context) *delivered {
	GinkgoHelper()
	d := &delivered{rig: r, namespace: r.namespace(ctx)}
	d.target = d.namespace + "-target"
	var err error
	d.git, err = gitserver.Start(gitserver.Options{Root: r.path("git"), Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(d.git.Close(ctx)).To(Succeed()) })
	d.repository, err = gitserver.Create(ctx, r.path("git"), "app")
	Expect(err).NotTo(HaveOccurred())
	d.commit(ctx, chart("one"))
	kubeconfig, err := os.ReadFile(r.host.AdminKubeconfig())
	Expect(err).NotTo(HaveOccurred())
	for name, data := range map[string]map[string][]byte{"edge": {"kubeconfig": kubeconfig}, "values": {"values.yaml": []byte("secret: s\n")}} {
		_, err = r.kube.CoreV1().Secrets(d.namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
	_, err = r.kube.CoreV1().ConfigMaps(d.namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "values"}, Data: map[string]string{"values.yaml": "plain: p\n"}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	r.applyYAML(ctx, strings.NewReplacer("NAMESPACE", d.namespace, "GIT", d.git.RepositoryURL("app")).Replace(surroundings))
	return d
}

// surroundings of the Release: sources of each kind, whether they answer or not, and rules.
const surroundings = `
apiVersion: core.convoy.kumodo.io/v1alpha1
kind: Cluster
metadata: {name: edge, namespace: NAMESPACE}
spec: {mode: agentless, agentless: {auth: {type: kubeconfig, kubeconfig: {secretRef: {name: edge}}}}}
---
apiVersion: source.convoy.kumodo.io/v1alpha1
kind: GitRepository
metadata: {name: repo, namespace: NAMESPACE}
spec: {url: GIT}
---
apiVersion: source.convoy.kumodo.io/v1alpha1
kind: HelmRegistry
metadata: {name: charts, namespace: NAMESPACE}
spec: {url: "http://127.0.0.1:1/charts"}
---
apiVersion: source.convoy.kumodo.io/v1alpha1
kind: OCIRegistry
metadata: {name: images, namespace: NAMESPACE}
spec: {url: "oci://127.0.0.1:1", insecure: true}
---
apiVersion: extensions.convoy.kumodo.io/v1alpha1
kind: HealthRuleSet
metadata: {name: rules, namespace: NAMESPACE}
spec: {rules: [{name: r, target: {kind: ConfigMap}, healthy: "has(object.data)"}]}
---
apiVersion: extensions.convoy.kumodo.io/v1alpha1
kind: GlobalHealthRuleSet
metadata: {name: rules-NAMESPACE}
spec: {rules: [{name: r, target: {kind: Widget}, healthy: "true"}]}
`

// chart is a chart with a value of its own beside those of the Release.
func chart(value string) map[string]string {
	return map[string]string{
		"app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"app/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" +
			"data: {own: " + value + ", plain: {{ .Values.plain }}, secret: {{ .Values.secret }}}\n",
	}
}

func (d *delivered) commit(ctx context.Context, files map[string]string) {
	GinkgoHelper()
	_, err := d.repository.Commit(ctx, gitserver.Commit{Write: files})
	Expect(err).NotTo(HaveOccurred())
}

// create creates the Release, with a gate, a hook, and a namespace to be made.
func (d *delivered) create(ctx context.Context) {
	GinkgoHelper()
	release := newRelease(d.namespace, "app")
	with(release, "spec.source.git.path", "app")
	with(release, "spec.targetNamespace", d.target)
	with(release, "spec.createNamespace", true)
	with(release, "spec.render", object{"type": "helm", "helm": object{"valuesFrom": []any{
		object{"kind": "ConfigMap", "name": "values"}, object{"kind": "Secret", "name": "values"}}}})
	with(release, "spec.lifecycle", object{
		"gates": []any{object{"name": "qa", "before": "sync"}},
		"hooks": []any{object{"name": "before", "on": "preSync", "template": object{
			"apiVersion": "batch/v1", "kind": "Job", "metadata": object{"name": "hook"},
			"spec": object{"template": object{"spec": object{"restartPolicy": "Never", "containers": []any{object{"name": "c", "image": "none"}}}}}}}},
	})
	Expect(d.admin.post(ctx, releasesPath(d.namespace), release).code).To(Equal(http.StatusCreated))
}

// approve approves what waits at the gate.
func (d *delivered) approve(ctx context.Context) {
	GinkgoHelper()
	var render string
	Eventually(ctx, func() bool {
		release, err := d.api.CoreV1alpha1().Releases(d.namespace).Get(ctx, "app", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		if release.Status.Lifecycle == nil || len(release.Status.Lifecycle.Gates) == 0 {
			return false
		}
		render = release.Status.Lifecycle.Gates[0].Render
		return render != "" && !release.Status.Lifecycle.Gates[0].Approved
	}).Should(BeTrue(), "something waits at the gate")
	got := d.admin.patch(ctx, releasePath(d.namespace, "app", "lifecycle"),
		fmt.Sprintf(`{"status":{"lifecycle":{"gates":[{"name":"qa","approved":true,"render":%q}]}}}`, render))
	Expect(got.code).To(Equal(http.StatusOK), got.body)
}

// finishHook lets the Job of the hook come to a good end: nobody runs it.
func (d *delivered) finishHook(ctx context.Context) {
	GinkgoHelper()
	now := metav1.Now()
	Eventually(ctx, func() error {
		job, err := d.kube.BatchV1().Jobs(d.target).Get(ctx, "hook", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if job.Status.CompletionTime != nil || job.DeletionTimestamp != nil {
			return fmt.Errorf("job %s is that of the last run", job.UID)
		}
		job.Status.StartTime, job.Status.CompletionTime, job.Status.Succeeded = &now, &now, 1
		for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
			job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
		}
		_, err = d.kube.BatchV1().Jobs(d.target).UpdateStatus(ctx, job, metav1.UpdateOptions{})
		return err
	}).Should(Succeed())
}

// awaitDelivered returns when the target has the value and the Release is Ready.
func (d *delivered) awaitDelivered(ctx context.Context, value string) {
	GinkgoHelper()
	Eventually(ctx, func() map[string]string {
		live, err := d.kube.CoreV1().ConfigMaps(d.target).Get(ctx, "a", metav1.GetOptions{})
		if err != nil {
			return nil
		}
		return live.Data
	}).Should(Equal(map[string]string{"own": value, "plain": "p", "secret": "s"}))
	Eventually(ctx, func() *metav1.Condition {
		release, err := d.api.CoreV1alpha1().Releases(d.namespace).Get(ctx, "app", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		return meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionReady)
	}).Should(HaveField("Status", metav1.ConditionTrue))
}

// drift changes what was delivered behind convoy's back.
func (d *delivered) drift(ctx context.Context) {
	GinkgoHelper()
	_, err := d.kube.CoreV1().ConfigMaps(d.target).Patch(ctx, "a", types.MergePatchType, []byte(`{"data":{"own":"drifted"}}`), metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// ask asks for what the observer answers.
func (d *delivered) ask(ctx context.Context) {
	GinkgoHelper()
	for _, subresource := range []string{"preview", "diff", "health", "history", "values"} {
		got := d.admin.at(d.observing).get(ctx, releasePath(d.namespace, "app", subresource))
		Expect(got.code).To(Equal(http.StatusOK), got.body)
	}
}

// remove deletes the Release and waits until what it delivered is gone too.
func (d *delivered) remove(ctx context.Context) {
	GinkgoHelper()
	Expect(d.admin.remove(ctx, releasePath(d.namespace, "app")).code).To(Equal(http.StatusOK))
	Eventually(ctx, func() int { return d.admin.get(ctx, releasePath(d.namespace, "app")).code }).Should(Equal(http.StatusNotFound))
	Expect(d.admin.get(ctx, "/api/v1/namespaces/"+d.target+"/configmaps/a").code).To(Equal(http.StatusNotFound))
}
