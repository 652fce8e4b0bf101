// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// selection is how a command chooses what it touches: objects by name, or many by their
// labels or all of them.
type selection struct {
	// kinds that may be chosen; a bare name is one of the first.
	kinds []objectKind

	selector      string
	all           bool
	allNamespaces bool
	yes           bool
}

func (s *selection) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&s.selector, "selector", "l", "", "Choose objects by their labels, as kubectl does: key=value, key!=value, key in (a,b), …")
	flags.BoolVar(&s.all, "all", false, "Choose all objects of the namespace.")
	flags.BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, "With --selector or --all: choose in all namespaces.")
	flags.BoolVarP(&s.yes, "yes", "y", false, "Do not ask before many objects are touched.")
}

// bulk tells whether objects are chosen without being named.
func (s *selection) bulk() bool { return s.all || s.selector != "" }

// checkArgs checks the arguments: names, as NAME or KIND/NAME; kinds where objects are not
// named.
func (s *selection) checkArgs(cmd *cobra.Command, args []string) error {
	switch {
	case s.all && s.selector != "":
		return errors.New("--all and --selector exclude each other")
	case s.bulk():
		for _, arg := range args {
			if _, err := kindOf(arg, s.kinds); err != nil {
				return fmt.Errorf("with --selector and --all, objects are not named: %w", err)
			}
		}
	case s.allNamespaces:
		return errors.New("--all-namespaces needs --selector or --all: an object that is named is in one namespace")
	case len(args) == 0:
		return fmt.Errorf("%s takes names, --selector or --all; see '%s --help'", cmd.Name(), cmd.CommandPath())
	}
	return nil
}

// chosen is an object that a command is about to touch.
type chosen struct {
	kind objectKind
	*unstructured.Unstructured
}

// find reads the chosen objects, in the order of the arguments. One that does not exist is
// an error, and so is a choice that nothing fits.
func (s *selection) find(ctx context.Context, client dynamic.Interface, namespace string, args []string) ([]chosen, error) {
	if s.bulk() {
		return s.findMany(ctx, client, namespace, args)
	}
	var found []chosen
	for _, arg := range args {
		kind, name, err := s.parse(arg)
		if err != nil {
			return nil, err
		}
		object, err := client.Resource(kind.resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("%s %s/%s: %w", kind.name, namespace, name, err)
		}
		found = append(found, chosen{kind, object})
	}
	return found, nil
}

// parse takes an argument apart: NAME or KIND/NAME.
func (s *selection) parse(arg string) (objectKind, string, error) {
	word, name, qualified := strings.Cut(arg, "/")
	if !qualified {
		return s.kinds[0], arg, nil
	}
	kind, err := kindOf(word, s.kinds)
	if err == nil && name == "" {
		err = fmt.Errorf("%q has no name behind the slash", arg)
	}
	return kind, name, err
}

func (s *selection) findMany(ctx context.Context, client dynamic.Interface, namespace string, args []string) ([]chosen, error) {
	if s.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	if len(args) == 0 {
		args = []string{s.kinds[0].name}
	}
	var found []chosen
	for _, arg := range args {
		kind, err := kindOf(arg, s.kinds)
		if err != nil {
			return nil, err
		}
		err = inPages(metav1.ListOptions{LabelSelector: s.selector}, func(options metav1.ListOptions) (string, error) {
			list, err := client.Resource(kind.resource).Namespace(namespace).List(ctx, options)
			if err != nil {
				return "", fmt.Errorf("listing %s: %w", kind.plural(), err)
			}
			for i := range list.Items {
				found = append(found, chosen{kind, &list.Items[i]})
			}
			return list.GetContinue(), nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(found) == 0 {
		return nil, errors.New("nothing fits: no object has been chosen")
	}
	return found, nil
}

// confirm shows which objects are about to be touched, and asks, when they were not named
// one by one. Without anybody to ask, --yes has to be given. what is done to them is said by
// done, as in "2 Releases would be suspended".
func (e *environment) confirm(s *selection, objects []chosen, done string) error {
	if !s.bulk() || s.yes {
		return nil
	}
	fmt.Fprintf(e.ErrOut, "%s would be %s:\n", countKinds(objects), done)
	for _, object := range objects {
		fmt.Fprintf(e.ErrOut, "  %s %s/%s\n", object.kind.name, object.GetNamespace(), object.GetName())
	}
	return e.ask("Go on?")
}

// ask asks a question that anything but yes answers with no.
func (e *environment) ask(question string) error {
	if !e.interactive {
		return errors.New("nothing was done: there is nobody to ask; give --yes if that is meant")
	}
	fmt.Fprintf(e.ErrOut, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(e.In).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was done")
}

// countKinds gives "2 Releases and 1 Cluster".
func countKinds(objects []chosen) string {
	var order []objectKind
	counts := map[string]int{}
	for _, object := range objects {
		if counts[object.kind.name] == 0 {
			order = append(order, object.kind)
		}
		counts[object.kind.name]++
	}
	parts := make([]string, len(order))
	for i, kind := range order {
		parts[i] = kind.count(counts[kind.name])
	}
	return strings.Join(parts, " and ")
}
