// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// application are the manifests that are tampered with.
const application = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {team: x}}
data: {a: "1", b: "2"}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {password: canary-of-the-source}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny}
spec: {podSelector: {}, policyTypes: [Ingress]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: mounts}
spec:
  replicas: 0
  selector: {matchLabels: {app: mounts}}
  template:
    metadata: {labels: {app: mounts}}
    spec:
      containers:
      - name: app
        image: app:1
        volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /b, readOnly: true}]
      volumes: [{name: v, emptyDir: {}}]
`

var (
	networkPolicies = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}
	roleBindings    = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}
)

// scene is a Release of the application, applied and in sync.
type scene struct {
	*scenario.Namespace
	target dynamic.Interface
}

const app = "app"

func newScene(ctx context.Context, change func(*corev1alpha1.Release)) *scene {
	GinkgoHelper()
	s := &scene{Namespace: suite.NewNamespace(ctx, map[string]string{"app/all.yaml": application}), target: targetDynamic()}
	release := s.GitRelease(app, scenario.Edge, "app")
	change(release)
	s.Create(ctx, release)
	if release.Spec.Sync.Mode == corev1alpha1.SyncModeManual {
		s.Sync(ctx, app)
	}
	s.AwaitReady(ctx, app)
	s.AwaitCondition(ctx, app, corev1alpha1.ConditionInSync, metav1.ConditionTrue)
	return s
}

// of is the client for a resource of the core group in the scene's namespace.
func (s *scene) of(resource string) dynamic.ResourceInterface {
	return s.target.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource}).Namespace(s.Name)
}

func (s *scene) live(ctx context.Context, resource, name string) *unstructured.Unstructured {
	GinkgoHelper()
	live, err := s.of(resource).Get(ctx, name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	return live
}

// edit changes an object as the field manager "hand".
func (s *scene) edit(ctx context.Context, resource, name, patch string) {
	GinkgoHelper()
	_, err := s.of(resource).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "hand"})
	Expect(err).NotTo(HaveOccurred())
}

// replace deletes an object and makes another one of its name.
func (s *scene) replace(ctx context.Context, resource, name string, change func(*unstructured.Unstructured)) {
	GinkgoHelper()
	copied := s.live(ctx, resource, name)
	copied.SetUID("")
	copied.SetResourceVersion("")
	copied.SetManagedFields(nil)
	change(copied)
	Expect(s.of(resource).Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
	_, err := s.of(resource).Create(ctx, copied, metav1.CreateOptions{FieldManager: "hand"})
	Expect(err).NotTo(HaveOccurred())
}

// events are those of the Release, from now on.
func (s *scene) events(ctx context.Context) watch.Interface {
	GinkgoHelper()
	watcher, err := s.API.CoreV1alpha1().Releases(s.Name).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + app, ResourceVersion: s.Release(ctx, app).ResourceVersion})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(watcher.Stop)
	return watcher
}

// insync waits until the condition InSync has a status, and gives it.
func insync(ctx context.Context, events watch.Interface, status metav1.ConditionStatus) metav1.Condition {
	GinkgoHelper()
	var found *metav1.Condition
	Eventually(ctx, events.ResultChan()).Should(Receive(WithTransform(func(event watch.Event) bool {
		release, ok := event.Object.(*corev1alpha1.Release)
		if !ok {
			return false
		}
		found = meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionInSync)
		return found != nil && found.Status == status
	}, BeTrue())))
	return *found
}

// unharmed says that the objects are as in the source, and are the Release's.
func (s *scene) unharmed(g Gomega, ctx context.Context) {
	uids := map[string]types.UID{}
	for _, entry := range s.Inventory(ctx, app).Spec.Entries {
		uids[entry.Kind] = entry.UID
	}
	read := func(resource, name string) *unstructured.Unstructured {
		live, err := s.of(resource).Get(ctx, name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(live.GetLabels()).To(HaveKey(corev1alpha1.LabelOwner))
		g.Expect(live.GetAnnotations()).To(HaveKeyWithValue(corev1alpha1.AnnotationRelease, HaveSuffix("/"+s.Name+"/"+app)))
		g.Expect(live.GetUID()).To(Equal(uids[live.GetKind()]), "the inventory knows it")
		return live
	}
	settings := read("configmaps", "settings")
	g.Expect(settings.GetLabels()).To(HaveKeyWithValue("team", "x"))
	g.Expect(settings.Object["data"]).To(And(HaveKeyWithValue("a", "1"), HaveKeyWithValue("b", "2")))
	secret, err := s.TargetClient.CoreV1().Secrets(s.Name).Get(ctx, "keys", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(secret.Data).To(HaveKeyWithValue("password", []byte("canary-of-the-source")))
	read("secrets", "keys")
	service := read("services", "web")
	g.Expect(service.Object["spec"]).To(HaveKeyWithValue("selector", Equal(map[string]any{"app": "web"})))
	policy, err := s.target.Resource(networkPolicies).Namespace(s.Name).Get(ctx, "deny", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(policy.Object["spec"]).To(Equal(map[string]any{"podSelector": map[string]any{}, "policyTypes": []any{"Ingress"}}))
	binding, err := s.target.Resource(roleBindings).Namespace(s.Name).Get(ctx, "readers", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(binding.Object["subjects"]).To(HaveExactElements(HaveKeyWithValue("name", "alice")))
	deployment, err := s.TargetClient.AppsV1().Deployments(s.Name).Get(ctx, "mounts", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(deployment.Spec.Template.Spec.Containers[0].VolumeMounts).To(HaveExactElements(HaveField("ReadOnly", false), HaveField("ReadOnly", true)))
	g.Expect(settings.GetAnnotations()).NotTo(HaveKey("left"))
	ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	g.Expect(ports).To(ConsistOf(And(HaveKeyWithValue("port", int64(80)), HaveKeyWithValue("targetPort", int64(8080)))))
}

var _ = Describe("Drift", Ordered, func() {
	var s *scene
	BeforeAll(func(ctx SpecContext) {
		s = newScene(ctx, func(*corev1alpha1.Release) {})
	}, NodeTimeout(2*time.Minute))

	merge := func(resource, name, patch string) func(context.Context) {
		return func(ctx context.Context) { s.edit(ctx, resource, name, patch) }
	}
	owner := strings.ReplaceAll(corev1alpha1.LabelOwner, "/", "~1")
	release := strings.ReplaceAll(corev1alpha1.AnnotationRelease, "/", "~1")

	DescribeTable("is told and corrected", func(spec SpecContext, do func(context.Context), message string) {
		ctx, cancel := context.WithTimeout(spec, scenario.Timeout)
		defer cancel()
		events, start := s.events(ctx), time.Now().Truncate(time.Second)
		do(ctx)
		told := insync(ctx, events, metav1.ConditionFalse)
		Expect(told.Reason).To(Equal(corev1alpha1.ReasonDrifted))
		Expect(told.Message).To(Equal(strings.ReplaceAll(message, "$ns", s.Name) + "; a sync is requested"))
		Expect(told.LastTransitionTime.Time).To(BeTemporally(">=", start))
		insync(ctx, events, metav1.ConditionTrue)
		Eventually(ctx, s.unharmed).WithArguments(ctx).Should(Succeed())
		s.AwaitReady(ctx, app)
	},
		Entry("a field that somebody changed", merge("configmaps", "settings", `{"data":{"a":"by hand"}}`),
			"ConfigMap $ns/settings differs in /data/a (field manager hand)"),
		Entry("two fields", merge("configmaps", "settings", `{"data":{"a":"by hand","b":"by hand"}}`),
			"ConfigMap $ns/settings differs in /data/a (field manager hand) and 1 more field"),
		Entry("a field that somebody removed", merge("configmaps", "settings", `{"data":{"b":null}}`),
			"ConfigMap $ns/settings differs in /data/b"),
		Entry("all fields", merge("configmaps", "settings", `{"data":null}`), "ConfigMap $ns/settings differs in /data"),
		Entry("an item of a list", merge("services", "web", `{"spec":{"ports":[{"name":"http","port":80,"targetPort":81}]}}`),
			"Service $ns/web differs in /spec/ports/0/targetPort (field manager hand)"),
		Entry("a field that somebody added to a map that is owned as a whole", merge("services", "web", `{"spec":{"selector":{"more":"by-hand"}}}`),
			"Service $ns/web differs in /spec/selector/more (field manager hand)"),
		Entry("a pod selector that somebody made narrower", func(ctx context.Context) {
			_, err := s.target.Resource(networkPolicies).Namespace(s.Name).Patch(ctx, "deny", types.MergePatchType,
				[]byte(`{"spec":{"podSelector":{"matchLabels":{"only":"some"}}}}`), metav1.PatchOptions{FieldManager: "hand"})
			Expect(err).NotTo(HaveOccurred())
		}, "NetworkPolicy $ns/deny differs in /spec/podSelector/matchLabels (field manager hand)"),
		Entry("an item that somebody added to a list that is owned as a whole", func(ctx context.Context) {
			_, err := s.target.Resource(networkPolicies).Namespace(s.Name).Patch(ctx, "deny", types.MergePatchType,
				[]byte(`{"spec":{"policyTypes":["Ingress","Egress"]}}`), metav1.PatchOptions{FieldManager: "hand"})
			Expect(err).NotTo(HaveOccurred())
		}, "NetworkPolicy $ns/deny differs in /spec/policyTypes/1 (field manager hand)"),
		Entry("an item of another name in a list that is owned as a whole", func(ctx context.Context) {
			_, err := s.target.Resource(roleBindings).Namespace(s.Name).Patch(ctx, "readers", types.JSONPatchType,
				[]byte(`[{"op":"replace","path":"/subjects/0/name","value":"mallory"}]`), metav1.PatchOptions{FieldManager: "hand"})
			Expect(err).NotTo(HaveOccurred())
		}, "RoleBinding $ns/readers differs in /subjects/0/name (field manager hand)"),
		Entry("a field of the second item of a name", func(ctx context.Context) {
			_, err := s.target.Resource(deployments).Namespace(s.Name).Patch(ctx, "mounts", types.JSONPatchType,
				[]byte(`[{"op":"remove","path":"/spec/template/spec/containers/0/volumeMounts/1/readOnly"}]`), metav1.PatchOptions{FieldManager: "hand"})
			Expect(err).NotTo(HaveOccurred())
		}, "Deployment $ns/mounts differs in /spec/template/spec/containers/0/volumeMounts/1/readOnly"),
		Entry("what somebody applied as convoy", func(ctx context.Context) {
			live := s.live(ctx, "configmaps", "settings")
			annotations := live.GetAnnotations()
			annotations["left"] = "x"
			apply := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "settings"}, "data": live.Object["data"]}}
			apply.SetLabels(live.GetLabels())
			apply.SetAnnotations(annotations)
			_, err := s.of("configmaps").Apply(ctx, "settings", apply, metav1.ApplyOptions{FieldManager: corev1alpha1.FieldManager, Force: true})
			Expect(err).NotTo(HaveOccurred())
		}, "ConfigMap $ns/settings differs in /metadata/annotations/left"),
		Entry("a label that somebody removed", merge("configmaps", "settings", `{"metadata":{"labels":{"team":null}}}`),
			"ConfigMap $ns/settings differs in /metadata/labels/team"),
		Entry("the label by which convoy watches", merge("configmaps", "settings", fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, corev1alpha1.LabelOwner)),
			"ConfigMap $ns/settings differs in /metadata/labels/"+owner),
		Entry("the label by which convoy watches, with another value", merge("configmaps", "settings", fmt.Sprintf(`{"metadata":{"labels":{%q:"other"}}}`, corev1alpha1.LabelOwner)),
			"ConfigMap $ns/settings differs in /metadata/labels/"+owner+" (field manager hand)"),
		Entry("the annotation with the owner", merge("configmaps", "settings", fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, corev1alpha1.AnnotationRelease)),
			"ConfigMap $ns/settings differs in /metadata/annotations/"+release),
		Entry("the annotation with the owner, with one that there is not", func(ctx context.Context) {
			mark := s.live(ctx, "configmaps", "settings").GetAnnotations()[corev1alpha1.AnnotationRelease]
			s.edit(ctx, "configmaps", "settings", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}},"data":{"a":"by hand"}}`, corev1alpha1.AnnotationRelease, mark+"-gone"))
		}, "ConfigMap $ns/settings differs in /metadata/annotations/"+release+" (field manager hand) and 1 more field"),
		Entry("the annotation with the owner, with what is no mark", merge("configmaps", "settings", fmt.Sprintf(`{"metadata":{"annotations":{%q:"nobody"}}}`, corev1alpha1.AnnotationRelease)),
			"ConfigMap $ns/settings differs in /metadata/annotations/"+release+" (field manager hand)"),
		Entry("a value of a Secret, which is not shown", merge("secrets", "keys", `{"stringData":{"password":"canary-of-hand"}}`),
			"Secret $ns/keys differs in /data/password (field manager hand)"),
		Entry("an object that is gone", func(ctx context.Context) {
			Expect(s.of("configmaps").Delete(ctx, "settings", metav1.DeleteOptions{})).To(Succeed())
		}, "ConfigMap $ns/settings is missing"),
	)

	// What is there between the two is seen, or not.
	DescribeTable("is corrected when an object takes the place of one", func(spec SpecContext, change func(*unstructured.Unstructured)) {
		ctx, cancel := context.WithTimeout(spec, scenario.Timeout)
		defer cancel()
		uid := s.live(ctx, "configmaps", "settings").GetUID()
		s.replace(ctx, "configmaps", "settings", change)
		Eventually(ctx, s.unharmed).WithArguments(ctx).Should(Succeed())
		Expect(s.live(ctx, "configmaps", "settings").GetUID()).NotTo(Equal(uid))
		s.AwaitReady(ctx, app)
		Eventually(ctx, func() string {
			return meta.FindStatusCondition(s.Release(ctx, app).Status.Conditions, corev1alpha1.ConditionInSync).Message
		}).Should(Equal("6 objects are as applied"))
	},
		Entry("a copy, marks and all", func(*unstructured.Unstructured) {}),
		Entry("a copy without marks", func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"team": "x"}); o.SetAnnotations(nil) }),
		Entry("something else", func(o *unstructured.Unstructured) {
			o.SetLabels(nil)
			o.SetAnnotations(nil)
			o.Object["data"] = map[string]any{"foreign": "1"}
		}),
	)

	It("is not what somebody adds", func(ctx SpecContext) {
		said, since := sayings(s.Namespace, app), now(ctx)
		s.edit(ctx, "configmaps", "settings", `{"data":{"more":"by hand"},"metadata":{"labels":{"more":"by-hand"}}}`)
		edited := s.live(ctx, "configmaps", "settings").GetResourceVersion()
		Eventually(ctx, func() []request { return requests(ctx, "convoy-observer/", since) }).Should(ContainElement(HaveField("ObjectRef.Name", "settings")))
		// The next thing that is drift is found after that, and corrected without touching it.
		s.edit(ctx, "services", "web", `{"spec":{"selector":{"app":"other"}}}`)
		Eventually(ctx, func() any { return s.live(ctx, "services", "web").Object["spec"].(map[string]any)["selector"] }).Should(HaveKeyWithValue("app", "web"))
		s.AwaitReady(ctx, app)
		Expect(said()).To(ConsistOf(ContainSubstring("Service " + s.Name + "/web differs in /spec/selector/app (field manager hand)")))
		Expect(s.live(ctx, "configmaps", "settings").Object["data"]).To(HaveKeyWithValue("more", "by hand"))
		Expect(s.live(ctx, "configmaps", "settings").GetResourceVersion()).To(Equal(edited), "what was sent of it with the correction changes nothing")
	}, NodeTimeout(2*time.Minute))
})

var _ = Describe("Drift in mode manual", func() {
	It("is only reported, with the secret values masked", func(ctx SpecContext) {
		s := newScene(ctx, func(r *corev1alpha1.Release) { r.Spec.Sync.Mode = corev1alpha1.SyncModeManual })
		events, since := s.events(ctx), now(ctx)
		s.edit(ctx, "secrets", "keys", `{"stringData":{"password":"canary-of-hand"}}`)
		told := insync(ctx, events, metav1.ConditionFalse)
		Expect(told.Message).To(Equal("Secret " + s.Name + "/keys differs in /data/password (field manager hand); a sync corrects it"))
		s.edit(ctx, "configmaps", "settings", `{"data":{"a":"by hand"}}`)
		Eventually(ctx, func() metav1.Condition {
			return *meta.FindStatusCondition(s.Release(ctx, app).Status.Conditions, corev1alpha1.ConditionInSync)
		}).Should(And(HaveField("Message", ContainSubstring("ConfigMap "+s.Name+"/settings differs in /data/a (field manager hand)")),
			HaveField("LastTransitionTime", told.LastTransitionTime)), "it differs since the first")
		Expect(writes(ctx, since)).To(BeEmpty())

		out, errOut, code := s.Kubectl(ctx, "convoy", "-n", s.Name, "diff", app, "-o", "yaml")
		Expect(code).To(Equal(1), errOut)
		Expect(out).To(And(ContainSubstring("/data/password"), ContainSubstring("manager: hand"), ContainSubstring("/data/a")))
		yaml := s.MustKubectl(ctx, "-n", s.Name, "get", "releases,releaseinventories,events", "-o", "yaml")
		for _, said := range []string{out, errOut, yaml} {
			Expect(said).NotTo(Or(ContainSubstring("canary"), ContainSubstring("Y2FuYXJ5")))
		}

		s.Sync(ctx, app)
		Eventually(ctx, s.unharmed).WithArguments(ctx).Should(Succeed())
		s.AwaitCondition(ctx, app, corev1alpha1.ConditionInSync, metav1.ConditionTrue)
	}, NodeTimeout(2*time.Minute))
})

var _ = Describe("Drift that is ignored", func() {
	It("is left alone, also when other fields are corrected", func(ctx SpecContext) {
		s := newScene(ctx, func(r *corev1alpha1.Release) {
			r.Spec.Drift = &corev1alpha1.DriftSpec{Ignore: []corev1alpha1.DriftIgnore{{Target: corev1alpha1.ObjectSelector{Kind: "ConfigMap"}, Paths: []string{"/data/a"}}}}
		})
		data := func() any { return s.live(ctx, "configmaps", "settings").Object["data"] }
		said, since := sayings(s.Namespace, app), now(ctx)
		s.edit(ctx, "configmaps", "settings", `{"data":{"a":"by hand"}}`)
		Eventually(ctx, func() []request { return requests(ctx, "convoy-observer/", since) }).Should(ContainElement(HaveField("ObjectRef.Name", "settings")))
		s.edit(ctx, "configmaps", "settings", `{"data":{"b":"by hand"}}`)
		Eventually(ctx, data).Should(HaveKeyWithValue("b", "2"))
		s.AwaitReady(ctx, app)
		Expect(data()).To(HaveKeyWithValue("a", "by hand"))
		Expect(said()).To(HaveEach(ContainSubstring("differs in /data/b (field manager hand);")))
	}, NodeTimeout(2*time.Minute))
})

var _ = Describe("Drift that comes back", func() {
	It("is given up, naming who fights, until there is something new", func(ctx SpecContext) {
		s := newScene(ctx, func(*corev1alpha1.Release) {})
		since := now(ctx)
		stop := s.fight(ctx)
		Eventually(ctx, func() metav1.Condition {
			return *meta.FindStatusCondition(s.Release(ctx, app).Status.Conditions, corev1alpha1.ConditionInSync)
		}).Should(And(HaveField("Reason", corev1alpha1.ReasonDriftContested),
			HaveField("Message", And(ContainSubstring("ConfigMap "+s.Name+"/settings differs in /data/a (field manager tuner)"), ContainSubstring("5 times")))))
		Expect(corrections(ctx, since)).To(Equal(5))

		By("correcting another object all the same, and nothing more of this one")
		s.edit(ctx, "services", "web", `{"spec":{"selector":{"app":"other"}}}`)
		Eventually(ctx, func() any { return s.live(ctx, "services", "web").Object["spec"].(map[string]any)["selector"] }).Should(HaveKeyWithValue("app", "web"))
		s.AwaitCondition(ctx, app, corev1alpha1.ConditionInSync, metav1.ConditionFalse)
		Expect(corrections(ctx, since)).To(BeNumerically("<=", 6), "one comes with the sync of the other")

		By("beginning anew with a new revision")
		stop()
		s.Commit(ctx, map[string]string{"app/all.yaml": strings.Replace(application, `a: "1"`, `a: "new"`, 1)})
		s.Sync(ctx, app)
		Eventually(ctx, func() any { return s.live(ctx, "configmaps", "settings").Object["data"] }).Should(HaveKeyWithValue("a", "new"))
		s.AwaitCondition(ctx, app, corev1alpha1.ConditionInSync, metav1.ConditionTrue)
		s.edit(ctx, "configmaps", "settings", `{"data":{"a":"once more"}}`)
		Eventually(ctx, func() any { return s.live(ctx, "configmaps", "settings").Object["data"] }).Should(HaveKeyWithValue("a", "new"))
	}, NodeTimeout(3*time.Minute))
})

// fight has somebody write to a field whenever it was corrected, until the function that is
// given is called.
func (s *scene) fight(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
			live, err := s.of("configmaps").Get(ctx, "settings", metav1.GetOptions{})
			if err != nil {
				continue
			}
			if value, _, _ := unstructured.NestedString(live.Object, "data", "a"); strings.HasPrefix(value, "tuned") {
				continue
			}
			n++
			patch := fmt.Sprintf(`{"data":{"a":"tuned %d"}}`, n)
			_, _ = s.of("configmaps").Patch(ctx, "settings", types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "tuner"})
		}
	}()
	stop = func() { cancel(); <-done }
	DeferCleanup(stop)
	return stop
}

// corrections is how often convoy wrote to the ConfigMap since a moment.
func corrections(ctx context.Context, since moment) int {
	GinkgoHelper()
	count := 0
	for _, write := range writes(ctx, since) {
		if write == "patch configmaps/settings" {
			count++
		}
	}
	return count
}
