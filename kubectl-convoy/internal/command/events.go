// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

// newEvents is `kubectl convoy events`.
func newEvents(env *environment) *cobra.Command {
	var flags output.TableFlags
	var allNamespaces, warnings, watching bool
	choice := &selection{kinds: []objectKind{releaseKind, clusterKind, gitRepositoryKind, helmRegistryKind, ociRegistryKind}}
	cmd := &cobra.Command{
		Use:   "events [NAME | KIND/NAME]",
		Short: "Show what happened to Releases, Clusters and sources",
		Long: "Show the events of a Release, a Cluster or a source, oldest first; without a name, those of all of convoy's\n" +
			"objects of the namespace. A bare name is that of a Release.",
		Example: "  kubectl convoy events web\n  kubectl convoy events cluster/edge\n  kubectl convoy events -A --warnings",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return fmt.Errorf("%s takes one name at most; see '%s --help'", cmd.Name(), cmd.CommandPath())
			case len(args) == 1 && allNamespaces:
				return fmt.Errorf("an object is in one namespace: give its name with --namespace, or --all-namespaces without a name")
			}
			return nil
		},
		ValidArgsFunction: env.completeObjects(choice),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, namespace, err := env.connectAnyKind()
			if err != nil {
				return err
			}
			if allNamespaces {
				namespace = metav1.NamespaceAll
			}
			selector, err := eventSelector(choice, args, warnings)
			if err != nil {
				return err
			}
			view := &eventView{
				events:   client.Resource(corev1.SchemeGroupVersion.WithResource("events")).Namespace(namespace),
				selector: selector, namespace: allNamespaces, flags: &flags,
			}
			return view.show(cmd.Context(), env, watching)
		},
	}
	cmd.Flags().BoolVarP(&allNamespaces, "all-namespaces", "A", false, "Show the events of all namespaces.")
	cmd.Flags().BoolVar(&warnings, "warnings", false, "Show warnings only.")
	cmd.Flags().BoolVarP(&watching, "watch", "w", false, "Go on with those that come, until interrupted.")
	flags.Add(cmd)
	return cmd
}

// eventSelector selects the events of one object, or of all.
func eventSelector(choice *selection, args []string, warnings bool) (fields.Set, error) {
	selector := fields.Set{}
	if warnings {
		selector["type"] = corev1.EventTypeWarning
	}
	if len(args) == 0 {
		return selector, nil
	}
	kind, name, err := choice.parse(args[0])
	if err != nil {
		return nil, err
	}
	selector["involvedObject.kind"], selector["involvedObject.name"] = kind.name, name
	return selector, nil
}

// convoysGroups end the names of the groups of convoy's kinds.
const convoysGroups = ".convoy.kumodo.io/"

// eventView is which events are shown, and how.
type eventView struct {
	events    dynamic.ResourceInterface
	selector  fields.Set
	namespace bool // a column has it
	flags     *output.TableFlags
}

func (v *eventView) table(events *corev1.EventList) *output.Table {
	return output.Events(events, v.namespace, v.flags.Wide())
}

// show writes the events that there are, and with watching those that come.
func (v *eventView) show(ctx context.Context, env *environment, watching bool) error {
	events, err := v.list(ctx)
	if err != nil {
		return fmt.Errorf("listing events: %w", err)
	}
	if v.flags.ForPeople() && len(events.Items) == 0 && !watching {
		fmt.Fprintln(env.ErrOut, "No events found. Events are kept for an hour by most clusters.")
		return nil
	}
	table := v.table(events)
	if err := v.flags.Print(env.Out, events, func() *output.Table { return table }); err != nil || !watching {
		return err
	}
	ask := func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		options.FieldSelector = v.selector.String()
		return v.events.Watch(ctx, options)
	}
	err = watchFrom(ctx, events.ResourceVersion, ask, func(object runtime.Object) error {
		more := &corev1.EventList{}
		if err := v.add(more, object); err != nil || len(more.Items) == 0 {
			return err
		}
		return v.flags.PrintMore(env.Out, table, more, func() *output.Table { return v.table(more) })
	})
	if err != nil {
		return fmt.Errorf("watching events: %w", err)
	}
	return nil
}

// list reads the events, the oldest first.
func (v *eventView) list(ctx context.Context) (*corev1.EventList, error) {
	events := &corev1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"}, Items: []corev1.Event{}}
	err := inPages(metav1.ListOptions{FieldSelector: v.selector.String()}, func(options metav1.ListOptions) (string, error) {
		list, err := v.events.List(ctx, options)
		if err != nil {
			return "", err
		}
		events.ResourceVersion = list.GetResourceVersion()
		for i := range list.Items {
			if err := v.add(events, &list.Items[i]); err != nil {
				return "", err
			}
		}
		return list.GetContinue(), nil
	})
	slices.SortStableFunc(events.Items, func(a, b corev1.Event) int { return output.EventTime(&a).Compare(output.EventTime(&b)) })
	return events, err
}

// add adds an event to a list, unless it is of somebody else's object.
func (v *eventView) add(events *corev1.EventList, object runtime.Object) error {
	content, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	event, err := typed[corev1.Event](content)
	if err == nil && strings.Contains(event.InvolvedObject.APIVersion, convoysGroups) {
		events.Items = append(events.Items, *event)
	}
	return err
}
