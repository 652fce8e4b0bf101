// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"net"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned/fake"
	"kumodo.io/convoy/internal/process"
	"kumodo.io/convoy/internal/shard"
	"kumodo.io/convoy/observer/internal/options"
)

// newManager makes a manager on a host in memory.
func newManager(t *testing.T, addr string) *Manager {
	t.Helper()
	return newManagerOn(t, addr, kubefake.NewClientset())
}

func newManagerOn(t *testing.T, addr string, kube kubernetes.Interface) *Manager {
	t.Helper()
	g := NewWithT(t)
	o := options.New()
	o.Serving.Addr, o.Process.MetricsAddr = addr, "127.0.0.1:0"
	o.Process.GracePeriod = 20 * time.Second
	config := &CompletedConfig{
		Config:       &Config{options: o, rest: &rest.Config{Host: "http://127.0.0.1:1"}, convoy: fake.NewSimpleClientset(), kube: kube, fence: &shard.Fence{}},
		installation: "inst", registry: prometheus.NewRegistry(),
	}
	m, err := config.New(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	return m
}

// What a burst has taken does not stay for ever.
func TestMemoryIsGivenBack(t *testing.T) {
	m := newManager(t, "127.0.0.1:0")
	endpoints := process.NewEndpoints("127.0.0.1:0", m.config.registry)
	NewWithT(t).Expect(m.parts(endpoints)).To(ContainElement(HaveField("Name", "memory")))
}

func TestRunEnds(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	defer taken.Close()
	for _, test := range []struct {
		name string
		addr string
		stop bool
		want string // in the error
	}{
		{"when it is told to", "127.0.0.1:0", true, ""},
		{"when a part fails", taken.Addr().String(), false, "serving"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			m := newManager(t, test.addr)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- m.Run(ctx) }()
			if test.stop {
				g.Eventually(m.synced.Load).WithTimeout(20 * time.Second).Should(BeTrue())
				cancel()
			}
			var err error
			g.Eventually(ended).WithTimeout(30 * time.Second).Should(Receive(&err))
			if test.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(test.want)))
		})
	}
}

// The server that is left may go on answering.
func TestAClusterWithAnotherServerIsConnectedAnew(t *testing.T) {
	g := NewWithT(t)
	kubeconfig := func(server string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "edge"}, Data: map[string][]byte{"kubeconfig": []byte(
			"{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {token: t}}], clusters: [{name: c, cluster: {server: '" + server + "'}}]}")}}
	}
	kube := kubefake.NewClientset(kubeconfig("https://old"))
	m := newManagerOn(t, "127.0.0.1:0", kube)
	cluster := &corev1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "edge", UID: "u"},
		Spec: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeAgentless, Agentless: &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{
			Type: corev1alpha1.ClusterAuthTypeKubeconfig, Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: "edge"}},
		}}},
		Status: corev1alpha1.ClusterStatus{Server: "https://old"},
	}
	connected := func() string {
		connection, err := m.host.Connector.Connect(t.Context(), cluster)
		g.Expect(err).NotTo(HaveOccurred())
		return connection.Server()
	}
	g.Expect(connected()).To(Equal("https://old"))

	m.clusterMoved(cluster, cluster.DeepCopy())
	_, err := kube.CoreV1().Secrets("ns").Update(t.Context(), kubeconfig("https://new"), metav1.UpdateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	moved := cluster.DeepCopy()
	moved.Status.Server = "https://new"
	m.clusterMoved(cluster, moved)
	g.Expect(connected()).To(Equal("https://new"))
}

func TestWhatOfAReleaseWakesTheLoops(t *testing.T) {
	condition := func(name string) []metav1.Condition {
		return []metav1.Condition{{Type: name, Status: metav1.ConditionFalse}}
	}
	for _, test := range []struct {
		name   string
		change func(r *corev1alpha1.Release)
		want   bool
	}{
		{"its spec", func(r *corev1alpha1.Release) { r.Generation++ }, true},
		{"another of the name", func(r *corev1alpha1.Release) { r.UID = "other" }, true},
		{"a request", func(r *corev1alpha1.Release) {
			r.Annotations = map[string]string{corev1alpha1.AnnotationSyncRequestedAt: "now"}
		}, true},
		{"the end of a sync", func(r *corev1alpha1.Release) { r.Status.Applied = &corev1alpha1.AppliedStatus{Render: "r"} }, true},
		{"a handled request", func(r *corev1alpha1.Release) { r.Status.Sync = &corev1alpha1.SyncStatus{LastHandledAt: "now"} }, true},
		{"a hook", func(r *corev1alpha1.Release) {
			r.Status.Lifecycle = &corev1alpha1.LifecycleStatus{Hooks: []corev1alpha1.HookStatus{{Name: "h"}}}
		}, true},
		{"the condition Applied", func(r *corev1alpha1.Release) { r.Status.Conditions = condition(corev1alpha1.ConditionApplied) }, true},
		{"the condition SourceReady", func(r *corev1alpha1.Release) { r.Status.Conditions = condition(corev1alpha1.ConditionSourceReady) }, true},
		{"what this process wrote", func(r *corev1alpha1.Release) { r.Status.Conditions = condition(corev1alpha1.ConditionInSync) }, false},
		{"its health", func(r *corev1alpha1.Release) { r.Status.Conditions = condition(corev1alpha1.ConditionHealthy) }, false},
		{"another look at the source", func(r *corev1alpha1.Release) { r.Status.Source = &corev1alpha1.SourceStatus{Revision: "x"} }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			old := &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "app", UID: "u", Generation: 1}}
			current := old.DeepCopy()
			test.change(current)
			NewWithT(t).Expect(releaseChanged(old, current)).To(Equal(test.want))
		})
	}
}
