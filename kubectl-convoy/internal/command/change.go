// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

// Values of --dry-run.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

// changeFlags are the flags of commands that change objects.
type changeFlags struct {
	dryRun string
	format string
}

func (f *changeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dryRun, "dry-run", dryRunNone, "none, client (send nothing, show what would be sent) or server (let the server check it and store nothing).")
	cmd.Flags().Lookup("dry-run").NoOptDefVal = dryRunClient
	_ = cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions([]string{dryRunNone, dryRunClient, dryRunServer}, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().StringVarP(&f.format, "output", "o", "", "Show the objects afterwards: name, json, yaml, jsonpath=TEMPLATE or go-template=TEMPLATE; a line for each when empty.")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"name", "json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
}

// check refuses unknown values.
func (f *changeFlags) check() error {
	switch f.dryRun {
	case dryRunNone, dryRunClient, dryRunServer:
		return nil
	}
	return fmt.Errorf("--dry-run: unknown value %q, must be none, client or server", f.dryRun)
}

// server gives the field of a request's options.
func (f *changeFlags) server() []string {
	if f.dryRun == dryRunServer {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// patch merges content into an object, or into what a subresource of it writes, and returns
// the object as it is then. Nothing is sent with a dry run of the client. With the version of
// the object, which precise asks for, it is refused when somebody else wrote meanwhile.
func (f *changeFlags) patch(ctx context.Context, client dynamic.Interface, object chosen, content map[string]any, precise bool, subresources ...string) (*unstructured.Unstructured, error) {
	if f.dryRun == dryRunClient {
		return merged(object.Unstructured, content), nil
	}
	if precise {
		content = merged(&unstructured.Unstructured{Object: content}, map[string]any{
			"metadata": map[string]any{"resourceVersion": object.GetResourceVersion()}}).Object
	}
	data, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	return client.Resource(object.kind.resource).Namespace(object.GetNamespace()).Patch(ctx, object.GetName(),
		types.MergePatchType, data, metav1.PatchOptions{DryRun: f.server(), FieldManager: fieldManager}, subresources...)
}

// fieldManager is under what name the plugin writes.
const fieldManager = "kubectl-convoy"

// merged gives an object with content merged into it: maps key by key, without those that
// are null; everything else is replaced.
func merged(object *unstructured.Unstructured, content map[string]any) *unstructured.Unstructured {
	result := object.DeepCopy()
	mergeInto(result.Object, content)
	return result
}

func mergeInto(target, content map[string]any) {
	for key, value := range content {
		inner, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(target, key)
		case isMap:
			below, ok := target[key].(map[string]any)
			if !ok {
				below = map[string]any{}
				target[key] = below
			}
			mergeInto(below, inner)
		default:
			target[key] = value
		}
	}
}

// changed is an object after a command, and what was done with it.
type changed struct {
	object *unstructured.Unstructured
	did    string // such as "suspended"
}

// report says what was done: a line for each object, or the objects in the wanted format.
func (f *changeFlags) report(w io.Writer, all ...changed) error {
	if f.format == "" {
		for _, one := range all {
			if _, err := fmt.Fprintf(w, "%s %s%s\n", output.NameOf(one.object), one.did, f.suffix()); err != nil {
				return err
			}
		}
		return nil
	}
	if len(all) == 1 {
		return output.PrintObject(w, f.format, all[0].object, nil)
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	for _, one := range all {
		list.Items = append(list.Items, *one.object)
	}
	return output.PrintObject(w, f.format, list, nil)
}

func (f *changeFlags) suffix() string {
	switch f.dryRun {
	case dryRunClient:
		return " (dry run)"
	case dryRunServer:
		return " (server dry run)"
	}
	return ""
}

// typed decodes an object of the API.
func typed[T any](object *unstructured.Unstructured) (*T, error) {
	into := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
		return nil, fmt.Errorf("%s %s/%s as it was answered: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	}
	return into, nil
}
