// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/kubectl-convoy/internal/sharding"
)

// installation is what commands about the whole of convoy ask.
type installation struct {
	// namespace in which convoy runs.
	namespace string

	client   versioned.Interface
	anyKind  dynamic.Interface
	metadata metadata.Interface
	// current is the namespace to work in.
	current string
}

func (i *installation) addFlags(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringVar(&i.namespace, "convoy-namespace", "convoy-system", "Namespace in which convoy runs.")
	_ = cmd.RegisterFlagCompletionFunc("convoy-namespace", env.completeNamespaces)
}

func (i *installation) dial(env *environment) error {
	config, namespace, err := env.config()
	if err != nil {
		return err
	}
	i.current = namespace
	if i.client, err = versioned.NewForConfig(config); err != nil {
		return err
	}
	if i.anyKind, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	i.metadata, err = metadata.NewForConfig(config)
	return err
}

// leases reads those by which replicas share the work.
func (i *installation) leases(ctx context.Context) ([]coordinationv1.Lease, error) {
	list, err := i.anyKind.Resource(leases).Namespace(i.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("Leases of namespace %s: %w", i.namespace, err)
	}
	var all []coordinationv1.Lease
	for n := range list.Items {
		lease, err := typed[coordinationv1.Lease](&list.Items[n])
		if err != nil {
			return nil, err
		}
		all = append(all, *lease)
	}
	return all, nil
}

// clusters reads all Clusters.
func (i *installation) clusters(ctx context.Context) ([]corev1alpha1.Cluster, error) {
	var clusters []corev1alpha1.Cluster
	err := inPages(metav1.ListOptions{}, func(options metav1.ListOptions) (string, error) {
		list, err := i.client.CoreV1alpha1().Clusters(metav1.NamespaceAll).List(ctx, options)
		if err != nil {
			return "", fmt.Errorf("listing Clusters: %w", err)
		}
		clusters = append(clusters, list.Items...)
		return list.Continue, nil
	})
	return clusters, err
}

// sharding reads who works on which shard, and what each has.
func (i *installation) sharding(ctx context.Context) (*sharding.Report, error) {
	facts := sharding.Facts{Releases: map[int]int{}, Now: time.Now()}
	var err error
	if facts.Leases, err = i.leases(ctx); err != nil {
		return nil, err
	}
	clusters, err := i.clusters(ctx)
	if err != nil {
		return nil, err
	}
	for n := range clusters {
		load := sharding.Cluster{Namespace: clusters[n].Namespace, Name: clusters[n].Name, Shard: shardOf(&clusters[n])}
		if counted := clusters[n].Status.Releases; counted != nil {
			load.Releases = int(counted.Total)
		}
		facts.Clusters = append(facts.Clusters, load)
	}
	err = inPages(metav1.ListOptions{}, func(options metav1.ListOptions) (string, error) {
		list, err := i.metadata.Resource(releaseKind.resource).List(ctx, options)
		if err != nil {
			return "", fmt.Errorf("listing Releases: %w", err)
		}
		for n := range list.Items {
			if shard := shardOf(&list.Items[n]); shard >= 0 {
				facts.Releases[shard]++
			}
		}
		return list.Continue, nil
	})
	if err != nil {
		return nil, err
	}
	return sharding.Look(facts), nil
}

// shardOf is the shard that an object is labelled with, -1 without one.
func shardOf(object metav1.Object) int {
	shard, err := strconv.Atoi(object.GetLabels()[corev1alpha1.LabelShard])
	if err != nil {
		return -1
	}
	return shard
}
