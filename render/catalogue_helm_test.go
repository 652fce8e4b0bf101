// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli/values"
	helmrelease "helm.sh/helm/v3/pkg/release"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func TestChartsGiveWhatHelmGives(t *testing.T) {
	runCatalogue(t, "helm", 40, helmTemplate)
}

// helmTemplate does what `helm template` does.
func helmTemplate(t *testing.T, c catalogueCase) ([]map[string]any, error) {
	t.Helper()
	spec := corev1alpha1.HelmRender{}
	if c.release.Spec.Render != nil && c.release.Spec.Render.Helm != nil {
		spec = *c.release.Spec.Render.Helm
	}
	rel, err := helmInstall(t, filepath.Join(c.dir, c.path), spec)
	if err != nil {
		return nil, err
	}
	objects := decodeAll(t, rel.Manifest)
	for _, hook := range rel.Hooks {
		if !slices.Contains(hook.Events, helmrelease.HookTest) || (spec.SkipTests != nil && !*spec.SkipTests) {
			objects = append(objects, decodeAll(t, hook.Manifest)...)
		}
	}
	return objects, nil
}

func helmInstall(t testing.TB, dir string, spec corev1alpha1.HelmRender) (*helmrelease.Release, error) {
	t.Helper()
	chart, err := loader.Load(dir)
	if err != nil {
		return nil, err
	}
	if kind := chart.Metadata.Type; kind != "" && kind != "application" {
		return nil, fmt.Errorf("%s charts are not installable", kind)
	}
	if err := action.CheckDependencies(chart, chart.Metadata.Dependencies); err != nil {
		return nil, err
	}
	install := action.NewInstall(&action.Configuration{Log: func(string, ...any) {}})
	install.DryRun, install.ClientOnly, install.IncludeCRDs = true, true, !spec.SkipCRDs
	install.ReleaseName, install.Namespace = "web", "team"
	if spec.ReleaseName != "" {
		install.ReleaseName = spec.ReleaseName
	}
	if spec.KubeVersion != "" {
		if install.KubeVersion, err = chartutil.ParseKubeVersion(spec.KubeVersion); err != nil {
			return nil, err
		}
	}
	install.APIVersions = chartutil.VersionSet(spec.APIVersions)
	given, err := helmValues(t, dir, spec)
	if err != nil {
		return nil, err
	}
	return install.Run(chart, given)
}

func helmValues(t testing.TB, dir string, spec corev1alpha1.HelmRender) (map[string]any, error) {
	t.Helper()
	options := values.Options{}
	for _, file := range spec.ValuesFiles {
		options.ValueFiles = append(options.ValueFiles, filepath.Join(dir, file))
	}
	if spec.Values != nil {
		inline := filepath.Join(t.TempDir(), "values.yaml")
		NewWithT(t).Expect(os.WriteFile(inline, spec.Values.Raw, 0o600)).To(Succeed())
		options.ValueFiles = append(options.ValueFiles, inline)
	}
	return options.MergeValues(nil)
}
