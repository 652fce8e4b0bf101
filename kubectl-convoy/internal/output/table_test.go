// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func TestTableAligns(t *testing.T) {
	g := NewWithT(t)
	table := NewTable("A", "BCD", "E")
	table.Add("├─ é", Cell{"x", Good}, 7)
	table.Add("y", "", "last")
	table.Add("alone")
	for header, want := range map[bool]string{
		true:  "A       BCD   E\n├─ é    x     7\ny             last\nalone\n",
		false: "├─ é    x   7\ny           last\nalone\n",
	} {
		var out bytes.Buffer
		g.Expect(table.Write(&out, header)).To(Succeed())
		g.Expect(out.String()).To(Equal(want))
	}
}

func TestTableGoesOn(t *testing.T) {
	g := NewWithT(t)
	table, more := NewTable("A", "BCD"), NewTable()
	table.Add("alone", "x")
	more.Add("y", "z")
	more.Add("too long", "z")
	var out bytes.Buffer
	g.Expect(table.Write(&out, false)).To(Succeed())
	g.Expect(table.WriteMore(&out, more)).To(Succeed())
	g.Expect(out.String()).To(Equal("alone   x\ny       z\ntoo long   z\n"))
}

func TestPaint(t *testing.T) {
	g := NewWithT(t)
	g.Expect(paint("x", Good, true)).To(Equal("\x1b[32mx\x1b[0m"))
	g.Expect(paint("x", Good, false)).To(Equal("x"))
	g.Expect(paint("x", "", true)).To(Equal("x"))
	g.Expect(paint("", Good, true)).To(BeEmpty())
}

func node(kind, name string, status corev1alpha1.HealthStatus, change func(*Node)) Node {
	n := Node{ObjectHealthDetail: corev1alpha1.ObjectHealthDetail{ObjectHealth: corev1alpha1.ObjectHealth{ObjectKey: key(kind, name), Status: status}}}
	if change != nil {
		change(&n)
	}
	return n
}

func TestTree(t *testing.T) {
	pod := corev1alpha1.ObjectHealthDetail{
		ObjectHealth: corev1alpha1.ObjectHealth{ObjectKey: key("Pod", "web-1"), Status: corev1alpha1.HealthDegraded, Message: "crash\nloop"}, Rule: "builtin/Pod",
	}
	replicas := corev1alpha1.ObjectHealthDetail{
		ObjectHealth: corev1alpha1.ObjectHealth{ObjectKey: key("ReplicaSet", "web-1"), Status: corev1alpha1.HealthProgressing}, Children: []corev1alpha1.ObjectHealthDetail{pod},
	}
	nodes := []Node{
		node("Service", "web", corev1alpha1.HealthHealthy, nil),
		node("Deployment", "web", corev1alpha1.HealthProgressing, func(n *Node) {
			n.Children, n.Since = []corev1alpha1.ObjectHealthDetail{replicas}, &metav1.Time{Time: time.Now().Add(-3 * time.Minute)}
		}),
		node("ConfigMap", "old", corev1alpha1.HealthHealthy, func(n *Node) { n.Pending = true }),
		node("Namespace", "shop", corev1alpha1.HealthHealthy, func(n *Node) { n.Stage = -2 }),
		node("Job", "migrate", corev1alpha1.HealthDegraded, func(n *Node) { n.Hook, n.Message = "migrate", "degraded" }),
	}
	r := release()
	r.Status.Source = &corev1alpha1.SourceStatus{Revision: "v1"}
	for _, test := range []struct {
		name  string
		flags TableFlags
		want  string
	}{
		{"by stage, with what is owned", TableFlags{}, `OBJECT                              STATUS        SINCE   MESSAGE
Release shop/web                    progressing           v1
├─ Namespace shop/shop              healthy
├─ Service shop/web                 healthy
├─ Deployment shop/web              progressing   3m
│  └─ ReplicaSet shop/web-1         progressing
│     └─ Pod shop/web-1             degraded              crash loop
├─ ConfigMap shop/old               healthy               to be applied or pruned
└─ Job shop/migrate (hook migrate)   degraded
`},
		{"wide, without a header", TableFlags{Format: "wide", NoHeaders: true}, `Release shop/web                         progressing                      v1
├─ Namespace shop/shop              -2   healthy
├─ Service shop/web                 0    healthy
├─ Deployment shop/web              0    progressing   3m
│  └─ ReplicaSet shop/web-1              progressing
│     └─ Pod shop/web-1                  degraded           builtin/Pod   crash loop
├─ ConfigMap shop/old               0    healthy                          to be applied or pruned
└─ Job shop/migrate (hook migrate)  0    degraded
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			var out bytes.Buffer
			g.Expect(Tree(&out, r, nodes, &test.flags)).To(Succeed())
			g.Expect(single(out.String())).To(Equal(single(test.want)))
		})
	}
}

// single gives lines with at most two spaces in a row, so that a wider column is no other table.
func single(text string) string {
	for {
		next := string(bytes.ReplaceAll([]byte(text), []byte("   "), []byte("  ")))
		if next == text {
			return text
		}
		text = next
	}
}

func TestWorst(t *testing.T) {
	hook := func(n *Node) { n.Hook = "h" }
	for _, test := range []struct {
		name  string
		nodes []Node
		want  corev1alpha1.HealthStatus
	}{
		{"nothing", nil, corev1alpha1.HealthUnknown},
		{"suspended", []Node{node("Job", "a", corev1alpha1.HealthSuspended, nil)}, corev1alpha1.HealthSuspended},
		{"a hook does not count", []Node{node("Job", "a", corev1alpha1.HealthHealthy, nil), node("Job", "b", corev1alpha1.HealthDegraded, hook)}, corev1alpha1.HealthHealthy},
		{"missing", []Node{node("Job", "a", corev1alpha1.HealthMissing, nil), node("Job", "b", corev1alpha1.HealthUnknown, nil)}, corev1alpha1.HealthMissing},
	} {
		t.Run(test.name, func(t *testing.T) { NewWithT(t).Expect(worst(test.nodes)).To(Equal(test.want)) })
	}
}

func TestReleasesWide(t *testing.T) {
	g := NewWithT(t)
	r := release()
	r.Spec.Wave = -1
	r.Spec.Source.Helm = &corev1alpha1.HelmSource{RegistryRef: corev1alpha1.LocalReference{Name: "charts"}}
	r.Status.Render = &corev1alpha1.RenderStatus{Digest: digest}
	r.CreationTimestamp = metav1.NewTime(time.Now().Add(-48 * time.Hour))
	var out bytes.Buffer
	g.Expect(Releases(&corev1alpha1.ReleaseList{Items: []corev1alpha1.Release{*r}}, true, true).Write(&out, true)).To(Succeed())
	g.Expect(out.String()).To(MatchRegexp(`^NAMESPACE +NAME +CLUSTER +WAVE +SOURCE +REVISION +RENDER +READY +HEALTHY +INSYNC +AGE +MESSAGE\n` +
		`shop +web +edge +-1 +HelmRegistry/charts +<none> +sha256:0123456789ab +Unknown +Unknown +Unknown +2d\n$`))
}

func TestEventsAreTimedByWhatTheyHave(t *testing.T) {
	at := func(hours int) metav1.Time { return metav1.NewTime(time.Now().Add(-time.Duration(hours) * time.Hour)) }
	for _, test := range []struct {
		name  string
		event corev1.Event
		want  metav1.Time
	}{
		{"a series", corev1.Event{Series: &corev1.EventSeries{LastObservedTime: metav1.MicroTime(at(1))}, EventTime: metav1.MicroTime(at(9))}, at(1)},
		{"a last time", corev1.Event{LastTimestamp: at(2), FirstTimestamp: at(9)}, at(2)},
		{"one time", corev1.Event{EventTime: metav1.MicroTime(at(3))}, at(3)},
		{"none", corev1.Event{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(4)}}, at(4)},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(ago(metav1.NewTime(EventTime(&test.event)))).To(Equal(ago(test.want)))
		})
	}
}

func TestFormats(t *testing.T) {
	r := release()
	r.TypeMeta = metav1.TypeMeta{APIVersion: corev1alpha1.SchemeGroupVersion.String(), Kind: "Release"}
	for _, test := range []struct{ format, want, wrong string }{
		{"name", "release.core.convoy.kumodo.io/web\n", ""},
		{"jsonpath={.spec.clusterRef.name}", "edge\n", ""},
		{"go-template={{.metadata.namespace}}", "shop\n", ""},
		{"jsonpath={.spec", "", "unclosed action"},
		{"xml", "", `unknown format "xml", must be name, json, yaml, jsonpath=TEMPLATE or go-template=TEMPLATE`},
	} {
		t.Run(test.format, func(t *testing.T) {
			g := NewWithT(t)
			var out bytes.Buffer
			err := PrintObject(&out, test.format, r, nil)
			g.Expect(out.String()).To(Equal(test.want))
			if test.wrong == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(And(HavePrefix("--output: "), ContainSubstring(test.wrong))))
			}
		})
	}
}
