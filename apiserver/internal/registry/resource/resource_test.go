// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/scheme"
	"kumodo.io/convoy/apiserver/internal/shardlabel"
)

// testKind is a kind with everything, on the Go type of Clusters.
func testKind() *Kind[*corev1alpha1.Cluster] {
	labeler := shardlabel.New(1)
	return &Kind[*corev1alpha1.Cluster]{
		GroupVersion: corev1alpha1.SchemeGroupVersion,
		Name:         "Cluster",
		Plural:       "clusters",
		Singular:     "cluster",
		New:          func() *corev1alpha1.Cluster { return &corev1alpha1.Cluster{} },
		NewList:      func() runtime.Object { return &corev1alpha1.ClusterList{} },
		Parts: PartsOf(
			func(c *corev1alpha1.Cluster) *corev1alpha1.ClusterSpec { return &c.Spec },
			func(c *corev1alpha1.Cluster) *corev1alpha1.ClusterStatus { return &c.Status },
		),
		Default: func(c *corev1alpha1.Cluster) {
			if c.Spec.Mode == "" {
				c.Spec.Mode = corev1alpha1.ClusterModeInCluster
			}
		},
		Label: func(_ context.Context, c *corev1alpha1.Cluster) { labeler.Set(c, c.Name) },
		Validate: func(_ context.Context, c, _ *corev1alpha1.Cluster) field.ErrorList {
			if c.Spec.QPS < 0 {
				return field.ErrorList{field.Invalid(field.NewPath("spec", "qps"), c.Spec.QPS, "negative")}
			}
			return nil
		},
		ValidateUpdate: func(c, old *corev1alpha1.Cluster) field.ErrorList {
			if c.Spec.Mode != old.Spec.Mode {
				return field.ErrorList{field.Invalid(field.NewPath("spec", "mode"), c.Spec.Mode, "immutable")}
			}
			return nil
		},
		ValidateStatus: func(c *corev1alpha1.Cluster) field.ErrorList {
			if c.Status.Version == "bad" {
				return field.ErrorList{field.Invalid(field.NewPath("status", "version"), "bad", "bad")}
			}
			return nil
		},
		Warnings: func(*corev1alpha1.Cluster) []string { return []string{"careful"} },
		Columns: []Column[*corev1alpha1.Cluster]{
			{Name: "Mode", Cell: func(c *corev1alpha1.Cluster, _ time.Time) any { return string(c.Spec.Mode) }},
			{Name: "Server", Wide: true, Cell: func(c *corev1alpha1.Cluster, _ time.Time) any { return c.Status.Server }},
		},
	}
}

func testStrategy(t *testing.T) Strategy[*corev1alpha1.Cluster] {
	t.Helper()
	s, err := scheme.New()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return NewStrategy(testKind(), s)
}

// stored is a Cluster as it lies in the storage.
func stored(change ...func(*corev1alpha1.Cluster)) *corev1alpha1.Cluster {
	c := &corev1alpha1.Cluster{
		TypeMeta: metav1.TypeMeta{APIVersion: corev1alpha1.SchemeGroupVersion.String(), Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "a", UID: "1", ResourceVersion: "7", Generation: 3,
			Labels: map[string]string{corev1alpha1.LabelShard: "0"},
		},
		Spec:   corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeInCluster, QPS: 5},
		Status: corev1alpha1.ClusterStatus{Version: "v1.37.2"},
	}
	for _, f := range change {
		f(c)
	}
	return c
}

// requestContext is that of a request in a namespace, with what is warned about.
func requestContext(namespace string) (context.Context, *warnings) {
	w := &warnings{}
	return warning.WithWarningRecorder(genericapirequest.WithNamespace(context.Background(), namespace), w), w
}

type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

func TestCreate(t *testing.T) {
	g := NewWithT(t)
	strategy := testStrategy(t)
	ctx, warned := requestContext("team")
	cluster := stored(func(c *corev1alpha1.Cluster) {
		c.Generation, c.Labels, c.Spec.Mode = 99, map[string]string{corev1alpha1.LabelShard: "mine"}, ""
	})
	rest.FillObjectMetaSystemFields(cluster)
	g.Expect(rest.BeforeCreate(strategy, ctx, cluster)).To(Succeed())
	g.Expect(cluster.Generation).To(Equal(int64(1)))
	g.Expect(cluster.Status).To(Equal(corev1alpha1.ClusterStatus{}), "the status is not the creator's")
	g.Expect(cluster.Labels).To(Equal(map[string]string{corev1alpha1.LabelShard: "0"}))
	g.Expect(cluster.Spec.Mode).To(Equal(corev1alpha1.ClusterModeInCluster))
	g.Expect(cluster.TypeMeta).To(Equal(metav1.TypeMeta{}))
	g.Expect(*warned).To(ConsistOf("careful"))

	cluster.Spec.QPS = -1
	err := rest.BeforeCreate(strategy, ctx, cluster)
	g.Expect(apierrors.IsInvalid(err)).To(BeTrue())
}

func TestUpdate(t *testing.T) {
	for _, test := range []struct {
		name        string
		old         *corev1alpha1.Cluster
		given       func(*corev1alpha1.Cluster)
		want        func(*corev1alpha1.Cluster) // changes of what was stored
		wantInvalid bool
		wantWarned  bool
	}{
		{
			name:  "nothing",
			given: func(*corev1alpha1.Cluster) {},
			want:  func(*corev1alpha1.Cluster) {},
		},
		{
			name:  "kind and version, status, generation and shard are not the client's",
			given: func(c *corev1alpha1.Cluster) { *c = *c.DeepCopy(); forge(c) },
			want:  func(*corev1alpha1.Cluster) {},
		},
		{
			name:       "a changed spec raises the generation",
			given:      func(c *corev1alpha1.Cluster) { c.Spec.QPS = 6 },
			want:       func(c *corev1alpha1.Cluster) { c.Spec.QPS, c.Generation = 6, 4 },
			wantWarned: true,
		},
		{
			name:  "an absent value gets its default, which is no change",
			given: func(c *corev1alpha1.Cluster) { c.Spec.Mode = "" },
			want:  func(*corev1alpha1.Cluster) {},
		},
		{
			name:  "metadata changes leave the generation",
			given: func(c *corev1alpha1.Cluster) { c.Annotations = map[string]string{"a": "b"} },
			want:  func(c *corev1alpha1.Cluster) { c.Annotations = map[string]string{"a": "b"} },
		},
		{
			name:        "a faulty spec is refused",
			given:       func(c *corev1alpha1.Cluster) { c.Spec.QPS = -1 },
			wantInvalid: true,
		},
		{
			name:        "what may not change is refused",
			given:       func(c *corev1alpha1.Cluster) { c.Spec.Mode = corev1alpha1.ClusterModeAgentless },
			wantInvalid: true,
		},
		{
			name: "a spec that was stored faulty stays, and metadata can change",
			old: stored(func(c *corev1alpha1.Cluster) {
				c.Spec.QPS, c.Finalizers = -1, []string{"convoy.kumodo.io/release"}
			}),
			given: func(c *corev1alpha1.Cluster) { c.Finalizers = nil },
			want:  func(c *corev1alpha1.Cluster) { c.Finalizers = nil },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			old := test.old
			if old == nil {
				old = stored()
			}
			given, before := old.DeepCopy(), old.DeepCopy()
			test.given(given)
			ctx, warned := requestContext("team")
			err := rest.BeforeUpdate(testStrategy(t), ctx, given, old)
			g.Expect(apierrors.IsInvalid(err)).To(Equal(test.wantInvalid), "%v", err)
			g.Expect(old).To(Equal(before), "what is stored is not written to")
			if test.wantInvalid {
				return
			}
			want := old.DeepCopy()
			test.want(want)
			g.Expect(given).To(Equal(want))
			g.Expect(len(*warned) > 0).To(Equal(test.wantWarned))
		})
	}
}

// forge writes all that a client must not write.
func forge(c *corev1alpha1.Cluster) {
	c.TypeMeta = metav1.TypeMeta{}
	c.Generation = 99
	c.Labels = map[string]string{corev1alpha1.LabelShard: "mine"}
	c.Status = corev1alpha1.ClusterStatus{Version: "forged"}
}

func TestUpdateNeedsResourceVersion(t *testing.T) {
	g := NewWithT(t)
	strategy := testStrategy(t)
	g.Expect(strategy.AllowUnconditionalUpdate(context.Background())).To(BeFalse())
	g.Expect(strategy.AllowCreateOnUpdate(context.Background())).To(BeFalse())
}

func TestStatusUpdate(t *testing.T) {
	g := NewWithT(t)
	status := StatusStrategy[*corev1alpha1.Cluster]{testStrategy(t)}
	ctx, warned := requestContext("team")
	given := stored(func(c *corev1alpha1.Cluster) {
		forge(c)
		c.Spec.QPS, c.Annotations, c.Finalizers = -5, map[string]string{"a": "b"}, []string{"x/y"}
	})
	old := stored()
	g.Expect(rest.BeforeUpdate(status, ctx, given, old)).To(Succeed())
	g.Expect(given).To(Equal(stored(func(c *corev1alpha1.Cluster) { c.Status.Version = "forged" })))
	g.Expect(*warned).To(BeEmpty())

	given.Status.Version = "bad"
	g.Expect(apierrors.IsInvalid(rest.BeforeUpdate(status, ctx, given, old))).To(BeTrue())
}

func TestPartUpdate(t *testing.T) {
	strategy := PartStrategy[*corev1alpha1.Cluster]{testStrategy(t), Part[*corev1alpha1.Cluster]{
		Path: []string{"spec", "qps"},
		Take: func(to, from *corev1alpha1.Cluster) { to.Spec.QPS = from.Spec.QPS },
	}}
	t.Run("only the part is taken", func(t *testing.T) {
		g := NewWithT(t)
		ctx, _ := requestContext("team")
		given := stored(func(c *corev1alpha1.Cluster) {
			forge(c)
			c.Spec = corev1alpha1.ClusterSpec{QPS: 6, Suspend: true, Mode: corev1alpha1.ClusterModeAgentless}
		})
		g.Expect(rest.BeforeUpdate(strategy, ctx, given, stored())).To(Succeed())
		g.Expect(given).To(Equal(stored(func(c *corev1alpha1.Cluster) { c.Spec.QPS, c.Generation = 6, 4 })))
	})
	t.Run("a faulty part is refused", func(t *testing.T) {
		g := NewWithT(t)
		ctx, _ := requestContext("team")
		given := stored(func(c *corev1alpha1.Cluster) { c.Spec.QPS = -1 })
		g.Expect(apierrors.IsInvalid(rest.BeforeUpdate(strategy, ctx, given, stored()))).To(BeTrue())
	})
	t.Run("apply owns the part only", func(t *testing.T) {
		g := NewWithT(t)
		filter := strategy.filter()["core.convoy.kumodo.io/v1alpha1"]
		qps, mode := fieldpath.MakePathOrDie("spec", "qps"), fieldpath.MakePathOrDie("spec", "mode")
		left := filter.Filter(fieldpath.NewSet(qps, mode))
		g.Expect(left.Has(qps)).To(BeTrue())
		g.Expect(left.Has(mode)).To(BeFalse())
	})
}

func TestResetFields(t *testing.T) {
	g := NewWithT(t)
	strategy := testStrategy(t)
	main := strategy.GetResetFields()["core.convoy.kumodo.io/v1alpha1"]
	g.Expect(main.Has(fieldpath.MakePathOrDie("status"))).To(BeTrue())
	g.Expect(main.Has(shardlabel.Path())).To(BeTrue())
	g.Expect(main.Has(fieldpath.MakePathOrDie("spec"))).To(BeFalse())
	status := StatusStrategy[*corev1alpha1.Cluster]{strategy}.GetResetFields()["core.convoy.kumodo.io/v1alpha1"]
	g.Expect(status.Has(fieldpath.MakePathOrDie("spec"))).To(BeTrue())
	g.Expect(status.Has(fieldpath.MakePathOrDie("metadata"))).To(BeTrue())
	g.Expect(status.Has(fieldpath.MakePathOrDie("status"))).To(BeFalse())
}

func TestTable(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	kind := testKind()
	table := Table[*corev1alpha1.Cluster]{Columns: kind.Columns, Clock: testingclock.NewFakePassiveClock(now)}
	item := stored(func(c *corev1alpha1.Cluster) {
		c.CreationTimestamp, c.Status.Server = metav1.NewTime(now.Add(-5*time.Minute)), "https://a"
	})
	remaining := int64(4)
	list := &corev1alpha1.ClusterList{
		ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "next", RemainingItemCount: &remaining},
		Items:    []corev1alpha1.Cluster{*item, *stored()},
	}
	printed, err := table.ConvertToTable(context.Background(), list, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(printed.ListMeta).To(Equal(list.ListMeta))
	headings := []string{}
	for _, c := range printed.ColumnDefinitions {
		headings = append(headings, c.Name)
	}
	g.Expect(headings).To(Equal([]string{"Name", "Mode", "Age", "Server"}))
	g.Expect(printed.ColumnDefinitions[0].Format).To(Equal("name"))
	g.Expect(printed.ColumnDefinitions[2].Priority).To(Equal(int32(0)))
	g.Expect(printed.ColumnDefinitions[3].Priority).To(Equal(int32(1)))
	g.Expect(printed.Rows).To(HaveLen(2))
	g.Expect(printed.Rows[0].Cells).To(Equal([]any{"a", "inCluster", "5m", "https://a"}))
	g.Expect(printed.Rows[1].Cells).To(Equal([]any{"a", "inCluster", "<unknown>", ""}))
	g.Expect(printed.Rows[0].Object.Object).To(Equal(&list.Items[0]))

	printed, err = table.ConvertToTable(context.Background(), item, &metav1.TableOptions{NoHeaders: true})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(printed.ColumnDefinitions).To(BeEmpty())
	g.Expect(printed.ResourceVersion).To(Equal("7"))

	_, err = table.ConvertToTable(context.Background(), &corev1alpha1.Release{}, nil)
	g.Expect(err).To(HaveOccurred())
}

func TestConditions(t *testing.T) {
	g := NewWithT(t)
	list := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Message: "why"}}
	g.Expect(ConditionStatus(list, "Ready")).To(Equal("False"))
	g.Expect(ConditionMessage(list, "Ready")).To(Equal("why"))
	g.Expect(ConditionStatus(nil, "Ready")).To(Equal("Unknown"))
	g.Expect(ConditionMessage(nil, "Ready")).To(BeEmpty())
}

func TestFieldLabels(t *testing.T) {
	g := NewWithT(t)
	kind := testKind()
	kind.Selectable = map[string]func(*corev1alpha1.Cluster) string{
		"spec.mode": func(c *corev1alpha1.Cluster) string { return string(c.Spec.Mode) },
	}
	s, err := scheme.New()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(addFieldLabels(kind, s)).To(Succeed())
	gvk := corev1alpha1.SchemeGroupVersion.WithKind("Cluster")
	for _, name := range []string{"metadata.name", "metadata.namespace", "spec.mode"} {
		_, _, err := s.ConvertFieldLabel(gvk, name, "x")
		g.Expect(err).NotTo(HaveOccurred(), name)
	}
	_, _, err = s.ConvertFieldLabel(gvk, "spec.qps", "1")
	g.Expect(err).To(MatchError(ContainSubstring("spec.mode")), "the message lists what is supported")

	labels, fields, err := attributes(kind)(stored())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(labels).To(HaveKeyWithValue(corev1alpha1.LabelShard, "0"))
	g.Expect(fields).To(BeEquivalentTo(map[string]string{"metadata.name": "a", "metadata.namespace": "team", "spec.mode": "inCluster"}))
}

func TestStaleLabel(t *testing.T) {
	g := NewWithT(t)
	described := testKind()
	shards := shardlabel.New(64)
	described.Label = func(ctx context.Context, c *corev1alpha1.Cluster) {
		g.Expect(genericapirequest.NamespaceValue(ctx)).To(Equal(c.Namespace))
		shards.Set(c, c.Namespace+"/"+c.Name)
	}
	whole := &REST{labels: labelUpdater{stale: described.staleLabel}}
	g.Expect(whole.Labelled()).To(BeTrue())
	stored := &corev1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "edge"}}
	g.Expect(whole.Stale(t.Context(), stored)).To(BeTrue(), "it has no label")
	shards.Set(stored, "team/edge")
	g.Expect(whole.Stale(t.Context(), stored)).To(BeFalse())
	shards = shardlabel.New(1)
	before := stored.DeepCopy()
	g.Expect(whole.Stale(t.Context(), stored)).To(BeTrue(), "it was labelled for another number")
	g.Expect(stored).To(Equal(before), "what is shared is not changed")
}

func TestFaultsOfMetadataAndSpecAreToldTogether(t *testing.T) {
	g := NewWithT(t)
	s, err := scheme.New()
	g.Expect(err).NotTo(HaveOccurred())
	strategy := NewStrategy(testKind(), s)
	given := &corev1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "Edge", GenerateName: "EDGE-", Labels: map[string]string{"a b": "c"}, Finalizers: []string{"mine", "example.com/ours", "orphan"},
	}}
	given.Spec.QPS = -1
	var fields []string
	for _, fault := range strategy.Validate(t.Context(), given) {
		fields = append(fields, fault.Field)
	}
	g.Expect(fields).To(ContainElements("metadata.name", "metadata.generateName", "metadata.labels", "spec.qps"))

	warned := strategy.WarningsOnCreate(t.Context(), given)
	g.Expect(warned).To(ConsistOf(HavePrefix(`metadata.finalizers: "mine"`), "careful"))
	g.Expect(strategy.WarningsOnUpdate(t.Context(), given, given)).To(BeEmpty(), "it was there before")
}
