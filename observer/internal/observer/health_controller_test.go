// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/observer/internal/testcluster"
)

const (
	configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: cm}, data: {a: '1'}}"
	secretMap = "{apiVersion: v1, kind: Secret, metadata: {namespace: ns, name: sec}, data: {p: eA==}}"
	ready     = "{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ns, name: web, generation: 1}, spec: {replicas: 1}, " +
		"status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, conditions: [{type: Available, status: 'True'}]}}"
	rolling = "{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ns, name: web, generation: 1}, spec: {replicas: 1}, " +
		"status: {observedGeneration: 1, replicas: 1}}"
	widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: ns, name: wid}}"
)

func nothing(*corev1alpha1.Release) {}

// statuses are the health of the objects in the inventory's status, by name.
func (w *world) statuses() map[string]corev1alpha1.HealthStatus {
	w.t.Helper()
	statuses := map[string]corev1alpha1.HealthStatus{}
	for _, one := range w.inventory().Status.Health {
		statuses[one.Name] = one.Status
	}
	return statuses
}

func TestHealthIsJudgedAndWritten(t *testing.T) {
	w := newWorld(t)
	w.cluster.Put(marked(configMap))
	w.cluster.Put(marked(rolling))
	w.setRelease(nothing)
	w.setEntries(entry(configMap, "d1"), entry(ready, "d2"), entry(secretMap, "d3"))

	w.Expect(w.judge().RequeueAfter).To(Equal(time.Minute))
	status := w.inventory().Status
	w.Expect(w.statuses()).To(Equal(map[string]corev1alpha1.HealthStatus{
		"cm": corev1alpha1.HealthHealthy, "web": corev1alpha1.HealthProgressing, "sec": corev1alpha1.HealthMissing,
	}))
	w.Expect(status.ObservedGeneration).To(BeEquivalentTo(1))
	w.Expect(*status.Summary).To(Equal(corev1alpha1.HealthSummary{Healthy: 1, Progressing: 1, Missing: 1}))
	since := w.clock.Now()
	w.Expect(status.Health[1].Since.Time).To(BeTemporally("==", since))

	w.cluster.Put(marked(ready))
	w.clock.Step(time.Hour)
	w.awaitWatch(ready)
	w.judge()
	status = w.inventory().Status
	w.Expect(w.statuses()).To(HaveKeyWithValue("web", corev1alpha1.HealthHealthy))
	w.Expect(status.Health[0].Since.Time).To(BeTemporally("==", since), "what did not change is since then")
	w.Expect(status.Health[1].Since.Time).To(BeTemporally("==", since.Add(time.Hour)))
}

func TestNothingChangedCostsNoRequest(t *testing.T) {
	w := newWorld(t)
	w.cluster.Put(marked(configMap))
	w.cluster.Put(marked(ready))
	w.setRelease(nothing)
	w.setEntries(entry(configMap, "d1"), entry(ready, "d2"))
	w.judge()
	w.Expect(w.cluster.Asked()).To(HaveLen(2))
	w.awaitWatch(configMap)
	w.awaitWatch(ready)
	w.writes()

	w.judge()
	w.Expect(w.cluster.Asked()).To(BeEmpty(), "the watches show the versions that were judged")
	w.Expect(w.writes()).To(BeEmpty())

	w.cluster.Put(marked(ready))
	w.awaitWatch(ready)
	w.judge()
	w.Expect(w.cluster.Asked()).To(Equal([]string{"GET " + w.cluster.Path(ready)}), "only what changed is read")
}

func TestObservedGenerationSpeaksOfReadsAfterIt(t *testing.T) {
	for _, test := range []struct {
		name string
		// generations of the entry of the ConfigMap after the first; the last is judged.
		digests []string
		passes  bool // one pass at each generation
		want    []string
	}{
		{"an entry that did not change", []string{"d1"}, true, nil},
		{"an entry that is about to be applied", []string{""}, true, nil},
		{"an entry that was applied with the same content", []string{"", "d1"}, true, []string{"cm"}},
		{"a generation that was not seen", []string{"", "d1"}, false, []string{"cm", "web"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.cluster.Put(marked(configMap))
			w.cluster.Put(marked(ready))
			w.setRelease(nothing)
			w.setEntries(entry(configMap, "d1"), entry(ready, "d2"))
			w.judge()
			w.awaitWatch(configMap)
			w.awaitWatch(ready)

			for _, digest := range test.digests {
				w.setEntries(entry(configMap, digest), entry(ready, "d2"))
				if test.passes {
					w.judge()
				}
			}
			w.judge()
			var want []string
			for _, name := range test.want {
				want = append(want, "GET "+w.cluster.Path(map[string]string{"cm": configMap, "web": ready}[name]))
			}
			w.Expect(w.cluster.Asked()).To(ConsistOf(want))
			w.Expect(w.inventory().Status.ObservedGeneration).To(Equal(w.inventory().Generation))
		})
	}
}

// An entry tells the resourceVersion at which its object was applied.
func TestObjectThatIsAsItWasAppliedIsNotRead(t *testing.T) {
	at := func(e corev1alpha1.InventoryEntry, version string) corev1alpha1.InventoryEntry {
		e.ResourceVersion = version
		return e
	}
	w := newWorld(t)
	w.cluster.Put(marked(configMap))
	w.cluster.Put(marked(ready))
	w.setRelease(nothing)
	w.setEntries(entry(configMap, "d1"), entry(ready, "d2"))
	w.judge()
	w.awaitWatch(configMap)
	w.awaitWatch(ready)
	w.cluster.Asked()

	w.setEntries(entry(configMap, ""), entry(ready, ""))
	w.judge()
	w.setEntries(at(entry(configMap, "d3"), w.live(configMap)), at(entry(ready, "d4"), w.live(ready)))
	w.judge()
	w.Expect(w.cluster.Asked()).To(BeEmpty(), "both have the versions that were judged")

	w.cluster.Put(marked(configMap))
	w.cluster.Put(marked(ready))
	w.awaitWatch(configMap)
	w.awaitWatch(ready)
	w.setEntries(at(entry(configMap, "d5"), w.live(configMap)), at(entry(ready, "d6"), w.live(ready)))
	w.judge()
	w.Expect(w.cluster.Asked()).To(Equal([]string{"GET " + w.cluster.Path(ready)}), "a ConfigMap is well by existing, a Deployment is not")
	w.Expect(w.statuses()).To(Equal(map[string]corev1alpha1.HealthStatus{"cm": corev1alpha1.HealthHealthy, "web": corev1alpha1.HealthHealthy}))

	w.setEntries(at(entry(configMap, "d7"), "later"), at(entry(ready, "d8"), "later"))
	w.judge()
	w.Expect(w.cluster.Asked()).To(HaveLen(2), "the watch is late")

	w.cluster.Delete(configMap)
	w.awaitWatch(configMap)
	w.judge()
	w.Expect(w.statuses()).To(HaveKeyWithValue("cm", corev1alpha1.HealthMissing))
}

// What an earlier process found of an object that is as it was applied need not be found again at once.
func TestWhatAnEarlierProcessFoundIsNotRead(t *testing.T) {
	for _, test := range []struct {
		name  string
		do    func(w *world)
		later time.Duration // after the new process has looked for the first time
		asked int
	}{
		{"nothing changed", func(*world) {}, 0, 0},
		{"the object changed", func(w *world) { w.cluster.Put(marked(ready)); w.awaitWatch(ready) }, 0, 1},
		{"it was written for another generation", func(w *world) {
			entries := w.inventory().Spec.Entries
			entries[0].Stage++
			w.setEntries(entries...)
		}, 0, 1},
		{"it was not well", func(w *world) {
			inventory := w.inventory()
			inventory.Status.Health[0].Status = corev1alpha1.HealthUnknown
			w.store(inventories, false, inventory)
			w.see()
		}, 0, 1},
		{"there is a rule for its kind", func(w *world) {
			set := ruleSet("ns", "web")
			set.Spec.Rules[0].Target = extv1alpha1.HealthRuleTarget{Group: "apps", Kind: "Deployment"}
			w.Expect(w.sets.Add(set)).To(Succeed())
		}, 0, 1},
		{"that was long ago", func(*world) {}, 2 * trust, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.cluster.Put(marked(ready))
			w.setRelease(nothing)
			w.setEntries(entry(ready, "d1"))
			w.judge()
			w.awaitWatch(ready)
			applied := entry(ready, "d2")
			applied.ResourceVersion = w.live(ready)
			w.setEntries(applied)
			w.judge()
			w.Expect(w.statuses()).To(Equal(map[string]corev1alpha1.HealthStatus{"web": corev1alpha1.HealthHealthy}))

			test.do(w)
			w.health.Forget(key)
			w.cluster.Asked()
			w.judge()
			if test.later > 0 {
				w.clock.Step(test.later)
				w.judge()
			}
			read := slices.DeleteFunc(w.cluster.Asked(), func(request string) bool { return request != "GET "+w.cluster.Path(ready) })
			w.Expect(read).To(HaveLen(test.asked))
			if test.asked == 0 {
				w.Expect(w.statuses()).To(Equal(map[string]corev1alpha1.HealthStatus{"web": corev1alpha1.HealthHealthy}))
				report, err := w.health.Report(t.Context(), w.release())
				w.Expect(err).NotTo(HaveOccurred())
				w.Expect(report.Objects[0].Rule).To(Equal("builtin/apps/Deployment"))
			}
		})
	}
}

// What is about to be applied for the first time is worth a word only when it takes a while.
func TestFirstApplyIsNotJudgedAtOnce(t *testing.T) {
	w := newWorld(t)
	w.setRelease(nothing)
	first := entry(configMap, "")
	first.UID = ""
	w.setEntries(first)
	w.created(w.clock.Now())
	w.writes()
	result, err := w.health.Reconcile(t.Context(), key)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result.RequeueAfter).To(And(BeNumerically(">", 0), BeNumerically("<=", firstApply)))
	w.Expect(w.writes()).To(BeEmpty())
	w.clock.Step(firstApply)
	w.judge()
	w.Expect(w.statuses()).To(Equal(map[string]corev1alpha1.HealthStatus{"cm": corev1alpha1.HealthMissing}))
}

// A burst of changes is a few writes: the first at once, the last when the rest is over.
func TestBurstsAreDamped(t *testing.T) {
	w := newWorld(t)
	w.cluster.Put(marked(ready))
	w.setRelease(nothing)
	w.setEntries(entry(ready, "d"))
	w.judge()
	w.awaitWatch(ready)
	w.clock.Step(time.Minute)
	w.writes()
	w.cluster.Asked()
	pass := func() time.Duration {
		result, err := w.health.Reconcile(t.Context(), key)
		w.Expect(err).NotTo(HaveOccurred())
		w.see()
		return result.RequeueAfter
	}
	for i := range 20 {
		manifest := ready
		if i%2 == 0 {
			manifest = strings.Replace(ready, "availableReplicas: 1", "availableReplicas: 0", 1)
		}
		w.cluster.Put(marked(manifest))
		w.awaitWatch(manifest)
		after := pass()
		if i > 0 {
			w.Expect(after).To(Equal(rest))
			w.Expect(w.cluster.Asked()).To(BeEmpty(), "nothing is read in between")
		}
	}
	w.Expect(w.writes()).To(HaveLen(1))
	w.Expect(w.statuses()).To(HaveKeyWithValue("web", corev1alpha1.HealthProgressing))
	w.clock.Step(rest)
	pass()
	w.Expect(w.statuses()).To(HaveKeyWithValue("web", corev1alpha1.HealthHealthy), "nothing is hidden for longer")

	w.cluster.Put(marked(strings.Replace(ready, "availableReplicas: 1", "availableReplicas: 0", 1)))
	w.setEntries(entry(ready, "newer"))
	pass()
	w.Expect(w.statuses()).To(HaveKeyWithValue("web", corev1alpha1.HealthProgressing), "a new generation is waited for")
}

func TestHealthOfAnOlderInventoryIsNotWritten(t *testing.T) {
	w := newWorld(t)
	w.cluster.Put(marked(configMap))
	w.setRelease(nothing)
	w.setEntries(entry(configMap, "d1"))
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "releaseinventories"}, "app", errors.New("changed"))
	w.client.PrependReactor("update", "releaseinventories", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, conflict
	})
	w.catchUp()

	_, err := w.health.Reconcile(t.Context(), key)
	w.Expect(apierrors.IsConflict(err)).To(BeTrue(), "the next pass is soon: %v", err)
}

func TestABrokenWatchIsNotTrusted(t *testing.T) {
	w := newWorld(t)
	w.cluster.Put(marked(configMap))
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no watch"))
	w.cluster.Refuse("GET /api/v1/configmaps", forbidden)
	w.setRelease(nothing)
	w.setEntries(entry(configMap, "d1"))
	w.judge()
	w.cluster.Asked()

	w.judge()
	w.Expect(w.cluster.Asked()).To(HaveLen(1), "without a watch only a read can tell")
}

func TestUnreachableTargets(t *testing.T) {
	unreachable := func(c *corev1alpha1.Cluster) {
		c.Status.Conditions = []metav1.Condition{{
			Type: corev1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: corev1alpha1.ReasonUnreachable, ObservedGeneration: c.Generation,
		}}
	}
	for _, test := range []struct {
		name      string
		break_    func(w *world)
		want      string
		retryIn   time.Duration
		maxAsked  int
		unrelated bool
	}{
		{"there is no Cluster", func(w *world) { w.Expect(w.clusters.Delete(w.edge())).To(Succeed()) }, "no such cluster", time.Minute, 0, false},
		{"the controller-manager finds it unreachable", func(w *world) { w.setCluster(unreachable) }, "unreachable", time.Minute, 0, false},
		{"it was found unreachable before its spec changed", func(w *world) {
			w.setCluster(unreachable)
			w.setCluster(func(c *corev1alpha1.Cluster) { c.Generation++ })
		}, "", time.Minute, 3, true},
		{"it has no connection to hand out", func(w *world) {
			w.setCluster(func(c *corev1alpha1.Cluster) { c.Spec.Mode = corev1alpha1.ClusterModeAgent })
		}, "not built yet", time.Minute, 0, false},
		{"it hangs up", func(w *world) {
			for _, manifest := range []string{configMap, ready, secretMap} {
				w.cluster.Handle("GET "+w.cluster.Path(manifest), func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
			}
		}, "cluster edge: target cluster is unreachable: ", retryInterval, 12, false}, // net/http repeats what got no answer on old connections, and watches begin anew
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			for _, manifest := range []string{configMap, ready, secretMap} {
				w.cluster.Put(marked(manifest))
			}
			w.setRelease(nothing)
			w.setEntries(entry(configMap, "d1"), entry(ready, "d2"), entry(secretMap, "d3"))
			w.judge()
			w.cluster.Asked()
			w.health.Forget(key)

			test.break_(w)
			w.Expect(w.judge().RequeueAfter).To(Equal(test.retryIn))
			w.Expect(len(w.cluster.Asked())).To(BeNumerically("<=", test.maxAsked))
			status := w.inventory().Status
			if test.unrelated {
				w.Expect(status.Summary.Healthy).To(BeEquivalentTo(3))
				return
			}
			w.Expect(status.Summary.Unknown).To(BeEquivalentTo(3), "never the last known health")
			w.Expect(status.Health[0].Message).To(ContainSubstring(test.want))
		})
	}
}

func TestATargetThatIsAwayCostsOneRoundOfRequests(t *testing.T) {
	w := newWorld(t)
	var entries []corev1alpha1.InventoryEntry
	for i := range 50 {
		one := entry(configMap, "d")
		one.Name += string(rune('a'+i%26)) + string(rune('a'+i/26))
		w.cluster.Handle("GET /api/v1/namespaces/ns/configmaps/"+one.Name, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		entries = append(entries, one)
	}
	w.setRelease(nothing)
	w.setEntries(entries...)
	w.judge()
	w.Expect(len(w.cluster.Asked())).To(BeNumerically("<", 25))
	w.Expect(w.inventory().Status.Summary.Unknown).To(BeEquivalentTo(50))
}

func TestAKindThatIsNotServedYet(t *testing.T) {
	w := newWorld(t)
	w.setRelease(nothing)
	w.setEntries(entry(widget, "d"))
	w.Expect(w.judge().RequeueAfter).To(Equal(unservedRetry))
	w.Expect(w.statuses()).To(HaveKeyWithValue("wid", corev1alpha1.HealthMissing))
	w.Expect(w.judge().RequeueAfter).To(Equal(2*unservedRetry), "and seldom when it is gone for good")

	w.cluster.Serve(testcluster.Widget)
	w.cluster.Put(marked(widget))
	w.Expect(w.judge().RequeueAfter).To(Equal(time.Minute))
	w.Expect(w.statuses()).To(HaveKeyWithValue("wid", corev1alpha1.HealthHealthy))
	w.awaitWatch(widget)

	ahead := entry(widget, "")
	ahead.UID, ahead.Kind = "", "Gadget"
	w.setEntries(ahead)
	w.Expect(w.judge().RequeueAfter).To(Equal(time.Minute), "what was not applied yet comes with an event")
}

func TestRulesDecide(t *testing.T) {
	w := newWorld(t)
	w.cluster.Put(marked(configMap))
	w.setRelease(nothing)
	w.setEntries(entry(configMap, "d1"))
	w.judge()
	w.awaitWatch(configMap)
	w.Expect(w.sets.Add(&extv1alpha1.HealthRuleSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "mine", UID: "s", Generation: 1},
		Spec: extv1alpha1.HealthRuleSetSpec{Rules: []extv1alpha1.HealthRule{{
			Name: "r", Target: extv1alpha1.HealthRuleTarget{Kind: "ConfigMap"}, Degraded: "object.data.a == '1'",
		}}},
	})).To(Succeed())
	w.judge()
	w.Expect(w.statuses()).To(HaveKeyWithValue("cm", corev1alpha1.HealthDegraded), "a new rule is another judgement")
}

func TestAbsentReleasesAreForgotten(t *testing.T) {
	for _, test := range []struct {
		name   string
		delete func(w *world)
	}{
		{"without inventory", func(w *world) { w.Expect(w.inventories.Delete(w.inventory())).To(Succeed()) }},
		{"without Release", func(w *world) { w.Expect(w.releases.Delete(w.release())).To(Succeed()) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.cluster.Put(marked(configMap))
			w.setRelease(nothing)
			w.setEntries(entry(configMap, "d1"))
			w.judge()
			w.awaitWatch(configMap)

			test.delete(w)
			result, err := w.health.Reconcile(t.Context(), key)
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(result.RequeueAfter).To(BeZero())
			w.Expect(w.health.known).To(BeEmpty())
			w.Eventually(w.cluster.Watches).WithTimeout(10*time.Second).Should(BeZero(), "nobody needs the watch any more")
		})
	}
}

func TestReport(t *testing.T) {
	w := newWorld(t)
	w.setRelease(nothing)
	report, err := w.health.Report(t.Context(), w.release())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(report.Status).To(Equal(corev1alpha1.HealthUnknown), "nothing is known without an inventory")

	w.cluster.Put(marked(configMap))
	w.cluster.Put(marked(rolling))
	hook := entry(secretMap, "d3")
	hook.Hook = "migrate"
	w.setRelease(func(r *corev1alpha1.Release) { setApplied(r, metav1.ConditionTrue, corev1alpha1.ReasonApplied) })
	w.setEntries(entry(configMap, "d1"), entry(ready, "d2"), hook)
	w.judge()
	w.Expect(*w.inventory().Status.Summary).To(Equal(corev1alpha1.HealthSummary{Healthy: 1, Progressing: 1}), "a hook is no object")

	report, err = w.health.Report(t.Context(), w.release())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(report.Status).To(Equal(corev1alpha1.HealthProgressing), "the missing object of a hook does not count")
	w.Expect(report.Summary).To(Equal(corev1alpha1.HealthSummary{Healthy: 1, Progressing: 1}))
	w.Expect(report.Objects).To(HaveLen(3), "hooks are listed")
	w.Expect(report.Objects[2].Message).To(Equal("object of hook migrate: not in the cluster"))
	w.Expect(report.Objects[1].Rule).To(Equal("builtin/apps/Deployment"))
	w.Expect(report.Objects[1].Since.Time).To(BeTemporally("==", w.clock.Now()))

	w.cluster.Stop()
	w.health.Forget(key)
	_, err = w.health.Report(t.Context(), w.release())
	w.Expect(err).To(MatchError(clusterconn.ErrUnreachable))
	w.Expect(err).To(MatchError(HavePrefix("cluster edge: target cluster is unreachable: ")))
	w.Expect(err.Error()).To(beSaidOnce())
}

// What the render declares and the target has not is missing, however far its sync came.
func TestObjectsThatAreNotAppliedYet(t *testing.T) {
	written := func(manifest string) corev1alpha1.InventoryEntry {
		one := entry(manifest, "")
		one.UID = ""
		return one
	}
	for _, test := range []struct {
		name    string
		applied metav1.ConditionStatus
		// objects of the render, and the inventory
		objects int32
		entries []corev1alpha1.InventoryEntry
		status  corev1alpha1.HealthStatus
		summary corev1alpha1.HealthSummary
		// rolledBack is true while what is applied is not the newest
		rolledBack bool
	}{
		{"all is applied", metav1.ConditionTrue, 2, []corev1alpha1.InventoryEntry{entry(configMap, "d1"), entry(ready, "d2")},
			corev1alpha1.HealthHealthy, corev1alpha1.HealthSummary{Healthy: 2}, false},
		{"an apply failed", metav1.ConditionFalse, 3, []corev1alpha1.InventoryEntry{entry(configMap, "d1"), entry(ready, "d2"), written(secretMap)},
			corev1alpha1.HealthMissing, corev1alpha1.HealthSummary{Healthy: 2, Missing: 1}, false},
		{"an apply failed, because another owns the object", metav1.ConditionFalse, 2, []corev1alpha1.InventoryEntry{written(configMap), entry(ready, "d2")},
			corev1alpha1.HealthMissing, corev1alpha1.HealthSummary{Healthy: 1, Missing: 1}, false},
		{"an apply was refused, and its entry is taken back", metav1.ConditionFalse, 3, []corev1alpha1.InventoryEntry{entry(configMap, "d1"), entry(ready, "d2")},
			corev1alpha1.HealthMissing, corev1alpha1.HealthSummary{Healthy: 2, Missing: 1}, false},
		{"an object is about to be applied again", metav1.ConditionFalse, 2, []corev1alpha1.InventoryEntry{entry(configMap, "d1"), entry(ready, "")},
			corev1alpha1.HealthHealthy, corev1alpha1.HealthSummary{Healthy: 2}, false},
		{"an object left the render and is kept", metav1.ConditionTrue, 1, []corev1alpha1.InventoryEntry{entry(configMap, "d1"), entry(secretMap, "")},
			corev1alpha1.HealthHealthy, corev1alpha1.HealthSummary{Healthy: 1}, false},
		{"a larger render waits", metav1.ConditionTrue, 5, []corev1alpha1.InventoryEntry{entry(configMap, "d1")},
			corev1alpha1.HealthHealthy, corev1alpha1.HealthSummary{Healthy: 1}, false},
		{"a rollback left an object out", metav1.ConditionTrue, 2, []corev1alpha1.InventoryEntry{entry(configMap, "d1"), written(secretMap)},
			corev1alpha1.HealthHealthy, corev1alpha1.HealthSummary{Healthy: 1}, true},
		{"a rollback is under way", metav1.ConditionFalse, 2, []corev1alpha1.InventoryEntry{entry(configMap, "d1"), written(secretMap)},
			corev1alpha1.HealthMissing, corev1alpha1.HealthSummary{Healthy: 1, Missing: 1}, true},
		{"nothing was applied yet", metav1.ConditionFalse, 5, nil,
			corev1alpha1.HealthMissing, corev1alpha1.HealthSummary{Missing: 5}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.cluster.Put(marked(configMap))
			w.cluster.Put(marked(ready))
			w.setRelease(func(r *corev1alpha1.Release) {
				setApplied(r, test.applied, "Reason")
				r.Status.Render = &corev1alpha1.RenderStatus{Objects: test.objects}
				if test.rolledBack {
					r.Status.Rollback = &corev1alpha1.RollbackStatus{Render: "good"}
				}
			})
			if test.entries != nil {
				w.setEntries(test.entries...)
				w.judge()
			}
			report, err := w.health.Report(t.Context(), w.release())
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(report.Status).To(Equal(test.status))
			w.Expect(report.Summary).To(Equal(test.summary))
			for i, one := range test.entries {
				if !neverApplied(one) {
					continue
				}
				message := Equal("not applied yet")
				if test.rolledBack && test.applied == metav1.ConditionTrue {
					message = Equal("left out of the rollback: another Release has it, and gives it back when it has it no more")
				}
				w.Expect(report.Objects[i].Message).To(message)
				w.Expect(w.inventory().Status.Health[i].Status).To(Equal(corev1alpha1.HealthMissing))
				w.Expect(w.inventory().Status.Health[i].Message).To(message)
				w.Expect(w.inventory().Status.Summary.Missing).To(BeEquivalentTo(1))
			}
		})
	}
}

func TestReportsAndPassesAtTheSameTime(t *testing.T) {
	w := newWorld(t)
	w.cluster.Put(marked(configMap))
	w.setRelease(nothing)
	w.setEntries(entry(configMap, "d1"))
	release := w.release()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				_, _ = w.health.Report(t.Context(), release)
			}
		})
	}
	for range 5 {
		_, err := w.health.Reconcile(t.Context(), key)
		w.Expect(err).NotTo(HaveOccurred())
	}
	wg.Wait()
}
