// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate/argocd"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate/flux"
)

// tool is a delivery tool whose objects can be migrated.
type tool interface {
	// convert maps an object.
	convert(old *unstructured.Unstructured, reader migrate.Reader) (*migrate.Migration, error)
	// applied gives what the tool has applied for an object; known is false when nothing tells.
	applied(old *unstructured.Unstructured, reader migrate.Reader) (keys []corev1alpha1.ObjectKey, known bool, err error)
	// held says why the object cannot be held still; "" when it can.
	held(old *unstructured.Unstructured, reader migrate.Reader) (string, error)
	// remade names what would make the object again when it is deleted; "" when nothing would.
	remade(old *unstructured.Unstructured, reader migrate.Reader) (string, error)
	// still tells whether the tool neither applies nor deletes anything for the object.
	still(old *unstructured.Unstructured) bool
	// stop gives the merge patch that has the tool do nothing for the object any more.
	stop(old *unstructured.Unstructured) (map[string]any, error)
	// left names what stays when the object is gone, and the commands for it.
	left(m *migrate.Migration) []string
}

// newMigrate is `kubectl convoy migrate`.
func newMigrate(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Turn objects of Flux or Argo CD into convoy's",
		Long: "Turn objects of Flux or Argo CD into convoy's, and hand over what they have delivered, without anything being\n" +
			"deleted or restarted. Without --apply and --remove, nothing is changed: the objects of convoy are written as YAML,\n" +
			"and what has no counterpart is told on the standard error stream.",
		Example: "  kubectl convoy migrate flux --all\n" +
			"  kubectl convoy migrate argocd --all -A",
		Args: noSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newMigrateFlux(env), newMigrateArgoCD(env))
	return cmd
}

// howItGoes is what the help of both commands says.
const howItGoes = "With --apply, what convoy needs is created, the Releases at first in sync mode manual; convoy is asked what a\n" +
	"sync would change; if that is nothing but labels and annotations, and nothing is lost, the object is stopped, and\n" +
	"convoy takes over what it has delivered. If anything is otherwise, that is told and everything stays as it was.\n" +
	"The object itself stays, with annotations that say what became of it.\n\n" +
	"With --remove, objects that were handed over are deleted, with nothing of what they delivered, as soon as their\n" +
	"Releases are Ready and have all of it.\n\n" +
	"Objects chosen by --selector or --all are shown first, and have to be confirmed."

func newMigrateFlux(env *environment) *cobra.Command {
	flags := &migrateFlags{tool: fluxTool{}, toolName: "flux", choice: &selection{kinds: []objectKind{
		{"Kustomization", schema.GroupVersionResource{Group: flux.KustomizationKind.Group, Version: "v1", Resource: "kustomizations"}, "ks"},
		{"HelmRelease", schema.GroupVersionResource{Group: flux.HelmReleaseKind.Group, Version: "v2", Resource: "helmreleases"}, "hr"},
	}}}
	cmd := &cobra.Command{
		Use:   "flux (NAME | KIND/NAME)... | [KIND...] (-l SELECTOR | --all)",
		Short: "Turn Kustomizations and HelmReleases of Flux into Releases",
		Long: "Turn Kustomizations and HelmReleases of Flux into Releases, with their sources, Secrets and target clusters. A\n" +
			"bare name is that of a Kustomization; a HelmRelease is written helmrelease/NAME.\n\n" + howItGoes,
		Example: "  kubectl convoy migrate flux web helmrelease/db\n" +
			"  kubectl convoy migrate flux --all --with-secrets\n" +
			"  kubectl convoy migrate flux web --apply\n" +
			"  kubectl convoy migrate flux helmreleases -l team=shop --apply --yes\n" +
			"  kubectl convoy migrate flux web --remove",
	}
	flags.add(env, cmd)
	return cmd
}

func newMigrateArgoCD(env *environment) *cobra.Command {
	of := &argoTool{}
	flags := &migrateFlags{tool: of, toolName: "argocd", choice: &selection{kinds: []objectKind{
		{"Application", schema.GroupVersionResource{Group: argocd.ApplicationKind.Group, Version: "v1alpha1", Resource: "applications"}, "app"},
	}}}
	cmd := &cobra.Command{
		Use:   "argocd NAME... | (-l SELECTOR | --all)",
		Short: "Turn Applications of Argo CD into Releases",
		Long: "Turn Applications of Argo CD into Releases, with their repositories, credentials and target clusters. The\n" +
			"Releases are made in the namespace of the Application. ApplicationSets are not mapped.\n\n" + howItGoes,
		Example: "  kubectl convoy migrate argocd web\n" +
			"  kubectl convoy migrate argocd --all --with-secrets\n" +
			"  kubectl convoy migrate argocd web --apply\n" +
			"  kubectl convoy migrate argocd -l team=shop --apply --yes\n" +
			"  kubectl convoy migrate argocd web --remove",
	}
	flags.add(env, cmd)
	cmd.Flags().StringVar(&of.home, "argocd-namespace", "argocd", "Namespace in which Argo CD has its Secrets, settings and projects.")
	return cmd
}

// migrateFlags are the flags of the commands that migrate.
type migrateFlags struct {
	tool                        tool
	toolName                    string
	choice                      *selection
	apply, remove               bool
	allowUnmapped, allowChanges bool
	withSecrets                 bool
	format                      string
	timeout                     time.Duration
}

func (f *migrateFlags) add(env *environment, cmd *cobra.Command) {
	f.choice.addFlags(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.apply, "apply", false, "Hand over what the objects have delivered.")
	flags.BoolVar(&f.remove, "remove", false, "Delete objects that were handed over, and nothing of what they delivered.")
	flags.BoolVar(&f.allowUnmapped, "allow-unmapped", false, "With --apply: also objects of which something has no counterpart.")
	flags.BoolVar(&f.allowChanges, "allow-changes", false, "With --apply: also objects of which convoy would change, create or leave behind something.")
	flags.BoolVar(&f.withSecrets, "with-secrets", false, "Write Secrets that have to be made too, with what is in them.")
	flags.StringVarP(&f.format, "output", "o", "", "Format of what is written without --apply and --remove: yaml (when not given), json, name, jsonpath=TEMPLATE or go-template=TEMPLATE.")
	flags.DurationVar(&f.timeout, "timeout", 5*time.Minute, "How long to wait for convoy, and for objects to be gone.")
	cmd.MarkFlagsMutuallyExclusive("apply", "remove")
	cmd.Args = f.choice.checkArgs
	cmd.ValidArgsFunction = env.completeObjects(f.choice)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return env.migrate(cmd.Context(), f, args) }
}

// migrate does what the flags say with the chosen objects.
func (e *environment) migrate(ctx context.Context, flags *migrateFlags, args []string) error {
	run, err := e.newMigrationRun(ctx, flags)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		for _, kind := range flags.choice.kinds {
			args = append(args, kind.name)
		}
	}
	objects, err := flags.choice.find(ctx, run.client, run.namespace, args)
	if err != nil {
		return err
	}
	if flags.remove {
		return run.remove(ctx, objects)
	}
	var all []*migrate.Migration
	for _, object := range objects {
		m, err := flags.tool.convert(object.Unstructured, run.reader)
		if err != nil {
			return err
		}
		all = append(all, m)
	}
	for _, m := range all {
		run.tell(m)
	}
	if flags.apply {
		return run.apply(ctx, objects, all)
	}
	return run.export(all)
}

// tell tells what becomes of an object, and what has no counterpart.
func (r *migrationRun) tell(m *migrate.Migration) {
	to := "nothing that convoy has"
	for i, release := range m.Releases {
		if i == 0 {
			to = "Release " + fullName(release)
			continue
		}
		to += ", Release " + fullName(release)
	}
	fmt.Fprintf(r.ErrOut, "%s becomes %s\n", m.Name(), to)
	for _, finding := range m.Findings {
		word := "note"
		if finding.Unmapped {
			word = "not mapped"
		}
		fmt.Fprintf(r.ErrOut, "  %-10s  %s: %s\n", word, finding.Field, finding.Message)
	}
}

var errNothingMapped = errors.New("nothing of it can be mapped")
