// SPDX-License-Identifier: Apache-2.0

// Package output prints the answers of convoy's API: as text for people, whole as JSON or
// YAML, or what a template takes of them.
package output

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"

	"kumodo.io/convoy/kubectl-convoy/internal/naming"
)

// Formats that tables have besides those of every answer.
const (
	formatWide = "wide"
	formatName = "name"
)

// AddFlag adds -o/--output to cmd.
func AddFlag(cmd *cobra.Command, format *string) {
	addFlag(cmd, format, "Output format: json, yaml, jsonpath=TEMPLATE or go-template=TEMPLATE; text for people when empty.", "json", "yaml")
}

func addFlag(cmd *cobra.Command, format *string, usage string, formats ...string) {
	cmd.Flags().StringVarP(format, "output", "o", "", usage)
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// Print writes object to w in the format given by -o, or through text when it is empty.
// An unknown format, and a template that does not parse or fit, is an error.
func Print(w io.Writer, format string, object any, text func(io.Writer) error) error {
	return printAs(w, format, object, text, "json or yaml")
}

// printAs is Print; known says which formats there are.
func printAs(w io.Writer, format string, object any, text func(io.Writer) error, known string) error {
	switch format {
	case "":
		return text(w)
	case "json":
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(object)
	case "yaml":
		data, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	}
	printer, err := genericclioptions.NewKubeTemplatePrintFlags().ToPrinter(format)
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		return fmt.Errorf("--output: unknown format %q, must be %s", format, known)
	}
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	return printTemplate(w, printer, object)
}

// printTemplate prints what a template takes of an object, by the names of its JSON.
func printTemplate(w io.Writer, printer printers.ResourcePrinter, object any) error {
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	content := map[string]any{}
	if err := json.Unmarshal(data, &content); err != nil {
		return err
	}
	if err := printer.PrintObj(&unstructured.Unstructured{Object: content}, w); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	_, err = fmt.Fprintln(w)
	return err
}

// TableFlags are the flags of commands that print tables of objects.
type TableFlags struct {
	Format    string
	NoHeaders bool
}

// Add adds the flags to cmd.
func (f *TableFlags) Add(cmd *cobra.Command) {
	addFlag(cmd, &f.Format, "Output format: wide, name, json, yaml, jsonpath=TEMPLATE or go-template=TEMPLATE; a table when empty.",
		formatWide, formatName, "json", "yaml")
	cmd.Flags().BoolVar(&f.NoHeaders, "no-headers", false, "Leave the line with the names of the columns out of a table.")
}

// ForPeople tells whether a table is printed, and nothing for programs.
func (f *TableFlags) ForPeople() bool { return f.Format == "" || f.Format == formatWide }

// Wide tells whether the columns are shown that are left out by default.
func (f *TableFlags) Wide() bool { return f.Format == formatWide }

// Print writes a list of objects, or one of them, in the wanted format. Kinds must be set.
func (f *TableFlags) Print(w io.Writer, object runtime.Object, table func() *Table) error {
	if f.ForPeople() {
		return table().Write(w, !f.NoHeaders)
	}
	return PrintObject(w, f.Format, object, nil)
}

// PrintMore writes a list below one that was printed, as its changes are watched: only rows of
// a table, or an object for each.
func (f *TableFlags) PrintMore(w io.Writer, first *Table, list runtime.Object, table func() *Table) error {
	if f.ForPeople() {
		return first.WriteMore(w, table())
	}
	return meta.EachListItem(list, func(item runtime.Object) error { return PrintObject(w, f.Format, item, nil) })
}

// List is a list of whatever objects, as kubectl takes it.
type List struct {
	APIVersion string                 `json:"apiVersion"`
	Kind       string                 `json:"kind"`
	Items      []runtime.RawExtension `json:"items"`
}

// PrintObject is Print with the format name, for what are objects of the API.
func PrintObject(w io.Writer, format string, object runtime.Object, text func(io.Writer) error) error {
	if format != formatName {
		return printAs(w, format, object, text, "name, json, yaml, jsonpath=TEMPLATE or go-template=TEMPLATE")
	}
	if !meta.IsListType(object) {
		_, err := fmt.Fprintln(w, NameOf(object))
		return err
	}
	return meta.EachListItem(object, func(item runtime.Object) error {
		_, err := fmt.Fprintln(w, NameOf(item))
		return err
	})
}

// NameOf is how kubectl names an object: kind.group/name, in lower case.
func NameOf(object runtime.Object) string {
	kind, name := object.GetObjectKind().GroupVersionKind(), ""
	if accessor, err := meta.Accessor(object); err == nil {
		name = accessor.GetName()
	}
	return naming.Path(kind.Group, kind.Kind, name)
}
