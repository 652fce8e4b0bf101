// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// only lets one user read an object of the cluster, and notes as whom it is dry-run.
func (w *world) only(user, manifest string) (dryRuns *[]string) {
	path := w.cluster.Path(manifest)
	dryRuns = new([]string)
	w.cluster.Handle("GET "+path, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Impersonate-User") != user {
			status := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "cm", nil)
			rw.WriteHeader(http.StatusForbidden)
			_, _ = rw.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"details":{"name":"cm","kind":"configmaps"},"message":"` + strings.ReplaceAll(status.Error(), `"`, "'") + `"}`))
			return
		}
		_, _ = rw.Write([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"ns","name":"cm","annotations":{"convoy.kumodo.io/release":"inst/ns/app"}},"data":{"a":"canary"}}`))
	})
	w.cluster.Handle("PATCH "+path, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		*dryRuns = append(*dryRuns, r.Header.Get("Impersonate-User"))
		_, _ = rw.Write([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"ns","name":"cm"},"data":{"a":"1"}}`))
	})
	return dryRuns
}

func TestNobodyIsShownWhatHeMayNotRead(t *testing.T) {
	w := newWorld(t)
	w.server.AsCaller = true
	w.release.Spec.ServiceAccountName = "deployer"
	w.current = rendered("d", configMap)
	dryRuns := w.only("alice", configMap)
	w.health = &corev1alpha1.ReleaseHealth{Objects: []corev1alpha1.ObjectHealthDetail{{ObjectHealth: corev1alpha1.ObjectHealth{
		ObjectKey: corev1alpha1.ObjectKey{Version: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "cm"}, Status: corev1alpha1.HealthDegraded, Message: "canary",
	}}}}
	handler := w.server.Handler()
	ask := func(user, path string) string {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, as(user, path))
		w.Expect(recorder.Code).To(Equal(http.StatusOK), recorder.Body.String())
		return recorder.Body.String()
	}
	for _, path := range []string{"/preview/ns/app", "/diff/ns/app", "/diff/ns/app?from=desired&to=live", "/health/ns/app"} {
		w.Expect(ask("alice", path)).To(ContainSubstring("canary"), path)
		w.Expect(ask("bob", path)).NotTo(ContainSubstring("canary"), path)
	}
	w.Expect(ask("bob", "/preview/ns/app")).To(And(ContainSubstring(`"action":"error"`), ContainSubstring(`"reason":"Forbidden"`)))
	w.Expect(ask("bob", "/health/ns/app")).To(And(ContainSubstring("you may not read"), ContainSubstring(`"status":"degraded"`)))
	w.Expect(*dryRuns).To(HaveEach("system:serviceaccount:ns:deployer"), "dry runs are the Release's, and of what may be read only")
	w.Expect(*dryRuns).To(HaveLen(3))

	w.server.AsCaller = false
	w.only("system:serviceaccount:ns:deployer", configMap)
	w.Expect(ask("bob", "/diff/ns/app")).To(ContainSubstring("canary"), "unless that is not wanted")
}

// A target that is away says nothing about what somebody may read.
func TestTargetsThatAreAwayConcealNothing(t *testing.T) {
	w := newWorld(t)
	w.server.AsCaller = true
	w.health = &corev1alpha1.ReleaseHealth{Objects: []corev1alpha1.ObjectHealthDetail{{ObjectHealth: corev1alpha1.ObjectHealth{
		ObjectKey: corev1alpha1.ObjectKey{Version: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "cm"}, Status: corev1alpha1.HealthDegraded, Message: "canary",
	}}}}
	ask := func() (int, string) {
		recorder := httptest.NewRecorder()
		w.server.Handler().ServeHTTP(recorder, as("alice", "/health/ns/app"))
		return recorder.Code, recorder.Body.String()
	}
	w.cluster.Refuse("GET "+w.cluster.Path(configMap), apierrors.NewInternalError(errors.New("etcd")))
	code, body := ask()
	w.Expect(code).To(Equal(http.StatusOK), body)
	w.Expect(body).To(And(ContainSubstring("could not be read as you: "), Not(ContainSubstring("canary"))))

	w.cluster.Handle("GET "+w.cluster.Path(configMap), func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	code, body = ask()
	w.Expect(code).To(Equal(http.StatusServiceUnavailable), body)
	w.Expect(body).To(ContainSubstring("cluster edge"))
}

// Groups and extras decide on what somebody may read, whatever his name.
func TestIdentities(t *testing.T) {
	g := NewWithT(t)
	alice := rest.ImpersonationConfig{UserName: "alice", Groups: []string{"a", "b"}, Extra: map[string][]string{"scopes": {"x"}}}
	same := rest.ImpersonationConfig{UserName: "alice", Groups: []string{"b", "a"}, Extra: map[string][]string{"scopes": {"x"}}}
	g.Expect(identityOf(same)).To(Equal(identityOf(alice)))
	for name, change := range map[string]func(*rest.ImpersonationConfig){
		"another name":  func(c *rest.ImpersonationConfig) { c.UserName = "bob" },
		"another UID":   func(c *rest.ImpersonationConfig) { c.UID = "7" },
		"a group less":  func(c *rest.ImpersonationConfig) { c.Groups = c.Groups[:1] },
		"another scope": func(c *rest.ImpersonationConfig) { c.Extra = map[string][]string{"scopes": {"y"}} },
	} {
		other := alice
		change(&other)
		g.Expect(identityOf(other)).NotTo(Equal(identityOf(alice)), name)
	}
	g.Expect(same.Groups).To(Equal([]string{"b", "a"}))
}

// What one may see, another one must not be given with the same answer.
func TestAnswersAreSharedAmongEqualsOnly(t *testing.T) {
	w := newWorld(t)
	w.server.AsCaller = true
	w.current = rendered("d")
	w.proceed = make(chan struct{})
	handler := w.server.Handler()
	var all crowd
	all.ask(handler, as("alice", "/preview/ns/app"))
	all.ask(handler, as("bob", "/preview/ns/app"))
	w.Eventually(w.arrived.Load, time.Minute).Should(BeEquivalentTo(2), "each has his own")
	for range 2 {
		all.ask(handler, as("bob", "/preview/ns/app"))
	}
	w.Eventually(w.waiting, time.Minute).Should(Equal(2), "bob's second and third question wait for the answer to the first")
	close(w.proceed)
	all.wg.Wait()
	w.Expect(w.arrived.Load()).To(BeEquivalentTo(3))
}
