// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
)

// helm maps how a chart is rendered. folder is that of the chart in its source.
func (c *conversion) helm(release string, f *migrate.Fields, folder string, references map[string]*migrate.Fields) (*corev1alpha1.RenderSpec, error) {
	helm := &corev1alpha1.HelmRender{
		SkipCRDs: f.True("skipCrds"), KubeVersion: f.Text("kubeVersion"), APIVersions: f.Texts("apiVersions"),
	}
	name := f.Text("releaseName")
	if name == "" {
		name = c.Old.GetName()
	}
	if name != release {
		helm.ReleaseName = name
	}
	if err := c.valueFiles(f, helm, folder, references); err != nil {
		return nil, err
	}
	values := map[string]any{}
	if object := f.Map("valuesObject"); len(object) > 0 {
		f.Drop("values") // which does not count beside it
		values = runtime.DeepCopyJSON(object)
	} else if text := f.Text("values"); text != "" {
		if err := yaml.Unmarshal([]byte(text), &values); err != nil {
			c.Unmapped(f.Path("values"), "is no YAML")
		}
	}
	for _, parameter := range f.Each("parameters") {
		c.parameter(parameter, values)
	}
	if len(values) > 0 {
		raw, err := json.Marshal(values)
		if err != nil {
			return nil, fmt.Errorf("values of %s: %w", c.Name(), err)
		}
		helm.Values = &runtime.RawExtension{Raw: raw}
	}
	if namespace := f.Text("namespace"); namespace != "" && namespace != c.namespace() {
		c.Unmapped(f.Path("namespace"), "is not that of the destination, and .Release.Namespace is that always")
	}
	f.Unmapped("fileParameters", "a value is not read from a file of the source: write it into a file of values")
	f.Unmapped("skipSchemaValidation", "values are held against the chart's schema: mend one or the other")
	f.Drop("passCredentials", "skipTests", "version", "ignoreMissingValueFiles")
	f.Rest()
	return &corev1alpha1.RenderSpec{Type: corev1alpha1.RenderHelm, Helm: helm}, nil
}

// valueFiles maps files of values: those of the same source, and those of another one.
func (c *conversion) valueFiles(f *migrate.Fields, helm *corev1alpha1.HelmRender, folder string, references map[string]*migrate.Fields) error {
	optional := f.True("ignoreMissingValueFiles")
	for _, file := range f.Texts("valueFiles") {
		at := f.Path("valueFiles")
		word, inside, _ := strings.Cut(file, "/")
		other := references[word]
		switch {
		case other != nil:
			repository, err := c.git(other.Text("repoURL"))
			if err != nil {
				return err
			}
			ref := other.Text("targetRevision")
			if ref == "HEAD" {
				ref = ""
			}
			if wholeCommit.MatchString(ref) || ranged(ref) {
				c.Unmapped(other.Path("targetRevision"), fmt.Sprintf("%q is neither branch nor tag, of which alone values are taken", ref))
			}
			helm.ValuesFrom = append(helm.ValuesFrom, corev1alpha1.ValuesReference{Kind: "GitRepository", Name: repository, Ref: ref, Path: migrate.Folder(inside), Optional: optional})
			continue
		case strings.HasPrefix(word, "$"):
			c.Unmapped(at, fmt.Sprintf("%s names no source", word))
			continue
		case strings.Contains(file, "://"):
			c.Unmapped(at, fmt.Sprintf("%s is fetched from elsewhere: put it into the source, or a ConfigMap", file))
			continue
		case strings.HasPrefix(file, "/"):
			file = migrate.Relative(folder, file)
		}
		if len(helm.ValuesFrom) > 0 {
			c.Note(at, fmt.Sprintf("%s counts before the files of other sources here: spec.render.helm.valuesFiles go before valuesFrom", file))
		}
		if optional {
			c.Unmapped(f.Path("ignoreMissingValueFiles"), fmt.Sprintf("%s has to be there", file))
		}
		if strings.ContainsAny(file, "*?") {
			c.Unmapped(at, fmt.Sprintf("%s is a pattern: name each file", file))
			continue
		}
		helm.ValuesFiles = append(helm.ValuesFiles, file)
	}
	return nil
}

// parameter puts a parameter into values, as helm --set does with the plain ones.
func (c *conversion) parameter(f *migrate.Fields, values map[string]any) {
	name, text, forced := f.Text("name"), f.Text("value"), f.True("forceString")
	f.Rest()
	if strings.Contains(text, "$ARGOCD_APP_") || strings.Contains(text, "${ARGOCD_APP_") {
		c.Unmapped(f.Path("value"), fmt.Sprintf("of %s has variables of Argo CD, which are not put in: write what they stand for", name))
		return
	}
	if strings.ContainsAny(name, "[]{},") || !forced && strings.ContainsAny(text, "{},") {
		c.Unmapped(f.Path("name"), fmt.Sprintf("%s sets a list: write it into values", name))
		return
	}
	keys := keysOf(name)
	into := values
	for _, key := range keys[:len(keys)-1] {
		below, ok := into[key].(map[string]any)
		if !ok {
			below = map[string]any{}
			into[key] = below
		}
		into = below
	}
	last := keys[len(keys)-1]
	switch {
	case forced:
		into[last] = text
	case text == "null": // takes a value away
		into[last] = nil
	default:
		into[last] = scalar(text)
	}
}

// keysOf takes a path apart at its dots, but not at those behind a backslash.
func keysOf(name string) []string {
	const escaped = "\x00"
	keys := strings.Split(strings.ReplaceAll(name, `\.`, escaped), ".")
	for i := range keys {
		keys[i] = strings.ReplaceAll(keys[i], escaped, ".")
	}
	return keys
}

// scalar reads a text as Helm's --set does: true, false and whole numbers are what they look
// like, and everything else, numbers with a leading zero too, is a text.
func scalar(text string) any {
	switch text {
	case "true":
		return true
	case "false":
		return false
	case "0":
		return int64(0)
	}
	if strings.HasPrefix(text, "0") || strings.HasPrefix(text, "+") {
		return text
	}
	var number json.Number
	if err := json.Unmarshal([]byte(text), &number); err == nil && !strings.HasPrefix(text, `"`) {
		if whole, err := number.Int64(); err == nil {
			return whole
		}
	}
	return text
}
