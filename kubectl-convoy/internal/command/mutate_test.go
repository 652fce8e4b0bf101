// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// mutated gives a Release with two mutations.
func mutated(r *corev1alpha1.Release) {
	r.Spec.Mutations = []corev1alpha1.Mutation{
		{Name: "a", Target: corev1alpha1.ObjectSelector{Kind: "Deployment", LabelSelector: "app=web"}, Patch: "p1", Optional: true},
		{Name: "b", Type: corev1alpha1.MutationJSON, Patch: "p2"},
	}
}

func TestMutationsAreSet(t *testing.T) {
	const (
		a = `{"name":"a","optional":true,"patch":"p1","target":{"kind":"Deployment","labelSelector":"app=web"}}`
		b = `{"name":"b","patch":"p2","target":{},"type":"json"}`
	)
	file := filepath.Join(t.TempDir(), "patch.yaml")
	NewWithT(t).Expect(os.WriteFile(file, []byte("from: file\n"), 0o600)).To(Succeed())
	for _, test := range []struct {
		name string
		args []string
		list string // "" when nothing is sent
		told string // an error then
	}{
		{"a new one goes to the end", []string{"c", "--patch", "p3", "--target-kind", "Job", "--type", "merge"}, a + "," + b + `,{"name":"c","patch":"p3","target":{"kind":"Job"},"type":"merge"}`, "mutation c added"},
		{"of a file, before another", []string{"c", "--patch-file", file, "--before", "b"}, a + `,{"name":"c","patch":"from: file\n"},` + b, "mutation c added"},
		{"what is not given stays", []string{"a", "-p", "other"}, `{"name":"a","optional":true,"patch":"other","target":{"kind":"Deployment","labelSelector":"app=web"}},` + b, "mutation a changed"},
		{"fields are taken away", []string{"a", "--optional=false", "--target-kind=", "--target-labels="}, `{"name":"a","patch":"p1","target":{}},` + b, "mutation a changed"},
		{"every part of a target", []string{"b", "--target-group", "g", "--target-version", "v", "--target-namespace", "n", "--target-name", "x", "--target-annotations", "y"},
			a + `,{"name":"b","patch":"p2","target":{"annotationSelector":"y","group":"g","name":"x","namespace":"n","version":"v"},"type":"json"}`, "mutation b changed"},
		{"it moves", []string{"b", "--before", "a"}, b + "," + a, "mutation b changed"},
		{"it is removed", []string{"a", "--remove"}, b, "mutation a removed"},

		{"nothing new", []string{"b", "--type", "json", "--optional=false", "--target-kind="}, "", "mutation b unchanged"},
		{"a new one without a patch", []string{"c", "--optional"}, "", `error: Release shop/web has no mutation "c", but a, b; a new one needs --patch or --patch-file`},
		{"before itself", []string{"a", "--before", "a"}, "", "error: --before: mutation a cannot go before itself"},
		{"before one that there is not", []string{"a", "--before", "c"}, "", `error: --before: Release shop/web has no mutation "c", but a, b`},
		{"removed that there is not", []string{"c", "--remove"}, "", `error: Release shop/web has no mutation "c", but a, b`},
		{"removed and set", []string{"a", "--remove", "--optional"}, "", "error: --remove excludes what sets a mutation"},
		{"two patches", []string{"a", "--patch", "x", "--patch-file", file}, "", "error: --patch and --patch-file exclude each other"},
		{"no name", []string{"--patch", "x"}, "", "error: the name of the mutation is missing: kubectl convoy mutate web NAME …"},
		{"too many", []string{"a", "b"}, "", "error: mutate takes the name of a Release and that of a mutation, got 3 arguments; see 'kubectl convoy mutate --help'"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			server := serving(newRelease(mutated))
			_, out, errOut := server.change(t, append([]string{"mutate", "web"}, test.args...)...)
			if test.list == "" {
				g.Expect(out + errOut).To(HaveSuffix(test.told + "\n"))
				g.Expect(server.sent).To(BeEmpty())
				return
			}
			g.Expect(errOut).To(BeEmpty())
			g.Expect(out).To(Equal("release.core.convoy.kumodo.io/web " + test.told + "\n"))
			g.Expect(server.sent).To(Equal([]sent{{"PATCH " + releasesPath + "/web/mutations?fieldManager=kubectl-convoy",
				`{"metadata":{"resourceVersion":"1"},"spec":{"mutations":[` + test.list + `]}}`}}))
		})
	}
}

func TestMutationsAreShown(t *testing.T) {
	for _, test := range []struct {
		name        string
		release     *corev1alpha1.Release
		args        []string
		out, errOut string
	}{
		{"all", newRelease(mutated), nil, "NAME   TYPE        OPTIONAL   TARGET\na      strategic   true       kind Deployment, labels app=web\nb      json        false      all objects\n", ""},
		{"one", newRelease(mutated), []string{"b"}, "name: b\npatch: p2\ntarget: {}\ntype: json\n", ""},
		{"as the Release has them", newRelease(mutated), []string{"-o", "jsonpath={.spec.mutations[*].name}"}, "a b\n", ""},
		{"none", newRelease(), nil, "", "Release shop/web has no mutations.\n"},
		{"one that there is not", newRelease(mutated), []string{"c"}, "", "error: Release shop/web has no mutation \"c\", but a, b\n"},
		{"one of none", newRelease(), []string{"c"}, "", "error: Release shop/web has no mutation \"c\", and no other\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			server := serving(test.release)
			_, out, errOut := server.change(t, append([]string{"mutate", "web"}, test.args...)...)
			g.Expect(out).To(Equal(test.out))
			g.Expect(errOut).To(Equal(test.errOut))
			g.Expect(server.sent).To(BeEmpty())
		})
	}
}

func TestTheLastMutationLeavesAnEmptyList(t *testing.T) {
	g := NewWithT(t)
	server := serving(newRelease(mutated, func(r *corev1alpha1.Release) { r.Spec.Mutations = r.Spec.Mutations[:1] }))
	server.change(t, "mutate", "web", "a", "--remove")
	g.Expect(server.sent).To(HaveLen(1))
	g.Expect(server.sent[0].body).To(ContainSubstring(`"mutations":[]`))
}

func TestAMutationIsShownBeforeItIsSet(t *testing.T) {
	g := NewWithT(t)
	server := serving(newRelease(mutated))
	_, out, _ := server.change(t, "mutate", "web", "c", "--patch", "p3", "--dry-run", "-o", "jsonpath={.spec.mutations[*].patch}")
	g.Expect(out).To(Equal("p1 p2 p3\n"))
	g.Expect(server.sent).To(BeEmpty())
}

func TestMutationsAreWrittenAnewWhenSomebodyElseWrote(t *testing.T) {
	g := NewWithT(t)
	server := serving(newRelease(mutated, manual))
	refusals := 2
	code, _, errOut := runAgainst(t, context.Background(), func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPatch && refusals > 0 {
			refusals--
			refuse(w, http.StatusConflict, metav1.StatusReasonConflict, "somebody else wrote")
			return
		}
		server.ServeHTTP(w, req)
	}, "mutate", "web", "c", "--patch", "p3")
	g.Expect(code).To(Equal(0))
	g.Expect(errOut).To(Equal("The Release is synced by hand; this is applied with: kubectl convoy -n shop sync web\n"))
	g.Expect(server.sent).To(HaveLen(1))
}
