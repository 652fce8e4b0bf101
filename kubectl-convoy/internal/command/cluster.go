// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

// newCluster is `kubectl convoy cluster`.
func newCluster(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cluster",
		Short:   "List, add and remove Clusters",
		Long:    "List the Clusters to which Releases are delivered, add one from a kubeconfig, or remove one.",
		Example: "  kubectl convoy cluster list\n  kubectl convoy cluster add edge --target-context edge-admin --namespaces shop --dry-run=client -o yaml",
		Args:    noSubcommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newClusterList(env), newClusterAdd(env), newClusterRemove(env))
	return cmd
}

// newClusterList is `kubectl convoy cluster list`.
func newClusterList(env *environment) *cobra.Command {
	var flags output.TableFlags
	var selector string
	var allNamespaces bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "Show the Clusters, whether they answer, and how many Releases they have",
		Long: "Show the Clusters of the namespace, or of all: whether they answer and accept the credentials, which version\n" +
			"they have, and how many of their Releases are Ready.",
		Example:           "  kubectl convoy cluster list\n  kubectl convoy cluster list -A -o wide\n  kubectl convoy cluster list -l site=north --no-headers",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, namespace, err := env.connect()
			if err != nil {
				return err
			}
			if allNamespaces {
				namespace = metav1.NamespaceAll
			}
			clusters := &corev1alpha1.ClusterList{Items: []corev1alpha1.Cluster{}}
			err = inPages(metav1.ListOptions{LabelSelector: selector}, func(options metav1.ListOptions) (string, error) {
				list, err := client.CoreV1alpha1().Clusters(namespace).List(cmd.Context(), options)
				if err != nil {
					return "", fmt.Errorf("listing Clusters: %w", err)
				}
				clusters.ListMeta.ResourceVersion = list.ResourceVersion
				clusters.Items = append(clusters.Items, list.Items...)
				return list.Continue, nil
			})
			if err != nil {
				return err
			}
			if err := setKinds(clusters); err != nil {
				return err
			}
			if flags.ForPeople() && len(clusters.Items) == 0 {
				env.noneFound(clusterKind, namespace)
				return nil
			}
			return flags.Print(env.Out, clusters, func() *output.Table {
				return output.Clusters(clusters, namespace == metav1.NamespaceAll, flags.Wide())
			})
		},
	}
	cmd.Flags().BoolVarP(&allNamespaces, "all-namespaces", "A", false, "Show the Clusters of all namespaces.")
	cmd.Flags().StringVarP(&selector, "selector", "l", "", "Show those with these labels: key=value, key!=value, key in (a,b), …")
	flags.Add(cmd)
	return cmd
}

// noneFound says that there are no objects of a kind.
func (e *environment) noneFound(kind objectKind, namespace string) {
	if namespace == metav1.NamespaceAll {
		fmt.Fprintf(e.ErrOut, "No %s found.\n", kind.plural())
		return
	}
	fmt.Fprintf(e.ErrOut, "No %s found in namespace %s.\n", kind.plural(), namespace)
}
