// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

// newStatus is `kubectl convoy status`.
func newStatus(env *environment) *cobra.Command {
	var flags output.TableFlags
	var selector string
	var allNamespaces, watching bool
	cmd := &cobra.Command{
		Use:   "status [RELEASE]",
		Short: "Show the state of one Release, or of all",
		Long: "Show the state of one Release: its conditions, what it waits for, and its objects that are not\n" +
			"healthy. Without a name, show one line for each Release of the namespace.",
		Example:           "  kubectl convoy status\n  kubectl convoy status -A -l team=shop -o wide\n  kubectl convoy status web",
		ValidArgsFunction: env.completeRelease,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return oneRelease(cmd, args)
			case len(args) == 1 && allNamespaces:
				return fmt.Errorf("a Release is in one namespace: give its name with --namespace, or --all-namespaces without a name")
			case len(args) == 1 && selector != "":
				return fmt.Errorf("give the name of a Release, or --selector without a name")
			case len(args) == 1 && watching:
				return fmt.Errorf("--watch shows a line for each change, of all Releases: leave the name out, or watch one with 'kubectl get release NAME --watch'")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			client, namespace, err := env.connect()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return env.statusOf(cmd.Context(), client, namespace, args[0], &flags)
			}
			if allNamespaces {
				namespace = metav1.NamespaceAll
			}
			return env.statusOfAll(cmd.Context(), client, namespace, metav1.ListOptions{LabelSelector: selector}, watching, &flags)
		},
	}
	flags.Add(cmd)
	cmd.Flags().BoolVarP(&allNamespaces, "all-namespaces", "A", false, "Show the Releases of all namespaces.")
	cmd.Flags().BoolVarP(&watching, "watch", "w", false, "Go on with a line for each change, until interrupted.")
	cmd.Flags().StringVarP(&selector, "selector", "l", "", "Show those with these labels: key=value, key!=value, key in (a,b), …")
	return cmd
}

func (e *environment) statusOfAll(ctx context.Context, client versioned.Interface, namespace string, options metav1.ListOptions, watching bool, flags *output.TableFlags) error {
	table, version := &output.Table{}, ""
	if flags.ForPeople() {
		pages, err := releasePages(ctx, client, namespace, options)
		if err != nil {
			return err
		}
		version = pages[len(pages)-1].ResourceVersion
		table = output.ReleasePages(pages, namespace == metav1.NamespaceAll, flags.Wide())
		if table.Empty() && !watching {
			e.noneFound(releaseKind, namespace)
			return nil
		}
		if err := table.Write(e.Out, !flags.NoHeaders); err != nil {
			return err
		}
	} else {
		releases, err := allReleases(ctx, client, namespace, options)
		if err != nil {
			return err
		}
		version = releases.ResourceVersion
		if err := flags.Print(e.Out, releases, nil); err != nil {
			return err
		}
	}
	if !watching {
		return nil
	}
	options.ResourceVersion = version
	return e.watchStatus(ctx, client, namespace, options, table, flags)
}

// asTable asks for a list as the server shows it to people: a small part of the whole.
const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"

// releasePages reads Releases as tables, of which there is one at least.
func releasePages(ctx context.Context, client versioned.Interface, namespace string, options metav1.ListOptions) ([]output.Page, error) {
	var pages []output.Page
	err := inPages(options, func(options metav1.ListOptions) (string, error) {
		answer := client.CoreV1alpha1().RESTClient().Get().NamespaceIfScoped(namespace, namespace != metav1.NamespaceAll).
			Resource(releaseKind.resource.Resource).VersionedParams(&options, metav1.ParameterCodec).SetHeader("Accept", asTable).Do(ctx)
		page := output.Page{}
		if err := decode(answer, &page); err != nil {
			return "", fmt.Errorf("listing Releases: %w", err)
		}
		pages = append(pages, page)
		return page.Continue, nil
	})
	return pages, err
}

// allReleases reads Releases whole.
func allReleases(ctx context.Context, client versioned.Interface, namespace string, options metav1.ListOptions) (*corev1alpha1.ReleaseList, error) {
	releases := &corev1alpha1.ReleaseList{Items: []corev1alpha1.Release{}}
	err := inPages(options, func(options metav1.ListOptions) (string, error) {
		list, err := client.CoreV1alpha1().Releases(namespace).List(ctx, options)
		if err != nil {
			return "", fmt.Errorf("listing Releases: %w", err)
		}
		releases.ListMeta.ResourceVersion = list.ResourceVersion
		releases.Items = append(releases.Items, list.Items...)
		return list.Continue, nil
	})
	if err != nil {
		return nil, err
	}
	return releases, setKinds(releases)
}

// watchStatus shows what becomes of Releases after those of a table, until ctx ends.
func (e *environment) watchStatus(ctx context.Context, client versioned.Interface, namespace string, options metav1.ListOptions, shown *output.Table, flags *output.TableFlags) error {
	ask := func(ctx context.Context, also metav1.ListOptions) (watch.Interface, error) {
		also.LabelSelector = options.LabelSelector
		return client.CoreV1alpha1().Releases(namespace).Watch(ctx, also)
	}
	err := watchFrom(ctx, options.ResourceVersion, ask, func(object runtime.Object) error {
		release, ok := object.(*corev1alpha1.Release)
		if !ok {
			return nil
		}
		changes := &corev1alpha1.ReleaseList{Items: []corev1alpha1.Release{*release}}
		if err := setKinds(changes); err != nil {
			return err
		}
		return flags.PrintMore(e.Out, shown, changes, func() *output.Table {
			return output.Releases(changes, namespace == metav1.NamespaceAll, flags.Wide())
		})
	})
	if err != nil {
		return fmt.Errorf("watching Releases: %w", err)
	}
	return nil
}

func (e *environment) statusOf(ctx context.Context, client versioned.Interface, namespace, name string, flags *output.TableFlags) error {
	release, err := client.CoreV1alpha1().Releases(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("status of Release %s/%s: %w", namespace, name, err)
	}
	if err := setKind(release); err != nil {
		return err
	}
	if !flags.ForPeople() {
		return output.PrintObject(e.Out, flags.Format, release, nil)
	}
	pages, err := inventory(ctx, client, namespace, name)
	if err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	return output.Release(e.Out, release, pages)
}
