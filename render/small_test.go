// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// TestFilesThatAreParsed refuses large files where no worker stands between a parser and those
// who share the process.
func TestFilesThatAreParsed(t *testing.T) {
	large := "a: [" + strings.Repeat("1,", 3<<20) + "]\n"
	for name, tc := range map[string]struct{ spec, file, want string }{
		"values of the source":   {"render: {helm: {valuesFiles: [more.yaml]}}", "more.yaml", "valuesFiles: more.yaml: stopped: more.yaml has more than 5 MiB"},
		"values of another":      {"render: {helm: {valuesFrom: [{kind: GitRepository, name: r, path: more.yaml}]}}", "", "valuesFrom: reading GitRepository r: stopped: more.yaml has more than 5 MiB"},
		"description of a chart": {"", "Chart.yaml", "Chart.yaml has more than 256 KiB"},
		"lock file of a chart":   {"", "Chart.lock", "Chart.lock has more than 256 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			files := template(configMap("a"))
			if tc.file == "Chart.lock" {
				files["Chart.yaml"] += "dependencies: [{name: d, version: 1.0.0, repository: 'https://charts.test'}]\n"
			}
			if tc.file != "" {
				files[tc.file] += large
			}
			in := input(t, tc.spec, files)
			in.References = largeFile(large)
			NewWithT(t).Expect(failed(t, in).Error()).To(ContainSubstring(tc.want))
		})
	}
}

// largeFile is the file of References without anything else.
type largeFile string

func (largeFile) ConfigMap(context.Context, string, string) (map[string]string, error) {
	panic("not asked for")
}

func (largeFile) Secret(context.Context, string, string) (map[string][]byte, error) {
	panic("not asked for")
}

func (l largeFile) File(context.Context, string, corev1alpha1.ValuesReference) ([]byte, error) {
	return []byte(l), nil
}

func (largeFile) Chart(context.Context, string, render.Dependency) (render.Artifact, error) {
	panic("not asked for")
}
