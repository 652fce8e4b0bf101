// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/defaulting"
)

// The members of a Release, by shorter names.
type (
	spec   = corev1alpha1.ReleaseSpec
	helm   = corev1alpha1.HelmRender
	values = corev1alpha1.ValuesReference
)

// release is a good Release with a change.
func release(change func(*spec)) *corev1alpha1.Release {
	r := &corev1alpha1.Release{ObjectMeta: meta("web"), Spec: spec{
		ClusterRef: corev1alpha1.LocalReference{Name: "local"},
		Source:     corev1alpha1.ReleaseSource{Git: &corev1alpha1.GitSource{RepositoryRef: corev1alpha1.LocalReference{Name: "app"}}},
	}}
	change(&r.Spec)
	defaulting.Release(r)
	return r
}

type releaseTest struct {
	name  string
	given func(*spec)
	want  []string
}

func checkReleases(t *testing.T, tests []releaseTest) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { expect(t, Release(release(test.given)), test.want) })
	}
}

func TestReleaseBasics(t *testing.T) {
	checkReleases(t, []releaseTest{
		{name: "good", given: func(*spec) {}},
		{
			name: "everything at once",
			given: func(s *spec) {
				s.ClusterRef.Name, s.Wave, s.TargetNamespace, s.ServiceAccountName = "", 1_000_000, "a.b", "A"
				s.DependsOn = []corev1alpha1.Dependency{{Name: "web"}, {Name: "db"}, {Name: "db"}, {Name: ""}, {Name: "q", ReadyExpr: "release.x =="}, {Name: "r", ReadyExpr: "'text'"}}
				s.Health = &corev1alpha1.ReleaseHealthSpec{RuleSetRefs: []corev1alpha1.LocalReference{{Name: "a"}, {Name: "a"}, {Name: "_"}}}
				s.History = &corev1alpha1.HistorySpec{Limit: ptr.To[int32](0)}
				s.DeletionPolicy = "keep"
			},
			want: []string{
				"spec.clusterRef.name: FieldValueRequired", "spec.wave: FieldValueInvalid", "spec.targetNamespace: FieldValueInvalid",
				"spec.serviceAccountName: FieldValueInvalid", "spec.dependsOn[0].name: FieldValueInvalid", "spec.dependsOn[2].name: FieldValueDuplicate",
				"spec.dependsOn[3].name: FieldValueRequired", "spec.dependsOn[4].readyExpr: FieldValueInvalid", "spec.dependsOn[5].readyExpr: FieldValueInvalid",
				"spec.health.ruleSetRefs[1].name: FieldValueDuplicate", "spec.health.ruleSetRefs[2].name: FieldValueInvalid",
				"spec.history.limit: FieldValueInvalid", "spec.deletionPolicy: FieldValueNotSupported",
			},
		},
		{name: "ready expression", given: func(s *spec) {
			s.DependsOn = []corev1alpha1.Dependency{{Name: "db", ReadyExpr: "release.status.conditions.exists(c, c.type == 'Healthy' && c.status == 'True')"}}
		}},
	})
}

func TestReleaseName(t *testing.T) {
	r := release(func(*spec) {})
	r.Name = "web.2"
	expect(t, Release(r), []string{"metadata.name: FieldValueInvalid"})
}

func TestReleaseOrphanAfter(t *testing.T) {
	for value, want := range map[string][]string{
		"1h": nil, "1h30m": nil, "1s": nil,
		"": {"metadata.annotations[convoy.kumodo.io/orphan-after]: FieldValueInvalid"}, "1 hour": {"metadata.annotations[convoy.kumodo.io/orphan-after]: FieldValueInvalid"},
		"60": {"metadata.annotations[convoy.kumodo.io/orphan-after]: FieldValueInvalid"}, "0s": {"metadata.annotations[convoy.kumodo.io/orphan-after]: FieldValueInvalid"},
		"-1h": {"metadata.annotations[convoy.kumodo.io/orphan-after]: FieldValueInvalid"}, "100000h": {"metadata.annotations[convoy.kumodo.io/orphan-after]: FieldValueInvalid"},
	} {
		t.Run(value, func(t *testing.T) {
			r := release(func(*spec) {})
			r.Annotations = map[string]string{corev1alpha1.AnnotationOrphanAfter: value}
			expect(t, Release(r), want)
			expect(t, ReleaseUpdate(r, release(func(*spec) {})), want)
			expect(t, ReleaseUpdate(r, r), nil)
		})
	}
}

func TestReleaseUpdate(t *testing.T) {
	old := release(func(*spec) {})
	expect(t, ReleaseUpdate(release(func(s *spec) { s.Wave = 1 }), old), nil)
	expect(t, ReleaseUpdate(release(func(s *spec) { s.ClusterRef.Name = "far" }), old), []string{"spec.clusterRef.name: FieldValueInvalid"})
}

func TestReleaseSource(t *testing.T) {
	git := func(change func(*corev1alpha1.GitSource)) func(*spec) {
		return func(s *spec) { change(s.Source.Git) }
	}
	chart := func(name, version string) func(*spec) {
		return func(s *spec) {
			s.Source = corev1alpha1.ReleaseSource{Helm: &corev1alpha1.HelmSource{RegistryRef: corev1alpha1.LocalReference{Name: "charts"}, Chart: name, Version: version}}
		}
	}
	oci := func(change func(*corev1alpha1.OCISource)) func(*spec) {
		return func(s *spec) {
			s.Source = corev1alpha1.ReleaseSource{OCI: &corev1alpha1.OCISource{RegistryRef: corev1alpha1.LocalReference{Name: "oci"}, Repository: "team/app"}}
			change(s.Source.OCI)
		}
	}
	checkReleases(t, []releaseTest{
		{name: "none", given: func(s *spec) { s.Source = corev1alpha1.ReleaseSource{} }, want: []string{"spec.source: FieldValueRequired"}},
		{
			name:  "two",
			given: func(s *spec) { git := s.Source.Git; chart("app", "")(s); s.Source.Git = git },
			want:  []string{"spec.source.helm: FieldValueForbidden"},
		},
		{name: "branch", given: git(func(g *corev1alpha1.GitSource) { g.Ref.Branch, g.Path = "feature/x", "./deploy/prod/" })},
		{name: "range", given: git(func(g *corev1alpha1.GitSource) { g.Ref.Semver = ">=1.2 <2 || 3.x" })},
		{name: "version of a build", given: git(func(g *corev1alpha1.GitSource) { g.Ref.Semver = "109.0.1+up1.0.2" })},
		{name: "version of a build, as a tag is written", given: git(func(g *corev1alpha1.GitSource) { g.Ref.Semver = "109.0.1_up1.0.2" })},
		{name: "version of a chart's build", given: chart("app", "109.0.1+up1.0.2")},
		{name: "version of a chart's build, as a tag is written", given: chart("app", "v109.0.1_up1.0.2")},
		{name: "version of an artifact's build, as a tag is written", given: oci(func(o *corev1alpha1.OCISource) { o.Ref.Semver = "109.0.1_up1.0.2" })},
		{name: "underscores that are no plus", given: chart("app", "1.0.0_up_1"), want: []string{"spec.source.helm.version: FieldValueInvalid"}},
		{name: "commit", given: git(func(g *corev1alpha1.GitSource) { g.Ref.Commit = strings.Repeat("0a", 20) })},
		{name: "SHA-256 commit", given: git(func(g *corev1alpha1.GitSource) { g.Ref.Commit = strings.Repeat("0a", 32) }), want: []string{"spec.source.git.ref.commit: FieldValueInvalid"}},
		{name: "full name", given: git(func(g *corev1alpha1.GitSource) { g.Ref.Name = "refs/pull/7/head" })},
		{name: "short commit", given: git(func(g *corev1alpha1.GitSource) { g.Ref.Commit = "0a1b2c3" }), want: []string{"spec.source.git.ref.commit: FieldValueInvalid"}},
		{name: "no hex commit", given: git(func(g *corev1alpha1.GitSource) { g.Ref.Commit = strings.Repeat("xy", 20) }), want: []string{"spec.source.git.ref.commit: FieldValueInvalid"}},
		{name: "no range", given: git(func(g *corev1alpha1.GitSource) { g.Ref.Semver = "one" }), want: []string{"spec.source.git.ref.semver: FieldValueInvalid"}},
		{name: "bad branch", given: git(func(g *corev1alpha1.GitSource) { g.Ref.Branch = "a b" }), want: []string{"spec.source.git.ref.branch: FieldValueInvalid"}},
		{name: "option as a branch", given: git(func(g *corev1alpha1.GitSource) { g.Ref.Branch = "--upload-pack=x" }), want: []string{"spec.source.git.ref.branch: FieldValueInvalid"}},
		{name: "short name", given: git(func(g *corev1alpha1.GitSource) { g.Ref.Name = "main" }), want: []string{"spec.source.git.ref.name: FieldValueInvalid"}},
		{
			name:  "two refs",
			given: git(func(g *corev1alpha1.GitSource) { g.Ref.Branch, g.Ref.Tag, g.Ref.Name = "a", "b", "HEAD" }),
			want:  []string{"spec.source.git.ref.tag: FieldValueForbidden", "spec.source.git.ref.name: FieldValueForbidden"},
		},
		{name: "path upwards", given: git(func(g *corev1alpha1.GitSource) { g.Path = "a/../../b" }), want: []string{"spec.source.git.path: FieldValueInvalid"}},
		{name: "absolute path", given: git(func(g *corev1alpha1.GitSource) { g.Path = "/etc" }), want: []string{"spec.source.git.path: FieldValueInvalid"}},
		{name: "backslashes", given: git(func(g *corev1alpha1.GitSource) { g.Path = `..\..` }), want: []string{"spec.source.git.path: FieldValueInvalid"}},
		{name: "chart", given: chart("app", "1.2.3+build.4")},
		{name: "chart in a folder", given: chart("team/app", "^1.2")},
		{name: "no chart", given: chart("", "x y"), want: []string{"spec.source.helm.chart: FieldValueRequired", "spec.source.helm.version: FieldValueInvalid"}},
		{name: "chart upwards", given: chart("../app", ""), want: []string{"spec.source.helm.chart: FieldValueInvalid"}},
		{name: "chart with version", given: chart("app:1", ""), want: []string{"spec.source.helm.chart: FieldValueInvalid"}},
		{name: "artifact", given: oci(func(o *corev1alpha1.OCISource) {
			o.Ref.Digest, o.Path, o.LayerSelector = "sha256:"+strings.Repeat("0", 64), "deploy", &corev1alpha1.LayerSelector{MediaType: "application/vnd.oci.image.layer.v1.tar+gzip"}
		})},
		{
			name: "bad artifact",
			given: oci(func(o *corev1alpha1.OCISource) {
				o.Repository, o.Ref.Tag, o.Ref.Digest, o.Path = "Team/app:1", "-x", "0000", "../x"
				o.LayerSelector = &corev1alpha1.LayerSelector{MediaType: "tar"}
			}),
			want: []string{
				"spec.source.oci.repository: FieldValueInvalid", "spec.source.oci.ref.tag: FieldValueInvalid", "spec.source.oci.ref.digest: FieldValueForbidden",
				"spec.source.oci.ref.digest: FieldValueInvalid", "spec.source.oci.path: FieldValueInvalid", "spec.source.oci.layerSelector.mediaType: FieldValueInvalid",
			},
		},
	})
}

func TestReleaseRender(t *testing.T) {
	with := func(h helm) func(*spec) {
		return func(s *spec) {
			s.Source.Git.Path = "charts/app"
			s.Render = &corev1alpha1.RenderSpec{Helm: &h}
		}
	}
	kustomize := func(k corev1alpha1.KustomizeRender) func(*spec) {
		return func(s *spec) { s.Render = &corev1alpha1.RenderSpec{Type: "kustomize", Kustomize: &k} }
	}
	at := func(field, kind string) string { return "spec.render.helm." + field + ": FieldValue" + kind }
	checkReleases(t, []releaseTest{
		{name: "helm", given: with(helm{
			ReleaseName: "web", ValuesFiles: []string{"values-prod.yaml", "../../env/prod.yaml"}, Values: &runtime.RawExtension{Raw: []byte(`{"a":1}`)},
			ValuesFrom: []values{
				{Kind: "ConfigMap", Name: "a", TargetPath: "image.tag"}, {Kind: "Secret", Name: "a", Key: "k"},
				{Kind: "GitRepository", Name: "a", Ref: "main", Path: "env/prod.yaml"}, {Kind: "OCIRegistry", Name: "a", Ref: "v1", Path: "prod.yaml"},
			},
			KubeVersion: "v1.37.2", APIVersions: []string{"v1", "batch/v1", "batch/v1/CronJob"},
		})},
		{
			name:  "unknown type",
			given: func(s *spec) { s.Render = &corev1alpha1.RenderSpec{Type: "jsonnet"} },
			want:  []string{"spec.render.type: FieldValueNotSupported"},
		},
		{
			name:  "block of another type",
			given: func(s *spec) { s.Render = &corev1alpha1.RenderSpec{Type: "plain", Helm: &helm{}} },
			want:  []string{"spec.render.helm: FieldValueForbidden"},
		},
		{
			name: "two blocks",
			given: func(s *spec) {
				s.Render = &corev1alpha1.RenderSpec{Helm: &helm{}, Kustomize: &corev1alpha1.KustomizeRender{}}
			},
			want: []string{"spec.render.kustomize: FieldValueForbidden"},
		},
		{
			name: "a chart is no kustomization",
			given: func(s *spec) {
				s.Source = corev1alpha1.ReleaseSource{Helm: &corev1alpha1.HelmSource{RegistryRef: corev1alpha1.LocalReference{Name: "a"}, Chart: "a"}}
				s.Render = &corev1alpha1.RenderSpec{Type: "kustomize"}
			},
			want: []string{"spec.render.type: FieldValueInvalid"},
		},
		{name: "values file out of the source", given: with(helm{ValuesFiles: []string{"../../../x", "", "/x"}}), want: []string{
			at("valuesFiles[0]", "Invalid"), at("valuesFiles[1]", "Required"), at("valuesFiles[2]", "Invalid"),
		}},
		{name: "values that are no object", given: with(helm{Values: &runtime.RawExtension{Raw: []byte(`["` + secret + `"]`)}}), want: []string{at("values", "Invalid")}},
		{name: "references", given: with(helm{ValuesFrom: []values{
			{Kind: "Pod", Name: "a"}, {Kind: "Secret", Key: "a/b", Ref: "main", Path: "x"},
			{Kind: "GitRepository", Name: "a", Key: "k", Ref: "a..b", Path: "../x"}, {Kind: "OCIRegistry", Name: "a", TargetPath: "a..b"},
		}}), want: []string{
			at("valuesFrom[0].kind", "NotSupported"), at("valuesFrom[1].name", "Required"), at("valuesFrom[1].key", "Invalid"),
			at("valuesFrom[1].ref", "Forbidden"), at("valuesFrom[1].path", "Forbidden"), at("valuesFrom[2].key", "Forbidden"),
			at("valuesFrom[2].ref", "Invalid"), at("valuesFrom[2].path", "Invalid"), at("valuesFrom[3].path", "Required"), at("valuesFrom[3].targetPath", "Invalid"),
		}},
		{
			name:  "names and versions",
			given: with(helm{ReleaseName: strings.Repeat("a", 54), KubeVersion: "new", APIVersions: []string{"a/b/c/d", "batch/v1/", ""}}),
			want: []string{
				at("releaseName", "TooLong"), at("kubeVersion", "Invalid"), at("apiVersions[0]", "Invalid"), at("apiVersions[1]", "Invalid"), at("apiVersions[2]", "Invalid"),
			},
		},
		{name: "kustomize", given: kustomize(corev1alpha1.KustomizeRender{
			Components: []string{"components/a"}, NamePrefix: "a-", NameSuffix: "-b",
			Images: []corev1alpha1.KustomizeImage{{Name: "example.com:5000/app", NewTag: "v1"}, {Name: "b", Digest: "sha256:" + strings.Repeat("0", 64)}},
		})},
		{name: "bad kustomize", given: kustomize(corev1alpha1.KustomizeRender{
			Components: []string{"../a"}, NamePrefix: "A", NameSuffix: "_",
			Images: []corev1alpha1.KustomizeImage{{Name: "a"}, {Name: "a", NewTag: "x", Digest: "y"}, {NewName: "b@c"}},
		}), want: []string{
			"spec.render.kustomize.components[0]: FieldValueInvalid", "spec.render.kustomize.namePrefix: FieldValueInvalid", "spec.render.kustomize.nameSuffix: FieldValueInvalid",
			"spec.render.kustomize.images[0]: FieldValueRequired", "spec.render.kustomize.images[1].name: FieldValueDuplicate", "spec.render.kustomize.images[1].digest: FieldValueForbidden",
			"spec.render.kustomize.images[1].digest: FieldValueInvalid", "spec.render.kustomize.images[2].name: FieldValueRequired", "spec.render.kustomize.images[2].newName: FieldValueInvalid",
		}},
	})
}

func TestReleaseMutations(t *testing.T) {
	one := func(kind corev1alpha1.MutationType, patch string) func(*spec) {
		return func(s *spec) { s.Mutations = []corev1alpha1.Mutation{{Name: "m", Type: kind, Patch: patch}} }
	}
	bad := []string{"spec.mutations[0].patch: FieldValueInvalid"}
	checkReleases(t, []releaseTest{
		{name: "strategic by default", given: one("", "spec: {replicas: 3}")},
		{name: "merge", given: one("merge", `{"spec":null}`)},
		{name: "JSON", given: one("json", "[{op: replace, path: /spec/replicas, value: null}, {op: remove, path: /a~1b~0c}, {op: move, from: /a, path: /b}]")},
		{name: "empty", given: one("merge", " \n"), want: []string{"spec.mutations[0].patch: FieldValueRequired"}},
		{name: "no YAML", given: one("merge", "a: [b"), want: bad},
		{name: "a list as a merge patch", given: one("merge", "[]"), want: bad},
		{name: "an object as a JSON patch", given: one("json", "{}"), want: bad},
		{name: "no operations", given: one("json", "[]"), want: bad},
		{name: "unknown operation", given: one("json", "[{op: set, path: /a, value: 1}]"), want: bad},
		{name: "no pointer", given: one("json", "[{op: remove, path: a}]"), want: bad},
		{name: "bad escape", given: one("json", "[{op: remove, path: /a~2}]"), want: bad},
		{name: "no value", given: one("json", "[{op: add, path: /a}]"), want: bad},
		{name: "no from", given: one("json", "[{op: copy, path: /a}]"), want: bad},
		{name: "too long", given: one("merge", strings.Repeat("a", maxPatch+1)), want: []string{"spec.mutations[0].patch: FieldValueTooLong"}},
		{name: "JSON that is no YAML", given: one("json", `[{"op": "add", "path": "\/a", "value": "\ud83d\ude00"}]`)},
		{name: "aliases", given: one("merge", expanding(3))},
		{name: "aliases that make much of it", given: one("merge", expanding(5)), want: bad},
		{
			name: "patches that are much together",
			given: func(s *spec) {
				for i := range 30 {
					s.Mutations = append(s.Mutations, corev1alpha1.Mutation{Name: fmt.Sprint("m", i), Type: "merge", Patch: expanding(3)})
				}
			},
			want: []string{"spec.mutations[13].patch: FieldValueInvalid"},
		},
		{
			name: "as many large patches as there is room for",
			given: func(s *spec) {
				for i := range 23 {
					s.Mutations = append(s.Mutations, corev1alpha1.Mutation{Name: fmt.Sprint("m", i), Patch: "data: {a: " + strings.Repeat("x", 65_000) + "}"})
				}
			},
		},
		{
			name: "names, types and targets",
			given: func(s *spec) {
				s.Mutations = []corev1alpha1.Mutation{
					{Name: "m", Patch: "a: 1", Target: corev1alpha1.ObjectSelector{Group: "core", Version: "v1", Kind: "Service", LabelSelector: "app in (a,b),!c"}},
					{Name: "m", Type: "xpath", Patch: "a: 1", Target: corev1alpha1.ObjectSelector{Group: "A", Version: "V", Kind: "a b", Namespace: "_", LabelSelector: "a in b", AnnotationSelector: "=="}},
				}
			},
			want: []string{
				"spec.mutations[1].name: FieldValueDuplicate", "spec.mutations[1].type: FieldValueNotSupported",
				"spec.mutations[1].target.group: FieldValueInvalid", "spec.mutations[1].target.version: FieldValueInvalid", "spec.mutations[1].target.kind: FieldValueInvalid",
				"spec.mutations[1].target.namespace: FieldValueInvalid", "spec.mutations[1].target.labelSelector: FieldValueInvalid", "spec.mutations[1].target.annotationSelector: FieldValueInvalid",
			},
		},
	})
}

// expanding is a patch of n lines, each of which has the one before eight times. Where much is not
// behind aliases, the parser finds nothing wrong with those.
func expanding(n int) string {
	var b strings.Builder
	b.WriteString("pad: [" + strings.Repeat("0, ", 4300) + "0]\nx0: &a0 [{a: 1}, {a: 1}, {a: 1}, {a: 1}, {a: 1}, {a: 1}, {a: 1}, {a: 1}]\n")
	for i := range n {
		fmt.Fprintf(&b, "x%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 7), i)
	}
	return b.String()
}

func TestReleaseSync(t *testing.T) {
	hour := metav1.Duration{Duration: time.Hour}
	checkReleases(t, []releaseTest{
		{name: "windows", given: func(s *spec) {
			s.Sync.Windows = []corev1alpha1.SyncWindow{
				{Allow: true, Schedule: "0 8 * * mon-fri", Duration: hour, TimeZone: "Europe/Berlin"},
				{Deny: true, Schedule: "*/15 0-5,22 1 JAN,2-4/2 0", Duration: hour},
			}
		}},
		{
			name: "everything at once",
			given: func(s *spec) {
				s.Sync = corev1alpha1.SyncSpec{
					Mode: "often", Replace: "always", Conflicts: "ignore", OnFailure: "cry", Interval: lasting(0), Timeout: lasting(400 * 24 * time.Hour),
					Retry: &corev1alpha1.RetrySpec{Limit: ptr.To[int32](-2), InitialBackoff: lasting(time.Minute), MaxBackoff: lasting(time.Second)},
				}
				s.Drift = &corev1alpha1.DriftSpec{Mode: "maybe", Ignore: []corev1alpha1.DriftIgnore{{}, {Paths: []string{"", "spec"}, Target: corev1alpha1.ObjectSelector{Kind: "1"}}}}
			},
			want: []string{
				"spec.sync.mode: FieldValueNotSupported", "spec.sync.replace: FieldValueNotSupported", "spec.sync.conflicts: FieldValueNotSupported",
				"spec.sync.onFailure: FieldValueNotSupported", "spec.sync.interval: FieldValueInvalid", "spec.sync.timeout: FieldValueInvalid",
				"spec.sync.retry.limit: FieldValueInvalid", "spec.sync.retry.maxBackoff: FieldValueInvalid",
				"spec.drift.mode: FieldValueNotSupported", "spec.drift.ignore[0].paths: FieldValueRequired", "spec.drift.ignore[1].paths[0]: FieldValueInvalid",
				"spec.drift.ignore[1].paths[1]: FieldValueInvalid", "spec.drift.ignore[1].target.kind: FieldValueInvalid",
			},
		},
		{
			name: "bad windows",
			given: func(s *spec) {
				s.Sync.Windows = []corev1alpha1.SyncWindow{{}, {Allow: true, Deny: true, Schedule: "* * * *", Duration: hour, TimeZone: "Local"}}
			},
			want: []string{
				"spec.sync.windows[0]: FieldValueRequired", "spec.sync.windows[0].schedule: FieldValueRequired", "spec.sync.windows[0].duration: FieldValueInvalid",
				"spec.sync.windows[1].deny: FieldValueForbidden", "spec.sync.windows[1].schedule: FieldValueInvalid", "spec.sync.windows[1].timeZone: FieldValueInvalid",
			},
		},
	})
}

func TestSchedule(t *testing.T) {
	for _, expression := range []string{"* * * * *", "0 0 1 1 0", "59 23 31 12 6", "0 0 * * 7", "*/5 1-3 1,15 jan-MAR sun", "0-30/10 * * * *", "5/15 * * * *"} {
		t.Run(expression, func(t *testing.T) { expect(t, schedule(field.NewPath("s"), expression), nil) })
	}
	for _, expression := range []string{
		"@daily", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "5-1 * * * *", "*/0 * * * *", "*/x * * * *",
		"a * * * *", "1, * * * *", "1- * * * *", "-1 * * * *", "* * mon * *",
	} {
		t.Run(expression, func(t *testing.T) {
			NewWithT(t).Expect(faults(schedule(field.NewPath("s"), expression))).To(ContainElement("s: FieldValueInvalid"))
		})
	}
}

func TestReleaseLifecycle(t *testing.T) {
	job := runtime.RawExtension{Raw: []byte(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"migrate"}}`)}
	checkReleases(t, []releaseTest{
		{name: "hook and gate", given: func(s *spec) {
			s.Lifecycle = &corev1alpha1.LifecycleSpec{
				Hooks: []corev1alpha1.Hook{{Name: "migrate", On: "preSync", Template: job, Timeout: lasting(time.Minute)}},
				Gates: []corev1alpha1.Gate{{Name: "go", Before: "sync"}},
			}
		}},
		{
			name: "everything at once",
			given: func(s *spec) {
				s.Lifecycle = &corev1alpha1.LifecycleSpec{
					Hooks: []corev1alpha1.Hook{
						{Name: "A", On: "lunch", Timeout: lasting(1), DeletePolicy: "never", FailurePolicy: "maybe"},
						{Name: "b", On: "preSync", Template: runtime.RawExtension{Raw: []byte(`{"apiVersion":"a/b/c","kind":"x y","metadata":{"name":"a/b"}}`)}},
						{Name: "b", On: "preSync", Template: runtime.RawExtension{Raw: []byte(`["` + secret + `"]`)}},
						{Name: "c", On: "preSync", Template: runtime.RawExtension{Raw: []byte(`{}`)}},
					},
					Gates: []corev1alpha1.Gate{{Name: "", Before: "lunch"}, {Name: "g", Before: "sync"}, {Name: "g", Before: "sync"}},
				}
			},
			want: []string{
				"spec.lifecycle.hooks[0].name: FieldValueInvalid", "spec.lifecycle.hooks[0].on: FieldValueNotSupported", "spec.lifecycle.hooks[0].template: FieldValueRequired",
				"spec.lifecycle.hooks[0].timeout: FieldValueInvalid", "spec.lifecycle.hooks[0].deletePolicy: FieldValueNotSupported", "spec.lifecycle.hooks[0].failurePolicy: FieldValueNotSupported",
				"spec.lifecycle.hooks[1].template.apiVersion: FieldValueInvalid", "spec.lifecycle.hooks[1].template.kind: FieldValueInvalid", "spec.lifecycle.hooks[1].template.metadata.name: FieldValueInvalid",
				"spec.lifecycle.hooks[2].name: FieldValueDuplicate", "spec.lifecycle.hooks[2].template: FieldValueInvalid",
				"spec.lifecycle.hooks[3].template.apiVersion: FieldValueRequired", "spec.lifecycle.hooks[3].template.kind: FieldValueRequired",
				"spec.lifecycle.gates[0].name: FieldValueRequired", "spec.lifecycle.gates[0].before: FieldValueNotSupported", "spec.lifecycle.gates[2].name: FieldValueDuplicate",
			},
		},
	})
}

func TestReleasePin(t *testing.T) {
	pinned := func(p corev1alpha1.Pin) func(*spec) { return func(s *spec) { s.Pin = &p } }
	checkReleases(t, []releaseTest{
		{name: "revision", given: pinned(corev1alpha1.Pin{Revision: "main@sha1:" + strings.Repeat("0", 40), Reason: "why"})},
		{name: "render", given: pinned(corev1alpha1.Pin{Render: "sha256:" + strings.Repeat("0", 64)})},
		{name: "history id", given: pinned(corev1alpha1.Pin{Render: "12"})},
		{name: "nothing", given: pinned(corev1alpha1.Pin{Reason: "why"}), want: []string{"spec.pin: FieldValueRequired"}},
		{name: "both", given: pinned(corev1alpha1.Pin{Revision: "a", Render: "1"}), want: []string{"spec.pin.render: FieldValueForbidden"}},
		{
			name:  "bad",
			given: pinned(corev1alpha1.Pin{Render: "0", Reason: strings.Repeat("a", 2000)}),
			want:  []string{"spec.pin.render: FieldValueInvalid", "spec.pin.reason: FieldValueTooLong"},
		},
		{name: "white space", given: pinned(corev1alpha1.Pin{Revision: "a b"}), want: []string{"spec.pin.revision: FieldValueInvalid"}},
	})
}

func TestReleaseStatus(t *testing.T) {
	r := &corev1alpha1.Release{Status: corev1alpha1.ReleaseStatus{Lifecycle: &corev1alpha1.LifecycleStatus{
		Hooks: []corev1alpha1.HookStatus{{Name: "a", On: "preSync", Phase: "running"}, {Name: "a", On: "x", Phase: "y"}, {On: "preSync", Phase: "failed"}},
		Gates: []corev1alpha1.GateStatus{{Name: "g"}, {Name: "g"}, {}},
	}}}
	expect(t, ReleaseStatus(r), []string{
		"status.lifecycle.hooks[1].name: FieldValueDuplicate", "status.lifecycle.hooks[1].on: FieldValueNotSupported", "status.lifecycle.hooks[1].phase: FieldValueNotSupported",
		"status.lifecycle.hooks[2].name: FieldValueRequired", "status.lifecycle.gates[1].name: FieldValueDuplicate", "status.lifecycle.gates[2].name: FieldValueRequired",
	})
}
