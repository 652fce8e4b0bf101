// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

const jobPath = "apis/batch/v1/namespaces/shop/jobs/migrate"

// hookJob is the Job of a hook, made for a run.
func hookJob(run string) render.Object {
	return rendered("{apiVersion: batch/v1, kind: Job, metadata: {name: migrate, namespace: shop, annotations: {" + AnnotationHookRun + ": " + run + "}}}")
}

// strangeJob is a Job that is no Release's, with annotations in YAML's flow form.
func strangeJob(annotations string, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	job := manifest("{apiVersion: batch/v1, kind: Job, metadata: {name: migrate, namespace: shop, annotations: " + annotations + "}}")
	for _, c := range change {
		c(job)
	}
	return job
}

func inCondition(condition string) func(*unstructured.Unstructured) {
	return func(job *unstructured.Unstructured) {
		job.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": condition, "status": "True"}}}
	}
}

// TestMakeWay makes way for the second run of a hook, after what is given has happened.
func TestMakeWay(t *testing.T) {
	complete := inCondition("Complete")
	lastRun := func(t *testing.T, a *Applier, s *apiServer) { apply1(t, a, hookJob("first")) }
	of := func(job *unstructured.Unstructured) func(*testing.T, *Applier, *apiServer) {
		return func(_ *testing.T, _ *Applier, s *apiServer) { s.put(jobPath, "somebody", job) }
	}
	const removal, look = "get " + jobPath + "\ndelete " + jobPath, "get " + jobPath
	tests := []struct {
		name     string
		given    func(t *testing.T, a *Applier, s *apiServer)
		vacant   bool
		fails    string // part of the error
		requests string
	}{
		{"nothing is there", func(*testing.T, *Applier, *apiServer) {}, true, "", look},
		{"its last run", lastRun, true, "", removal},
		{"its last run, which failed", func(t *testing.T, a *Applier, s *apiServer) {
			lastRun(t, a, s)
			s.change(jobPath, inCondition("Failed"))
		}, true, "", removal},
		{"its last run, which runs", func(t *testing.T, a *Applier, s *apiServer) {
			lastRun(t, a, s)
			s.change(jobPath, func(o *unstructured.Unstructured) { o.Object["status"] = map[string]any{"active": int64(1)} })
		}, true, "", removal},
		{"this very run, not noted yet", func(t *testing.T, a *Applier, _ *apiServer) { apply1(t, a, hookJob("second")) }, false, "", look},
		{"this very run, complete", func(t *testing.T, a *Applier, s *apiServer) {
			apply1(t, a, hookJob("second"))
			s.change(jobPath, complete)
		}, false, "", look},
		{"this very run, failed and taken off the record", func(t *testing.T, a *Applier, s *apiServer) {
			apply1(t, a, hookJob("second"))
			s.change(jobPath, inCondition("Failed"))
		}, true, "", removal},
		{"this very run, given up by its Release", of(strangeJob("{"+AnnotationHookRun+": second}", complete)), true, "", removal},
		{"its last run, kept by its source", func(t *testing.T, a *Applier, _ *apiServer) {
			o := hookJob("first")
			annotate(helmPolicy, helmKeep)(o.Object)
			o.Keep = true
			apply1(t, a, o)
		}, true, "", removal},
		{"its last run, kept by its source that says so to convoy", func(t *testing.T, a *Applier, _ *apiServer) {
			o := hookJob("first")
			annotate(corev1alpha1.AnnotationPrune, corev1alpha1.PruneDisabled)(o.Object)
			o.Keep = true
			apply1(t, a, o)
		}, true, "", removal},
		{"its last run, kept by hand", func(t *testing.T, a *Applier, s *apiServer) {
			lastRun(t, a, s)
			s.change(jobPath, annotate(corev1alpha1.AnnotationPrune, corev1alpha1.PruneDisabled))
		}, false, "never to be deleted: delete it, or give the object of the hook another name", look},
		{"its last run, which is being deleted", func(t *testing.T, a *Applier, s *apiServer) {
			lastRun(t, a, s)
			s.change(jobPath, func(o *unstructured.Unstructured) {
				now := metav1.Now()
				o.SetDeletionTimestamp(&now)
				o.SetFinalizers([]string{"ex.test/a"})
			})
		}, false, "waits for the object of its last run to be gone: it is being deleted, waits for finalizers [ex.test/a]", look},
		{"its last run, which takes time to go", func(t *testing.T, a *Applier, s *apiServer) {
			lastRun(t, a, s)
			s.change(jobPath, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"ex.test/a"}) })
		}, false, "waits for the object of its last run to be gone", removal + "\n" + look},
		{"a hook of Helm's", of(strangeJob("{helm.sh/hook: pre-install}", complete)), true, "", removal},
		{"a hook of Helm's that runs", of(strangeJob("{helm.sh/hook: pre-install}")), false, "waits for what bears its name already to end", look},
		{"Helm's, of this release", of(strangeJob("{meta.helm.sh/release-name: shop, meta.helm.sh/release-namespace: team}", complete)), true, "", removal},
		{"Helm's, of another release", of(strangeJob("{meta.helm.sh/release-name: shop, meta.helm.sh/release-namespace: other}", complete)),
			false, "nothing says that a hook left it", look},
		{"somebody's", of(strangeJob("{a: b}", complete)), false, "something bears its name already", look},
		{"another installation's", of(strangeJob("{"+AnnotationHookRun+": first, "+corev1alpha1.AnnotationRelease+": away/team/shop}", complete)),
			false, "belongs to Release team/shop of another convoy (installation away)", look},
		{"another Release's", of(strangeJob("{"+AnnotationHookRun+": first, "+corev1alpha1.AnnotationRelease+": home/team/holds}", complete)),
			false, "belongs to Release team/holds: take it out of one of the two Releases", look},
		{"another Release's, which is about to have it no more", of(strangeJob("{"+AnnotationHookRun+": first, "+corev1alpha1.AnnotationRelease+": home/team/leaves}", complete)),
			false, "belongs to Release team/leaves", look},
		{"a Release's that is gone", of(strangeJob("{"+AnnotationHookRun+": first, "+corev1alpha1.AnnotationRelease+": home/team/gone}", complete)), true, "", removal},
		{"a hook's, with what is no mark", of(strangeJob("{"+AnnotationHookRun+": first, "+corev1alpha1.AnnotationRelease+": nobody}", complete)), true, "", removal},
		{"no hook of a Release's that is gone", of(strangeJob("{"+corev1alpha1.AnnotationRelease+": home/team/gone}", complete)),
			false, "something bears its name already", look},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			a := among(neighbourhood{standing: map[string]Standing{"team/holds": Holds, "team/leaves": Leaves}}, s, release())
			tt.given(t, a, s)
			was := s.get(jobPath)
			s.asked()

			vacant, err := a.MakeWay(context.Background(), hookJob("second"))

			g.Expect(vacant).To(Equal(tt.vacant))
			g.Expect(lines(s.asked()...)).To(Equal(tt.requests))
			if tt.fails == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(a.lookUp(hookJob("").Key()).Name == "" || !vacant).To(BeTrue(), "what is gone is forgotten")
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(tt.fails)))
			if s.get(jobPath).GetDeletionTimestamp() == nil {
				g.Expect(s.get(jobPath)).To(Equal(was), "nothing is written")
			}
			_, waits := errors.AsType[*WaitingError](err)
			g.Expect(Reason(err)).To(Equal(map[bool]string{true: corev1alpha1.ReasonProgressing, false: corev1alpha1.ReasonOwnershipConflict}[waits]))
		})
	}
}

// TestMakeWayDeletesWhatItRead: what somebody made meanwhile is not deleted in its place, and a Job
// goes together with its Pods.
func TestMakeWayDeletesWhatItRead(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	a := applier(s, release())
	apply1(t, a, hookJob("first"))
	s.before = func(r request) {
		if r.verb == "delete" {
			g.Expect(r.body["propagationPolicy"]).To(Equal("Foreground"))
			s.before = nil
			s.objects[jobPath] = strangeJob("{a: b}")
			s.objects[jobPath].SetUID("another")
		}
	}
	vacant, err := a.MakeWay(context.Background(), hookJob("second"))
	g.Expect(vacant).To(BeFalse())
	g.Expect(err).To(MatchError(ContainSubstring("changed when it was about to be deleted")))
	g.Expect(s.get(jobPath).GetUID()).To(BeEquivalentTo("another"))
}

func TestMakeWayOfAPod(t *testing.T) {
	pod := "{apiVersion: v1, kind: Pod, metadata: {name: migrate, namespace: shop, annotations: {helm.sh/hook: pre-install}}, status: {phase: %s}}"
	for phase, vacant := range map[string]bool{"Succeeded": true, "Failed": true, "Running": false} {
		g := NewWithT(t)
		s := newAPIServer(t)
		object := rendered(strings.Replace(pod, "%s", phase, 1))
		s.put("api/v1/namespaces/shop/pods/migrate", "somebody", object.Object)
		got, _ := applier(s, release()).MakeWay(context.Background(), object)
		g.Expect(got).To(Equal(vacant), phase)
	}
}

func TestMakeWayForAKindThatIsNotServed(t *testing.T) {
	g := NewWithT(t)
	o := hookJob("first")
	o.Object.SetKind("Unknown")
	_, err := applier(newAPIServer(t), release()).MakeWay(context.Background(), o)
	g.Expect(meta.IsNoMatchError(err)).To(BeTrue())
	g.Expect(err).To(MatchError("waits for the target cluster to serve kind Unknown of batch/v1"))
}
