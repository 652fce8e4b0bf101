// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/health/ruletest"
	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

// newHealthTest is `kubectl convoy health test`.
func newHealthTest(env *environment) *cobra.Command {
	var rules, schemas, objects []string
	var expect, format string
	cmd := &cobra.Command{
		Use:   "test -f RULES [--schema SCHEMAS] [--object OBJECTS]",
		Short: "Judge objects from files by rules from files",
		Long: "Judge objects from files by the HealthRuleSets and GlobalHealthRuleSets in files, as convoy would in a\n" +
			"cluster: HealthRuleSets go first, by name, then GlobalHealthRuleSets by name, then what is built in. No\n" +
			"cluster is asked. A file may hold several documents and Lists, as kubectl get -o yaml gives them; - is\n" +
			"the standard input; of a folder the files that end in .yaml, .yml and .json are read.\n\n" +
			"With --schema, rules are held against what CustomResourceDefinitions, or OpenAPI documents as an API server\n" +
			"publishes them, say of their kinds: a field that is not there, or a comparison of a number with a text, is\n" +
			"told. Of several versions, a rule may read what any has. No objects are needed then.\n\n" +
			"Exit status: 0 when the objects have the status that --expect names, 1 when one has not, 2 when it could\n" +
			"not be told, as when a rule does not compile or does not fit the schema.",
		Example: "  kubectl convoy health test -f rules.yaml --object widget.yaml\n" +
			"  kubectl convoy health test -f rules.yaml --schema crds/\n" +
			"  kubectl get --raw /openapi/v3/apis/apps/v1 | kubectl convoy health test -f rules.yaml --schema -\n" +
			"  kubectl convoy health test -f config/health-rules --object broken.yaml --expect degraded\n" +
			"  kubectl get widgets -o yaml | kubectl convoy health test -f rules.yaml --object - -o json",
		Args: asError(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if err := checkExpected(expect); err != nil {
				return &exitCode{exitError, err}
			}
			health, err := env.judge(rules, schemas, objects)
			if err != nil {
				return &exitCode{exitError, err}
			}
			if health == nil {
				return nil
			}
			if err := setKind(health); err != nil {
				return err
			}
			err = output.Print(env.Out, format, health, func(w io.Writer) error { return output.Health(w, health) })
			if err != nil {
				return &exitCode{exitError, err}
			}
			return asExpected(health, corev1alpha1.HealthStatus(expect))
		},
	}
	cmd.Flags().StringSliceVarP(&rules, "filename", "f", nil, "Files or folders with rule sets; without any, what is built in decides.")
	cmd.Flags().StringSliceVar(&schemas, "schema", nil, "Files or folders with CustomResourceDefinitions or OpenAPI v3 documents to hold the rules against.")
	cmd.Flags().StringSliceVar(&objects, "object", nil, "Files or folders with objects as a cluster gives them, with their status.")
	cmd.Flags().StringVar(&expect, "expect", "", "Status that every object must have: "+strings.Join(statusNames(), ", ")+".")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
	_ = cmd.MarkFlagFilename("schema", "yaml", "yml", "json")
	_ = cmd.MarkFlagFilename("object", "yaml", "yml", "json")
	_ = cmd.RegisterFlagCompletionFunc("expect", cobra.FixedCompletions(statusNames(), cobra.ShellCompDirectiveNoFileComp))
	output.AddFlag(cmd, &format)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &exitCode{exitError, err} })
	return cmd
}

// statusNames are the statuses that an object in a file can have.
func statusNames() []string {
	return []string{
		string(corev1alpha1.HealthHealthy), string(corev1alpha1.HealthProgressing), string(corev1alpha1.HealthDegraded),
		string(corev1alpha1.HealthSuspended), string(corev1alpha1.HealthUnknown),
	}
}

func checkExpected(status string) error {
	if status != "" && !slices.Contains(statusNames(), status) {
		return fmt.Errorf("--expect: unknown status %q, must be one of %s", status, strings.Join(statusNames(), ", "))
	}
	return nil
}

// judge judges the objects in files, after the rules were held against schemas, if any are named.
// Without objects, which only schemas allow, there is no judgement.
func (e *environment) judge(rules, schemas, objects []string) (*corev1alpha1.ReleaseHealth, error) {
	if err := checkNames(rules, schemas, objects); err != nil {
		return nil, err
	}
	ruleFiles, err := readFiles(e.In, rules)
	if err != nil {
		return nil, fmt.Errorf("--filename: %w", err)
	}
	objectFiles, err := readFiles(e.In, objects)
	if err != nil {
		return nil, fmt.Errorf("--object: %w", err)
	}
	sets, err := ruletest.ReadRules(ruleFiles...)
	if err != nil {
		return nil, err
	}
	if err := e.checkTypes(sets, schemas, len(objects) == 0); err != nil || len(objects) == 0 {
		return nil, err
	}
	found, err := ruletest.ReadObjects(objectFiles...)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errors.New("--object: no object is there")
	}
	return ruletest.Judge(ruletest.Assessor(sets), found), nil
}

// checkNames tells what is missing among the names of files, or is there twice.
func checkNames(rules, schemas, objects []string) error {
	inputs := 0
	for _, names := range [][]string{rules, schemas, objects} {
		if slices.Contains(names, "-") {
			inputs++
		}
	}
	switch {
	case len(objects) == 0 && len(schemas) == 0:
		return errors.New("--object: name the files with the objects to judge, or - for the standard input")
	case len(rules) == 0 && len(schemas) > 0:
		return errors.New("--schema: name the files with the rules to check with --filename")
	case inputs > 1:
		return errors.New("the standard input can hold rules, schemas or objects, one of them")
	}
	return nil
}

// readFiles reads files, the manifests in folders, and for "-" in.
func readFiles(in io.Reader, names []string) ([]ruletest.File, error) {
	var files []ruletest.File
	for _, name := range names {
		if name == "-" {
			data, err := io.ReadAll(in)
			if err != nil {
				return nil, fmt.Errorf("standard input: %w", err)
			}
			files = append(files, ruletest.File{Name: "standard input", Data: data})
			continue
		}
		paths, err := manifests(name)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			files = append(files, ruletest.File{Name: path, Data: data})
		}
	}
	return files, nil
}

// manifests is a file, or the manifests of a folder.
func manifests(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, entry := range entries {
		if slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) && !entry.IsDir() {
			paths = append(paths, filepath.Join(name, entry.Name()))
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("folder %s has no file that ends in .yaml, .yml or .json", name)
	}
	return paths, nil
}

// asExpected is the exit code of a test.
func asExpected(health *corev1alpha1.ReleaseHealth, want corev1alpha1.HealthStatus) error {
	if want == "" {
		return nil
	}
	others := 0
	for _, object := range health.Objects {
		if object.Status != want {
			others++
		}
	}
	if others == 0 {
		return nil
	}
	return &exitCode{exitDifferent, fmt.Errorf("not %s: %d of %s", want, others, output.Count(len(health.Objects), "object"))}
}
