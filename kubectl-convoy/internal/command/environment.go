// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/client/clientset/versioned/scheme"
)

// completionTimeout bounds how long a shell waits for names.
const completionTimeout = 3 * time.Second

// environment is what every subcommand needs: the connection flags and the streams.
type environment struct {
	flags *genericclioptions.ConfigFlags
	genericiooptions.IOStreams
}

// connect returns a client for the host cluster and the namespace to work in.
func (e *environment) connect() (versioned.Interface, string, error) {
	namespace, _, err := e.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, "", err
	}
	config, err := e.flags.ToRESTConfig()
	if err != nil {
		return nil, "", err
	}
	config.UserAgent = "kubectl-convoy/" + Version
	config.WarningHandler = warnings(e.ErrOut)
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, "", err
	}
	return client, namespace, nil
}

// setKind sets apiVersion and kind, which decoding takes off, so that what is printed
// whole says what it is.
func setKind(object runtime.Object) error {
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		return err
	}
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	return nil
}

// oneRelease is the argument check of the commands that take one Release.
func oneRelease(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes the name of one Release, got %d arguments; see '%s --help'", cmd.Name(), len(args), cmd.CommandPath())
	}
	return nil
}

// completeRelease completes the name of one Release.
func (e *environment) completeRelease(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	client, namespace, err := e.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	releases, err := client.CoreV1alpha1().Releases(namespace).List(ctx, metav1.ListOptions{Limit: 500})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names := make([]string, 0, len(releases.Items))
	for i := range releases.Items {
		names = append(names, releases.Items[i].Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
