// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// newCreate is `kubectl convoy create`.
func newCreate(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create sources and Releases, or write their manifests",
		Long: "Create sources and Releases from flags. With --export, nothing is created: the manifest is written, to be\n" +
			"completed and kept in Git. Not every field has a flag: kubectl explain tells them all.",
		Example: "  kubectl convoy create source git apps --url https://git.example.com/apps.git --export\n" +
			"  kubectl convoy create release web --to-cluster edge --source gitrepository/apps --branch main --path web --export",
		Args: noSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCreateSource(env), newCreateRelease(env))
	return cmd
}

// noSubcommand refuses what is no command below another one.
func noSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unknown command %q for %q; see '%s --help'", args[0], cmd.CommandPath(), cmd.CommandPath())
	}
	return nil
}

// createFlags are the flags of commands that create one object.
type createFlags struct {
	changeFlags
	export bool
	labels map[string]string
}

func (f *createFlags) add(cmd *cobra.Command) {
	f.changeFlags.add(cmd)
	cmd.Flags().BoolVar(&f.export, "export", false, "Write the manifest, and create nothing: no server is asked.")
	cmd.Flags().StringToStringVar(&f.labels, "labels", nil, "Labels of the object, as key=value,key=value.")
}

// metadata gives that of the object to create. Without a cluster, --export leaves the
// namespace out unless it is given.
func (f *createFlags) metadata(env *environment, name string) (metav1.ObjectMeta, error) {
	namespace, given, err := env.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil && !f.export {
		return metav1.ObjectMeta{}, err
	}
	if f.export && !given {
		namespace = ""
	}
	return metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: f.labels}, nil
}

// create creates an object, or writes its manifest.
func (e *environment) create(ctx context.Context, flags *createFlags, kind objectKind, object runtime.Object) error {
	if err := flags.check(); err != nil {
		return err
	}
	if err := setKind(object); err != nil {
		return err
	}
	manifest, err := manifestOf(object)
	if err != nil {
		return err
	}
	if flags.export {
		flags.dryRun = dryRunClient
		if flags.format == "" {
			flags.format = "yaml"
		}
	}
	if flags.dryRun == dryRunClient {
		return flags.report(e.Out, changed{manifest, "created"})
	}
	client, namespace, err := e.connectAnyKind()
	if err != nil {
		return err
	}
	created, err := client.Resource(kind.resource).Namespace(namespace).Create(ctx, manifest, metav1.CreateOptions{DryRun: flags.server(), FieldManager: fieldManager})
	if err != nil {
		return fmt.Errorf("%s %s/%s: %w", kind.name, namespace, manifest.GetName(), err)
	}
	return flags.report(e.Out, changed{created, "created"})
}

// manifestOf gives an object as people write it: without status, and without what is empty, but
// for values of a chart, of which a null takes a default away.
func manifestOf(object runtime.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	delete(content, "status")
	path := []string{"spec", "render", "helm", "values"}
	values, found, err := unstructured.NestedFieldCopy(content, path...)
	if err != nil {
		found = false // it is of another kind
	}
	withoutEmpty(content)
	if found && values != nil {
		if err := unstructured.SetNestedField(content, values, path...); err != nil {
			return nil, err
		}
	}
	return &unstructured.Unstructured{Object: content}, nil
}

// withoutEmpty takes maps without entries, and nulls, out of a map, at whatever depth.
func withoutEmpty(content map[string]any) {
	for key, value := range content {
		inner, isMap := value.(map[string]any)
		if isMap {
			withoutEmpty(inner)
		}
		if value == nil || isMap && len(inner) == 0 {
			delete(content, key)
		}
	}
}
