// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

// mutateFlags are the flags of `kubectl convoy mutate`.
type mutateFlags struct {
	changeFlags
	patchFile string
	before    string
	remove    bool
}

// fieldsOfMutations are the flags that are fields of a mutation, by where these are.
var fieldsOfMutations = []struct {
	flag, shorthand string
	path            []string
	usage           string
}{
	{"type", "", []string{"type"}, "What the patch is: strategic (of a new mutation, when not given), merge or json."},
	{"patch", "p", []string{"patch"}, "The patch, as YAML or JSON."},
	{"target-group", "", []string{"target", "group"}, "API group of the objects to change; core for the core group."},
	{"target-version", "", []string{"target", "version"}, "API version of the objects to change."},
	{"target-kind", "", []string{"target", "kind"}, "Kind of the objects to change."},
	{"target-namespace", "", []string{"target", "namespace"}, "Namespace of the objects to change."},
	{"target-name", "", []string{"target", "name"}, "Name of the objects to change."},
	{"target-labels", "", []string{"target", "labelSelector"}, "Labels of the objects to change, as a selector of kubectl."},
	{"target-annotations", "", []string{"target", "annotationSelector"}, "Annotations of the objects to change, likewise."},
}

// newMutate is `kubectl convoy mutate`.
func newMutate(env *environment) *cobra.Command {
	var flags mutateFlags
	cmd := &cobra.Command{
		Use:   "mutate RELEASE [NAME] [--patch PATCH | --patch-file FILE | --remove]",
		Short: "Show, set and remove the mutations of a Release",
		Long: "List the mutations of a Release, which change rendered objects before they are applied; show one of them; or\n" +
			"set or remove it. A new one is added at the end. Of one that there is, what is given changes, and the rest\n" +
			"stays, also its place; an empty text takes a field away.\n\n" +
			"A mutation is for the objects that fit everything that is said of its target; without a target, for all. They\n" +
			"are applied in their order. Only the subresource mutations is written.",
		Example: "  kubectl convoy mutate web replicas --target-kind Deployment --patch '{spec: {replicas: 3}}' --optional\n" +
			"  kubectl convoy mutate web team --patch-file patch.yaml --type merge --before replicas\n" +
			"  kubectl convoy mutate web\n" +
			"  kubectl convoy mutate web replicas\n" +
			"  kubectl convoy mutate web replicas --patch '{spec: {replicas: 5}}' --dry-run -o yaml\n" +
			"  kubectl convoy mutate web replicas --remove",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				return fmt.Errorf("%s takes the name of a Release and that of a mutation, got %d arguments; see '%s --help'", cmd.Name(), len(args), cmd.CommandPath())
			}
			return oneRelease(cmd, args[:min(len(args), 1)])
		},
		ValidArgsFunction: env.completeReleaseAndMutation,
		RunE:              func(cmd *cobra.Command, args []string) error { return env.mutate(cmd, args, &flags) },
	}
	for _, field := range fieldsOfMutations {
		cmd.Flags().StringP(field.flag, field.shorthand, "", field.usage)
	}
	cmd.Flags().StringVar(&flags.patchFile, "patch-file", "", "File with the patch, or - for the standard input.")
	cmd.Flags().Bool("optional", false, "Let the mutation fit no object; otherwise the render fails then.")
	cmd.Flags().StringVar(&flags.before, "before", "", "Mutation of the Release before which this one goes.")
	cmd.Flags().BoolVar(&flags.remove, "remove", false, "Remove the mutation.")
	_ = cmd.MarkFlagFilename("patch-file", "yaml", "yml", "json")
	_ = cmd.RegisterFlagCompletionFunc("before", env.completeMutation)
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions([]string{string(corev1alpha1.MutationStrategic),
		string(corev1alpha1.MutationMerge), string(corev1alpha1.MutationJSON)}, cobra.ShellCompDirectiveNoFileComp))
	flags.add(cmd)
	return cmd
}

// mutate shows mutations, or changes the one that is named.
func (e *environment) mutate(cmd *cobra.Command, args []string, flags *mutateFlags) error {
	if err := flags.check(); err != nil {
		return err
	}
	change, err := flags.change(cmd, e.In)
	if err != nil {
		return err
	}
	isChange := len(change) > 0 || flags.before != "" || flags.remove
	if isChange && len(args) < 2 {
		return fmt.Errorf("the name of the mutation is missing: %s %s NAME …", cmd.CommandPath(), args[0])
	}
	// With another version than was read, it is done anew: the list is written as a whole.
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		release, err := e.release(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if !isChange {
			return e.showMutations(release, flags, args[1:])
		}
		return e.writeMutation(cmd.Context(), release, flags, args[1], change)
	})
}

// change gives the fields that flags set, and null for those that they take away.
func (f *mutateFlags) change(cmd *cobra.Command, stdin io.Reader) (map[string]any, error) {
	change := map[string]any{}
	for _, field := range fieldsOfMutations {
		if !cmd.Flags().Changed(field.flag) {
			continue
		}
		text, err := cmd.Flags().GetString(field.flag)
		if err != nil {
			return nil, err
		}
		var value any
		if text != "" {
			value = text
		}
		if err := unstructured.SetNestedField(change, value, field.path...); err != nil {
			return nil, err
		}
	}
	if cmd.Flags().Changed("optional") {
		optional, err := cmd.Flags().GetBool("optional")
		if err != nil {
			return nil, err
		}
		change["optional"] = nil
		if optional {
			change["optional"] = true
		}
	}
	if cmd.Flags().Changed("patch-file") {
		if _, both := change["patch"]; both {
			return nil, errors.New("--patch and --patch-file exclude each other")
		}
		patch, err := readFile(f.patchFile, stdin)
		if err != nil {
			return nil, fmt.Errorf("--patch-file: %w", err)
		}
		change["patch"] = string(patch)
	}
	if f.remove && (len(change) > 0 || f.before != "") {
		return nil, errors.New("--remove excludes what sets a mutation")
	}
	return change, nil
}

// readFile reads a file, or the standard input for "-".
func readFile(path string, stdin io.Reader) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(path)
}

// showMutations lists the mutations of a Release, or shows the one that is named.
func (e *environment) showMutations(release *oneOfReleases, flags *mutateFlags, names []string) error {
	if flags.format != "" {
		return flags.report(e.Out, changed{object: release.Unstructured})
	}
	if len(names) == 0 {
		if len(release.release.Spec.Mutations) == 0 {
			fmt.Fprintf(e.ErrOut, "Release %s has no mutations.\n", fullName(release.release))
			return nil
		}
		return output.Mutations(release.release.Spec.Mutations).Write(e.Out, true)
	}
	list, _, err := unstructured.NestedSlice(release.Object, "spec", "mutations")
	if err != nil {
		return err
	}
	at := mutationNamed(list, names[0])
	if at < 0 {
		return noSuchMutation(release.release, names[0])
	}
	data, err := yaml.Marshal(list[at])
	if err != nil {
		return err
	}
	_, err = e.Out.Write(data)
	return err
}

// writeMutation writes the list with one of them changed, through the subresource of its own.
func (e *environment) writeMutation(ctx context.Context, release *oneOfReleases, flags *mutateFlags, name string, change map[string]any) error {
	before, _, err := unstructured.NestedSlice(release.Object, "spec", "mutations")
	if err != nil {
		return err
	}
	list, _, _ := unstructured.NestedSlice(release.Object, "spec", "mutations")
	after, did, err := flags.edit(release.release, list, name, change)
	if err != nil {
		return err
	}
	if reflect.DeepEqual(before, after) {
		return flags.report(e.Out, changed{release.Unstructured, "mutation " + name + " unchanged"})
	}
	written, err := flags.patch(ctx, release.client, release.chosen, map[string]any{"spec": map[string]any{"mutations": after}}, true, "mutations")
	if apierrors.IsConflict(err) {
		return err
	}
	if err != nil {
		return fmt.Errorf("mutations of Release %s: %w", fullName(release.release), err)
	}
	if err := flags.report(e.Out, changed{written, "mutation " + name + " " + did}); err != nil {
		return err
	}
	e.tellWhenSynced(release.release, &flags.changeFlags)
	return nil
}

// edit gives the list, which it may change, after a command, and what that did.
func (f *mutateFlags) edit(release *corev1alpha1.Release, list []any, name string, change map[string]any) ([]any, string, error) {
	at := mutationNamed(list, name)
	mutation, to, did := map[string]any{"name": name}, len(list), "added"
	switch {
	case at < 0 && f.remove:
		return nil, "", noSuchMutation(release, name)
	case f.before == name:
		return nil, "", fmt.Errorf("--before: mutation %s cannot go before itself", name)
	case at < 0 && change["patch"] == nil:
		return nil, "", fmt.Errorf("%w; a new one needs --patch or --patch-file", noSuchMutation(release, name))
	case at >= 0:
		mutation, to, did = list[at].(map[string]any), at, "changed"
		list = slices.Delete(list, at, at+1)
	}
	if f.remove {
		return list, "removed", nil
	}
	mergeInto(mutation, change)
	if f.before != "" {
		if to = mutationNamed(list, f.before); to < 0 {
			return nil, "", fmt.Errorf("--before: %w", noSuchMutation(release, f.before))
		}
	}
	return slices.Insert(list, to, any(mutation)), did, nil
}

// mutationNamed gives the place of a mutation in the list, -1 when it is not there.
func mutationNamed(list []any, name string) int {
	return slices.IndexFunc(list, func(item any) bool {
		mutation, ok := item.(map[string]any)
		return ok && mutation["name"] == name
	})
}

func noSuchMutation(release *corev1alpha1.Release, name string) error {
	names := namesOfMutations(release)
	if len(names) == 0 {
		return fmt.Errorf("Release %s has no mutation %q, and no other", fullName(release), name)
	}
	return fmt.Errorf("Release %s has no mutation %q, but %s", fullName(release), name, strings.Join(names, ", "))
}

func namesOfMutations(release *corev1alpha1.Release) []string {
	names := make([]string, len(release.Spec.Mutations))
	for i, mutation := range release.Spec.Mutations {
		names[i] = mutation.Name
	}
	return names
}

// completeReleaseAndMutation completes a Release and one of its mutations.
func (e *environment) completeReleaseAndMutation(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return e.completeOf(cmd, args, namesOfMutations)
}

// completeMutation completes a flag with one of the Release's mutations.
func (e *environment) completeMutation(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return e.completeOf(cmd, args, namesOfMutations)
}
