// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	testingclock "k8s.io/utils/clock/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/proxy"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
	"kumodo.io/convoy/apiserver/internal/scheme"
	"kumodo.io/convoy/apiserver/internal/shardlabel"
	"kumodo.io/convoy/internal/shard"
)

var now = time.Date(2030, 1, 2, 3, 4, 5, 678, time.UTC)

// memory holds Releases of one namespace.
type memory map[string]*corev1alpha1.Release

func (m memory) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if r, ok := m[name]; ok {
		return r.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(corev1alpha1.Resource("releases"), name)
}

func (m memory) List(_ context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	list := &corev1alpha1.ReleaseList{}
	for _, r := range m {
		if options.FieldSelector.Matches(fields.Set{"spec.clusterRef.name": r.Spec.ClusterRef.Name}) {
			list.Items = append(list.Items, *r.DeepCopy())
		}
	}
	return list, nil
}

// Update changes a Release as the store does, with one conflict in between: the change runs
// twice, the second time on what another writer wrote.
func (m memory) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, _ rest.ValidateObjectFunc,
	_ rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	if _, err := m.Get(ctx, name, nil); err != nil {
		return nil, false, err
	}
	if _, err := info.UpdatedObject(ctx, m[name]); err != nil {
		return nil, false, err
	}
	metav1.SetMetaDataAnnotation(&m[name].ObjectMeta, "other", "writer")
	updated, err := info.UpdatedObject(ctx, m[name])
	if err != nil {
		return nil, false, err
	}
	if len(options.DryRun) == 0 {
		m[name] = updated.(*corev1alpha1.Release)
	}
	return updated, false, nil
}

func release(name string, dependsOn ...string) *corev1alpha1.Release {
	r := &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
	r.Spec.ClusterRef.Name = "local"
	r.Spec.Source.Git = &corev1alpha1.GitSource{RepositoryRef: corev1alpha1.LocalReference{Name: "app"}}
	for _, dependency := range dependsOn {
		r.Spec.DependsOn = append(r.Spec.DependsOn, corev1alpha1.Dependency{Name: dependency})
	}
	return r
}

func strategy(t *testing.T, releases Reader) resource.Strategy[*corev1alpha1.Release] {
	t.Helper()
	s, err := scheme.New()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return resource.NewStrategy(kind(shardlabel.New(64), releases), s)
}

func inNamespace() context.Context {
	return genericapirequest.WithNamespace(context.Background(), "team")
}

func TestCreateLabelsByCluster(t *testing.T) {
	g := NewWithT(t)
	created := release("web")
	rest.FillObjectMetaSystemFields(created)
	g.Expect(rest.BeforeCreate(strategy(t, memory{}), inNamespace(), created)).To(Succeed())
	want := shard.Label(shard.Of(shard.ClusterKey("team", "local"), 64))
	g.Expect(created.Labels).To(HaveKeyWithValue(corev1alpha1.LabelShard, want))
	g.Expect(created.Spec.TargetNamespace).To(Equal("team"))
}

func TestUpdateOfAnEqualSpecKeepsTheGeneration(t *testing.T) {
	g := NewWithT(t)
	withValues := func(text string) *corev1alpha1.Release {
		r := release("web")
		r.ResourceVersion, r.Generation = "1", 4
		r.Spec.Render = &corev1alpha1.RenderSpec{Helm: &corev1alpha1.HelmRender{Values: &runtime.RawExtension{Raw: []byte(text)}}}
		return r
	}
	s := strategy(t, memory{})
	old := withValues(`{"a":1,"b":{"c":[true]}}`)
	s.PrepareForCreate(inNamespace(), old)
	old.Generation = 4
	given := withValues("{ \"b\": {\"c\": [true]},\n\"a\": 1}")
	g.Expect(rest.BeforeUpdate(s, inNamespace(), given, old)).To(Succeed())
	g.Expect(given.Generation).To(Equal(int64(4)), "the spelling of JSON is no change")
	given.Spec.Render.Helm.Values.Raw = []byte(`{"a":2}`)
	g.Expect(rest.BeforeUpdate(s, inNamespace(), given, old)).To(Succeed())
	g.Expect(given.Generation).To(Equal(int64(5)))
}

func TestClusterCannotChange(t *testing.T) {
	g := NewWithT(t)
	s := strategy(t, memory{})
	old := release("web")
	s.PrepareForCreate(inNamespace(), old)
	old.ResourceVersion = "1"
	given := old.DeepCopy()
	given.Spec.ClusterRef.Name = "far"
	err := rest.BeforeUpdate(s, inNamespace(), given, old)
	g.Expect(err).To(MatchError(ContainSubstring("spec.clusterRef.name")))
}

func TestGatesAreSigned(t *testing.T) {
	at := metav1.NewTime(time.Unix(1, 0))
	lifecycle := func(gates ...corev1alpha1.GateStatus) *corev1alpha1.LifecycleStatus {
		return &corev1alpha1.LifecycleStatus{Gates: gates}
	}
	signed := corev1alpha1.GateStatus{Name: "g", Approved: true, By: "bob", At: &at}
	today := metav1.NewTime(now.Truncate(time.Second))
	for _, test := range []struct {
		name             string
		old, given, want *corev1alpha1.LifecycleStatus
	}{
		{name: "nothing"},
		{
			name:  "an approval is signed by who gives it, whatever it says",
			given: lifecycle(corev1alpha1.GateStatus{Name: "g", Approved: true, By: "boss", At: &at}),
			want:  lifecycle(corev1alpha1.GateStatus{Name: "g", Approved: true, By: "alice", At: &today}),
		},
		{
			name: "an earlier signature stays", old: lifecycle(signed),
			given: lifecycle(corev1alpha1.GateStatus{Name: "g", Approved: true, By: "alice"}),
			want:  lifecycle(signed),
		},
		{
			name: "a withdrawn approval has none", old: lifecycle(signed),
			given: lifecycle(corev1alpha1.GateStatus{Name: "g", By: "bob", At: &at}),
			want:  lifecycle(corev1alpha1.GateStatus{Name: "g"}),
		},
		{
			name: "an approval is for what waits", old: lifecycle(corev1alpha1.GateStatus{Name: "g", Revision: "1", Render: "one"}),
			given: lifecycle(corev1alpha1.GateStatus{Name: "g", Revision: "2", Approved: true}),
			want:  lifecycle(corev1alpha1.GateStatus{Name: "g", Revision: "1", Render: "one", Approved: true, By: "alice", At: &today}),
		},
		{
			name:  "a gate that is not named stays as it is",
			old:   lifecycle(corev1alpha1.GateStatus{Name: "f", Render: "one", Approved: true, By: "bob", At: &at}, corev1alpha1.GateStatus{Name: "g", Render: "one"}),
			given: lifecycle(corev1alpha1.GateStatus{Name: "g", Approved: true}),
			want: lifecycle(corev1alpha1.GateStatus{Name: "g", Render: "one", Approved: true, By: "alice", At: &today},
				corev1alpha1.GateStatus{Name: "f", Render: "one", Approved: true, By: "bob", At: &at}),
		},
		{
			name: "gates stay when the whole is taken away", old: lifecycle(signed),
			want: lifecycle(signed),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			old, given := &corev1alpha1.Release{}, &corev1alpha1.Release{}
			old.Status.Lifecycle, given.Status.Lifecycle = test.old, test.given
			ctx := genericapirequest.WithUser(context.Background(), &user.DefaultInfo{Name: "alice"})
			lifecyclePart(testingclock.NewFakePassiveClock(now)).Finish(ctx, given, old)
			g.Expect(given.Status.Lifecycle).To(BeComparableTo(test.want))
		})
	}
}

func TestOnlyWhatWaitsIsApproved(t *testing.T) {
	waiting := corev1alpha1.GateStatus{Name: "qa", Revision: "main@2", Render: "two"}
	for _, test := range []struct {
		name  string
		old   []corev1alpha1.GateStatus
		given corev1alpha1.GateStatus
		want  string // in the error; none when empty
	}{
		{name: "what waits", old: []corev1alpha1.GateStatus{waiting}, given: corev1alpha1.GateStatus{Name: "qa", Approved: true}},
		{name: "what waits, by name", old: []corev1alpha1.GateStatus{waiting}, given: corev1alpha1.GateStatus{Name: "qa", Render: "two", Approved: true}},
		{name: "what waited before", old: []corev1alpha1.GateStatus{waiting}, given: corev1alpha1.GateStatus{Name: "qa", Render: "one", Approved: true},
			want: "is not what waits at gate qa: that is two of main@2"},
		{name: "ahead of time", given: corev1alpha1.GateStatus{Name: "qa", Approved: true}, want: "nothing waits at gate qa"},
		{name: "ahead of time, by name", given: corev1alpha1.GateStatus{Name: "qa", Render: "one", Approved: true}, want: "nothing waits at gate qa"},
		{name: "another gate", given: corev1alpha1.GateStatus{Name: "qq", Approved: true}, want: `"qq": is no gate of this Release: spec.lifecycle.gates has qa`},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			old := release("web")
			old.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Gates: []corev1alpha1.Gate{{Name: "qa", Before: "sync"}}}
			given := old.DeepCopy()
			old.Status.Lifecycle = &corev1alpha1.LifecycleStatus{Gates: test.old}
			given.Status.Lifecycle = &corev1alpha1.LifecycleStatus{Gates: []corev1alpha1.GateStatus{test.given}}
			part := lifecyclePart(testingclock.NewFakePassiveClock(now))
			part.Finish(context.Background(), given, old)
			errs := part.Validate(given, old)
			if test.want == "" {
				g.Expect(errs).To(BeEmpty())
				return
			}
			g.Expect(errs.ToAggregate()).To(MatchError(ContainSubstring(test.want)))
		})
	}
}

func TestParts(t *testing.T) {
	g := NewWithT(t)
	from, to := release("web"), release("web")
	from.Spec.Pin = &corev1alpha1.Pin{Revision: "a"}
	from.Spec.Mutations = []corev1alpha1.Mutation{{Name: "m"}}
	from.Status.Lifecycle = &corev1alpha1.LifecycleStatus{Gates: []corev1alpha1.GateStatus{{Name: "g"}}}
	want := to.DeepCopy()
	for _, part := range []struct {
		part resource.Part[*corev1alpha1.Release]
		want func()
	}{
		{pinPart(), func() { want.Spec.Pin = from.Spec.Pin }},
		{mutationsPart(), func() { want.Spec.Mutations = from.Spec.Mutations }},
		{lifecyclePart(testingclock.NewFakePassiveClock(now)), func() { want.Status.Lifecycle = from.Status.Lifecycle }},
	} {
		part.part.Take(to, from)
		part.want()
		g.Expect(to).To(Equal(want), "%v", part.part.Path)
	}
}

func TestSelectable(t *testing.T) {
	got := func(r *corev1alpha1.Release) map[string]string {
		values := map[string]string{}
		for name, value := range selectable() {
			if v := value(r); v != "" {
				values[name] = v
			}
		}
		return values
	}
	g := NewWithT(t)
	r := release("web")
	g.Expect(got(r)).To(Equal(map[string]string{"spec.clusterRef.name": "local", "spec.source.git.repositoryRef.name": "app"}))
	r.Spec.Source = corev1alpha1.ReleaseSource{Helm: &corev1alpha1.HelmSource{RegistryRef: corev1alpha1.LocalReference{Name: "charts"}}}
	g.Expect(got(r)).To(Equal(map[string]string{"spec.clusterRef.name": "local", "spec.source.helm.registryRef.name": "charts"}))
	r.Spec.Source = corev1alpha1.ReleaseSource{OCI: &corev1alpha1.OCISource{RegistryRef: corev1alpha1.LocalReference{Name: "oci"}}}
	g.Expect(got(r)).To(Equal(map[string]string{"spec.clusterRef.name": "local", "spec.source.oci.registryRef.name": "oci"}))
}

func TestTable(t *testing.T) {
	g := NewWithT(t)
	r := release("web")
	r.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
	r.Spec.Wave = 2
	r.Status = corev1alpha1.ReleaseStatus{
		Source: &corev1alpha1.SourceStatus{Revision: "main@sha1:0123456789abcdef0123456789abcdef01234567"},
		Render: &corev1alpha1.RenderStatus{Digest: "sha256:fedcba9876543210"},
		Conditions: []metav1.Condition{
			{Type: "Ready", Status: "False", Message: "waits"}, {Type: "Healthy", Status: "True"},
		},
	}
	table := resource.Table[*corev1alpha1.Release]{Columns: columns(), Clock: testingclock.NewFakePassiveClock(now)}
	printed, err := table.ConvertToTable(context.Background(), r, nil)
	g.Expect(err).NotTo(HaveOccurred())
	headings, wide := []string{}, []string{}
	for _, c := range printed.ColumnDefinitions {
		if c.Priority == 0 {
			headings = append(headings, c.Name)
		} else {
			wide = append(wide, c.Name)
		}
		g.Expect(c.Description).NotTo(BeEmpty(), c.Name)
	}
	g.Expect(headings).To(Equal([]string{"Name", "Cluster", "Wave", "Revision", "Ready", "Healthy", "InSync", "Age"}))
	g.Expect(wide).To(Equal([]string{"Source", "Render", "Message"}))
	g.Expect(printed.Rows[0].Cells).To(Equal([]any{
		"web", "local", int64(2), "main@sha1:01234567", "False", "True", "Unknown", "60m",
		"GitRepository/app", "sha256:fedcba98", "waits",
	}))
}

// answer collects what a Connecter answers.
type answer struct {
	code int
	obj  runtime.Object
	err  error
}

func (a *answer) Object(code int, obj runtime.Object) { a.code, a.obj = code, obj }
func (a *answer) Error(err error)                     { a.err = err }

type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

func TestSync(t *testing.T) {
	stamp := now.Format(time.RFC3339Nano)
	for _, test := range []struct {
		name       string
		force      bool
		suspend    bool
		want       map[string]string
		wantWarned bool
	}{
		{name: "sync", want: map[string]string{corev1alpha1.AnnotationSyncRequestedAt: stamp, "other": "writer"}},
		{
			name: "forced", force: true,
			want: map[string]string{corev1alpha1.AnnotationSyncRequestedAt: stamp, corev1alpha1.AnnotationSyncForceRequestedAt: stamp, "other": "writer"},
		},
		{
			name: "suspended", suspend: true, wantWarned: true,
			want: map[string]string{corev1alpha1.AnnotationSyncRequestedAt: stamp, "other": "writer"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			stored := release("web")
			stored.Spec.Suspend = test.suspend
			releases := memory{"web": stored}
			warned := &warnings{}
			ctx := warning.WithWarningRecorder(inNamespace(), warned)
			got := &answer{}
			s := &syncREST{releases: releases, clock: testingclock.NewFakePassiveClock(now)}
			handler, err := s.Connect(ctx, "web", &corev1alpha1.ReleaseSyncOptions{Force: test.force}, got)
			g.Expect(err).NotTo(HaveOccurred())
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil))
			g.Expect(got.err).NotTo(HaveOccurred())
			g.Expect(got.code).To(Equal(http.StatusOK))
			g.Expect(got.obj.(*corev1alpha1.Release).Annotations).To(Equal(test.want))
			g.Expect(releases["web"].Annotations).To(Equal(test.want))
			g.Expect(len(*warned) > 0).To(Equal(test.wantWarned))
		})
	}
}

func TestRequestsAreSigned(t *testing.T) {
	const at, forced, by = corev1alpha1.AnnotationSyncRequestedAt, corev1alpha1.AnnotationSyncForceRequestedAt, corev1alpha1.AnnotationSyncRequestedBy
	type annotations map[string]string
	for _, test := range []struct {
		name            string
		before          annotations // nil: created
		sent, want      annotations
		nobody, created bool
	}{
		{name: "a request", before: annotations{}, sent: annotations{at: "1"}, want: annotations{at: "1", by: "ada"}},
		{name: "a forced one", before: annotations{at: "1", by: "bob"}, sent: annotations{at: "1", forced: "2", by: "bob"}, want: annotations{at: "1", forced: "2", by: "ada"}},
		{name: "in another's name", before: annotations{}, sent: annotations{at: "1", by: "bob"}, want: annotations{at: "1", by: "ada"}},
		{name: "another's, changed later", before: annotations{at: "1", by: "bob"}, sent: annotations{at: "1", by: "eve"}, want: annotations{at: "1", by: "bob"}},
		{name: "another's, taken off", before: annotations{at: "1", by: "bob"}, sent: annotations{at: "1", "x": "y"}, want: annotations{at: "1", by: "bob", "x": "y"}},
		{name: "no request", before: annotations{}, sent: annotations{by: "bob", "x": "y"}, want: annotations{"x": "y"}},
		{name: "a request that is taken back", before: annotations{at: "1", by: "bob"}, sent: annotations{"x": "y"}, want: annotations{"x": "y"}},
		{name: "made with a request", created: true, sent: annotations{at: "1", by: "bob"}, want: annotations{at: "1", by: "ada"}},
		{name: "made without one", created: true, sent: annotations{by: "bob", "x": "y"}, want: annotations{"x": "y"}},
		{name: "by nobody who is known", before: annotations{}, sent: annotations{at: "1"}, want: annotations{at: "1"}, nobody: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			ctx := inNamespace()
			if !test.nobody {
				ctx = genericapirequest.WithUser(ctx, &user.DefaultInfo{Name: "ada"})
			}
			strategy := resource.NewStrategy(kind(shardlabel.New(1), memory{}), nil)
			updated, stored := release("web"), release("web")
			updated.Annotations, stored.Annotations = test.sent, test.before
			if test.created {
				strategy.PrepareForCreate(ctx, updated)
			} else {
				strategy.PrepareForUpdate(ctx, updated, stored)
			}
			g.Expect(annotations(updated.Annotations)).To(Equal(test.want))
		})
	}
}

func TestSyncDryRun(t *testing.T) {
	g := NewWithT(t)
	releases := memory{"web": release("web")}
	s := &syncREST{releases: releases, clock: testingclock.NewFakePassiveClock(now)}
	got := &answer{}
	handler, err := s.Connect(inNamespace(), "web", &corev1alpha1.ReleaseSyncOptions{DryRun: []string{metav1.DryRunAll}}, got)
	g.Expect(err).NotTo(HaveOccurred())
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil))
	g.Expect(got.obj.(*corev1alpha1.Release).Annotations).To(HaveKey(corev1alpha1.AnnotationSyncRequestedAt))
	g.Expect(releases["web"].Annotations).NotTo(HaveKey(corev1alpha1.AnnotationSyncRequestedAt))

	_, err = s.Connect(inNamespace(), "web", &corev1alpha1.ReleaseSyncOptions{DryRun: []string{"Some"}}, got)
	g.Expect(err).To(MatchError(ContainSubstring(`dryRun: Unsupported value`)))
}

func TestSyncRefusesWhatItDoesNotTake(t *testing.T) {
	for _, test := range []struct{ query, body, want string }{
		{"force=true&timeout=5s&fieldManager=kubectl", "", ""},
		{"force=false", "", ""},
		{"force=maybe", "", "force must be true or false"},
		{"bogus=1", "", `no parameter "bogus"`},
		{"", "{}", "takes no body"},
	} {
		t.Run(test.query+test.body, func(t *testing.T) {
			g := NewWithT(t)
			releases := memory{"web": release("web")}
			s := &syncREST{releases: releases, clock: testingclock.NewFakePassiveClock(now)}
			got := &answer{}
			handler, err := s.Connect(inNamespace(), "web", &corev1alpha1.ReleaseSyncOptions{}, got)
			g.Expect(err).NotTo(HaveOccurred())
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/?"+test.query, strings.NewReader(test.body)))
			if test.want == "" {
				g.Expect(got.err).NotTo(HaveOccurred())
				return
			}
			g.Expect(apierrors.IsBadRequest(got.err)).To(BeTrue())
			g.Expect(got.err).To(MatchError(ContainSubstring(test.want)))
			g.Expect(releases["web"].Annotations).NotTo(HaveKey(corev1alpha1.AnnotationSyncRequestedAt))
		})
	}
}

func TestDryRunOfASyncPassesTheLibrary(t *testing.T) {
	for _, test := range []struct {
		name string
		info genericapirequest.RequestInfo
		want string // the query that is left
		seen []string
	}{
		{"of a sync", genericapirequest.RequestInfo{APIGroup: corev1alpha1.GroupName, Resource: "releases", Subresource: "sync"}, "force=true", []string{"All"}},
		{"of something else", genericapirequest.RequestInfo{APIGroup: corev1alpha1.GroupName, Resource: "releases"}, "dryRun=All&force=true", nil},
		{"of another's sync", genericapirequest.RequestInfo{APIGroup: "other", Resource: "releases", Subresource: "sync"}, "dryRun=All&force=true", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			handler := WithSyncDryRun(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
				g.Expect(req.URL.RawQuery).To(Equal(test.want))
				g.Expect(dryRunFrom(req.Context())).To(Equal(test.seen))
			}))
			req := httptest.NewRequest(http.MethodPost, "/?dryRun=All&force=true", nil)
			req = req.WithContext(genericapirequest.WithRequestInfo(req.Context(), &test.info))
			handler.ServeHTTP(httptest.NewRecorder(), req)
		})
	}
}

func TestSyncOfNothing(t *testing.T) {
	g := NewWithT(t)
	got := &answer{}
	s := &syncREST{releases: memory{}, clock: testingclock.NewFakePassiveClock(now)}
	handler, err := s.Connect(inNamespace(), "web", &corev1alpha1.ReleaseSyncOptions{}, got)
	g.Expect(err).NotTo(HaveOccurred())
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil))
	g.Expect(apierrors.IsNotFound(got.err)).To(BeTrue())
}

func TestObserved(t *testing.T) {
	g := NewWithT(t)
	asked := []string{}
	observer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		w.Header().Set("Content-Type", "application/json")
	}))
	defer observer.Close()
	to, err := proxy.New(proxy.Config{URL: observer.URL})
	g.Expect(err).NotTo(HaveOccurred())
	for _, o := range observed(memory{"web": release("web")}, to) {
		got := &answer{}
		handler, err := o.Connect(inNamespace(), "other", o.New(), got)
		g.Expect(err).NotTo(HaveOccurred())
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/?a=b", nil))
		g.Expect(apierrors.IsNotFound(got.err)).To(BeTrue(), "an unknown Release does not reach the observer")
		handler, err = o.Connect(inNamespace(), "web", o.New(), &answer{})
		g.Expect(err).NotTo(HaveOccurred())
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/?a=b", nil))
		g.Expect(o.ConnectMethods()).To(Equal([]string{http.MethodGet}))
	}
	g.Expect(asked).To(Equal([]string{"/preview/team/web?a=b", "/diff/team/web?a=b", "/health/team/web?a=b", "/history/team/web?a=b", "/values/team/web?a=b"}))
}

// Errors are in the format that the query asks for, whoever makes them.
func TestErrorsOfObserved(t *testing.T) {
	observer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"why","reason":"TooManyRequests","code":429,"details":{"retryAfterSeconds":2}}`)
	}))
	defer observer.Close()
	to, err := proxy.New(proxy.Config{URL: observer.URL})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, test := range []struct {
		name, query string
		code        int
		contentType string // "": the library writes it, by the Accept header
		body        string
	}{
		{"web", "", 429, "", ""},
		{"web", "?output=yaml", 429, "application/yaml", "message: why\n"},
		{"web", "?output=json", 429, "application/json", `"message": "why"`},
		{"web", "?output=text", 429, "application/json", `"message": "why"`},
		{"other", "?output=yaml", 404, "application/yaml", "apiVersion: v1\ncode: 404\n"},
		{"other", "?output=json", 404, "application/json", `"kind": "Status"`},
	} {
		t.Run(test.name+test.query, func(t *testing.T) {
			g := NewWithT(t)
			got, recorder := &answer{}, httptest.NewRecorder()
			handler, err := observed(memory{"web": release("web")}, to)[0].Connect(inNamespace(), test.name, nil, got)
			g.Expect(err).NotTo(HaveOccurred())
			handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/"+test.query, nil))
			if test.contentType == "" {
				g.Expect(apierrors.IsTooManyRequests(got.err)).To(BeTrue(), "%v", got.err)
				return
			}
			g.Expect(got.err).NotTo(HaveOccurred())
			g.Expect(recorder.Code).To(Equal(test.code))
			g.Expect(recorder.Header().Get("Content-Type")).To(Equal(test.contentType))
			g.Expect(recorder.Body.String()).To(ContainSubstring(test.body))
			if test.code == http.StatusTooManyRequests {
				g.Expect(recorder.Header().Get("Retry-After")).To(Equal("2"))
			}
		})
	}
}

// chain notes what admission is shown.
type chain struct{ seen []admission.Attributes }

func (*chain) Handles(admission.Operation) bool { return true }

func (c *chain) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	c.seen = append(c.seen, a)
	return nil
}

func (c *chain) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	return c.Admit(ctx, a, o)
}

func TestAdmissionIsToldOfTheDryRunOfASync(t *testing.T) {
	for name, c := range map[string]struct {
		query  string
		object runtime.Object
		dry    bool
	}{
		"a dry run":                     {"?dryRun=All&force=true", &corev1alpha1.ReleaseSyncOptions{}, true},
		"no dry run":                    {"?force=true", &corev1alpha1.ReleaseSyncOptions{}, false},
		"what another storage is shown": {"?dryRun=All", &corev1alpha1.Release{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			inner := &chain{}
			outer := AdmitSyncDryRun(inner)
			attributes := admission.NewAttributesRecord(c.object, nil, corev1alpha1.SchemeGroupVersion.WithKind("Release"), "ns", "app",
				corev1alpha1.SchemeGroupVersion.WithResource("releases"), "sync", admission.Connect, nil, false, nil)
			handler := WithSyncDryRun(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
				g.Expect(outer.(admission.MutationInterface).Admit(req.Context(), attributes, nil)).To(Succeed())
				g.Expect(outer.(admission.ValidationInterface).Validate(req.Context(), attributes, nil)).To(Succeed())
			}))
			req := httptest.NewRequest(http.MethodPost, "/"+c.query, nil)
			info := &genericapirequest.RequestInfo{APIGroup: corev1alpha1.GroupName, Resource: "releases", Subresource: "sync"}
			handler.ServeHTTP(httptest.NewRecorder(), req.WithContext(genericapirequest.WithRequestInfo(req.Context(), info)))
			g.Expect(inner.seen).To(HaveLen(2))
			for _, seen := range inner.seen {
				g.Expect(seen.IsDryRun()).To(Equal(c.dry))
				if options, ok := seen.GetObject().(*corev1alpha1.ReleaseSyncOptions); ok && c.dry {
					g.Expect(options.DryRun).To(Equal([]string{"All"}))
				}
			}
		})
	}
}
