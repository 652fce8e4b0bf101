// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/observer/internal/testcluster"
)

const (
	podless   = "{apiVersion: batch/v1, kind: Job, metadata: {namespace: ns, name: job}, status: {}}"
	listing   = "GET /api/v1/namespaces/ns/events"
	noQuota   = `Error creating: pods "job-x7k2p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0`
	noAccount = `Error creating: pods "job-" is forbidden: error looking up service account ns/app: serviceaccount "job-app" not found`
)

// neighbours are kinds that lie beside what is delivered, and kinds that have some beside them.
var neighbours = []testcluster.Resource{
	{Version: "v1", Plural: "events", Kind: "Event"},
	{Version: "v1", Plural: "persistentvolumeclaims", Kind: "PersistentVolumeClaim"},
	{Group: "apps", Version: "v1", Plural: "statefulsets", Kind: "StatefulSet"},
	{Group: "storage.k8s.io", Version: "v1", Plural: "storageclasses", Kind: "StorageClass", ClusterScoped: true},
}

func newNeighbourhood(t *testing.T) *world {
	w := newWorld(t)
	for _, kind := range neighbours {
		w.cluster.Serve(kind)
	}
	return w
}

// event puts an event into the target, which is of so many seconds after the clock began.
func (w *world) event(name, about, kind, reason, message string, at int) {
	w.t.Helper()
	w.cluster.Put(fmt.Sprintf("{apiVersion: v1, kind: Event, metadata: {namespace: ns, name: %s}, involvedObject: {uid: %s}, type: %s, reason: %s, message: %q, lastTimestamp: %q}",
		name, about, kind, reason, message, time.Date(2026, 1, 1, 0, 0, at, 0, time.UTC).Format(time.RFC3339)))
}

// askedFor is how often something was asked for since the last call.
func (w *world) askedFor(request string) int {
	n := 0
	for _, asked := range w.cluster.Asked() {
		if strings.HasPrefix(asked, request) {
			n++
		}
	}
	return n
}

// follow makes a pass and gives what it says of the hook; what was written is there for the next.
func (w *world) follow() (message string, again time.Duration) {
	w.t.Helper()
	w.lifecycles = nil
	again = w.judge().RequeueAfter
	if len(w.lifecycles) > 0 {
		w.setRelease(func(r *corev1alpha1.Release) { r.Status.Lifecycle = w.lifecycles[0].Status.Lifecycle })
	}
	return w.release().Status.Lifecycle.Hooks[1].Message, again
}

func TestAHookWithoutPodsSaysWhy(t *testing.T) {
	const waits = "0 pods run, 0 succeeded, 0 failed"
	const quota = waits + `; FailedCreate: Error creating: pods "job-…" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0`
	w := newNeighbourhood(t)
	w.cluster.Put(marked(podless))
	w.event("job.2", "uid-job", "Warning", "FailedCreate", noQuota, 2)
	w.event("job.1", "uid-job", "Warning", "FailedCreate", noAccount, 1)
	w.event("web.3", "another", "Warning", "FailedCreate", "another's", 3)
	w.setRelease(withHook(func(h *corev1alpha1.HookStatus) { h.StartedAt = &metav1.Time{Time: w.clock.Now()} }))
	w.setEntries()

	message, again := w.follow()
	w.Expect(message).To(Equal(waits), "most have their pods in a moment")
	w.Expect(again).To(Equal(warningPatience))
	w.Expect(w.askedFor(listing)).To(BeZero())

	w.clock.Step(again)
	message, again = w.follow()
	w.Expect(message).To(Equal(quota), "of the newest one")
	w.Expect(again).To(BeNumerically("<=", warningInterval))
	w.Expect(w.askedFor(listing)).To(Equal(1))

	w.follow()
	w.Expect(w.askedFor(listing)).To(BeZero(), "not with each pass")
	w.event("job.3", "uid-job", "Warning", "FailedCreate", strings.ReplaceAll(noQuota, "x7k2p", "zzzzz"), 3)
	w.clock.Step(warningInterval)
	message, _ = w.follow()
	w.Expect(message).To(Equal(quota))
	w.Expect(w.askedFor(listing)).To(Equal(1))
	w.Expect(w.lifecycles).To(BeEmpty(), "the same cause is the same message")

	w.event("job.4", "uid-job", "Warning", "FailedCreate", noAccount, 4)
	w.clock.Step(warningInterval)
	message, _ = w.follow()
	w.Expect(message).To(ContainSubstring(`pods "job-…" is forbidden: error looking up service account ns/app: serviceaccount "job-app" not found`))

	w.cluster.Put(marked(running))
	message, _ = w.follow()
	w.Expect(message).To(Equal("1 pods run, 0 succeeded, 0 failed"))
}

func TestWhatEventsDoNotSay(t *testing.T) {
	refuse := func(w *world) {
		w.cluster.Refuse(listing, apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", nil))
	}
	for _, test := range []struct {
		name  string
		given func(w *world)
	}{
		{"nothing", func(*world) {}},
		{"what may not be read", refuse},
		{"what is over", func(w *world) { w.event("b", "uid-job", "Normal", "SuccessfulCreate", "Created pod: job-x", 6) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newNeighbourhood(t)
			w.cluster.Put(marked(podless))
			if test.name != "nothing" {
				w.event("a", "uid-job", "Warning", "FailedCreate", noQuota, 5)
			}
			test.given(w)
			w.setRelease(withHook(func(h *corev1alpha1.HookStatus) { h.StartedAt = &metav1.Time{Time: w.clock.Now().Add(-time.Hour)} }))
			w.setEntries()
			message, _ := w.follow()
			w.Expect(message).To(Equal("0 pods run, 0 succeeded, 0 failed"))
			w.Expect(w.askedFor(listing)).To(Equal(1))
		})
	}
}

// A Job that ended without ever having had a pod has failed for the same cause.
func TestAHookThatNeverHadAPodSaysWhy(t *testing.T) {
	w := newNeighbourhood(t)
	w.cluster.Put(marked("{apiVersion: batch/v1, kind: Job, metadata: {namespace: ns, name: job}, status: {conditions: [{type: Failed, status: 'True', reason: DeadlineExceeded}]}}"))
	w.event("a", "uid-job", "Warning", "FailedCreate", noQuota, 5)
	w.setRelease(withHook(func(h *corev1alpha1.HookStatus) { h.StartedAt = &metav1.Time{Time: w.clock.Now().Add(-time.Hour)} }))
	w.setEntries()
	message, _ := w.follow()
	w.Expect(message).To(HavePrefix("failed: DeadlineExceeded; FailedCreate: Error creating"))
	w.Expect(w.release().Status.Lifecycle.Hooks[1].Phase).To(Equal(corev1alpha1.HookFailed))
}

func statefulSet(name string, pods int) string {
	return fmt.Sprintf("{apiVersion: apps/v1, kind: StatefulSet, metadata: {namespace: ns, name: %s, generation: 1}, spec: {replicas: 1}, "+
		"status: {observedGeneration: 1, replicas: %d, updatedReplicas: 1}}", name, pods)
}

// messages are what the inventory's status says of its objects, by name.
func (w *world) messages() map[string]string {
	w.t.Helper()
	messages := map[string]string{}
	for _, one := range w.inventory().Status.Health {
		messages[one.Name] = one.Message
	}
	return messages
}

func TestObjectsWithoutPodsSayWhy(t *testing.T) {
	w := newNeighbourhood(t)
	w.cluster.Put(marked(statefulSet("lacks", 0)))
	w.cluster.Put(marked(statefulSet("has", 1)))
	w.event("a", "uid-lacks", "Warning", "FailedCreate", "create Pod lacks-0 in StatefulSet lacks failed", 5)
	w.event("b", "uid-has", "Warning", "FailedCreate", "an old one", 5)
	w.setRelease(nothing)
	w.setEntries(entry(statefulSet("lacks", 0), "d"), entry(statefulSet("has", 1), "d"))
	w.Expect(w.judge().RequeueAfter).To(Equal(warningPatience))
	w.Expect(w.askedFor(listing)).To(BeZero())
	w.clock.Step(warningPatience - time.Second)
	w.judge()
	w.Expect(w.cluster.Asked()).To(BeEmpty())

	w.clock.Step(time.Second)
	w.Expect(w.judge().RequeueAfter).To(Equal(warningInterval))
	w.Expect(w.messages()).To(And(
		HaveKeyWithValue("lacks", "0 of 1 pods are ready; FailedCreate: create Pod lacks-0 in StatefulSet lacks failed"),
		HaveKeyWithValue("has", "0 of 1 pods are ready")))
	w.Expect(w.statuses()).To(HaveKeyWithValue("lacks", corev1alpha1.HealthProgressing))
	w.Expect(w.askedFor(listing)).To(Equal(1))

	w.judge()
	w.Expect(w.askedFor(listing)).To(BeZero(), "not with each pass")
	w.Expect(w.messages()["lacks"]).To(ContainSubstring("FailedCreate"))

	report, err := w.health.Report(t.Context(), w.release())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(report.Objects[0].Message).To(ContainSubstring("FailedCreate"))
}

func TestTheEventsOfFewObjectsAreReadAtOnce(t *testing.T) {
	w := newNeighbourhood(t)
	var entries []corev1alpha1.InventoryEntry
	for i := range warningsAtOnce + 5 {
		set := statefulSet(fmt.Sprintf("s%02d", i), 0)
		w.cluster.Put(marked(set))
		w.event(fmt.Sprintf("e%02d", i), fmt.Sprintf("uid-s%02d", i), "Warning", "FailedCreate", "no quota", i)
		entries = append(entries, entry(set, "d"))
	}
	w.setRelease(nothing)
	w.setEntries(entries...)
	w.judge()
	w.clock.Step(warningPatience)
	w.cluster.Asked()
	w.Expect(w.judge().RequeueAfter).To(Equal(retryInterval))
	w.Expect(w.askedFor(listing)).To(Equal(warningsAtOnce))

	w.clock.Step(retryInterval)
	w.judge()
	w.Expect(w.askedFor(listing)).To(Equal(5))
	for name, message := range w.messages() {
		w.Expect(message).To(HaveSuffix("no quota"), name)
	}
}

func claim(name, class string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: ns, name: %s}, spec: {storageClassName: %s}, status: {phase: Pending}}", name, class)
}

const (
	slow     = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: slow}, volumeBindingMode: WaitForFirstConsumer}"
	fast     = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, volumeBindingMode: Immediate}"
	classes  = "GET /apis/storage.k8s.io/v1/storageclasses/"
	bound    = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: ns, name: bound}, spec: {storageClassName: other}, status: {phase: Bound}}"
	orFirst  = `pending: waits for a volume of storage class "slow", or for its first consumer`
	consumed = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: ns, name: a, annotations: {volume.kubernetes.io/selected-node: node-a}}, spec: {storageClassName: slow}, status: {phase: Pending}}`
)

func TestClaimsThatWaitForTheirFirstConsumer(t *testing.T) {
	w := newNeighbourhood(t)
	w.cluster.Put(slow)
	w.cluster.Put(fast)
	manifests := []string{claim("a", "slow"), claim("b", "slow"), claim("c", "fast"), bound}
	var entries []corev1alpha1.InventoryEntry
	for _, manifest := range manifests {
		w.cluster.Put(marked(manifest))
		entries = append(entries, entry(manifest, "d"))
	}
	w.setRelease(nothing)
	w.setEntries(entries...)
	w.judge()
	w.Expect(w.statuses()).To(Equal(map[string]corev1alpha1.HealthStatus{
		"a": corev1alpha1.HealthHealthy, "b": corev1alpha1.HealthHealthy, "c": corev1alpha1.HealthProgressing, "bound": corev1alpha1.HealthHealthy,
	}))
	asked := slices.DeleteFunc(w.cluster.Asked(), func(request string) bool { return !strings.HasPrefix(request, classes) })
	w.Expect(asked).To(ConsistOf(classes+"slow", classes+"fast"), "once for all claims, and not for those that are bound")

	w.judge()
	w.Expect(w.cluster.Asked()).To(BeEmpty())

	w.cluster.Put(marked(consumed))
	w.judge()
	w.Expect(w.messages()["a"]).To(Equal(`pending: waits for a volume of storage class "slow" for a pod on node "node-a"`))
}

// Why no volume can be made, events of the claim say.
func TestWhyAClaimHasNoVolume(t *testing.T) {
	w := newNeighbourhood(t)
	w.cluster.Put(fast)
	pending := strings.Replace(claim("c", "fast"), "name: c", "name: c, uid: uid-c", 1)
	w.cluster.Put(marked(pending))
	w.setRelease(nothing)
	w.setEntries(entry(pending, "d"))
	w.event("c.1", "uid-c", "Warning", "ProvisioningFailed", "no space", 1)
	w.judge()
	w.Expect(w.messages()).To(HaveKeyWithValue("c", `pending: waits for a volume of storage class "fast"`), "most have one soon")
	w.clock.Step(warningPatience)
	w.judge()
	w.Expect(w.messages()).To(HaveKeyWithValue("c", `pending: waits for a volume of storage class "fast"; ProvisioningFailed: no space`))
}

func TestAClassThatCannotBeRead(t *testing.T) {
	for _, test := range []struct {
		name string
		err  *apierrors.StatusError
		want error
	}{
		{"forbidden", apierrors.NewForbidden(schema.GroupResource{Resource: "storageclasses"}, "slow", errors.New("user secretive")), errClassForbidden},
		{"absent", apierrors.NewNotFound(schema.GroupResource{Resource: "storageclasses"}, "slow"), errClassAbsent},
		{"broken", apierrors.NewInternalError(errors.New("secretive")), errClassUnread},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newNeighbourhood(t)
			w.cluster.Put(slow)
			w.cluster.Put(marked(claim("a", "slow")))
			w.cluster.Refuse(classes+"slow", test.err)
			w.setRelease(nothing)
			w.setEntries(entry(claim("a", "slow"), "d"))
			w.Expect(w.judge().RequeueAfter).To(Equal(warningPatience), "for events")
			w.Expect(w.messages()["a"]).To(Equal(orFirst + "; its storage class cannot be read: " + test.want.Error()))
			w.Expect(w.askedFor(classes)).To(Equal(1))

			w.cluster.Handle(classes+"slow", nil)
			w.judge()
			w.Expect(w.askedFor(classes)).To(BeZero(), "not with each pass")
			w.clock.Step(unknownClassInterval)
			w.judge()
			w.Expect(w.statuses()).To(HaveKeyWithValue("a", corev1alpha1.HealthHealthy))
		})
	}
}

// Two clusters may have objects of one UID, by chance or because who runs one of them wants it so.
func TestWarningsAreOfOneClusterAndRelease(t *testing.T) {
	for name, change := range map[string]func(w *world, r *corev1alpha1.Release){
		"another Cluster": func(w *world, r *corev1alpha1.Release) {
			far := w.edge().DeepCopy()
			far.Name = "far"
			w.Expect(w.clusters.Add(far)).To(Succeed())
			r.Spec.ClusterRef.Name = "far"
		},
		"another Release": func(_ *world, r *corev1alpha1.Release) { r.Name = "other" },
		"another identity": func(_ *world, r *corev1alpha1.Release) {
			r.Spec.ServiceAccountName, r.Generation = "other", r.Generation+1
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newNeighbourhood(t)
			w.setRelease(func(*corev1alpha1.Release) {})
			live := testcluster.Object(marked(podless))
			told := func(release *corev1alpha1.Release) string {
				target, err := w.host.Connect(t.Context(), release)
				w.Expect(err).NotTo(HaveOccurred())
				text, _ := w.health.surroundings(release, target).warning(t.Context(), live, w.clock.Now().Add(-time.Minute))
				return text
			}
			w.event("job.1", "uid-job", "Warning", "FailedCreate", "one", 1)
			w.Expect(told(w.release())).To(Equal("FailedCreate: one"))
			w.event("job.2", "uid-job", "Warning", "FailedCreate", "two", 2)
			w.Expect(told(w.release())).To(Equal("FailedCreate: one"), "it is kept for a time")
			other := w.release()
			change(w, other)
			w.Expect(told(other)).To(Equal("FailedCreate: two"))
		})
	}
}
