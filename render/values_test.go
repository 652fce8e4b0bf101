// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// sources are References with one of each.
type sources struct{ secrets }

func (sources) ConfigMap(context.Context, string, string) (map[string]string, error) {
	return map[string]string{"values.yaml": "m: {config: 1, both: config}\nlist: [1, 2]", "one": "x"}, nil
}

func (sources) File(context.Context, string, corev1alpha1.ValuesReference) ([]byte, error) {
	return []byte("m: {git: 1}\ngone: null\n"), nil
}

func TestExplainValues(t *testing.T) {
	g := NewWithT(t)
	in := input(t, `
render:
  helm:
    valuesFiles: [prod.yaml]
    valuesFrom:
    - {kind: ConfigMap, name: conf}
    - {kind: Secret, name: s}
    - {kind: GitRepository, name: repo, path: envs/x.yaml}
    - {kind: Secret, name: s, key: token, targetPath: 'auth.to\.ken'}
    values: {m: {inline: 1}, db: {size: 9}, global: {zone: b}}
`, map[string]string{
		"Chart.yaml":              chartYAML + "dependencies: [{name: db, version: 1.x.x, import-values: [shared]}]\n",
		"values.yaml":             "m: {chart: 1, both: chart}\ngone: {a: b}\nempty: {}\ndb: {port: 1}\nglobal: {zone: a, own: 1}\n",
		"prod.yaml":               "m: {file: 1}\n",
		"charts/db/Chart.yaml":    "apiVersion: v2\nname: db\nversion: 1.0.0\n",
		"charts/db/values.yaml":   "size: 1\nport: 5432\nuser: admin\nexports: {shared: {imported: 1}}\n",
		"charts/db/templates/a.y": "",
	})
	in.References = sources{secrets{"s": {"values.yaml": []byte("m: {secret: hunter2, both: hunter2}\nlist: [hunter2]"), "token": []byte("hunter2")}}}
	explained, err := render.ExplainValues(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	var lines []string
	for _, v := range explained {
		g.Expect(v.Secret).To(Equal(v.Origin.Kind == "Secret"))
		lines = append(lines, fmt.Sprintf("%s = %v < %s", v.Path, v.Value, v.Origin))
	}
	g.Expect(lines).To(Equal([]string{
		`auth.to\.ken = <nil> < {Secret s token}`,
		"db.exports.shared.imported = 1 < {Chart web/charts/db/values.yaml }",
		"db.global.own = 1 < {Chart web/values.yaml }",
		"db.global.zone = b < {Release  }",
		"db.port = 1 < {Chart web/values.yaml }",
		"db.size = 9 < {Release  }",
		"db.user = admin < {Chart web/charts/db/values.yaml }",
		"empty = map[] < {Chart web/values.yaml }",
		"global.own = 1 < {Chart web/values.yaml }",
		"global.zone = b < {Release  }",
		"imported = 1 < {ChartImport  }",
		"list = <nil> < {Secret s values.yaml}",
		"m.both = <nil> < {Secret s values.yaml}",
		"m.chart = 1 < {Chart web/values.yaml }",
		"m.config = 1 < {ConfigMap conf values.yaml}",
		"m.file = 1 < {File prod.yaml }",
		"m.git = 1 < {GitRepository repo envs/x.yaml}",
		"m.inline = 1 < {Release  }",
		"m.secret = <nil> < {Secret s values.yaml}",
	}))

	explained, err = render.ExplainValues(t.Context(), input(t, "", map[string]string{"a.yaml": configMap("a")}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(explained).To(BeEmpty())
	_, err = render.ExplainValues(t.Context(), input(t, "", map[string]string{"Chart.yaml": chartYAML + "type: library\n"}))
	g.Expect(err).To(BeAssignableToTypeOf(&render.Error{}))
}

// TestExplainValuesShowsNoSecret has values that Helm takes from elsewhere than where they stand,
// and such of which only the names look so.
func TestExplainValuesShowsNoSecret(t *testing.T) {
	sub := func(name string) map[string]string {
		return map[string]string{
			"charts/" + name + "/Chart.yaml":  "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n",
			"charts/" + name + "/values.yaml": "exports: {shared: {imported: default, flag: false}}\nconfig: {}\n",
		}
	}
	dependencies := func(list string) map[string]string {
		return map[string]string{"Chart.yaml": chartYAML + "dependencies: [" + list + "]\n"}
	}
	for name, tc := range map[string]struct {
		files        map[string]string
		secret, spec string
		path, want   string
	}{
		"a map that is called global": {nil, "alertmanager: {config: {global: {password: canary}}}", "{global: {password: shown}}",
			"alertmanager.config.global.password", "<nil> true {Secret s values.yaml}"},
		"a map that is called global in a subchart": {with(sub("db"), dependencies("{name: db, version: 1.0.0}")), "db: {config: {global: {password: canary}}}", "{config: {global: {password: shown}}, global: {password: shown}}",
			"db.config.global.password", "<nil> true {Secret s values.yaml}"},
		"a global of what is no chart": {nil, "db: {global: {password: canary}}", "{global: {password: shown}}",
			"db.global.password", "<nil> true {Secret s values.yaml}"},
		"a global of a chart": {with(sub("db"), dependencies("{name: db, version: 1.0.0}")), "global: {password: canary}", "{db: {global: {password: shown}}}",
			"db.global.password", "<nil> true {Secret s values.yaml}"},
		"a global of a chart under another name": {with(sub("db"), dependencies("{name: db, version: 1.0.0, alias: store}")), "global: {password: canary}", "{store: {global: {password: shown}}}",
			"store.global.password", "<nil> true {Secret s values.yaml}"},
		"the name that an alias replaces": {with(sub("db"), dependencies("{name: db, version: 1.0.0, alias: store}")), "db: {global: {password: canary}}", "{global: {password: shown}}",
			"db.global.password", "<nil> true {Secret s values.yaml}"},
		"a global of a chart that is off": {with(sub("db"), dependencies("{name: db, version: 1.0.0, condition: db.enabled}")), "db: {enabled: false, global: {password: canary}}", "{global: {password: shown}}",
			"db.global.password", "<nil> true {Secret s values.yaml}"},
		"a map that a chart does not hand on over a text": {with(sub("db"), dependencies("{name: db, version: 1.0.0}")), "db: {global: {password: canary}}", "{global: {password: {a: b}}}",
			"db.global.password", "<nil> true {Secret s values.yaml}"},
		"a value that is imported": {with(sub("db"), dependencies("{name: db, version: 1.0.0, import-values: [shared]}")), "db: {exports: {shared: {imported: canary}}}", "{}",
			"imported", "default false {ChartImport  }"}, // charts import defaults only
		"a boolean that is imported": {with(sub("db"), dependencies("{name: db, version: 1.0.0, import-values: [shared]}")), "db: {exports: {shared: {flag: true}}}", "{}",
			"flag", "false false {ChartImport  }"},
		"a boolean that is a global": {with(sub("db"), dependencies("{name: db, version: 1.0.0}")), "db: {global: {flag: true}}", "{global: {flag: true}}",
			"db.global.flag", "<nil> true {Secret s values.yaml}"},
		"a global that is handed on to the chart of a chart": {with(sub("db"), map[string]string{
			"values.yaml": "global: {registry: docker.test}", "charts/db/charts/leaf/Chart.yaml": "{apiVersion: v2, name: leaf, version: 1.0.0}",
		}), "{}", "{}", "db.leaf.global.registry", "docker.test false {Chart web/values.yaml }"},
		"a boolean that a default hands on over what is set": {with(sub("db"), map[string]string{"values.yaml": "global: {flag: true}"}), "{}", "{db: {global: {flag: false}}}",
			"db.global.flag", "true false {Chart web/values.yaml }"},
		"a global that is handed on over one of a Secret": {with(sub("db"), dependencies("{name: db, version: 1.0.0}")), "db: {global: {password: canary}}", "{global: {password: shown}}",
			"db.global.password", "shown false {Release  }"},
		"what is set over a Secret": {nil, "a: {b: canary, c: true}", "{a: {b: shown}}",
			"a.b", "shown false {Release  }"},
		"what looks like a mark": {nil, "a: canary", `{"b": "0"}`, "b", "0 false {Release  }"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := input(t, "render: {helm: {valuesFrom: [{kind: Secret, name: s}], values: "+tc.spec+"}}", with(template(configMap("a")), tc.files))
			in.References = secrets{"s": {"values.yaml": []byte(tc.secret)}}
			explained, err := render.ExplainValues(t.Context(), in)
			g.Expect(err).NotTo(HaveOccurred())
			found := ""
			for _, v := range explained {
				g.Expect(fmt.Sprint(v.Value)).NotTo(ContainSubstring("canary"), v.Path)
				if v.Path == tc.path {
					found = fmt.Sprintf("%v %t %s", v.Value, v.Secret, v.Origin)
				}
			}
			g.Expect(found).To(Equal(tc.want))
		})
	}
}
