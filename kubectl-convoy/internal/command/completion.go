// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/naming"
	"kumodo.io/convoy/kubectl-convoy/internal/wayout"
)

const (
	// completionTimeout bounds how long a shell waits for names.
	completionTimeout = 3 * time.Second
	// completionLimit bounds how many there are.
	completionLimit = 500
)

// completion is what cobra asks for the words that may stand at a place.
type completion = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective)

// complete answers with what ask gives, or with nothing: a shell shows no errors.
func (e *environment) complete(cmd *cobra.Command, ask func(ctx context.Context, client dynamic.Interface, namespace string) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	client, namespace, err := e.connectAnyKind()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	words, err := ask(ctx, client, namespace)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// namesOf lists the names of objects.
func namesOf(ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource, namespace string) ([]string, error) {
	list, err := client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: completionLimit})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].GetName()
	}
	return names, nil
}

// completeNames completes the one name that a command takes.
func (e *environment) completeNames(cmd *cobra.Command, args []string, kind objectKind) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return e.complete(cmd, func(ctx context.Context, client dynamic.Interface, namespace string) ([]string, error) {
		return namesOf(ctx, client, kind.resource, namespace)
	})
}

// completeRelease completes the name of one Release.
func (e *environment) completeRelease(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return e.completeNames(cmd, args, releaseKind)
}

// completeClusters completes the name of one Cluster.
func (e *environment) completeClusters(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return e.completeNames(cmd, args, clusterKind)
}

// completeObjects completes NAME and KIND/NAME; kinds where objects are not named.
func (e *environment) completeObjects(choice *selection) completion {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if choice.bulk() {
			var words []string
			for _, kind := range choice.kinds {
				words = append(words, kind.resource.Resource)
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		}
		return e.complete(cmd, func(ctx context.Context, client dynamic.Interface, namespace string) ([]string, error) {
			words, err := wordsFor(ctx, client, namespace, choice, toComplete)
			return slices.DeleteFunc(words, func(word string) bool { return slices.Contains(args, word) }), err
		})
	}
}

// wordsFor gives the names of a kind that is written already, or the names of the first kind
// and what other kinds begin with.
func wordsFor(ctx context.Context, client dynamic.Interface, namespace string, choice *selection, toComplete string) ([]string, error) {
	word, _, qualified := strings.Cut(toComplete, "/")
	if !qualified {
		names, err := namesOf(ctx, client, choice.kinds[0].resource, namespace)
		for _, kind := range choice.kinds[1:] {
			names = append(names, strings.ToLower(kind.name)+"/")
		}
		return names, err
	}
	kind, err := kindOf(word, choice.kinds)
	if err != nil {
		return nil, err
	}
	names, err := namesOf(ctx, client, kind.resource, namespace)
	for i := range names {
		names[i] = word + "/" + names[i]
	}
	return names, err
}

// completeOf completes what a Release offers, such as its gates; its name comes first.
func (e *environment) completeOf(cmd *cobra.Command, args []string, offers func(*corev1alpha1.Release) []string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return e.completeRelease(cmd, args, "")
	}
	return e.complete(cmd, func(ctx context.Context, client dynamic.Interface, namespace string) ([]string, error) {
		object, err := client.Resource(releaseKind.resource).Namespace(namespace).Get(ctx, args[0], metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		release, err := typed[corev1alpha1.Release](object)
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(offers(release), func(word string) bool { return slices.Contains(args, word) }), nil
	})
}

func (e *environment) completeGates(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return e.completeOf(cmd, args, func(release *corev1alpha1.Release) []string {
		var names []string
		for _, gate := range waitingGates(release) {
			names = append(names, gate.Name)
		}
		return names
	})
}

func (e *environment) completeHooks(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return e.completeOf(cmd, args, func(release *corev1alpha1.Release) []string {
		var names []string
		for _, hook := range wayout.FailedHooks(release) {
			names = append(names, hook.Name)
		}
		return names
	})
}

// completeReleaseAndHistory completes a Release and one id of its history.
func (e *environment) completeReleaseAndHistory(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return e.completeOf(cmd, args, historyChoices)
}

// completeHistory completes a flag with an id of the Release's history.
func (e *environment) completeHistory(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return e.completeOf(cmd, args, historyChoices)
}

// completeRevision completes a flag with a revision of the Release's history.
func (e *environment) completeRevision(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return e.completePast(cmd, args, func(entry corev1alpha1.HistoryEntry) string { return entry.Revision })
}

// completeRender completes a flag with the digest of a render of the Release's history.
func (e *environment) completeRender(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return e.completePast(cmd, args, func(entry corev1alpha1.HistoryEntry) string { return entry.Render })
}

func (e *environment) completePast(cmd *cobra.Command, args []string, word func(corev1alpha1.HistoryEntry) string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return e.completeOf(cmd, args, func(release *corev1alpha1.Release) []string {
		var words []string
		for _, entry := range release.Status.History {
			words = append(words, cobra.CompletionWithDesc(word(entry), string(entry.Outcome)+" "+naming.Short(entry.Revision)))
		}
		return words
	})
}

// completeClusterFlag completes a flag with the name of a Cluster.
func (e *environment) completeClusterFlag(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return e.completeNames(cmd, nil, clusterKind)
}

// completeSourceFlag completes a flag with KIND/NAME of a source.
func (e *environment) completeSourceFlag(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return e.complete(cmd, func(ctx context.Context, client dynamic.Interface, namespace string) ([]string, error) {
		var words []string
		for _, kind := range []objectKind{gitRepositoryKind, helmRegistryKind, ociRegistryKind} {
			names, err := namesOf(ctx, client, kind.resource, namespace)
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				words = append(words, strings.ToLower(kind.name)+"/"+name)
			}
		}
		return words, nil
	})
}

// completeNamespaces completes a flag with a namespace of the host.
func (e *environment) completeNamespaces(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return e.complete(cmd, func(ctx context.Context, client dynamic.Interface, _ string) ([]string, error) {
		return namesOf(ctx, client, schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "")
	})
}

// completeContexts completes a flag with a context of the kubeconfig.
func (e *environment) completeContexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	config, err := e.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for name := range config.Contexts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, cobra.ShellCompDirectiveNoFileComp
}
