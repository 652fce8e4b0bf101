// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/observer/internal/testcluster"
)

// far is another target, which publishes the schema of Widgets.
func (w *world) far() (*Target, *testcluster.Server) {
	w.t.Helper()
	server := testcluster.New(w.t)
	far := &world{WithT: w.WithT, t: w.t, cluster: server}
	far.publish("one", map[string]string{"v1": schemaOfWidgets("v1", "phase")})
	w.mu.Lock()
	w.secrets = map[string]map[string][]byte{"far": {corev1alpha1.DefaultKubeconfigKey: []byte(far.kubeconfig())}}
	w.mu.Unlock()
	cluster := &corev1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "far", UID: "far", Generation: 1},
		Spec: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeAgentless, Agentless: &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{
			Type:       corev1alpha1.ClusterAuthTypeKubeconfig,
			Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: "far"}},
		}}},
	}
	connection, err := w.host.Connector.Connect(w.t.Context(), cluster)
	w.Expect(err).NotTo(HaveOccurred())
	return &Target{Connection: connection, Cluster: cluster}, server
}

func TestTargetThatHangs(t *testing.T) {
	w := newTypeWorld(t, misspeltRule(`object.status.phase == "New"`))
	over, asked := make(chan struct{}), make(chan struct{})
	w.cluster.Handle(schemaList, func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-over
	})
	t.Cleanup(func() { close(over) })
	w.Expect(w.judge().RequeueAfter).To(Equal(typeCheckRetry))
	w.Eventually(asked).WithTimeout(10 * time.Second).Should(BeClosed())

	far, server := w.far()
	entries := w.inventory().Spec.Entries
	w.Expect(w.health.checkTypes(t.Context(), w.release(), entries, far)).To(BeTrue())
	w.Eventually(func() bool { return w.health.checkTypes(t.Context(), w.release(), entries, far) }).
		WithTimeout(10*time.Second).WithPolling(time.Millisecond).Should(BeFalse(), "it does not wait for the one that hangs")
	w.Expect(server.Asked()).To(ContainElement(widgetSchemas))
}

func TestTypeChecksTakeTurns(t *testing.T) {
	g := NewWithT(t)
	check := func(namespace, name string) *typeCheck {
		return &typeCheck{key: clusterKey{cluster: types.NamespacedName{Namespace: namespace, Name: name}}, sets: map[schema.GroupVersionKind]map[types.UID]ruleSource{}}
	}
	queue := &typeChecks{}
	begun := func() []string {
		var names []string
		for one := queue.next(); one != nil; one = queue.next() {
			names = append(names, one.key.cluster.String())
		}
		return names
	}
	for i := range 5 {
		queue.enqueue(check("a", fmt.Sprint(i)))
	}
	queue.enqueue(check("b", "0"))
	g.Expect(begun()).To(Equal([]string{"a/0", "a/1", "b/0"}), "a namespace does not have more than its share")
	queue.enqueue(check("b", "0"))
	g.Expect(begun()).To(BeEmpty(), "nor a cluster more than one check")
	delete(queue.working, check("b", "0").key)
	g.Expect(begun()).To(Equal([]string{"b/0"}))
	delete(queue.working, check("a", "1").key)
	g.Expect(begun()).To(Equal([]string{"a/2"}))
	for i := range typeChecksAtOnce {
		queue.enqueue(check(fmt.Sprint("c", i), "0"))
	}
	g.Expect(begun()).To(HaveLen(typeChecksAtOnce - 3))
	g.Expect(queue.waiting).To(HaveLen(2 + 3))
}

func TestTypeCheckThatPanics(t *testing.T) {
	w := newTypeWorld(t, misspeltRule(`object.status.phase == "New"`))
	w.publish("one", map[string]string{"v1": schemaOfWidgets("v1", "phase")})
	w.client.PrependReactor("get", "healthrulesets", func(clienttesting.Action) (bool, runtime.Object, error) { panic("secret") })
	w.judgeTyped()

	target, err := w.host.reach(t.Context(), w.release())
	w.Expect(err).NotTo(HaveOccurred())
	check := &typeCheck{key: clusterKey{cluster: target.name(), server: target.Server()}, cluster: target.Cluster, sets: w.health.Rules.wanted(w.release(), w.inventory().Spec.Entries)}
	w.Expect(w.health.Rules.types.covers(check, w.clock.Now().Add(typeCheckPause-time.Minute))).To(BeTrue(), "it is left in peace")
	w.Expect(w.health.Rules.types.covers(check, w.clock.Now().Add(typeCheckPause))).To(BeFalse())
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	w.health.tryTypeCheck(klog.NewContext(t.Context(), logger), check)
	w.Expect(logger.GetSink().(ktesting.Underlier).GetBuffer().String()).To(And(ContainSubstring(`"ns/edge"`), Not(ContainSubstring("secret"))))
}
