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
