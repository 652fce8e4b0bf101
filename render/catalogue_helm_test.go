// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// TestKubeVersionsAreJudgedAsByHelm compares, for versions as vendors name them, which charts
// are for a cluster.
func TestKubeVersionsAreJudgedAsByHelm(t *testing.T) {
	refused, accepted := 0, 0
	for _, version := range []string{"v1.32.3-vke.8", "v1.31.4+k3s1", "v1.29.3-eks-adc7111", "v1.30.0-rc.1", "v1.26.0", "v1.27.3-gke.100"} {
		for _, constraint := range []string{">=1.26", ">=1.26-0", ">=1.26.0", "^1.32", "~1.32.3", ">=1.32.3", ">1.32.2-0", "<1.32.3", "<1.32.3-0", "<1.33", ">=1.33", "1.32.x", "1.26 - 1.30", "=1.26.0", ">=1.19.0-0 <1.30.0-0", "*"} {
			t.Run(version+" for "+constraint, func(t *testing.T) {
				g := NewWithT(t)
				files := map[string]string{
					"Chart.yaml": chartYAML + "kubeVersion: " + strconv.Quote(constraint) + "\n", "templates/a.yaml": configMap("a", "data: {v: {{ .Capabilities.KubeVersion.Version }}, s: {{ .Capabilities.KubeVersion }}}"),
				}
				dir := t.TempDir()
				for name, text := range files {
					g.Expect(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)).To(Succeed())
					g.Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)).To(Succeed())
				}
				theirs, theirErr := helmInstall(t, dir, corev1alpha1.HelmRender{KubeVersion: version})
				in := input(t, "", files)
				in.Cluster = &cluster{version: version}
				if theirErr != nil {
					refused++
					err := failed(t, in)
					g.Expect(err.Error()).To(And(ContainSubstring("needs Kubernetes "+constraint+", the target cluster has "+version), ContainSubstring("render.helm.kubeVersion")))
					return
				}
				accepted++
				g.Expect(rendered(t, in).Objects[0].Object.Object["data"]).To(Equal(map[string]any{"v": version, "s": version}), "what the cluster calls itself")
				told := input(t, "render: {helm: {kubeVersion: "+version+"}}", files)
				g.Expect(rendered(t, told).Objects[0].Object.Object["data"]).To(Equal(decodeAll(t, theirs.Manifest)[0]["data"]))
			})
		}
	}
	NewWithT(t).Expect(min(refused, accepted)).To(BeNumerically(">", 20))
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
