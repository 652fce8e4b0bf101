// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/observer/internal/testcluster"
)

const (
	widgetReady   = "{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: ns, name: w}, status: {phase: Done}}"
	schemaList    = "GET /openapi/v3"
	widgetSchemas = "GET /openapi/v3/apis/example.com/v1"
	misspelt      = `expression degraded: at 1:15: Widget.status has no field "phse" in example.com/v1, did you mean "phase"?`
)

// misspeltRule is a rule set for Widgets whose rule is healthy when an expression holds.
func misspeltRule(healthy string) *extv1alpha1.HealthRuleSet {
	return &extv1alpha1.HealthRuleSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "web", Generation: 1},
		Spec: extv1alpha1.HealthRuleSetSpec{Rules: []extv1alpha1.HealthRule{{
			Name: "phase", Target: extv1alpha1.HealthRuleTarget{Group: "example.com", Kind: "Widget"},
			Degraded: `object.?status.phse.orValue("") == "Failed"`, Healthy: healthy,
		}}},
	}
}

// schemaOfWidgets is an OpenAPI document in which the status of Widgets has some texts.
func schemaOfWidgets(version string, fields ...string) string {
	properties := make([]string, len(fields))
	for i, field := range fields {
		properties[i] = fmt.Sprintf(`%q: {"type": "string"}`, field)
	}
	return fmt.Sprintf(`{"openapi": "3.0.0", "components": {"schemas": {"Widget": {"type": "object",
		"x-kubernetes-group-version-kind": [{"group": "example.com", "version": %q, "kind": "Widget"}],
		"properties": {"status": {"type": "object", "properties": {%s}}}}}}}`, version, strings.Join(properties, ", "))
}

// publish has the target publish the schema of Widgets in some versions, each under a hash.
func (w *world) publish(hash string, byVersion map[string]string) {
	var paths []string
	for version, document := range byVersion {
		path := "apis/example.com/" + version
		paths = append(paths, fmt.Sprintf(`%q: {"serverRelativeURL": "/openapi/v3/%s?hash=%s"}`, path, path, hash))
		w.answer("GET /openapi/v3/"+path, document)
	}
	w.answer(schemaList, `{"paths": {`+strings.Join(paths, ", ")+`}}`)
}

func (w *world) answer(request, with string) {
	w.cluster.Handle(request, func(writer http.ResponseWriter, _ *http.Request) {
		writer.Header().Set("Content-Type", "application/json")
		_, _ = writer.Write([]byte(with))
	})
}

// newTypeWorld has a Release with a Widget, and a rule set.
func newTypeWorld(t *testing.T, set *extv1alpha1.HealthRuleSet) *world {
	w := newWorld(t)
	w.cluster.Serve(testcluster.Widget)
	w.applied(widgetReady)
	w.Expect(w.client.Tracker().Add(set)).To(Succeed())
	w.seeSet()
	return w
}

// seeSet lets the informer see the rule set as it is at the host.
func (w *world) seeSet() *extv1alpha1.HealthRuleSet {
	w.t.Helper()
	object, err := w.client.Tracker().Get(extv1alpha1.SchemeGroupVersion.WithResource("healthrulesets"), "ns", "web")
	w.Expect(err).NotTo(HaveOccurred())
	set := object.(*extv1alpha1.HealthRuleSet)
	w.Expect(w.sets.Update(set.DeepCopy())).To(Succeed())
	return set
}

// judgeTyped judges until no check is under way, and gives what the inventory then says of the Widget
// and the rule set of its types.
func (w *world) judgeTyped() (corev1alpha1.ObjectHealth, *metav1.Condition) {
	w.t.Helper()
	w.judge()
	w.awaitTypeChecks()
	set := w.seeSet()
	w.Expect(w.judge().RequeueAfter).To(Equal(time.Minute), "nothing is waited for any more")
	return w.inventory().Status.Health[0], meta.FindStatusCondition(set.Status.Conditions, conditionMistyped)
}

// awaitTypeChecks returns when no check is under way.
func (w *world) awaitTypeChecks() {
	w.t.Helper()
	w.Eventually(func() int {
		types := &w.health.Rules.types
		types.mu.Lock()
		defer types.mu.Unlock()
		return len(types.working) + len(types.waiting)
	}).WithTimeout(10 * time.Second).WithPolling(time.Millisecond).Should(BeZero())
}

func TestRuleThatReadsNoField(t *testing.T) {
	for _, test := range []struct {
		name, healthy string
		status        corev1alpha1.HealthStatus
		message       string
	}{
		{"an object that waits for ever", `object.?status.phse.orValue("") == "Done"`, corev1alpha1.HealthProgressing,
			"no expression of the rule holds; the rule may be wrong: " + misspelt + `; expression healthy: at 1:15: Widget.status has no field "phse" in example.com/v1, did you mean "phase"?`},
		{"an object that is well", `object.?status.phase.orValue("") == "Done"`, corev1alpha1.HealthHealthy, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newTypeWorld(t, misspeltRule(test.healthy))
			w.publish("one", map[string]string{"v1": schemaOfWidgets("v1", "phase")})
			w.Expect(w.judge().RequeueAfter).To(Equal(typeCheckRetry), "a pass does not wait for a check")
			w.Expect(w.inventory().Status.Health[0].Status).To(Equal(test.status), "nor does the judgement")

			one, condition := w.judgeTyped()
			w.Expect(one.Status).To(Equal(test.status))
			w.Expect(one.Message).To(Equal(test.message))
			w.Expect(condition).NotTo(BeNil())
			w.Expect(condition.Status).To(Equal(metav1.ConditionTrue))
			w.Expect(condition.Reason).To(Equal(reasonNotInSchema))
			w.Expect(condition.Message).To(HavePrefix("correct the rule, or read with dyn() what objects have nevertheless: rule \"phase\": " + misspelt))
			w.Expect(condition.ObservedGeneration).To(BeEquivalentTo(1))

			w.cluster.Asked()
			w.writes()
			w.judgeTyped()
			w.Expect(w.writes()).To(BeEmpty(), "nothing new is to be said")
			w.Expect(w.cluster.Asked()).To(BeEmpty(), "nor asked")
		})
	}
}

func TestRuleThatFitsTheSchema(t *testing.T) {
	for _, test := range []struct {
		name      string
		published map[string]string
	}{
		{"its version has the field", map[string]string{"v1": schemaOfWidgets("v1", "phase", "phse")}},
		{"another version has the field", map[string]string{"v1": schemaOfWidgets("v1", "phase"), "v2": schemaOfWidgets("v2", "phse")}},
		{"nothing is known of the kind", map[string]string{"v1": schemaOfWidgets("v3", "phase")}},
		{"the version is not published", map[string]string{"v2": schemaOfWidgets("v2", "phase")}},
		{"no document", map[string]string{"v1": `{"openapi": "2.0"}`}},
		{"nothing is published", nil},
		{"no hash tells when it changes", map[string]string{"v1": schemaOfWidgets("v1", "phase")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newTypeWorld(t, misspeltRule(`object.status.phase == "New"`))
			hash := "one"
			if strings.HasPrefix(test.name, "no hash") {
				hash = ""
			}
			w.publish(hash, test.published)
			one, condition := w.judgeTyped()
			w.Expect(one.Message).To(Equal("no expression of the rule holds"))
			w.Expect(condition).To(BeNil())
		})
	}
}

func TestSchemasThatCannotBeRead(t *testing.T) {
	w := newTypeWorld(t, misspeltRule(`object.status.phase == "New"`)) // the target answers 404
	one, condition := w.judgeTyped()
	w.Expect(one.Message).To(Equal("no expression of the rule holds"))
	w.Expect(condition).To(BeNil())
	w.Expect(slices.Contains(w.cluster.Asked(), schemaList)).To(BeTrue())

	w.publish("one", map[string]string{"v1": schemaOfWidgets("v1", "phase")})
	w.clock.Step(typeCheckPause - time.Minute)
	_, condition = w.judgeTyped()
	w.Expect(condition).To(BeNil())
	w.Expect(slices.Contains(w.cluster.Asked(), schemaList)).To(BeFalse(), "it is left in peace for a while")
	w.clock.Step(time.Minute)
	_, condition = w.judgeTyped()
	w.Expect(condition).NotTo(BeNil())
}

func TestSchemasAreSharedByTheirHash(t *testing.T) {
	w := newTypeWorld(t, misspeltRule(`object.status.phase == "Done"`))
	w.publish("one", map[string]string{"v1": schemaOfWidgets("v1", "phase")})
	_, condition := w.judgeTyped()
	w.Expect(condition).NotTo(BeNil())
	w.cluster.Asked()

	w.clock.Step(typeCheckInterval)
	w.judgeTyped()
	asked := w.cluster.Asked()
	w.Expect(asked).To(ContainElement(schemaList))
	w.Expect(asked).NotTo(ContainElement(widgetSchemas), "it is the one that is known")

	w.publish("two", map[string]string{"v1": schemaOfWidgets("v1", "phase", "phse")})
	w.clock.Step(typeCheckInterval)
	_, condition = w.judgeTyped()
	w.Expect(w.cluster.Asked()).To(ContainElement(widgetSchemas))
	w.Expect(condition).To(BeNil(), "the kind has the field by now")
}

// Of several clusters one may have the newer version of an operator.
func TestFieldOfAnotherCluster(t *testing.T) {
	w := newTypeWorld(t, misspeltRule(`object.status.phase == "Done"`))
	w.publish("one", map[string]string{"v1": schemaOfWidgets("v1", "phase")})
	_, condition := w.judgeTyped()
	w.Expect(condition).NotTo(BeNil())

	known := &w.health.Rules.types
	source := w.health.Rules.sources(w.release())[0]
	kind := entry(widgetReady, "").GroupVersionKind()
	other := &typeCheck{key: clusterKey{cluster: types.NamespacedName{Namespace: "ns", Name: "other"}}, sets: map[schema.GroupVersionKind]map[types.UID]ruleSource{kind: {source.uid: source}}}
	known.learn(other, &published{hashes: map[schema.GroupVersion]string{kind.GroupVersion(): "two"}}, map[types.UID]map[schemaKey]verdict{source.uid: {{"ns", kind, "two"}: {known: true}}}, false, w.clock.Now())
	w.clock.Step(typeCheckInterval)
	_, condition = w.judgeTyped()
	w.Expect(condition).To(BeNil(), "who reads it means objects of that cluster")
}

// What was found of one kind stands while another one is looked at, and while the target is away.
func TestKindsOfOtherReleases(t *testing.T) {
	w := newTypeWorld(t, misspeltRule(`object.status.phase == "Done"`))
	w.publish("one", map[string]string{"v1": schemaOfWidgets("v1", "phase")})
	_, condition := w.judgeTyped()
	w.Expect(condition).NotTo(BeNil())

	known := &w.health.Rules.types
	source := w.health.Rules.sources(w.release())[0]
	target, err := w.host.reach(w.t.Context(), w.release())
	w.Expect(err).NotTo(HaveOccurred())
	others := &typeCheck{
		key: clusterKey{cluster: target.name(), server: target.Server()}, cluster: target.Cluster,
		sets: map[schema.GroupVersionKind]map[types.UID]ruleSource{entry(configMap, "").GroupVersionKind(): {"other": {uid: "other", kind: kindGlobalRuleSet, name: "other"}}},
	}
	w.Expect(known.covers(others, w.clock.Now())).To(BeFalse(), "nobody asked for its group yet")
	w.Expect(w.health.makeTypeCheck(w.t.Context(), others)).To(Succeed())
	w.Expect(known.covers(others, w.clock.Now())).To(BeTrue())
	doubts := known.doubts(source, "ns").texts
	w.Expect(doubts).To(HaveKey("phase"))

	w.cluster.Handle(schemaList, nil)
	w.clock.Step(typeCheckInterval)
	_, condition = w.judgeTyped()
	w.Expect(condition).NotTo(BeNil())
	known.mu.Lock()
	known.conclude() // as another cluster has it done
	known.mu.Unlock()
	doubts = known.doubts(source, "ns").texts
	w.Expect(doubts).To(HaveKey("phase"))
}

func TestCorrectedRule(t *testing.T) {
	w := newTypeWorld(t, misspeltRule(`object.status.phase == "New"`))
	w.publish("one", map[string]string{"v1": schemaOfWidgets("v1", "phase")})
	one, condition := w.judgeTyped()
	w.Expect(condition).NotTo(BeNil())
	w.Expect(one.Message).To(ContainSubstring("the rule may be wrong"))

	set := w.seeSet().DeepCopy()
	set.Generation, set.Spec.Rules[0].Degraded = 2, `object.?status.phase.orValue("") == "Failed"`
	status := ruleSetStatus(set.Spec.Rules, set.Status, set.Generation)
	w.Expect(meta.FindStatusCondition(status.Conditions, conditionMistyped)).To(BeNil(), "nothing is known of the new rules yet")
	w.Expect(w.client.Tracker().Update(extv1alpha1.SchemeGroupVersion.WithResource("healthrulesets"), set, "ns")).To(Succeed())
	w.seeSet()
	one, condition = w.judgeTyped()
	w.Expect(one.Message).To(Equal("no expression of the rule holds"))
	w.Expect(condition).To(BeNil())

	w.health.Rules.Forget(set.UID)
	w.Expect(w.health.Rules.types.sets).To(BeEmpty())
}

// Each process knows the clusters of its shards, and none may take back what another one says.
func TestWhatOthersSayOfTypes(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	condition := func(message string, generation int64, age time.Duration) []metav1.Condition {
		return []metav1.Condition{{
			Type: conditionMistyped, Status: metav1.ConditionTrue, Reason: reasonNotInSchema, Message: message,
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now.Add(-age)),
		}}
	}
	for _, test := range []struct {
		name    string
		given   []metav1.Condition
		said    typesSaid
		changed bool
		want    string
	}{
		{"nothing", nil, typesSaid{}, false, ""},
		{"the first word", nil, typesSaid{now: "a"}, true, "a"},
		{"the same", condition("a", 2, time.Hour), typesSaid{now: "a"}, false, "a"},
		{"own words, by now others", condition("a", 2, time.Hour), typesSaid{before: "a", now: "b"}, true, "b"},
		{"own words, by now none", condition("a", 2, time.Hour), typesSaid{before: "a"}, true, ""},
		{"those of another", condition("a", 2, time.Hour), typesSaid{now: "b"}, false, "a"},
		{"those of another, who has nothing to say", condition("a", 2, time.Hour), typesSaid{before: "b"}, false, "a"},
		{"old ones of another", condition("a", 2, 25*time.Hour), typesSaid{}, true, ""},
		{"old ones of another, who finds something else", condition("a", 2, 25*time.Hour), typesSaid{now: "b"}, true, "b"},
		{"of an older generation", condition("a", 1, time.Hour), typesSaid{now: "b"}, true, "b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			test.said.at = now
			conditions := slices.Clone(test.given)
			g.Expect(test.said.in(&conditions, 2)).To(Equal(test.changed))
			message := ""
			if left := meta.FindStatusCondition(conditions, conditionMistyped); left != nil {
				message = left.Message
				g.Expect(left.ObservedGeneration).To(BeEquivalentTo(2))
			}
			g.Expect(message).To(Equal(test.want))
		})
	}
}

func TestPathsOfSchemas(t *testing.T) {
	g := NewWithT(t)
	for path, want := range map[string]string{"api/v1": "v1", "apis/apps/v1": "apps/v1", "apis/a.example.com/v1beta1": "a.example.com/v1beta1"} {
		gv, ok := groupVersionOf(path)
		g.Expect(ok).To(BeTrue(), path)
		g.Expect(gv.String()).To(Equal(want))
		g.Expect(pathOf(gv)).To(Equal(path))
	}
	for _, path := range []string{"", "api", "apis", "apis/apps", "version", ".well-known/openid-configuration", "apis/a/b/c", "apis//v1", "api/../v1"} {
		_, ok := groupVersionOf(path)
		g.Expect(ok).To(BeFalse(), path)
	}
}
