// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

const pagesPath = "/apis/core.convoy.kumodo.io/v1alpha1/namespaces/shop/releaseinventories?fieldSelector=spec.releaseRef.name%3Dweb"

func deploymentKey(version string) corev1alpha1.ObjectKey {
	return corev1alpha1.ObjectKey{Group: "apps", Version: version, Kind: "Deployment", Namespace: "shop", Name: "web"}
}

// planted answers for a Release with an inventory and a health.
func planted() map[string]runtime.Object {
	key, hook := deploymentKey("v1"), corev1alpha1.ObjectKey{Version: "v1", Kind: "Job", Namespace: "shop", Name: "migrate"}
	pod := corev1alpha1.ObjectHealthDetail{ObjectHealth: corev1alpha1.ObjectHealth{
		ObjectKey: corev1alpha1.ObjectKey{Version: "v1", Kind: "Pod", Namespace: "shop", Name: "web-1"}, Status: corev1alpha1.HealthDegraded}}
	return map[string]runtime.Object{
		"GET " + releasesPath + "/web": newRelease(),
		"GET " + pagesPath: &corev1alpha1.ReleaseInventoryList{TypeMeta: typeMeta("ReleaseInventoryList"), Items: []corev1alpha1.ReleaseInventory{{
			Spec: corev1alpha1.ReleaseInventorySpec{Entries: []corev1alpha1.InventoryEntry{{ObjectKey: key, Digest: "d"}}},
			Status: corev1alpha1.ReleaseInventoryStatus{Summary: &corev1alpha1.HealthSummary{Healthy: 1},
				Health: []corev1alpha1.ObjectHealth{{ObjectKey: deploymentKey("v1beta1"), Status: corev1alpha1.HealthHealthy}}},
		}, {
			Spec: corev1alpha1.ReleaseInventorySpec{Entries: []corev1alpha1.InventoryEntry{{ObjectKey: hook, Digest: "d", Hook: "migrate", Stage: -1}}},
		}}},
		"GET " + releasesPath + "/web/health?tree=true": &corev1alpha1.ReleaseHealth{TypeMeta: typeMeta("ReleaseHealth"), Objects: []corev1alpha1.ObjectHealthDetail{{
			ObjectHealth: corev1alpha1.ObjectHealth{ObjectKey: key, Status: corev1alpha1.HealthProgressing}, Rule: "r", Children: []corev1alpha1.ObjectHealthDetail{pod},
		}}},
	}
}

func words(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}

func TestTreeIsOfTheInventory(t *testing.T) {
	g := NewWithT(t)
	_, out, errOut := run(t, planted(), "tree", "web", "--no-headers")
	g.Expect(errOut).To(BeEmpty())
	g.Expect(words(out)).To(Equal([]string{"Release shop/web healthy <none>", "├─ Job shop/migrate (hook migrate) unknown", "└─ Deployment.apps shop/web healthy"}))
	_, out, _ = run(t, planted(), "tree", "web", "-o", "name")
	g.Expect(out).To(Equal("deployment.apps/web\njob/migrate\n"))
	_, out, _ = run(t, planted(), "tree", "web", "-o", "json")
	var health corev1alpha1.ReleaseHealth
	g.Expect(json.Unmarshal([]byte(out), &health)).To(Succeed())
	g.Expect(health.Kind).To(Equal("ReleaseHealth"))
	g.Expect(health.Summary.Healthy).To(BeEquivalentTo(1))
	g.Expect(health.Objects).To(HaveLen(2))
}

func TestDeepTreeIsOfTheTarget(t *testing.T) {
	g := NewWithT(t)
	_, out, _ := run(t, planted(), "tree", "web", "--deep", "--no-headers")
	want := []string{"Release shop/web progressing <none>", "└─ Deployment.apps shop/web progressing", "└─ Pod shop/web-1 degraded"}
	g.Expect(words(out)).To(Equal(want))

	answers := planted()
	code, out, errOut := runAgainst(t, t.Context(), func(w http.ResponseWriter, req *http.Request) {
		if answer, ok := answers["GET "+req.URL.RequestURI()]; ok && !strings.Contains(req.URL.Path, "inventories") {
			send(w, answer)
			return
		}
		refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "no")
	}, "tree", "web", "--deep", "--no-headers")
	g.Expect(errOut).To(BeEmpty())
	g.Expect(code).To(Equal(0), "who may ask for the health needs no inventory")
	g.Expect(words(out)).To(Equal(want))
}

func TestTreeOfNothing(t *testing.T) {
	g := NewWithT(t)
	answers := planted()
	answers["GET "+pagesPath] = &corev1alpha1.ReleaseInventoryList{TypeMeta: typeMeta("ReleaseInventoryList")}
	code, out, errOut := run(t, answers, "tree", "web")
	g.Expect(code).To(Equal(0))
	g.Expect(out).To(BeEmpty())
	g.Expect(errOut).To(Equal("Release shop/web has no objects yet; see kubectl convoy -n shop why web\n"))
}

func TestWhyAsksForAllThatMayBlock(t *testing.T) {
	g := NewWithT(t)
	answers := planted()
	release := newRelease(ready(metav1.ConditionFalse, "WaitingForWave", "waiting for Release db"),
		says(corev1alpha1.ConditionApplied, metav1.ConditionFalse, "WaitingForWave", "waiting for Release db"), func(r *corev1alpha1.Release) {
			r.Spec.Wave, r.Spec.ClusterRef.Name = 1, "edge"
			r.Spec.Source.OCI = &corev1alpha1.OCISource{RegistryRef: corev1alpha1.LocalReference{Name: "images"}}
			for i := range r.Status.Conditions {
				r.Status.Conditions[i].LastTransitionTime = metav1.NewTime(time.Now().Add(-30 * time.Minute))
			}
		})
	answers["GET "+releasesPath+"/web"] = release
	answers["GET "+releasesPath+"?limit=500"] = releaseList("", release, newRelease(named("db"), says(corev1alpha1.ConditionReady, metav1.ConditionFalse, "Degraded", "ill"),
		says(corev1alpha1.ConditionApplied, metav1.ConditionTrue, "Applied", ""), says(corev1alpha1.ConditionHealthy, metav1.ConditionFalse, "Degraded", "ill"),
		func(r *corev1alpha1.Release) { r.Spec.ClusterRef.Name = "edge" }))
	answers["GET "+clustersPath+"/edge"] = &corev1alpha1.Cluster{TypeMeta: typeMeta("Cluster")}
	registry := "GET /apis/source.convoy.kumodo.io/v1alpha1/namespaces/shop/ociregistries/images"
	_, out, _ := run(t, answers, "why", "web")
	g.Expect(out).To(ContainSubstring("  OCIRegistry images: NotFound\n"), "what does not exist is told before what is waited for")

	answers[registry] = &corev1alpha1.Cluster{TypeMeta: metav1.TypeMeta{APIVersion: "source.convoy.kumodo.io/v1alpha1", Kind: "OCIRegistry"}}
	code, out, errOut := run(t, answers, "why", "web")
	g.Expect(errOut).To(BeEmpty())
	g.Expect(code).To(Equal(0))
	g.Expect(out).To(Equal(`Release shop/web is not Ready, for 30m
  Applied: WaitingForWave, for 30m
    waiting for Release db
    Release db (wave 0)
      is not Healthy (Degraded)
      Healthy: Degraded
        ill
        → kubectl convoy -n shop tree db --deep
`))
	_, out, _ = run(t, answers, "why", "web", "-o", "jsonpath={.blockers[0].causes[0].subject}")
	g.Expect(out).To(Equal("Release db (wave 0)\n"))
}

func TestRender(t *testing.T) {
	object := func(name string) *runtime.RawExtension {
		return &runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `"}}`)}
	}
	preview := &corev1alpha1.ReleasePreview{TypeMeta: typeMeta("ReleasePreview"), Objects: []corev1alpha1.ObjectPreview{
		{Action: corev1alpha1.ActionUnchanged, Hook: "h", Object: object("hook")}, {Action: corev1alpha1.ActionCreate, Object: object("a")},
		{ObjectKey: deploymentKey("v1"), Action: corev1alpha1.ActionError, Message: "denied", Object: object("b")}, {Action: corev1alpha1.ActionDelete},
	}}
	history := &corev1alpha1.ReleaseHistory{TypeMeta: typeMeta("ReleaseHistory"), Objects: []runtime.RawExtension{*object("old")}}
	answers := map[string]runtime.Object{
		"GET " + releasesPath + "/web/preview": preview, "GET " + releasesPath + "/web/preview?revision=v2": preview, "GET " + releasesPath + "/web/history?id=3": history,
	}
	document := func(names ...string) string {
		text := ""
		for _, name := range names {
			text += "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
		}
		return text
	}
	const warning = "Warning: a sync would fail with Deployment.apps shop/web: denied\n"
	for _, test := range []struct {
		name        string
		args        []string
		out, errOut string
	}{
		{"what would be applied", nil, document("hook", "a", "b"), warning},
		{"another revision, without hooks, as yaml", []string{"--revision", "v2", "--no-hooks", "-o", "yaml"}, document("a", "b"), warning},
		{"the past", []string{"--id", "3"}, document("old"), ""},
		{"a template", []string{"--id", "3", "-o", "jsonpath={.kind} {.items[*].metadata.name}"}, "List old\n", ""},
		{"both", []string{"--id", "3", "--revision", "v2"}, "", "error: --id and --revision exclude each other: an entry of the history has its revision\n"},
		{"what there is not", []string{"--id", "4"}, "", "error: history id 4 of Release shop/web: releases.core.convoy.kumodo.io \"web\" not found\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			_, out, errOut := run(t, answers, append([]string{"render", "web"}, test.args...)...)
			g.Expect(out).To(Equal(test.out))
			g.Expect(errOut).To(Equal(test.errOut))
		})
	}
}

func TestEvents(t *testing.T) {
	event := func(group, kind, name, kindOfEvent string, minutes int) corev1.Event {
		return corev1.Event{
			InvolvedObject: corev1.ObjectReference{APIVersion: group + "/v1alpha1", Kind: kind, Namespace: "shop", Name: name}, Type: kindOfEvent, Reason: "Because", Message: "of\nit",
			LastTimestamp: metav1.NewTime(time.Now().Add(-time.Duration(minutes) * time.Minute)), Source: corev1.EventSource{Component: "cm"}, Count: 2,
		}
	}
	list := func(events ...corev1.Event) *corev1.EventList {
		return &corev1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"}, Items: events}
	}
	const core = "core.convoy.kumodo.io"
	release, cluster := event(core, "Release", "web", "Warning", 3), event(core, "Cluster", "edge", "Normal", 5)
	foreign := event("apps", "Deployment", "web", "Normal", 4)
	const path = "GET /api/v1/namespaces/shop/events?"
	answers := map[string]runtime.Object{
		path + "limit=500": list(release, foreign, cluster),
		path + "fieldSelector=involvedObject.kind%3DRelease%2CinvolvedObject.name%3Dweb&limit=500":                   list(release),
		path + "fieldSelector=involvedObject.kind%3DCluster%2CinvolvedObject.name%3Dedge%2Ctype%3DWarning&limit=500": list(),
		"GET /api/v1/events?fieldSelector=type%3DWarning&limit=500":                                                  list(release),
	}
	for _, test := range []struct {
		name   string
		args   []string
		out    []string
		errOut string
	}{
		{"of all, oldest first, and no others'", nil, []string{"LAST SEEN TYPE REASON OBJECT MESSAGE", "5m Normal Because Cluster/edge of it", "3m Warning Because Release/web of it"}, ""},
		{"of one", []string{"web", "--no-headers", "-o", "wide"}, []string{"3m Warning Because Release/web of it 2 cm"}, ""},
		{"warnings everywhere", []string{"-A", "--warnings", "--no-headers"}, []string{"shop 3m Warning Because Release/web of it"}, ""},
		{"none", []string{"cluster/edge", "--warnings"}, nil, "No events found. Events are kept for an hour by most clusters.\n"},
		{"for programs", []string{"-o", "jsonpath={.items[*].involvedObject.kind}"}, []string{"Cluster Release"}, ""},
		{"of a kind that has none", []string{"pod/web"}, nil, `error: unknown kind "pod", must be one of release, cluster, gitrepository, helmregistry, ociregistry` + "\n"},
		{"two names", []string{"a", "b"}, nil, "error: events takes one name at most; see 'kubectl convoy events --help'\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			_, out, errOut := run(t, answers, append([]string{"events"}, test.args...)...)
			g.Expect(words(out)).To(Equal(test.out))
			g.Expect(errOut).To(Equal(test.errOut))
		})
	}
}

func TestEventsGoOnWithThoseThatCome(t *testing.T) {
	g := NewWithT(t)
	ctx, interrupt := context.WithCancel(context.Background())
	event := func(group string) *corev1.Event {
		return &corev1.Event{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}, ObjectMeta: metav1.ObjectMeta{ResourceVersion: "8"},
			InvolvedObject: corev1.ObjectReference{APIVersion: group + "/v1alpha1", Kind: "Release", Name: "web"}, Reason: "New", LastTimestamp: metav1.Now()}
	}
	asked := 0
	code, out, errOut := runAgainst(t, ctx, func(w http.ResponseWriter, req *http.Request) {
		if !req.URL.Query().Has("watch") {
			send(w, &corev1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"}, ListMeta: metav1.ListMeta{ResourceVersion: "7"}})
			return
		}
		if asked++; asked > 1 {
			interrupt()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		for _, group := range []string{"apps", "core.convoy.kumodo.io"} {
			g.Expect(json.NewEncoder(w).Encode(metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Object: event(group)}})).To(Succeed())
		}
	}, "events", "web", "-w")
	g.Expect(errOut).To(BeEmpty())
	g.Expect(code).To(Equal(0))
	g.Expect(words(out)).To(HaveExactElements("LAST SEEN TYPE REASON OBJECT MESSAGE", MatchRegexp("^[01]s New Release/web$")))
}

func TestNextCommand(t *testing.T) {
	core := func(resource string) schema.GroupResource {
		return schema.GroupResource{Group: "core.convoy.kumodo.io", Resource: resource}
	}
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"a Release", apierrors.NewNotFound(core("releases"), "web"), "kubectl convoy status -A"},
		{"a Cluster", apierrors.NewNotFound(core("clusters"), "edge"), "kubectl convoy cluster list -A"},
		{"somebody else's", apierrors.NewNotFound(schema.GroupResource{Group: "apps", Resource: "releases"}, "web"), ""},
		{"no convoy", apierrors.NewGenericServerResponse(http.StatusNotFound, "GET", core("releases"), "", "", 0, true), "kubectl convoy version"},
		{"no answer", apierrors.NewServiceUnavailable("no"), "kubectl convoy version"},
		{"no right", apierrors.NewForbidden(core("releases"), "web", nil), ""},
		{"no answer of the API", http.ErrServerClosed, ""},
	} {
		t.Run(test.name, func(t *testing.T) { NewWithT(t).Expect(nextCommand(test.err)).To(Equal(test.want)) })
	}
}
