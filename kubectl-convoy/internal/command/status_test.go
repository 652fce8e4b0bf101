// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func TestStatusShowsUnhealthyObjects(t *testing.T) {
	g := NewWithT(t)
	release := &corev1alpha1.Release{
		TypeMeta: typeMeta("Release"), ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"},
		Spec: corev1alpha1.ReleaseSpec{ClusterRef: corev1alpha1.LocalReference{Name: "prod"}},
		Status: corev1alpha1.ReleaseStatus{Conditions: []metav1.Condition{
			{Type: corev1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Degraded", Message: "1 of 2\nobjects"},
		}},
	}
	fine := corev1alpha1.ObjectKey{Version: "v1", Kind: "Service", Namespace: "shop", Name: "fine"}
	bad := corev1alpha1.ObjectKey{Version: "v1", Kind: "Pod", Namespace: "shop", Name: "bad"}
	page := func(key corev1alpha1.ObjectKey, status corev1alpha1.HealthStatus, message string) corev1alpha1.ReleaseInventory {
		return corev1alpha1.ReleaseInventory{
			Spec: corev1alpha1.ReleaseInventorySpec{Entries: []corev1alpha1.InventoryEntry{{ObjectKey: key, Digest: "d"}}},
			Status: corev1alpha1.ReleaseInventoryStatus{
				Summary: &corev1alpha1.HealthSummary{},
				Health:  []corev1alpha1.ObjectHealth{{ObjectKey: key, Status: status, Message: message}},
			},
		}
	}
	inventory := &corev1alpha1.ReleaseInventoryList{TypeMeta: typeMeta("ReleaseInventoryList"), Items: []corev1alpha1.ReleaseInventory{
		page(fine, corev1alpha1.HealthHealthy, ""), page(bad, corev1alpha1.HealthDegraded, "crash loop"),
	}}
	_, out, _ := run(t, map[string]runtime.Object{
		"GET " + releasesPath + "/web": release,
		"GET /apis/core.convoy.kumodo.io/v1alpha1/namespaces/shop/releaseinventories?fieldSelector=spec.releaseRef.name%3Dweb": inventory,
	}, "status", "web")
	g.Expect(out).To(MatchRegexp(`Ready +False +Degraded .*1 of 2 objects`))
	g.Expect(out).To(MatchRegexp(`Objects: +1 healthy, 1 degraded\n`))
	g.Expect(out).To(MatchRegexp(`Pod shop/bad +degraded +crash loop`))
	g.Expect(out).NotTo(ContainSubstring("shop/fine"))
}

func TestNothingToShow(t *testing.T) {
	none := &corev1alpha1.ReleaseList{TypeMeta: typeMeta("ReleaseList")}
	history := &corev1alpha1.ReleaseHistory{TypeMeta: typeMeta("ReleaseHistory"), Entries: []corev1alpha1.HistoryEntry{}}
	one := history.DeepCopy()
	one.Entries = []corev1alpha1.HistoryEntry{{ID: 3}}
	answers := map[string]runtime.Object{
		"GET " + releasesPath + "?limit=500":                          none,
		"GET /apis/core.convoy.kumodo.io/v1alpha1/releases?limit=500": none,
		"GET " + releasesPath + "/web/history":                        history,
		"GET " + releasesPath + "/web/history?id=3":                   one,
	}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"no Release", []string{"status"}, "No Releases found in namespace shop.\n"},
		{"no Release anywhere", []string{"status", "-A"}, "No Releases found.\n"},
		{"no history", []string{"history", "web"}, "Release shop/web has no history yet.\n"},
		{"an entry without objects", []string{"history", "web", "--id", "3"}, "History id 3 has no objects.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			code, out, errOut := run(t, answers, c.args...)
			g.Expect(code).To(Equal(0))
			g.Expect(out).To(BeEmpty())
			g.Expect(errOut).To(Equal(c.want))
		})
	}
}

func TestStatusRefusesArgumentsThatContradict(t *testing.T) {
	for _, args := range [][]string{{"status", "web", "-A"}, {"status", "web", "shop"}, {"status", "web", "-w"}, {"status", "web", "-l", "a=b"}} {
		code, out, errOut := run(t, nil, args...)
		g := NewWithT(t)
		g.Expect(code).To(Equal(1))
		g.Expect(out).To(BeEmpty())
		g.Expect(errOut).To(ContainSubstring("Release"))
		g.Expect(errOut).NotTo(ContainSubstring("not found"), "no server is asked")
	}
}

// tableOf is a page of a table as convoy-apiserver makes it, with Releases of these names.
func tableOf(next string, names ...string) *metav1.Table {
	table := &metav1.Table{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "Table"}, ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: next}}
	for _, name := range []string{"Name", "Cluster", "Wave", "Revision", "Ready", "Healthy", "InSync", "Age", "Source", "Render", "Message"} {
		table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Name: name})
	}
	for _, name := range names {
		table.Rows = append(table.Rows, metav1.TableRow{
			Cells:  []any{name, "", int64(3), nil, "Unknown", "Unknown", "Unknown", "2d", "GitRepository/apps", "", "of\nit"},
			Object: runtime.RawExtension{Raw: []byte(`{"kind":"PartialObjectMetadata","metadata":{"namespace":"shop"}}`)},
		})
	}
	return table
}

// What is shown to people is made by the server: the whole of many Releases takes long to read.
func TestStatusReadsTablesInPages(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		want []string
	}{
		{"of all", []string{"-A"}, []string{
			"NAMESPACE NAME CLUSTER REVISION READY HEALTHY INSYNC MESSAGE", "shop a <none> Unknown Unknown Unknown of it", "shop b <none> Unknown Unknown Unknown of it",
		}},
		{"wide", []string{"-A", "-o", "wide", "--no-headers"}, []string{
			"shop a 3 GitRepository/apps <none> <none> Unknown Unknown Unknown 2d of it", "shop b 3 GitRepository/apps <none> <none> Unknown Unknown Unknown 2d of it",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			var asked []string
			_, out, errOut := runAgainst(t, context.Background(), func(w http.ResponseWriter, req *http.Request) {
				asked = append(asked, req.URL.RequestURI())
				if req.Header.Get("Accept") != "application/json;as=Table;v=v1;g=meta.k8s.io" {
					refuse(w, http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "only tables")
					return
				}
				if req.URL.Query().Get("continue") == "" {
					send(w, tableOf("more", "a"))
					return
				}
				send(w, tableOf("", "b"))
			}, append([]string{"status"}, test.args...)...)
			g.Expect(errOut).To(BeEmpty())
			g.Expect(words(out)).To(Equal(test.want))
			g.Expect(asked).To(Equal([]string{
				"/apis/core.convoy.kumodo.io/v1alpha1/releases?limit=500", "/apis/core.convoy.kumodo.io/v1alpha1/releases?continue=more&limit=500",
			}))
		})
	}
}

func TestStatusGoesOnWithChanges(t *testing.T) {
	g := NewWithT(t)
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	code, out, errOut := runAgainst(t, ctx, func(w http.ResponseWriter, req *http.Request) {
		if !req.URL.Query().Has("watch") {
			send(w, tableOf("", "web"))
			return
		}
		g.Expect(req.URL.Query()).To(And(HaveKeyWithValue("resourceVersion", []string{"7"}), HaveKeyWithValue("labelSelector", []string{"a=b"})))
		changed := newRelease(ready(metav1.ConditionTrue, "Ready", "all well"))
		changed.ResourceVersion = "8"
		w.Header().Set("Content-Type", "application/json")
		g.Expect(json.NewEncoder(w).Encode(metav1.WatchEvent{Type: "MODIFIED", Object: runtime.RawExtension{Object: changed}})).To(Succeed())
		gone, _ := json.Marshal(&metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: metav1.StatusReasonExpired, Code: http.StatusGone, Message: "too old"})
		g.Expect(json.NewEncoder(w).Encode(metav1.WatchEvent{Type: "ERROR", Object: runtime.RawExtension{Raw: gone}})).To(Succeed())
		w.(http.Flusher).Flush()
		<-req.Context().Done()
	}, "status", "-w", "-l", "a=b", "--no-headers")
	g.Expect(words(out)).To(Equal([]string{"web <none> Unknown Unknown Unknown of it", "web <none> True Unknown Unknown all well"}))
	g.Expect(errOut).To(Equal("error: watching Releases: too old\n"))
	g.Expect(code).To(Equal(1))
}

func TestStatusEndsWhenInterrupted(t *testing.T) {
	g := NewWithT(t)
	ctx, interrupt := context.WithCancel(context.Background())
	listed := releaseList("", newRelease())
	listed.ResourceVersion = "7"
	code, out, errOut := runAgainst(t, ctx, func(w http.ResponseWriter, req *http.Request) {
		if !req.URL.Query().Has("watch") {
			send(w, listed)
			return
		}
		interrupt()
		<-req.Context().Done()
	}, "status", "-w", "-o", "name")
	g.Expect(code).To(Equal(0))
	g.Expect(out).To(Equal("release.core.convoy.kumodo.io/web\n"))
	g.Expect(errOut).To(BeEmpty())
}
