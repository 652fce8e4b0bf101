// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
)

// maxReleaseName is how long the name of a release of Helm may be.
const maxReleaseName = 53

func (c *conversion) helmRelease(f *migrate.Fields) error {
	helm := &corev1alpha1.HelmRender{}
	c.release.Spec.Render = &corev1alpha1.RenderSpec{Type: corev1alpha1.RenderHelm, Helm: helm}
	if name := c.helmName(f); name != c.release.Name {
		helm.ReleaseName = name
	}
	if err := c.chart(f, helm); err != nil {
		return err
	}
	if err := c.values(f, helm); err != nil {
		return err
	}
	for _, renderer := range f.Each("postRenderers") {
		kustomize := renderer.In("kustomize")
		c.release.Spec.Mutations = append(c.release.Spec.Mutations, patchesOf(kustomize)...)
		kustomize.Unmapped("images", "write a mutation for each container, or set the image in the values")
		kustomize.Rest()
		renderer.Rest()
	}
	uniqueNames(c.release.Spec.Mutations)
	if err := c.common(f); err != nil {
		return err
	}
	c.actions(f, helm)
	c.helmDrift(f.In("driftDetection"))
	f.Drop("releaseName", "targetNamespace", "storageNamespace", "persistentClient", "waitStrategy")
	c.Note("spec", "Helm's own records of the release, Secrets of the type helm.sh/release.v1, are not read by convoy: do not run 'helm uninstall', which would delete the objects; delete the Secrets once all is taken over")
	return nil
}

// uniqueNames numbers mutations of several post-renderers.
func uniqueNames(all []corev1alpha1.Mutation) {
	seen := map[string]int{}
	for i := range all {
		name := all[i].Name
		if seen[name]++; seen[name] > 1 {
			all[i].Name = fmt.Sprintf("%s-%d", name, seen[name])
		}
	}
}

// helmName gives the name of the release in Helm: as it is in its history, or as
// helm-controller makes it.
func (c *conversion) helmName(f *migrate.Fields) string {
	history, _, _ := unstructured.NestedSlice(c.Old.Object, "status", "history")
	if len(history) > 0 {
		if last, ok := history[0].(map[string]any); ok {
			if name, _ := last["name"].(string); name != "" {
				return name
			}
		}
	}
	name := f.Text("releaseName")
	if name == "" {
		name = c.Old.GetName()
		if target := f.Text("targetNamespace"); target != "" {
			name = target + "-" + name
		}
	}
	if len(name) > maxReleaseName {
		name = fmt.Sprintf("%s-%x", name[:40], sha256.Sum256([]byte(name)))[:maxReleaseName]
	}
	return name
}

// chart maps chart or chartRef.
func (c *conversion) chart(f *migrate.Fields, helm *corev1alpha1.HelmRender) error {
	if ref := f.In("chartRef"); ref.Has("name") {
		f.Drop("chart")
		kind, namespace, name := ref.Text("kind"), ref.Text("namespace"), ref.Text("name")
		ref.Drop("apiVersion")
		ref.Rest()
		if kind != "HelmChart" {
			source, err := c.source(kind, namespace, name, "")
			c.release.Spec.Source = source
			return err
		}
		object, err := c.read("HelmChart", namespace, name)
		if err != nil || object == nil {
			return err
		}
		spec, _ := object.Object["spec"].(map[string]any)
		return c.chartSpec(migrate.Read("HelmChart "+name+" spec", spec, &c.Findings), object.GetNamespace(), helm)
	}
	chart := f.In("chart")
	chart.Drop("metadata")
	spec := chart.In("spec")
	chart.Rest()
	return c.chartSpec(spec, c.Old.GetNamespace(), helm)
}

// chartSpec maps the description of a chart; namespace is that of the object that has it.
func (c *conversion) chartSpec(f *migrate.Fields, namespace string, helm *corev1alpha1.HelmRender) error {
	ref := f.In("sourceRef")
	if of := ref.Text("namespace"); of != "" {
		namespace = of
	}
	ref.Drop("apiVersion")
	kind, name, chart, version := ref.Text("kind"), ref.Text("name"), f.Text("chart"), f.Text("version")
	f.Drop("interval", "suspend")
	if f.Text("reconcileStrategy") == "Revision" && kind == "HelmRepository" {
		f.Drop("reconcileStrategy")
	}
	f.Unmapped("verify", "signatures of charts are demanded by spec.verify of their HelmRegistry or OCIRegistry")
	f.Unmapped("ignoreMissingValuesFiles", "a file of values that does not exist is an error: take it out of valuesFiles")
	files := f.Texts("valuesFiles")
	if file := f.Text("valuesFile"); file != "" {
		files = append(files, file)
	}
	f.Rest()
	ref.Rest()
	if kind == "HelmRepository" {
		return c.helmRepository(namespace, name, chart, version, helm, files)
	}
	source, err := c.source(kind, namespace, name, migrate.Folder(chart))
	if err != nil {
		return err
	}
	c.release.Spec.Source = source
	relative := make([]string, len(files))
	for i, file := range files {
		relative[i] = migrate.Relative(chart, file)
	}
	c.valuesFiles(helm, relative)
	return nil
}

// valuesFiles takes files that stand, in Flux, in the place of the chart's own values.
func (c *conversion) valuesFiles(helm *corev1alpha1.HelmRender, files []string) {
	if len(files) == 0 {
		return
	}
	if i := slices.Index(files, "values.yaml"); i == 0 {
		files = files[1:]
	} else {
		c.Note("spec.chart.spec.valuesFiles", "in Flux they stand in the place of the chart's values.yaml; here that counts, too, beneath them")
	}
	helm.ValuesFiles = files
}

// values maps values and where they come from.
func (c *conversion) values(f *migrate.Fields, helm *corev1alpha1.HelmRender) error {
	if values := f.Map("values"); len(values) > 0 {
		raw, err := json.Marshal(values)
		if err != nil {
			return fmt.Errorf("values of %s: %w", c.Name(), err)
		}
		helm.Values = &runtime.RawExtension{Raw: raw}
	}
	for _, from := range f.Each("valuesFrom") {
		reference := corev1alpha1.ValuesReference{
			Kind: from.Text("kind"), Name: from.Text("name"), Key: from.Text("valuesKey"),
			TargetPath: from.Text("targetPath"), Optional: from.True("optional"),
		}
		from.Unmapped("literal", "the text is taken as it is: write it without escapes")
		from.Rest()
		if strings.ContainsAny(reference.TargetPath, "[]") {
			c.Unmapped(from.Path("targetPath"), "sets an item of a list: give the whole list in a file of values")
			continue
		}
		if reference.TargetPath != "" {
			if err := c.typed(from, &reference); err != nil {
				return err
			}
		}
		helm.ValuesFrom = append(helm.ValuesFrom, reference)
	}
	return nil
}

// typed lists a single value that is no text: convoy sets texts.
func (c *conversion) typed(from *migrate.Fields, reference *corev1alpha1.ValuesReference) error {
	kind := migrate.ConfigMapKind
	if reference.Kind == "Secret" {
		kind = migrate.SecretKind
	}
	object, err := c.reader.Get(kind, c.release.Namespace, reference.Name)
	if err != nil || object == nil {
		return err
	}
	key := reference.Key
	if key == "" {
		key = "values.yaml"
	}
	text, _, _ := unstructured.NestedString(object.Object, "data", key)
	if reference.Kind == "Secret" {
		data, err := migrate.SecretData(object)
		if err != nil {
			return err
		}
		text = string(data[key])
	}
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return nil // a text, whatever else it is
	}
	switch value.(type) {
	case nil, string:
	default:
		c.Unmapped(from.Path("targetPath"), fmt.Sprintf("the value of key %s is a number, true, false or a list, which convoy sets as a text there: give it in a file of values", key))
	}
	return nil
}

// actions maps how Helm installs, upgrades and uninstalls.
func (c *conversion) actions(f *migrate.Fields, helm *corev1alpha1.HelmRender) {
	spec := &c.release.Spec
	install, upgrade := f.In("install"), f.In("upgrade")
	spec.CreateNamespace = install.True("createNamespace")
	helm.DisableHooks = install.True("disableHooks")
	if upgrade.True("disableHooks") != helm.DisableHooks {
		c.Note("spec.upgrade.disableHooks", "holds for installations and upgrades alike: spec.render.helm.disableHooks")
		helm.DisableHooks = false
	}
	if install.Text("crds") == "Skip" || install.True("skipCRDs") {
		helm.SkipCRDs = true
	} else if crds := upgrade.Text("crds"); crds != "CreateReplace" {
		c.Note("spec.upgrade.crds", "the definitions in the chart's crds/ are applied at upgrades, too; spec.render.helm.skipCRDs leaves them out")
	}
	if upgrade.True("force") {
		spec.Sync.Replace = corev1alpha1.ReplaceOnImmutable
	}
	upgrade.Unmapped("preserveValues", "values of an earlier release are not kept: write them into spec.values")
	remediation := upgrade.In("remediation")
	if retries := remediation.Int("retries"); retries != nil {
		limit := int32(max(min(*retries, 1_000_000), -1))
		spec.Sync.Retry = &corev1alpha1.RetrySpec{Limit: &limit}
	}
	if strategy := remediation.Text("strategy"); strategy == "uninstall" {
		c.Unmapped(remediation.Path("strategy"), "nothing is uninstalled after a failure: spec.sync.onFailure is none or rollback")
	} else if remediation.Has("retries") || strategy != "" {
		spec.Sync.OnFailure = corev1alpha1.OnFailureRollback
	}
	if history := f.Int("maxHistory"); history != nil && *history > 0 {
		limit := int32(min(*history, 100))
		spec.History = &corev1alpha1.HistorySpec{Limit: &limit}
	}
	if test := f.In("test"); test.True("enable") {
		helm.SkipTests = new(bool)
		test.Drop("timeout", "ignoreFailures", "filters")
		test.Rest()
	}
	if uninstall := f.In("uninstall"); uninstall.True("disableHooks") && !helm.DisableHooks {
		c.Note("spec.uninstall.disableHooks", "hooks run at a deletion too, unless spec.render.helm.disableHooks leaves out all of them")
	}
	f.Drop("rollback", "test", "uninstall")
}

// helmDrift maps driftDetection, which Flux has off unless it is asked for.
func (c *conversion) helmDrift(f *migrate.Fields) {
	drift := &corev1alpha1.DriftSpec{Mode: corev1alpha1.DriftModeDisabled}
	switch f.Text("mode") {
	case "enabled":
		drift.Mode = corev1alpha1.DriftModeEnabled
	case "warn":
		c.Note(f.Path("mode"), "is warn: drift that is looked for is corrected, but in sync mode manual; the Release looks for none. Set spec.drift.mode: enabled for that")
	}
	for _, ignore := range f.Each("ignore") {
		target, ok := corev1alpha1.ObjectSelector{}, true
		if ignore.Has("target") {
			target, ok = migrate.Selector(ignore.In("target"))
		}
		if ok {
			drift.Ignore = append(drift.Ignore, corev1alpha1.DriftIgnore{Target: target, Paths: ignore.Texts("paths")})
		}
		ignore.Drop("target", "paths")
		ignore.Rest()
	}
	f.Rest()
	c.release.Spec.Drift = drift
}
